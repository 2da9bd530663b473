//! `gate init`: its output passes `gate check` as it is, and existing files are not overwritten.

#![allow(clippy::unwrap_used)]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Output};

fn gate(folder: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_roundtrip"));
    command.arg("gate").args(arguments).current_dir(folder);
    command.env("HOME", folder).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

#[test]
fn the_template_is_written_with_its_key_and_passes() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let printed = gate(folder.path(), &["init"]);
    assert_eq!(printed.status.code(), Some(0));
    let written = gate(folder.path(), &["init", "-o", "gate.toml"]);
    let told = text(&written.stderr);
    assert_eq!(written.status.code(), Some(0), "{told}");
    assert!(told.contains("roundtrip gate check --config gate.toml"));
    let key = at("token.key").canonicalize().unwrap();
    let mode = fs::metadata(&key).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let named = key.display().to_string();
    let expected = text(&printed.stdout).replace("/etc/roundtrip/token.key", &named);
    assert_eq!(fs::read_to_string(at("gate.toml")).unwrap(), expected);
    assert!(expected.contains("[[route]]"));
    let checked = gate(folder.path(), &["check", "--config", "gate.toml"]);
    let told = text(&checked.stdout);
    assert_eq!(checked.status.code(), Some(0), "{told}");
    assert!(!told.contains("For your zone"));
}

#[test]
fn existing_files_are_not_overwritten() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    fs::write(at("gate.toml"), "mine").unwrap();
    let refused = gate(folder.path(), &["init", "-o", "gate.toml"]);
    assert_eq!(refused.status.code(), Some(1));
    assert!(text(&refused.stderr).contains("gate.toml exists already"));
    assert_eq!(fs::read_to_string(at("gate.toml")).unwrap(), "mine");
    assert!(
        !at("token.key").exists(),
        "nothing is made for a file that is not"
    );
    fs::write(at("token.key"), "a key of mine").unwrap();
    let written = gate(folder.path(), &["init", "-o", "other.toml"]);
    assert_eq!(written.status.code(), Some(0));
    assert_eq!(
        fs::read_to_string(at("token.key")).unwrap(),
        "a key of mine"
    );
}

/// Anyone who may write it chooses the backends and the keys.
#[test]
fn a_configuration_that_everybody_may_write_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    gate(folder.path(), &["init", "-o", "gate.toml"]);
    let file = folder.path().join("gate.toml");
    for (mode, code, word) in [
        (0o644, 0, "would start"),
        (0o664, 0, "chmod g-w"),
        (0o666, 1, "chmod o-w"),
    ] {
        fs::set_permissions(&file, fs::Permissions::from_mode(mode)).unwrap();
        let checked = gate(folder.path(), &["check", "--config", "gate.toml"]);
        let told = text(&checked.stdout);
        assert_eq!(checked.status.code(), Some(code), "{mode:o} {told}");
        assert!(told.contains(word), "{mode:o} {told}");
    }
}
