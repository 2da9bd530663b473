//! The one way to skip a test, included by the tests that may have to (`#[path =
//! "../../../../tests/skip.rs"] mod skip`).
//!
//! If everything that tests need is installed, as on the continuous integration machine,
//! `ROUNDTRIP_NO_SKIP=1` makes a skip a failure. `scripts/test` sets it.

/// Something is missing on this machine. Returns, so that the test can: `return skip::lacking(…)`.
pub(crate) fn lacking(test: &str, what: impl std::fmt::Display) {
    assert!(
        std::env::var_os("ROUNDTRIP_NO_SKIP").is_none_or(|value| value.is_empty()),
        "{test} may not be skipped here (ROUNDTRIP_NO_SKIP is set), but lacks {what}"
    );
    eprintln!("SKIPPED {test}: lacks {what}");
}

/// The path that one of `scripts/install-…` prints, or the reason why nothing is installed. No test
/// downloads anything.
#[allow(dead_code)] // not every crate's tests need an installed peer
pub(crate) fn installed(script: &str) -> Result<String, String> {
    /// The exit code of these scripts if they would have to download something.
    const MISSING: i32 = 77;
    let path = format!("{}/../../scripts/{script}", env!("CARGO_MANIFEST_DIR"));
    let output = std::process::Command::new(path)
        .env("NO_INSTALL", "1")
        .output()
        .map_err(|error| format!("{script}: {error}"))?;
    let why = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    if output.status.code() == Some(MISSING) {
        return Err(why);
    }
    assert!(output.status.success(), "{script}: {why}");
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}
