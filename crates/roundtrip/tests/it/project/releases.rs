//! What `scripts/release` makes of a program. A script takes the program's place, because building
//! takes minutes and these tests are about packing.

mod action;
mod workflows;

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;

use crate::skip;

/// Prints its arguments, but writes pages and completions as `roundtrip` does.
const STAND_IN: &str = "#!/bin/sh\n\
    case $1 in\n\
    man) for page in roundtrip roundtrip-probe; do echo \".TH $page 1\" > \"$2/$page.1\"; done ;;\n\
    completions) echo \"# $2\" ;;\n\
    *) printf '%s\\n' \"$@\" ;;\n\
    esac\n";
const VERSION: &str = env!("CARGO_PKG_VERSION");
const ARCH: &str = std::env::consts::ARCH;

/// A release of the stand-in, in a directory that is removed with it.
struct Release {
    directory: tempfile::TempDir,
}

impl Release {
    /// `None`, said, if a program that packs is not here.
    fn made(test: &str) -> Option<Self> {
        Self::made_in(&std::env::temp_dir(), test)
    }

    fn made_in(scratch: &Path, test: &str) -> Option<Self> {
        for tool in ["rpmbuild", "dpkg-deb", "python3"] {
            if !["/usr/bin", "/bin"]
                .iter()
                .any(|bin| Path::new(bin).join(tool).exists())
            {
                skip::lacking(test, tool);
                return None;
            }
        }
        let directory = tempfile::tempdir_in(scratch).unwrap();
        let program = directory.path().join("stand-in");
        fs::write(&program, STAND_IN).unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        let mut command = script("scripts/release");
        command
            .arg(directory.path().join("dist"))
            .env("PROGRAM", program)
            .env("TMPDIR", scratch)
            .env("TARGETS", format!("{ARCH}-unknown-linux-gnu"))
            .env("SOURCE_DATE_EPOCH", "1700000000");
        succeeded(&mut command);
        Some(Self { directory })
    }

    fn file(&self, name: &str) -> PathBuf {
        self.directory.path().join("dist").join(name)
    }

    fn contents(&self) -> BTreeMap<String, Vec<u8>> {
        let entries = fs::read_dir(self.file("")).unwrap().map(Result::unwrap);
        entries
            .map(|entry| {
                let name = entry.file_name().into_string().unwrap();
                (name, fs::read(entry.path()).unwrap())
            })
            .collect()
    }
}

/// The name of the archive and of the folder in it.
fn archive_name() -> String {
    format!("roundtrip-{VERSION}-{ARCH}-unknown-linux-gnu")
}

/// The names of the .deb and of the .rpm.
fn package_names() -> (String, String) {
    let debian = if ARCH == "x86_64" { "amd64" } else { "arm64" };
    let deb = format!("roundtrip_{VERSION}_{debian}.deb");
    (deb, format!("roundtrip-{VERSION}-1.{ARCH}.rpm"))
}

fn script(name: &str) -> Command {
    Command::new(
        Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("../..")
            .join(name),
    )
}

fn succeeded(command: &mut Command) -> String {
    let Output {
        status,
        stdout,
        stderr,
    } = command.output().unwrap();
    let errors = String::from_utf8_lossy(&stderr);
    assert!(status.success(), "{command:?}: {errors}");
    String::from_utf8(stdout).unwrap()
}

#[test]
fn a_release_is_the_same_twice_and_complete() {
    const TEST: &str = "a_release_is_the_same_twice_and_complete";
    // Another file system, where there is one.
    let (mut other, memory) = (std::env::temp_dir(), Path::new("/dev/shm"));
    if tempfile::tempdir_in(memory).is_ok() {
        other = memory.into();
    }
    let (Some(release), Some(again)) = (Release::made(TEST), Release::made_in(&other, TEST)) else {
        return;
    };
    let (first, second) = (release.contents(), again.contents());
    for (name, bytes) in &first {
        assert!(
            second.get(name) == Some(bytes),
            "{name} is not the same twice"
        );
    }
    let (deb, rpm) = package_names();
    let archive = archive_name();
    let mut expected = vec![
        "BUILDINFO".into(),
        "SHA256SUMS".into(),
        deb,
        rpm,
        format!("roundtrip-{VERSION}-oci.tar"),
        format!("roundtrip-chart-{VERSION}.tgz"),
        format!("{archive}.cdx.json"),
        format!("{archive}.tar.gz"),
    ];
    expected.sort();
    assert_eq!(first.keys().cloned().collect::<Vec<_>>(), expected);
    succeeded(
        Command::new("sha256sum")
            .args(["--check", "--strict", "SHA256SUMS"])
            .current_dir(release.file("")),
    );
    packages_hold_what_a_user_expects(&release);
    the_list_of_components_is_that_of_the_program(&release);
    the_image_refers_to_what_it_holds(&release);
    binstall_finds_the_archive(&release);
}

#[test]
fn a_release_replaces_nothing_but_a_release() {
    let directory = tempfile::tempdir().unwrap();
    let other = directory.path().join("notes");
    fs::write(&other, "mine").unwrap();
    let mut command = script("scripts/release");
    command.arg(directory.path()).env("PROGRAM", "/bin/true");
    let output = command.output().unwrap();
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(
        !output.status.success() && told.contains("another directory"),
        "{told}"
    );
    assert!(other.exists());
}

fn packages_hold_what_a_user_expects(release: &Release) {
    let (deb, rpm) = package_names();
    let deb = release.file(&deb);
    let in_deb = succeeded(Command::new("dpkg-deb").arg("--contents").arg(&deb));
    let in_rpm = succeeded(Command::new("rpm").arg("-qlp").arg(release.file(&rpm)));
    for path in [
        "/usr/bin/roundtrip",
        "/usr/share/man/man1/roundtrip-probe.1.gz",
        "/usr/share/bash-completion/completions/roundtrip",
        "/usr/share/fish/vendor_completions.d/roundtrip.fish",
        "/usr/lib/systemd/system/roundtrip-gate.service",
        "/usr/lib/systemd/system/roundtrip-gate.socket",
        "/usr/lib/systemd/system/roundtrip-exporter.service",
        "/usr/share/doc/roundtrip/examples/gate.toml",
        "/usr/share/doc/roundtrip/examples/prometheus/rules.yml",
        "/usr/share/doc/roundtrip/examples/prometheus/dashboard.json",
        "/usr/share/doc/roundtrip/examples/prometheus/gate.json",
        "/usr/share/doc/roundtrip/examples/authz/nginx.conf",
        "/usr/share/doc/roundtrip/copyright",
        "/etc/roundtrip",
    ] {
        assert!(in_deb.contains(path), "no {path}: {in_deb}");
        assert!(in_rpm.contains(path), "no {path}: {in_rpm}");
    }
    assert!(
        in_deb.lines().all(|line| line.contains(" root/root ")),
        "{in_deb}"
    );
    let version = ["--field", deb.to_str().unwrap(), "Version"];
    let version = succeeded(Command::new("dpkg-deb").args(version));
    assert_eq!(version.trim(), VERSION);
    for (name, verb) in [("gate", "gate run"), ("exporter", "exporter")] {
        let unit = format!("./usr/lib/systemd/system/roundtrip-{name}.service");
        let deb = deb.display();
        let unit = format!("dpkg-deb --fsys-tarfile '{deb}' | tar -xO {unit}");
        let unit = succeeded(Command::new("sh").args(["-c", &unit]));
        let starts = format!("ExecStart=/usr/bin/roundtrip {verb} --config");
        assert!(unit.contains(&starts), "{unit}");
        let others = ["/usr/local/", "/etc/systemd/"];
        assert!(!others.iter().any(|other| unit.contains(other)), "{unit}");
    }
}

fn the_list_of_components_is_that_of_the_program(release: &Release) {
    let list = fs::read(release.file(&format!("{}.cdx.json", archive_name()))).unwrap();
    let list: Value = serde_json::from_slice(&list).unwrap();
    assert_eq!(
        (&list["bomFormat"], &list["specVersion"]),
        (&"CycloneDX".into(), &"1.5".into())
    );
    let components = list["components"].as_array().unwrap();
    let names: Vec<&str> = components
        .iter()
        .map(|c| c["name"].as_str().unwrap())
        .collect();
    for linked in ["rustls", "aws-lc-sys", "glibc", "rust-std"] {
        assert!(names.contains(&linked), "no {linked}: {names:?}");
    }
    for absent in [
        "proptest",
        "insta",
        "quinn",
        "windows-sys",
        "roundtrip-model",
    ] {
        assert!(!names.contains(&absent), "{absent}: {names:?}");
    }
    for component in components.iter().filter(|c| !c["purl"].is_null()) {
        assert!(
            component["licenses"][0]["expression"].is_string(),
            "{component}"
        );
        assert_eq!(
            component["hashes"][0]["content"].as_str().unwrap().len(),
            64,
            "{component}"
        );
    }
}

/// An OCI archive: every digest names a blob, and is that blob's digest.
fn the_image_refers_to_what_it_holds(release: &Release) {
    let place = release.directory.path().join("image");
    fs::create_dir(&place).unwrap();
    let archive = release.file(&format!("roundtrip-{VERSION}-oci.tar"));
    succeeded(
        Command::new("tar")
            .arg("-xf")
            .arg(&archive)
            .arg("-C")
            .arg(&place),
    );
    let blob = |reference: &Value| {
        let digest = reference["digest"]
            .as_str()
            .unwrap()
            .strip_prefix("sha256:")
            .unwrap();
        let file = place.join("blobs/sha256").join(digest);
        let sum = succeeded(Command::new("sha256sum").arg(&file));
        assert!(sum.starts_with(digest), "{sum}");
        assert_eq!(reference["size"], fs::metadata(&file).unwrap().len());
        file
    };
    let json = |file: &Path| -> Value { serde_json::from_slice(&fs::read(file).unwrap()).unwrap() };
    let index = json(&place.join("index.json"));
    let manifest = json(&blob(&index["manifests"][0]));
    let config = json(&blob(&manifest["config"]));
    assert_eq!(config["config"]["Entrypoint"][0], "/usr/bin/roundtrip");
    let layer = blob(&manifest["layers"][0]);
    let unpacked = format!("gzip -dc '{}' | sha256sum", layer.display());
    let unpacked = succeeded(Command::new("sh").args(["-c", &unpacked]));
    let told = config["rootfs"]["diff_ids"][0].as_str().unwrap();
    assert!(
        unpacked.starts_with(&told["sha256:".len()..]),
        "{unpacked} {told}"
    );
    let files = succeeded(Command::new("tar").arg("-tzf").arg(&layer));
    for file in ["usr/bin/roundtrip", "etc/hosts", "tmp/"] {
        assert!(files.lines().any(|line| line == file), "no {file}: {files}");
    }
}

/// The names in `[package.metadata.binstall]` are those of the archive and of the program in it.
fn binstall_finds_the_archive(release: &Release) {
    let manifest = concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml");
    let manifest = fs::read_to_string(manifest).unwrap();
    let value = |key: &str| {
        let begin = format!("{key} = \"");
        let line = manifest.lines().find_map(|line| line.strip_prefix(&begin));
        line.unwrap_or_else(|| panic!("no {key}"))
            .trim_end_matches('"')
            .replace("{ version }", VERSION)
            .replace("{ target }", &format!("{ARCH}-unknown-linux-gnu"))
            .replace("{ bin }", "roundtrip")
    };
    let archive = format!("{}.tar.gz", archive_name());
    let expected = format!("{{ repo }}/releases/download/v{VERSION}/{archive}");
    assert_eq!(value("pkg-url"), expected);
    let inside = succeeded(Command::new("tar").arg("-tzf").arg(release.file(&archive)));
    let program = value("bin-dir");
    assert!(
        inside.lines().any(|line| line == program),
        "no {program}: {inside}"
    );
}
