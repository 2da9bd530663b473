//! Trees that try to make the reader leave the root, block, or read without end.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::process::Command;

use super::*;

/// A tree next to a secret that must never be read.
fn tree() -> (tempfile::TempDir, Root) {
    let outer = tempfile::tempdir().unwrap();
    fs::write(outer.path().join("secret"), "outside").unwrap();
    let inner = outer.path().join("root");
    fs::create_dir_all(inner.join("etc")).unwrap();
    fs::write(inner.join("etc/file"), "inside").unwrap();
    let root = Root::open(&inner).unwrap();
    (outer, root)
}

#[test]
fn reads_a_file_whichever_way_the_path_is_written() {
    let (_outer, root) = tree();
    for path in [
        "etc/file",
        "/etc/file",
        "etc//./file",
        "../../etc/../etc/file",
    ] {
        assert_eq!(root.read_text(path).unwrap(), "inside", "{path}");
    }
}

#[test]
fn no_link_and_no_dots_lead_out() {
    let (outer, root) = tree();
    let inner = outer.path().join("root");
    let secret = outer.path().join("secret");
    symlink(&secret, inner.join("absolute")).unwrap();
    symlink("../secret", inner.join("relative")).unwrap();
    symlink("../../../../../../../../", inner.join("up")).unwrap();
    symlink(outer.path(), inner.join("directory")).unwrap();
    let through_up = format!("up{}", secret.display());
    let paths = ["absolute", "relative", "../secret", "etc/../../secret"];
    for path in paths.into_iter().chain(["directory/secret", &through_up]) {
        assert_eq!(root.read_text(path), Err(RootReadError::Absent), "{path}");
    }
    assert!(root.glob("directory/*").is_empty());
    // `up` is the root itself, so the listing shows the root, not what lies around it.
    assert_eq!(root.glob("up/etc/*"), ["/up/etc/file"]);
    assert!(!root.glob("up/*").contains(&"/up/secret".to_owned()));
}

#[test]
fn links_inside_the_root_are_followed_from_the_root() {
    let (outer, root) = tree();
    let inner = outer.path().join("root");
    symlink("/etc/file", inner.join("absolute")).unwrap();
    symlink("../etc/file", inner.join("etc/relative")).unwrap();
    symlink("/etc", inner.join("settings")).unwrap();
    for path in [
        "absolute",
        "etc/relative",
        "settings/file",
        "settings/relative",
    ] {
        assert_eq!(root.read_text(path).unwrap(), "inside", "{path}");
    }
    assert_eq!(root.identity("absolute"), root.identity("settings/file"));
    assert_ne!(root.identity("etc"), root.identity("etc/file"));
}

#[test]
fn loops_and_endless_paths_end() {
    let (outer, root) = tree();
    let inner = outer.path().join("root");
    symlink("loop", inner.join("loop")).unwrap();
    symlink("grow/grow/grow", inner.join("grow")).unwrap();
    assert!(matches!(
        root.read_text("loop"),
        Err(RootReadError::Failed(_))
    ));
    assert!(matches!(
        root.read_text("grow"),
        Err(RootReadError::Failed(_))
    ));
    let long = "etc/../".repeat(500);
    assert!(matches!(
        root.read_text(&long),
        Err(RootReadError::Failed(_))
    ));
}

#[test]
fn only_regular_files_are_opened() {
    let (outer, root) = tree();
    let pipe = outer.path().join("root/pipe");
    assert!(
        Command::new("mkfifo")
            .arg(&pipe)
            .status()
            .unwrap()
            .success()
    );
    assert_eq!(root.read_text("pipe"), Err(RootReadError::NotAFile)); // and does not block
    assert_eq!(root.read_text("etc"), Err(RootReadError::NotAFile));
    assert_eq!(root.read_text("/"), Err(RootReadError::NotAFile));
    assert_eq!(root.read_text("etc/file/more"), Err(RootReadError::Absent));
}

#[test]
fn an_unreadable_file_says_so() {
    let (outer, root) = tree();
    let file = outer.path().join("root/etc/file");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o000)).unwrap();
    // Root may read it all the same.
    let expected = match fs::read(&file) {
        Ok(_) => Ok("inside".to_owned()),
        Err(_) => Err(RootReadError::Refused),
    };
    assert_eq!(root.read_text("etc/file"), expected);
}

#[test]
fn a_huge_file_is_read_up_to_the_limit_and_bad_bytes_are_replaced() {
    let (outer, root) = tree();
    let huge = fs::File::create(outer.path().join("root/huge")).unwrap();
    huge.set_len(1 << 40).unwrap(); // sparse
    assert_eq!(root.read_text("huge").unwrap().len() as u64, MAX_TEXT_BYTES);
    fs::write(outer.path().join("root/bytes"), b"a\xff\xfeb").unwrap();
    assert_eq!(root.read_text("bytes").unwrap(), "a\u{fffd}\u{fffd}b");
}

#[test]
fn a_crowd_of_matches_is_bounded() {
    let (outer, root) = tree();
    let crowd = outer.path().join("root/crowd");
    fs::create_dir(&crowd).unwrap();
    for n in 0..600 {
        fs::write(crowd.join(format!("lib{n:03}.so")), "").unwrap();
    }
    let found = root.glob("crowd/lib*.so");
    assert_eq!(found.first().unwrap(), "/crowd/lib000.so");
    assert_eq!(found.len(), 256);
}

#[test]
fn a_root_that_is_not_a_directory_is_an_error() {
    let (outer, _root) = tree();
    for name in ["secret", "nothing"] {
        let error = Root::open(&outer.path().join(name)).unwrap_err();
        assert!(error.to_string().contains(name), "{error}");
    }
}
