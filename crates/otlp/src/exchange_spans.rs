//! Spans from exchanges, with the attributes of OpenTelemetry's semantic conventions for HTTP,
//! network and TLS: an exchange is a client span, its phases are its children, and its findings are
//! its events.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use roundtrip_model::{Exchange, Moment, Phase, Scheme, Target, TraceContext};
use roundtrip_wire::otlp::{Attribute, Span, SpanEvent, SpanKind};

/// A piece of work that consists of exchanges, and its place in a trace.
#[derive(Debug, Clone)]
pub struct TracedRun {
    pub context: TraceContext,
    /// The span of the client that requested the run.
    pub parent: Option<[u8; 8]>,
    pub name: String,
    pub attributes: Vec<Attribute>,
    /// The duration of the run, which ends now.
    pub took: Duration,
    /// Why the run failed, if no exchange says so.
    pub error: Option<String>,
}

/// Makes the span of the whole run, then the spans of the exchanges and of their phases.
pub fn exchange_spans(run: TracedRun, exchanges: &[Exchange]) -> Vec<Span> {
    let now = nanoseconds(SystemTime::now());
    let took = u64::try_from(run.took.as_nanos()).unwrap_or_default();
    // The clocks of the exchanges and this one may differ by a little.
    let starts = exchanges
        .iter()
        .map(start)
        .chain([now.saturating_sub(took)]);
    let ends = exchanges
        .iter()
        .map(|exchange| at(exchange, exchange.timeline.end()));
    let failure = exchanges.last().and_then(|last| last.failure.as_ref());
    let whole = Span {
        trace_id: run.context.trace_id,
        span_id: run.context.span_id,
        parent: run.parent,
        name: run.name.into(),
        kind: SpanKind::Internal,
        start: starts.min().unwrap_or(now),
        end: ends.chain([now]).max().unwrap_or(now),
        attributes: run.attributes,
        events: Vec::new(),
        error: failure
            .map(|failure| failure.message.clone())
            .or(run.error)
            .map(Into::into),
    };
    let mut spans = vec![whole];
    for exchange in exchanges {
        let context = run.context.child(exchange.run, exchange.hop);
        spans.push(client_span(exchange, context, run.context.span_id));
        let phases = (0..).zip(exchange.phases());
        spans.extend(phases.map(|(number, phase)| phase_span(exchange, context, number, &phase)));
    }
    spans
}

fn client_span(exchange: &Exchange, context: TraceContext, parent: [u8; 8]) -> Span {
    let http = exchange.http.as_ref().or(exchange.unanswered.as_ref());
    let method = http.map_or("", |http| http.method.as_str());
    let end = at(exchange, exchange.timeline.end());
    let findings = exchange.findings.iter().map(|finding| SpanEvent {
        time: end,
        name: "finding".into(),
        attributes: vec![
            Attribute::new("roundtrip.finding.id", finding.id),
            Attribute::new("roundtrip.finding.seconds", finding.ms / 1e3),
            Attribute::new(
                "roundtrip.finding.round_trips",
                i64::from(finding.round_trips),
            ),
            Attribute::new("roundtrip.finding.evidence", finding.evidence.clone()),
        ],
    });
    Span {
        trace_id: context.trace_id,
        span_id: context.span_id,
        parent: Some(parent),
        name: if method.is_empty() { "HTTP" } else { method }
            .to_owned()
            .into(),
        kind: SpanKind::Client,
        start: start(exchange),
        end,
        attributes: attributes(exchange),
        events: findings.collect(),
        error: exchange
            .failure
            .as_ref()
            .map(|failure| failure.message.clone().into()),
    }
}

fn attributes(exchange: &Exchange) -> Vec<Attribute> {
    let mut all = vec![Attribute::new("url.full", exchange.url.clone())];
    let mut add = |key: &'static str, value: roundtrip_wire::otlp::AttributeValue| {
        all.push(Attribute::new(key, value));
    };
    if let Ok(target) = Target::parse(&exchange.url) {
        add("server.address", target.host_name().into());
        add("server.port", i64::from(target.port).into());
        let scheme = if target.scheme == Scheme::Https {
            "https"
        } else {
            "http"
        };
        add("url.scheme", scheme.into());
    }
    if let Some(http) = exchange.http.as_ref().or(exchange.unanswered.as_ref()) {
        add("http.request.method", http.method.clone().into());
    }
    if let Some(http) = &exchange.http {
        add("http.response.status_code", i64::from(http.status).into());
        add(
            "http.response.body.size",
            (http.downloaded.cast_signed()).into(),
        );
        add("network.protocol.name", "http".into());
        add("network.protocol.version", http.version.clone().into());
    }
    if exchange.hop > 0 {
        add("http.request.resend_count", i64::from(exchange.hop).into());
    }
    if let Some(error) = error_type(exchange) {
        add("error.type", error.into());
    }
    let tcp = exchange.tcp.as_ref().and_then(|tcp| tcp.peer);
    let quic = exchange.quic.as_ref().and_then(|quic| quic.peer);
    if let Some(peer) = tcp.or(quic) {
        add("network.peer.address", peer.ip().to_string().into());
        add("network.peer.port", i64::from(peer.port()).into());
        add(
            "network.type",
            if peer.is_ipv4() { "ipv4" } else { "ipv6" }.into(),
        );
        add(
            "network.transport",
            if tcp.is_some() { "tcp" } else { "quic" }.into(),
        );
    }
    if let Some(tls) = &exchange.tls {
        add("tls.protocol.name", "tls".into());
        add(
            "tls.protocol.version",
            tls.version.trim_start_matches("TLSv").to_owned().into(),
        );
        add("tls.cipher", tls.cipher.clone().into());
        add("tls.resumed", tls.resumed.into());
    }
    if let Some(rtt) = exchange.rtt {
        add("roundtrip.path.rtt", rtt.as_secs_f64().into());
    }
    add(
        "roundtrip.round_trips",
        i64::from(exchange.round_trips()).into(),
    );
    add("roundtrip.connection.reused", exchange.reused.into());
    all
}

/// The kind of a failure, or an error status: one of few different words.
pub(crate) fn error_type(exchange: &Exchange) -> Option<String> {
    if let Some(failure) = &exchange.failure {
        let kind = serde_json::to_value(failure.kind).ok()?;
        return kind.as_str().map(str::to_owned);
    }
    let status = exchange.http.as_ref().map(|http| http.status);
    status
        .filter(|status| *status >= 400)
        .map(|status| status.to_string())
}

fn phase_span(exchange: &Exchange, context: TraceContext, number: u64, phase: &Phase) -> Span {
    let waited = &phase.waited;
    let waits = [
        ("network", waited.network),
        ("server", waited.server),
        ("client", waited.client),
        ("resolver", waited.resolver),
        ("loss", waited.loss),
        ("unknown", waited.unknown),
    ];
    let waits = waits.into_iter().filter(|(_, ms)| *ms > 0.0);
    let mut attributes: Vec<Attribute> = waits
        .map(|(party, ms)| Attribute::new(format!("roundtrip.waited.{party}"), ms / 1e3))
        .collect();
    attributes.push(Attribute::new(
        "roundtrip.round_trips",
        i64::from(phase.round_trips),
    ));
    let failure = exchange.failure.as_ref();
    Span {
        trace_id: context.trace_id,
        span_id: context.numbered(number).span_id,
        parent: Some(context.span_id),
        name: phase.name.as_str().into(),
        kind: SpanKind::Internal,
        start: at(exchange, phase.start),
        end: at(exchange, phase.end),
        attributes,
        events: Vec::new(),
        error: failure
            .filter(|failure| failure.phase == phase.name)
            .map(|failure| failure.message.clone().into()),
    }
}

fn nanoseconds(time: SystemTime) -> u64 {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
}

fn start(exchange: &Exchange) -> u64 {
    at(exchange, Moment::ZERO)
}

/// A moment of the exchange's timeline, by the wall clock.
fn at(exchange: &Exchange, moment: Moment) -> u64 {
    let began = exchange.started.map_or(0, nanoseconds);
    began.saturating_add(moment.0)
}
