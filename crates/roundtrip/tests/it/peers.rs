//! gate in front of and behind other people's programs that few machines have. A missing one is
//! reported, and nothing fails: `scripts/try-cyrus` (as root) and `scripts/install-h2spec` fetch
//! them.
#![allow(clippy::unwrap_used)]

use std::path::Path;
use std::process::Command;

/// The exit code of the scripts if their peer is not installed.
const MISSING: i32 = 77;

#[test]
fn cyrus_gives_each_user_their_own_account() {
    try_with("try-cyrus");
}

#[test]
fn h2spec_finds_no_fault() {
    try_with("try-h2spec");
}

fn try_with(script: &str) {
    let scripts = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scripts");
    // Tests never download anything.
    let output = Command::new(scripts.join(script))
        .arg(env!("CARGO_BIN_EXE_roundtrip"))
        .env("NO_INSTALL", "1")
        .output()
        .unwrap();
    let said = [output.stdout, output.stderr].concat();
    let said = String::from_utf8_lossy(&said);
    if output.status.code() == Some(MISSING) {
        eprintln!("NOT RUN: scripts/{script}: {said}");
        return;
    }
    assert!(output.status.success(), "scripts/{script}: {said}");
}
