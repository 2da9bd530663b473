//! What other programs recorded about their own requests: qlog, Chrome's NetLog, HAR, curl's trace.
//! All of them become the same values, with times counted from the beginning of the log.
//!
//! A log may be cut off anywhere, and parts of it may be damaged: readable parts are read, and the
//! others are counted. [`TimeSource`] says how much a time can be trusted.

pub mod curl_trace;
pub mod har;
mod items;
pub mod netlog;
pub mod page;
pub mod qlog;

use serde_json::Value;

/// The largest number of requests, of connections, and of events of each that are kept. The rest of
/// a log is only counted.
const MAX_KEPT: usize = 1 << 20;
/// The largest size of each text, in bytes.
const MAX_TEXT: usize = 4096;

/// A log, as far as it could be read.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Witness {
    /// The time of moment 0, in nanoseconds since 1970. `None` if the log does not contain it.
    pub started: Option<u64>,
    pub connections: Vec<ToldConnection>,
    pub requests: Vec<ToldRequest>,
    /// Entries that could not be read.
    pub damaged: u64,
    /// The log was cut off.
    pub is_cut: bool,
}

/// How a time was obtained.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum TimeSource {
    /// The program recorded the time when the event happened.
    Seen,
    /// The program, or another one, computed the time afterwards.
    #[default]
    Told,
}

/// A time in nanoseconds since the log began.
pub type LogTime = u64;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ToldPhase {
    /// Before any work for the request began: it waits for a connection, or for permission to use
    /// one.
    Queue,
    Proxy,
    Name,
    Connect,
    /// The handshake of TLS or of QUIC.
    Handshake,
    Send,
    Wait,
    Body,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ToldSpan {
    pub phase: ToldPhase,
    pub begin: LogTime,
    pub end: LogTime,
    pub known: TimeSource,
}

#[derive(Debug, Clone, PartialEq, Default)]
pub struct ToldConnection {
    /// The log's name for the connection.
    pub id: String,
    pub peer: Option<String>,
    /// The spans that the connection itself took.
    pub spans: Vec<ToldSpan>,
    /// The events of the transport; only in qlog, and for QUIC in NetLog.
    pub events: Vec<(LogTime, TransportEvent)>,
}

#[derive(Debug, Clone, PartialEq, Default)]
pub struct ToldRequest {
    /// The log's name for the request.
    pub id: String,
    /// The index of the request's connection.
    pub connection: Option<usize>,
    pub method: String,
    pub url: String,
    pub status: Option<u16>,
    pub protocol: Option<String>,
    pub begin: LogTime,
    pub end: Option<LogTime>,
    /// The spans, in the order in which they began.
    pub spans: Vec<ToldSpan>,
    /// The page that the request belongs to, if the log has several.
    pub page: Option<String>,
    /// The URL of whatever caused the request, or its origin.
    pub initiator: Option<String>,
    /// The reason for the queue, in the log's words.
    pub queued_for: Option<String>,
    /// The failure, in the log's words.
    pub error: Option<String>,
}

/// An event of a connection.
#[derive(Debug, Clone, PartialEq)]
pub enum TransportEvent {
    PacketSent {
        space: String,
        number: Option<u64>,
        length: Option<u64>,
    },
    PacketReceived {
        space: String,
        number: Option<u64>,
        length: Option<u64>,
    },
    PacketLost {
        number: Option<u64>,
        trigger: Option<String>,
    },
    /// The current values, in milliseconds and bytes.
    Metrics {
        min_rtt: Option<f64>,
        smoothed_rtt: Option<f64>,
        latest_rtt: Option<f64>,
        congestion_window: Option<u64>,
        bytes_in_flight: Option<u64>,
    },
    State(String),
    /// A stream, or all of them, can send no more.
    Blocked {
        stream: Option<u64>,
    },
}

impl ToldRequest {
    /// Adds a span unless it ends before it begins.
    fn span(&mut self, phase: ToldPhase, begin: LogTime, end: LogTime, known: TimeSource) {
        if end >= begin {
            self.spans.push(ToldSpan {
                phase,
                begin,
                end,
                known,
            });
        }
    }

    /// The end of the last span of this kind.
    pub fn end_of(&self, phase: ToldPhase) -> Option<LogTime> {
        let spans = self.spans.iter().filter(|span| span.phase == phase);
        spans.map(|span| span.end).max()
    }
}

/// A text of the log, safe to show.
fn text(value: &Value) -> Option<String> {
    let text = match value {
        Value::String(text) => text.clone(),
        Value::Number(number) => number.to_string(),
        _ => return None,
    };
    let bytes = text.as_bytes();
    Some(crate::text::printable(
        bytes.get(..MAX_TEXT).unwrap_or(bytes),
    ))
}

/// A number, or a number as text.
fn number(value: &Value) -> Option<f64> {
    let number = match value {
        Value::Number(number) => number.as_f64(),
        Value::String(text) => text.parse().ok(),
        _ => None,
    };
    number.filter(|number| number.is_finite())
}

fn whole(value: &Value) -> Option<u64> {
    value
        .as_u64()
        .or_else(|| value.as_str().and_then(|text| text.parse().ok()))
}

/// Milliseconds as nanoseconds; `None` if negative.
fn nanoseconds(milliseconds: f64) -> Option<u64> {
    // The time is split into two parts, because a float cannot hold nanoseconds since 1970.
    let whole = (milliseconds.trunc() as u64).saturating_mul(1_000_000);
    let rest = (milliseconds.fract() * 1e6).round() as u64;
    (milliseconds >= 0.0).then_some(whole.saturating_add(rest))
}
