//! Fuzzes the reading of reports: a parsed report can be compared with itself and with a small
//! report.
#![no_main]

use libfuzzer_sys::fuzz_target;
use roundtrip_diff::{DoctorDiff, Probe, ProbeDiff, Report, json, read};

const SMALL: &str = r#"{"url":"http://a/","ok":true,"total_ms":3,"rtt_ms":1,"phases":[
    {"name":"tcp","ms":1,"round_trips":1,"waited_for":{"network_ms":1}},
    {"name":"first_byte","ms":2,"round_trips":1,"waited_for":{"network_ms":1,"server_ms":1}}]}"#;

fuzz_target!(|bytes: &[u8]| {
    match read(bytes, None) {
        Ok(Report::Probe(probe)) => {
            compare(&probe, &probe);
            if let Ok(Report::Probe(small)) = read(SMALL.as_bytes(), None) {
                compare(&probe, &small);
                compare(&small, &probe);
            }
        }
        Ok(Report::Doctor(doctor)) => {
            let diff = DoctorDiff::new(&doctor, &doctor);
            assert!(diff.changes.is_empty(), "{diff:?}");
            let _ = json::doctor(&diff, ("a", "b"));
        }
        Err(error) => assert!(!error.to_string().is_empty()),
    }
});

fn compare(a: &Probe, b: &Probe) {
    if let Some(diff) = ProbeDiff::new(a, b) {
        let sum: f64 = diff.parts.iter().map(|part| part.ms).sum();
        let size = diff
            .parts
            .iter()
            .map(|part| part.ms.abs())
            .fold(1.0, f64::max);
        assert!((sum - diff.difference.ms).abs() <= 1e-9 * size, "{diff:?}");
        let _ = json::probe(&diff, ("a", "b"));
    }
}
