//! The value of `Server-Timing` for an exchange: where gate and the backend spent the time until
//! the answer began. W3C Server Timing. Its metrics do not overlap, so their sum (which `probe`
//! takes) is the whole.

use std::io::Write as _;
use std::time::{Duration, Instant};

use super::{Entry, ExchangePhase};

/// Appends the value. `now` is when the head is written.
pub(crate) fn server_timing(entry: &Entry, now: Instant, out: &mut Vec<u8>) {
    let upstream = entry.waited(now);
    let (mut authorize, mut lease) = (Duration::ZERO, Duration::ZERO);
    for (phase, took) in entry.phases(now) {
        match phase {
            // Only if authorization has its own mark: otherwise the last phase covers more than
            // asking the store.
            ExchangePhase::Authorize if entry.authorized.is_some() => authorize = took,
            ExchangePhase::Lease if entry.leased.is_some() => lease = took,
            _ => {}
        }
    }
    let whole = now.saturating_duration_since(entry.began);
    let own = whole.saturating_sub(upstream + authorize + lease);
    metric(out, "gate", own, "");
    if entry.authorized.is_some() {
        metric(out, ", authorize", authorize, "");
    }
    if entry.leased.is_some() {
        metric(out, ", lease", lease, "");
    }
    if entry.sent.is_some() {
        let connection = if entry.reused {
            ";desc=reused"
        } else {
            ";desc=new"
        };
        metric(out, ", upstream", upstream, connection);
    }
}

/// Milliseconds, to the microsecond.
fn metric(out: &mut Vec<u8>, name: &str, took: Duration, description: &str) {
    let us = took.as_micros();
    // Writing to memory does not fail.
    let _ = write!(
        out,
        "{name};dur={}.{:03}{description}",
        us / 1000,
        us % 1000
    );
}

#[cfg(test)]
mod tests {
    use roundtrip_wire::server_timing::parse;

    use super::*;
    use crate::record::Protocol;
    use crate::record::Reason;

    fn read(entry: &Entry, now: Instant) -> Vec<(String, f64, String)> {
        let mut value = Vec::new();
        server_timing(entry, now, &mut value);
        parse(&value)
            .into_iter()
            .map(|m| (m.name, m.milliseconds.unwrap(), m.description))
            .collect()
    }

    fn metric(name: &str, ms: f64, description: &str) -> (String, f64, String) {
        (name.into(), ms, description.into())
    }

    #[test]
    fn wires_reader_understands_it() {
        let began = Instant::now();
        let after = |us| Some(began + Duration::from_micros(us));
        let mut entry = Entry::new(began, Protocol::H1, false);
        assert_eq!(read(&entry, after(7).unwrap()), [metric("gate", 0.007, "")]);
        (entry.sent, entry.first_byte) = (after(40), after(12_040));
        entry.reused = true;
        assert_eq!(
            read(&entry, after(12_050).unwrap()),
            [metric("gate", 0.05, ""), metric("upstream", 12.0, "reused")]
        );
        (entry.authorized, entry.leased) = (after(20), after(35));
        entry.reused = false;
        assert_eq!(
            read(&entry, after(12_050).unwrap()),
            [
                metric("gate", 0.015, ""),
                metric("authorize", 0.02, ""),
                metric("lease", 0.015, ""),
                metric("upstream", 12.0, "new")
            ]
        );
    }

    #[test]
    fn the_metrics_sum_to_the_whole() {
        let began = Instant::now();
        let after = |us| Some(began + Duration::from_micros(us));
        let mut entry = Entry::new(began, Protocol::H1, false);
        entry.authorized = after(300);
        entry.turn_away(401, Reason::NoToken);
        let sum = |entry: &Entry| -> f64 {
            let told = read(entry, after(2000).unwrap());
            told.iter().map(|(_, ms, _)| ms).sum()
        };
        assert!((sum(&entry) - 2.0).abs() < 1e-9);
        (entry.leased, entry.sent, entry.first_byte) = (after(400), after(500), after(1900));
        assert!((sum(&entry) - 2.0).abs() < 1e-9);
    }
}
