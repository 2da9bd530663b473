//! An ordinary user can do all of it, too.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::process::CommandExt;
use std::process::Command;

use crate::path::run::{path, said};
use crate::process::ROUNDTRIP;

const NOBODY: u32 = 65534;

/// Whether this process is a root that can become another user.
pub(crate) fn is_root() -> bool {
    let is_zero = fs::metadata("/proc/self").unwrap().uid() == 0;
    let map = fs::read_to_string("/proc/self/uid_map").unwrap();
    is_zero && map.split_whitespace().eq(["0", "0", "4294967295"])
}

#[test]
fn an_ordinary_user_needs_no_help() {
    if !is_root() {
        return eprintln!("an_ordinary_user_needs_no_help: this is one; the other tests show it");
    }
    // The build directory may be closed to others.
    let directory = tempfile::tempdir().unwrap();
    fs::set_permissions(directory.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let program = directory.path().join("roundtrip");
    // By another process: a child forked in the meantime would hold our copy open for writing, so
    // that it could not run.
    let install = Command::new("install")
        .args(["-m755", ROUNDTRIP])
        .arg(&program)
        .status();
    assert!(install.unwrap().success());
    let line = format!(
        "id -u; {} probe -q https://server/ && echo done",
        program.display()
    );
    let mut command = Command::new(&program);
    command
        .args([
            "path",
            "--rtt=10ms",
            "--origin",
            "--dns",
            "--",
            "sh",
            "-c",
            &line,
        ])
        .uid(NOBODY)
        .gid(NOBODY)
        .current_dir("/");
    let said = said(command);
    assert_eq!((said.code, said.out.as_str()), (0, "0\ndone\n"), "{said:?}");
}

#[test]
fn without_namespaces_it_says_what_to_do() {
    let line = "echo 0 > /proc/sys/user/max_user_namespaces \
                && exec setpriv --bounding-set=-all --inh-caps=-all \"$@\"";
    let inner = path(&["--rtt=1ms"], &["true"]);
    let mut command = Command::new("unshare");
    command
        .args(["--user", "--map-root-user", "sh", "-c", line, "sh"])
        .arg(inner.get_program())
        .args(inner.get_args());
    let said = said(command);
    assert_eq!(said.code, 1, "{said:?}");
    assert!(
        said.err
            .contains("sudo sysctl -w user.max_user_namespaces="),
        "{said:?}"
    );
    assert_eq!(said.err.lines().count(), 1, "{said:?}");
}
