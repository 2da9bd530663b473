//! The waits of a lookup: as a line for people, as JSON for programs.

use std::fmt::Write as _;
use std::time::Duration;

use roundtrip_fetch::pool::Timing;
use roundtrip_rdap::client::{From, Outcome, Source};
use serde_json::{Value, json};

/// The times of each answer, in the order of the queries.
pub(super) fn document(found: &Outcome) -> Value {
    found.sources().map(of).collect()
}

fn of(source: &Source) -> Value {
    let mut value = json!({
        "url": source.target.redacted(),
        "from": word(source.from),
        "clear_text": source.clear,
    });
    if let Some(timing) = &source.timing {
        value["ms"] = json!({
            "dns": ms(timing.dns), "tcp": ms(timing.tcp), "tls": ms(timing.tls),
            "queued": ms(timing.queued), "first_byte": ms(timing.first_byte),
            "total": ms(timing.total), "patience": ms(source.patience),
        });
        value["round_trips"] = json!(timing.round_trips);
        value["rtt_ms"] = json!(timing.rtt.map(ms));
        value["http"] = json!(timing.version);
        for (name, yes) in [
            ("reused", timing.reused),
            ("resumed", timing.resumed),
            ("early_data", timing.early),
            ("fast_open", timing.fast_open),
            ("coalesced", timing.coalesced),
        ] {
            value[name] = json!(yes);
        }
        value["resent"] = json!(timing.resent);
    }
    value
}

/// `h2 · 270.1 ms = 3.0 round trips (dns 0.2, tcp 90.1, tls 90.3, answer 90.4)`.
pub(super) fn line(source: &Source) -> String {
    let Some(timing) = &source.timing else {
        let line = match source.from {
            From::Range => "from the answer about the whole range, without asking",
            _ => "from memory, without asking",
        };
        return format!("{line}{}", if source.clear { " · clear text" } else { "" });
    };
    let mut line = format!(
        "h{} · {:.1} ms",
        timing.version.trim_end_matches(".0"),
        ms(timing.total)
    );
    if let Some(trips) = timing.round_trips {
        let unit = if (trips - 1.0).abs() < 0.05 {
            "round trip"
        } else {
            "round trips"
        };
        // Writing to a string cannot fail.
        let _ = write!(line, " = {trips:.1} {unit}");
    }
    let _ = write!(line, " ({})", parts(timing, source.patience).join(", "));
    let facts: Vec<&str> = [
        (source.clear, "clear text"),
        (timing.reused, "reused"),
        (timing.resumed, "resumed"),
        (timing.early, "early data"),
        (timing.fast_open, "fast open"),
        (timing.coalesced, "with another for the same"),
        (source.from == From::Confirmed, "confirmed by the server"),
    ]
    .into_iter()
    .filter_map(|(yes, word)| yes.then_some(word))
    .collect();
    if !facts.is_empty() {
        let _ = write!(line, " · {}", facts.join(", "));
    }
    if timing.resent > 0 {
        let _ = write!(line, " · sent {} times", timing.resent + 1);
    }
    line
}

/// The time of all lookups together: from the start of the program, after parsing its flags, to the
/// last printed answer.
pub(super) fn total(lookups: u64, took: Duration) -> String {
    let unit = if lookups == 1 { "lookup" } else { "lookups" };
    format!("{lookups} {unit} in {:.1} ms", ms(took))
}

fn parts(timing: &Timing, patience: Duration) -> Vec<String> {
    let connecting = timing.dns + timing.tcp + timing.tls + timing.queued;
    let answer = timing.total.saturating_sub(connecting);
    [
        ("patience", patience),
        ("dns", timing.dns),
        ("tcp", timing.tcp),
        ("tls", timing.tls),
        ("queued", timing.queued),
        ("answer", answer),
    ]
    .into_iter()
    .filter(|(_, span)| *span >= Duration::from_micros(50))
    .map(|(name, span)| format!("{name} {:.1}", ms(span)))
    .collect()
}

fn word(from: From) -> &'static str {
    match from {
        From::Network => "network",
        From::Confirmed => "confirmed",
        From::Memory => "memory",
        From::Range => "range",
    }
}

fn ms(span: Duration) -> f64 {
    (span.as_secs_f64() * 1e6).round() / 1e3
}
