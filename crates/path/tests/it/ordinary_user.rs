//! Runs this test binary again as the user `nobody`.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::process::CommandExt;
use std::process::Command;

const NOBODY: u32 = 65534;

/// Whether this process is root of the machine (or container), and can become another user.
pub(crate) fn is_root() -> bool {
    let is_zero = fs::metadata("/proc/self").unwrap().uid() == 0;
    let map = fs::read_to_string("/proc/self/uid_map").unwrap();
    let maps_nobody = map.lines().any(|line| {
        let numbers: Vec<u32> = line.split_whitespace().flat_map(str::parse).collect();
        matches!(numbers[..], [first, _, count] if (first..first.saturating_add(count)).contains(&NOBODY))
    });
    is_zero && maps_nobody
}

/// The ignored tests among them are started by other tests.
pub(crate) fn run_all_but(this: &str) {
    if !is_root() {
        eprintln!("{this}: this is an ordinary user already; the other tests show it");
        return;
    }
    // Other users may have no access to the build directory.
    let directory =
        std::env::temp_dir().join(format!("roundtrip-path-{this}-{}", std::process::id()));
    fs::create_dir_all(&directory).unwrap();
    fs::set_permissions(&directory, fs::Permissions::from_mode(0o755)).unwrap();
    let program = directory.join("tests");
    // Another process copies it: a child forked meanwhile would hold our copy open for writing, and
    // so prevent its execution.
    let install = Command::new("install")
        .arg("-m755")
        .arg(std::env::current_exe().unwrap())
        .arg(&program)
        .status();
    assert!(install.unwrap().success());
    let output = Command::new(&program)
        .args(["--skip", this, "--test-threads", "2"])
        .uid(NOBODY)
        .gid(NOBODY)
        .current_dir("/")
        .output()
        .unwrap();
    fs::remove_dir_all(&directory).unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success(),
        "as nobody: {text}{}",
        String::from_utf8_lossy(&output.stderr)
    );
    assert!(!text.contains("running 0 tests"), "{text}");
}
