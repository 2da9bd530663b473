//! Formats phases, numbers and counts for sentences.

use super::figures::CONNECT;
use roundtrip_model::excerpt;

/// The name of a phase, in the form that follows "in".
pub(super) fn stage(name: &str) -> String {
    match name {
        "setup" => "client set-up".into(),
        "name" => "the name lookup".into(),
        "tcp" => "the TCP connect".into(),
        "proxy" => "the proxy tunnel".into(),
        "tls" => "the TLS handshake".into(),
        "quic" => "the QUIC handshake".into(),
        "request" => "sending the request".into(),
        "first_byte" => "the wait for the first byte".into(),
        "body" => "the body".into(),
        CONNECT => "connecting".into(),
        other => format!("the phase '{}'", excerpt(other, 40)),
    }
}

/// Milliseconds that a person can read.
pub(super) fn ms(value: f64) -> String {
    let decimals = match value.abs() {
        v if v < 0.0995 => 3,
        v if v < 0.995 => 2,
        _ => 1,
    };
    format!("{value:.decimals$} ms")
}

/// A count of round trips; medians may be halves.
pub(super) fn trips(count: f64) -> String {
    let text = number(count);
    let unit = if text == "1" {
        "round trip"
    } else {
        "round trips"
    };
    format!("{text} {unit}")
}

/// Whether two counts, each a mean or a median, are the same.
pub(super) fn same(a: f64, b: f64) -> bool {
    (a - b).abs() < 1e-9
}

pub(super) fn number(count: f64) -> String {
    if (count - count.round()).abs() < 1e-9 {
        format!("{count:.0}")
    } else {
        format!("{count:.1}")
    }
}
