//! Spans of exchanges, for OpenTelemetry: a server span for each that is sampled, with its phases
//! as children. The names of attributes are those of the semantic conventions for HTTP. As in the
//! access log, queries, fields and sessions are never included.

use std::borrow::Cow;
use std::cell::RefCell;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use roundtrip_model::{Random, TraceContext};
use roundtrip_otlp::Telemetry;
use roundtrip_wire::otlp::{Attribute, Span, SpanKind};

use super::server_durations::{DurationKind, ServerDurations};
use super::{Entry, LabelValue, Outcome};
use crate::GateError;

/// The methods that the conventions name; others are `_OTHER`.
const METHODS: [&str; 9] = [
    "GET", "HEAD", "POST", "PUT", "DELETE", "PATCH", "OPTIONS", "CONNECT", "TRACE",
];
const OTHER: &str = "_OTHER";

/// The place of an exchange in a trace.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TracePosition {
    pub(crate) context: TraceContext,
    /// The client's span.
    pub(crate) parent: Option<[u8; 8]>,
    method: &'static str,
}

/// What a thread needs to make its [`Tracer`].
#[derive(Clone)]
pub(crate) struct SpanSender {
    pub(super) telemetry: Telemetry,
    pub(super) durations: Arc<ServerDurations>,
}

/// Makes one thread's spans.
pub(crate) struct Tracer {
    sender: SpanSender,
    random: RefCell<Random>,
}

impl std::fmt::Debug for Tracer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Tracer").finish_non_exhaustive()
    }
}

impl Tracer {
    pub(crate) fn new(sender: SpanSender) -> Result<Self, GateError> {
        let mut seed = [0; 8];
        aws_lc_rs::rand::fill(&mut seed).map_err(|_| GateError::Cryptography)?;
        let random = Random::seeded(u64::from_ne_bytes(seed)).into();
        Ok(Self { sender, random })
    }

    /// The place of a request with this method and these `traceparent` fields: below the client's
    /// span, or at the top of a new trace. If there are two fields, neither is used.
    pub(crate) fn position<'a>(
        &self,
        method: &str,
        mut fields: impl Iterator<Item = &'a [u8]>,
    ) -> TracePosition {
        let parent = match (fields.next(), fields.next()) {
            (Some(field), None) => std::str::from_utf8(field)
                .ok()
                .and_then(TraceContext::parse),
            _ => None,
        };
        let mut random = self.random.borrow_mut();
        // Zero would not be valid.
        let mut next = || random.next_u64().max(1);
        let fresh = u128::from(next()) << 64 | u128::from(next());
        let trace_id = parent.map_or(fresh.to_be_bytes(), |parent| parent.trace_id);
        TracePosition {
            context: TraceContext {
                trace_id,
                span_id: next().to_be_bytes(),
                sampled: self.sender.telemetry.samples(trace_id, parent),
            },
            parent: parent.map(|parent| parent.span_id),
            method: METHODS.into_iter().find(|m| *m == method).unwrap_or(OTHER),
        }
    }

    /// Counts an exchange that has ended, and sends its spans if it is sampled.
    pub(crate) fn finish(&self, entry: &Entry, ended: Instant, client: IpAddr) {
        let position = entry.trace;
        self.sender.durations.add(
            DurationKind {
                method: position.map_or(OTHER, |position| position.method),
                secure: entry.secure,
                protocol: entry.protocol,
                status: entry.status,
                error: error_type(entry),
            },
            ended.saturating_duration_since(entry.began),
        );
        if let Some(position) = position.filter(|position| position.context.sampled) {
            let spans = spans(entry, &position, ended, client, &WallClock::now());
            self.sender.telemetry.send(spans);
        }
    }
}

/// Turns instants into nanoseconds since 1970.
struct WallClock {
    instant: Instant,
    nanoseconds: u64,
}

impl WallClock {
    fn now() -> Self {
        let since = SystemTime::now().duration_since(UNIX_EPOCH);
        Self {
            instant: Instant::now(),
            nanoseconds: u64::try_from(since.unwrap_or_default().as_nanos()).unwrap_or(u64::MAX),
        }
    }

    fn at(&self, instant: Instant) -> u64 {
        let ago = self.instant.saturating_duration_since(instant).as_nanos();
        self.nanoseconds
            .saturating_sub(u64::try_from(ago).unwrap_or(u64::MAX))
    }
}

/// An answer that counts as the server's failure, or that the client did not receive to its end.
fn error_type(entry: &Entry) -> Option<&'static str> {
    match (entry.outcome, entry.reason) {
        (Outcome::Whole, Some(reason)) if entry.status >= 500 => Some(reason.as_str()),
        (Outcome::Whole, _) => (entry.status >= 500).then_some("5xx"),
        (outcome, _) => Some(outcome.as_str()),
    }
}

fn spans(
    entry: &Entry,
    position: &TracePosition,
    ended: Instant,
    client: IpAddr,
    clock: &WallClock,
) -> Vec<Span> {
    let context = position.context;
    let whole = Span {
        trace_id: context.trace_id,
        span_id: context.span_id,
        parent: position.parent,
        name: match position.method {
            OTHER => "HTTP".into(),
            method => method.into(),
        },
        kind: SpanKind::Server,
        start: clock.at(entry.began),
        end: clock.at(ended),
        attributes: attributes(entry, position, client),
        events: Vec::new(),
        error: error_type(entry).map(Into::into),
    };
    let mut from = entry.began;
    let phases = entry.phases(ended).zip(0..).map(|((phase, took), number)| {
        let start = from;
        from += took;
        Span {
            span_id: context.numbered(number).span_id,
            parent: Some(context.span_id),
            name: phase.as_str().into(),
            kind: SpanKind::Internal,
            start: clock.at(start),
            end: clock.at(from),
            attributes: Vec::new(),
            error: None,
            trace_id: context.trace_id,
            events: Vec::new(),
        }
    });
    let phases: Vec<Span> = phases.collect();
    std::iter::once(whole).chain(phases).collect()
}

fn attributes(entry: &Entry, position: &TracePosition, client: IpAddr) -> Vec<Attribute> {
    let mut all = vec![
        Attribute::new("http.request.method", position.method),
        Attribute::new("url.scheme", if entry.secure { "https" } else { "http" }),
        Attribute::new("network.protocol.name", "http"),
        Attribute::new("network.protocol.version", entry.protocol.version()),
        Attribute::new("client.address", client.to_string()),
        Attribute::new("http.request.body.size", entry.bytes_up.cast_signed()),
        Attribute::new("http.response.body.size", entry.bytes_down.cast_signed()),
        Attribute::new("roundtrip.outcome", entry.outcome.as_str()),
        Attribute::new("roundtrip.tls.resumed", entry.resumed),
        Attribute::new("roundtrip.upstream.reused", entry.reused),
        Attribute::new("roundtrip.upstream.retried", entry.retried),
        Attribute::new("roundtrip.request.id", entry.caller.id.as_str().to_owned()),
    ];
    let mut add = |key, value: Option<Cow<'static, str>>| {
        all.extend(value.map(|value| Attribute::new(key, value)));
    };
    let word = |word: Option<&'static str>| word.map(Cow::from);
    add("error.type", word(error_type(entry)));
    add(
        "roundtrip.reason",
        word(entry.reason.map(LabelValue::as_str)),
    );
    add(
        "roundtrip.early_data",
        word(entry.early.map(LabelValue::as_str)),
    );
    add(
        "roundtrip.session.known",
        word(entry.known.map(LabelValue::as_str)),
    );
    if let Some(details) = &entry.log_details {
        let path = details.target.split(['?', '#']).next();
        add("url.path", path.map(|path| path.to_owned().into()));
        let upstream = details.upstream.as_deref();
        add(
            "roundtrip.upstream.name",
            upstream.map(|name| name.to_owned().into()),
        );
    }
    if entry.status > 0 {
        let status = i64::from(entry.status);
        all.push(Attribute::new("http.response.status_code", status));
    }
    all
}
