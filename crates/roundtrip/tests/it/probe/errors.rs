//! Errors: each failure has its kind, names the phase, says what was tried and what to do, and
//! never panics.

mod answers;
mod certificates;
mod faults;
mod names;
mod reach;
mod usage;

use crate::probe::report::Report;

/// Asserts that this failure, in this phase, is explained in words with advice, with exit code 1.
fn assert_failure(report: &Report, kind: &str, phase: &str) {
    let failure = report.at("/failure");
    assert_eq!(failure["kind"], kind, "{failure}");
    assert_eq!(failure["phase"], phase, "{failure}");
    for words in ["message", "advice"] {
        let text = failure[words].as_str().unwrap();
        assert!(text.len() > 10, "{words}: {text}");
        // Messages must not contain Rust's debug output.
        for symbol in ["{ ", "Some(", "Err(", "Error("] {
            assert!(!text.contains(symbol), "{words}: {text}");
        }
    }
    assert_eq!(report.code, 1, "{failure}");
    assert_eq!(report.at("/ok"), false);
    assert_eq!(report.document["summary"]["failed"], 1);
}

fn message(report: &Report) -> &str {
    report.at("/failure/message").as_str().unwrap()
}

fn advice(report: &Report) -> &str {
    report.at("/failure/advice").as_str().unwrap()
}
