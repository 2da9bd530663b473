//! The one way to skip a test, included by the tests that may have to (`#[path =
//! "../../../../tests/skip.rs"] mod skip`).
//!
//! Where everything is installed that tests need, as on the continuous integration machine,
//! `ROUNDTRIP_NO_SKIP=1` makes a skip a failure. `scripts/test` sets it.

/// Something is missing on this machine. Returns, so that the test can: `return skip::lacking(…)`.
pub(crate) fn lacking(test: &str, what: impl std::fmt::Display) {
    assert!(
        std::env::var_os("ROUNDTRIP_NO_SKIP").is_none_or(|value| value.is_empty()),
        "{test} may not be skipped here (ROUNDTRIP_NO_SKIP is set), but lacks {what}"
    );
    eprintln!("SKIPPED {test}: lacks {what}");
}
