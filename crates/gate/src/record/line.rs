//! One line of the access log, as JSON, with probe's names for phases. The client is given by its
//! address; the session by a pseudonym that is different in the next run. Queries, fields and
//! session names are never written.

use std::net::IpAddr;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use aws_lc_rs::hmac;
use roundtrip_report::terminal::clean_json;
use roundtrip_wire::calendar::rfc3339;
use roundtrip_wire::hex;
use serde::Serialize;

use super::{Entry, LabelValue};
use crate::GateError;

/// Longer paths and methods are cut off.
const MAX_PATH_LENGTH: usize = 2048;
const MAX_METHOD_LENGTH: usize = 32;

/// The parts of an exchange that only the log needs.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LineContext<'a> {
    pub(crate) client: IpAddr,
    pub(crate) method: &'a str,
    /// The requested target; only its path is written.
    pub(crate) target: &'a str,
    /// The upstream's name.
    pub(crate) upstream: Option<&'a str>,
    pub(crate) session: Option<SessionPseudonym>,
}

/// Stands for a session within one run of the process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SessionPseudonym([u8; 8]);

/// Makes pseudonyms with a random key.
pub(crate) struct Pseudonymizer(hmac::Key);

impl Pseudonymizer {
    pub(crate) fn new() -> Result<Self, GateError> {
        let random = aws_lc_rs::rand::SystemRandom::new();
        let key = hmac::Key::generate(hmac::HMAC_SHA256, &random);
        key.map(Self).map_err(|_| GateError::Cryptography)
    }

    pub(crate) fn mark(&self, session: &str) -> SessionPseudonym {
        let tag = hmac::sign(&self.0, session.as_bytes());
        let mut mark = [0; 8];
        mark.iter_mut()
            .zip(tag.as_ref())
            .for_each(|(to, from)| *to = *from);
        SessionPseudonym(mark)
    }
}

#[derive(Serialize)]
struct AccessLogLine<'a> {
    time: String,
    client: IpAddr,
    protocol: &'static str,
    secure: bool,
    method: &'a str,
    path: &'a str,
    status: u16,
    outcome: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'static str>,
    bytes_up: u64,
    bytes_down: u64,
    ms: f64,
    added_ms: f64,
    phases: Phases,
    #[serde(skip_serializing_if = "Option::is_none")]
    upstream: Option<&'a str>,
    reused: bool,
    resumed: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    early: Option<&'static str>,
    retried: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    known: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    session: Option<String>,
    /// The request's ID, as the client and the backend know it.
    #[serde(skip_serializing_if = "str::is_empty")]
    request: &'a str,
}

/// Milliseconds of each phase.
#[derive(Default)]
struct Phases(Vec<(&'static str, f64)>);

impl Serialize for Phases {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().copied())
    }
}

/// The line with its newline. `at` is the end of the exchange.
pub(crate) fn line(
    entry: &Entry,
    ended: Instant,
    at: SystemTime,
    told: &LineContext<'_>,
) -> Vec<u8> {
    let at = at.duration_since(UNIX_EPOCH).unwrap_or_default();
    let line = AccessLogLine {
        time: rfc3339(u64::try_from(at.as_millis()).unwrap_or(u64::MAX)),
        client: told.client,
        protocol: entry.protocol.as_str(),
        secure: entry.secure,
        method: cut(told.method, MAX_METHOD_LENGTH),
        path: path(told.target),
        status: entry.status,
        outcome: entry.outcome.as_str(),
        reason: entry.reason.map(LabelValue::as_str),
        bytes_up: entry.bytes_up,
        bytes_down: entry.bytes_down,
        ms: ms(ended.saturating_duration_since(entry.began)),
        added_ms: ms(entry.added(ended)),
        phases: Phases(
            entry
                .phases(ended)
                .map(|(phase, took)| (phase.as_str(), ms(took)))
                .collect(),
        ),
        upstream: told.upstream,
        reused: entry.reused,
        resumed: entry.resumed,
        early: entry.early.map(LabelValue::as_str),
        retried: entry.retried,
        known: entry.known.map(LabelValue::as_str),
        session: told.session.map(|mark| hex(&mark.0)),
        request: entry.caller.id.as_str(),
    };
    let mut bytes = inert(serde_json::to_vec(&line).unwrap_or_default());
    bytes.push(b'\n');
    bytes
}

/// The same JSON without characters that act on the terminal of `tail -f`. JSON itself escapes the
/// controls below U+0020, so that a line of printable ASCII is already inert.
fn inert(json: Vec<u8>) -> Vec<u8> {
    if json.iter().all(|byte| *byte < 0x7f) {
        return json;
    }
    clean_json(&String::from_utf8_lossy(&json)).into_bytes()
}

/// The path without scheme and authority, which may contain a password (RFC 3986 §3.2.1), and
/// without query and fragment.
fn path(target: &str) -> &str {
    let end = target.find(['?', '#']).unwrap_or(target.len());
    let target = target.get(..end).unwrap_or_default();
    let path = if target.starts_with('/') || target == "*" {
        target
    } else {
        let rest = target.split_once("://").map_or("", |(_, rest)| rest);
        rest.find('/').and_then(|at| rest.get(at..)).unwrap_or("/")
    };
    cut(path, MAX_PATH_LENGTH)
}

fn cut(text: &str, most: usize) -> &str {
    text.get(..text.floor_char_boundary(most)).unwrap_or(text)
}

/// Milliseconds, rounded to microseconds.
fn ms(span: Duration) -> f64 {
    span.as_micros() as f64 / 1e3
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;
    use crate::record::{Early, Known, Outcome, Protocol, Reason};

    fn told(target: &str) -> LineContext<'_> {
        LineContext {
            client: [192, 0, 2, 1].into(),
            method: "GET",
            target,
            upstream: Some("mail"),
            session: None,
        }
    }

    fn read(entry: &Entry, ended: Instant, told: &LineContext<'_>) -> Value {
        let at = UNIX_EPOCH + Duration::from_millis(784_111_777_045);
        let bytes = line(entry, ended, at, told);
        assert_eq!(
            bytes.iter().position(|b| *b == b'\n'),
            Some(bytes.len() - 1)
        );
        serde_json::from_slice(&bytes).unwrap()
    }

    #[test]
    fn a_line_tells_the_whole_exchange() {
        let began = Instant::now();
        let after = |ms| Some(began + Duration::from_millis(ms));
        let mut entry = Entry::new(began, Protocol::H2, true);
        (entry.authorized, entry.leased) = (after(2), after(3));
        (entry.sent, entry.first_byte, entry.passed_on) = (after(4), after(24), after(25));
        (entry.status, entry.bytes_down, entry.reused) = (200, 77, true);
        (entry.known, entry.early) = (Some(Known::Asked), Some(Early::Held));
        let marker = Pseudonymizer::new().unwrap();
        let mut told = told("/jmap");
        told.session = Some(marker.mark("a session's name"));
        let read = read(&entry, after(30).unwrap(), &told);
        let expected = serde_json::json!({
            "time": "1994-11-06T08:49:37.045Z", "client": "192.0.2.1", "protocol": "h2", "secure": true,
            "method": "GET", "path": "/jmap", "status": 200, "outcome": "whole", "bytes_up": 0, "bytes_down": 77,
            "ms": 30.0, "added_ms": 5.0,
            "phases": { "authorize": 2.0, "lease": 1.0, "request": 1.0, "first_byte": 20.0, "body": 6.0 },
            "upstream": "mail", "reused": true, "resumed": false, "early": "held", "retried": false, "known": "asked",
            "session": read["session"],
        });
        assert_eq!(read, expected);
        assert_eq!(read["session"].as_str().unwrap().len(), 16);
    }

    #[test]
    fn a_client_that_is_turned_away_is_told_why() {
        let mut entry = Entry::new(Instant::now(), Protocol::H1, false);
        entry.turn_away(401, Reason::Expired);
        entry.outcome = Outcome::ClientGone;
        let read = read(&entry, Instant::now(), &told("/"));
        assert_eq!(
            (&read["reason"], &read["outcome"]),
            (&"expired".into(), &"client_gone".into())
        );
        assert_eq!(read["phases"].as_object().unwrap().len(), 1);
        assert!(read.get("known").is_none());
    }

    #[test]
    fn a_mark_says_nothing_of_the_session() {
        let (one, other) = (Pseudonymizer::new().unwrap(), Pseudonymizer::new().unwrap());
        assert_eq!(one.mark("a"), one.mark("a"));
        assert_ne!(one.mark("a"), one.mark("b"));
        assert_ne!(one.mark("a"), other.mark("a"), "of another run");
    }

    #[test]
    fn nothing_but_the_path_is_told() {
        for (target, told) in [
            ("/a?token=secret", "/a"),
            ("/a#secret", "/a"),
            ("http://user:secret@host/a?secret", "/a"),
            ("http://user:secret@host", "/"),
            ("http://user:secret@host?/secret", "/"),
            ("secret@host:443", "/"),
            ("*", "*"),
        ] {
            assert_eq!(path(target), told, "{target}");
        }
        let long = format!("/{}", "ä".repeat(MAX_PATH_LENGTH));
        assert!(path(&long).len() <= MAX_PATH_LENGTH);
    }

    #[test]
    fn a_terminal_that_follows_the_log_is_safe() {
        let entry = Entry::new(Instant::now(), Protocol::H1, false);
        let target = "/\u{9b}2J\u{202e}\u{7f}\u{e0041}ü\"";
        let method = "\u{9d}0;x";
        let ended = Instant::now();
        let told = LineContext {
            method,
            ..told(target)
        };
        let bytes = line(&entry, ended, UNIX_EPOCH, &told);
        let text = String::from_utf8(bytes).unwrap();
        let acting = |c: char| c != '\n' && roundtrip_report::terminal::acts(c);
        assert!(!text.contains(acting), "{text:?}");
        assert!(text.contains("ü"), "{text}");
        let read: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(
            (&read["path"], &read["method"]),
            (&target.into(), &method.into())
        );
    }

    proptest::proptest! {
        #[test]
        fn any_text_makes_one_line(target: String, method: String) {
            let entry = Entry::new(Instant::now(), Protocol::H1, false);
            let told = LineContext { method: &method, ..told(&target) };
            let read = read(&entry, Instant::now(), &told);
            proptest::prop_assert!(!read["path"].as_str().unwrap().contains('?'));
        }
    }
}
