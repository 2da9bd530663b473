//! The origin misbehaves at each point of a connection, over each version.

use crate::probe::peer::Site;

use super::{assert_failure, message};

/// A fault, the protocol, and the expected kind and phase.
struct Case {
    fault: &'static str,
    over: Over,
    kind: &'static str,
    phase: &'static str,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Over {
    Clear,
    H1,
    H2,
    H3,
}

const fn case(fault: &'static str, over: Over, kind: &'static str, phase: &'static str) -> Case {
    Case {
        fault,
        over,
        kind,
        phase,
    }
}

use Over::{Clear, H1, H2, H3};

const CASES: [Case; 56] = [
    case("reset@accept", Clear, "reset", "first_byte"),
    case("reset@accept", H1, "reset", "tls"),
    case("reset@accept", H2, "reset", "tls"),
    case("reset@hello", H1, "reset", "tls"),
    case("reset@hello", H2, "reset", "tls"),
    case("reset@handshake", H1, "reset", "tls"),
    case("reset@handshake", H2, "reset", "tls"),
    case("reset@request", Clear, "reset", "first_byte"),
    case("reset@request", H1, "reset", "first_byte"),
    case("reset@request", H2, "reset", "first_byte"),
    case("reset@request", H3, "quic-failed", "first_byte"),
    // Half of a head has come: the phase after the first byte counts as the body.
    case("reset@head", Clear, "reset", "body"),
    case("reset@head", H1, "reset", "body"),
    case("reset@head", H2, "reset", "first_byte"),
    case("reset@head", H3, "quic-failed", "first_byte"),
    case("reset@body", Clear, "reset", "body"),
    case("reset@body", H1, "reset", "body"),
    case("reset@body", H2, "reset", "body"),
    case("reset@body", H3, "reset", "body"),
    case("close@accept", Clear, "closed", "first_byte"),
    case("close@accept", H1, "closed", "tls"),
    case("close@hello", H1, "closed", "tls"),
    case("close@hello", H2, "closed", "tls"),
    case("close@handshake", H1, "closed", "tls"),
    case("close@handshake", H2, "closed", "tls"),
    case("close@request", Clear, "closed", "first_byte"),
    case("close@request", H1, "closed", "first_byte"),
    case("close@request", H2, "closed", "first_byte"),
    case("close@head", Clear, "closed", "body"),
    case("close@head", H1, "closed", "body"),
    case("close@body", Clear, "body-cut-short", "body"),
    case("close@body", H1, "body-cut-short", "body"),
    case("close@body", H2, "body-cut-short", "body"),
    case("close@body", H3, "body-cut-short", "body"),
    case("stall@accept", Clear, "timeout", "first_byte"),
    case("stall@accept", H2, "timeout", "tls"),
    case("stall@hello", H1, "timeout", "tls"),
    case("stall@handshake", H2, "timeout", "tls"),
    case("stall@request", Clear, "timeout", "first_byte"),
    case("stall@request", H1, "timeout", "first_byte"),
    case("stall@request", H2, "timeout", "first_byte"),
    case("stall@request", H3, "timeout", "first_byte"),
    case("stall@head", Clear, "timeout", "body"),
    case("stall@head", H1, "timeout", "body"),
    case("stall@body", Clear, "timeout", "body"),
    case("stall@body", H1, "timeout", "body"),
    case("stall@body", H2, "timeout", "body"),
    case("stall@body", H3, "timeout", "body"),
    case("garbage@accept", H1, "tls-failed", "tls"),
    case("garbage@hello", H2, "tls-failed", "tls"),
    case("garbage@request", Clear, "not-http", "body"),
    case("garbage@request", H1, "not-http", "body"),
    case("garbage@head", Clear, "not-http", "body"),
    case("garbage@body", Clear, "body-cut-short", "body"),
    case("garbage@body", H1, "body-cut-short", "body"),
    case("garbage@body", H2, "body-cut-short", "body"),
];

impl Case {
    fn check(&self) {
        let fault = self.fault.parse().unwrap();
        let site = Site::with(|knobs| knobs.fault = Some(fault));
        let url = match self.over {
            Clear => site.http("/bytes/1000"),
            _ => site.https("/bytes/1000"),
        };
        let version = match self.over {
            Clear | H1 => "--http1.1",
            H2 => "--http2",
            H3 => "--http3",
        };
        let stalls = self.fault.starts_with("stall");
        let limit = if stalls { "4" } else { "60" };
        let report = site.report(&[version, "-m", limit, &url]);
        eprintln!("{} over {:?}: {}", self.fault, self.over, message(&report));
        // A reset directly after the SYN-ACK may arrive before `probe` has examined the connection.
        let overtaken = self.fault == "reset@accept" && report.at("/failure/phase") == "tcp";
        assert_failure(
            &report,
            self.kind,
            if overtaken { "tcp" } else { self.phase },
        );
        // The part of a body that had come was counted.
        let half = self.phase == "body" && self.fault.ends_with("@body");
        if half {
            assert_eq!(report.at("/http/status"), 200);
            // A reset of QUIC may overtake the bytes that were sent before it.
            let least = if self.over == H3 { 0 } else { 500 };
            assert!(report.at("/http/downloaded_bytes").as_u64().unwrap() >= least);
        } else {
            assert!(report.at("/http").is_null());
        }
    }
}

fn check(over: Over) {
    let cases: Vec<&Case> = CASES.iter().filter(|c| c.over == over).collect();
    std::thread::scope(|scope| {
        for case in cases {
            scope.spawn(move || case.check());
        }
    });
}

#[test]
fn in_clear_text() {
    check(Clear);
}

#[test]
fn over_http_1_and_tls() {
    check(H1);
}

#[test]
fn over_http_2() {
    check(H2);
}

#[test]
fn over_http_3() {
    check(H3);
}
