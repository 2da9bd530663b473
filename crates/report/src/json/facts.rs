//! Facts about name, transport, handshake and response as values.

use roundtrip_model::{
    Answer, Attempt, AttemptOutcome, CertificateFacts, ChainFacts, EarlyData, EchoFacts, Event,
    Exchange, HttpFacts, HttpsRecord, KeptFacts, Moment, NameFacts, NameWaits, NotKept, QuicFacts,
    TcpFacts, TlsFacts,
};
use serde_json::{Value, json};

use super::{rounded, span};
use crate::terminal::lossy;

pub(super) fn first_byte(exchange: &Exchange) -> Value {
    exchange
        .timeline
        .first(|e| *e == Event::FirstByte)
        .map_or(Value::Null, |at| rounded(Moment::as_millis(at)))
}

pub(super) fn name(name: &NameFacts) -> Value {
    let (source, server) = match &name.answer {
        Answer::Literal => ("literal", None),
        Answer::Given => ("given", None),
        Answer::Hosts => ("hosts", None),
        Answer::Server(server) => ("server", Some(server.to_string())),
        Answer::Doh(url) => ("doh", Some(url.clone())),
    };
    json!({
        "host": name.host,
        "source": source,
        "server": server,
        "addresses": name.addresses.iter().map(ToString::to_string).collect::<Vec<_>>(),
        "aliases": name.aliases,
        "ttl": name.ttl,
        "resent": name.resent,
        "truncated": name.truncated,
        "https_record": name.https_record.as_ref().map(https_record),
        "waits": waits(&name.waits),
    })
}

fn waits(waits: &NameWaits) -> Value {
    json!({
        "in_vain": waits.in_vain,
        "suffixes_ms": span(waits.suffixes),
        "over_tcp_ms": span(waits.over_tcp),
        "unanswered": waits.unanswered,
        "half_ms": span(waits.half),
        "https_record_ms": span(waits.https_record),
        "opening_ms": span(waits.opening),
    })
}

fn https_record(record: &HttpsRecord) -> Value {
    json!({
        "priority": record.priority,
        "target": record.target,
        "alpn": record.alpn,
        "port": record.port,
        "hints": record.hints.iter().map(ToString::to_string).collect::<Vec<_>>(),
        "ech": record.ech,
    })
}

pub(super) fn attempt(attempt: &Attempt) -> Value {
    let (outcome, error) = match &attempt.outcome {
        AttemptOutcome::Won => ("won", None),
        AttemptOutcome::Failed(why) => ("failed", Some(why.as_str())),
        AttemptOutcome::Abandoned => ("abandoned", None),
    };
    json!({
        "peer": attempt.peer.to_string(),
        "transport": if attempt.over_quic { "quic" } else { "tcp" },
        "start_ms": rounded(attempt.began.as_millis()),
        "ms": span(attempt.ended.since(attempt.began)),
        "outcome": outcome,
        "error": error,
    })
}

pub(super) fn tcp(tcp: &TcpFacts) -> Value {
    let fast_open = &tcp.fast_open;
    json!({
        "local": tcp.local.map(|a| a.to_string()),
        "peer": tcp.peer.map(|a| a.to_string()),
        "fast_open": {
            "asked": fast_open.asked,
            "cookie": fast_open.cookie,
            "data_sent": fast_open.data_sent,
            "data_acked": fast_open.data_acked,
            "saved_round_trips": fast_open.saved_round_trips,
            "kernel_says": fast_open.kernel_says,
        },
        "retransmits": tcp.retransmits,
        "syn_retransmits": tcp.syn_retransmits,
        "handshake_rtt_ms": tcp.handshake_rtt.map(span),
        "min_rtt_ms": tcp.min_rtt.map(span),
        "smoothed_rtt_ms": tcp.rtt.map(span),
        "rtt_var_ms": tcp.rtt_var.map(span),
        "congestion_window": tcp.congestion_window,
        "congestion_control": tcp.congestion_control,
        "mss": tcp.mss,
        "first_mss": tcp.first_mss,
        "out_of_order": tcp.out_of_order,
        "receiver_limited_ms": span(tcp.receiver_limited),
        "delivery_rate": tcp.delivery_rate,
        "delivery_app_limited": tcp.delivery_app_limited,
        "announced_mss": tcp.announced_mss,
        "peer_mss": tcp.peer_mss,
        "peer_window": tcp.peer_window,
        "ecn": tcp.ecn,
    })
}

pub(super) fn kept(kept: KeptFacts) -> Value {
    json!({ "idle_ms": span(kept.idle), "bytes_received": kept.bytes_received })
}

pub(super) fn not_kept(why: NotKept) -> &'static str {
    match why {
        NotKept::Announced => "announced",
        NotKept::Idle => "idle",
        NotKept::Crossed => "crossed",
    }
}

pub(super) fn quic(quic: &QuicFacts) -> Value {
    json!({
        "local": quic.local.map(|a| a.to_string()),
        "peer": quic.peer.map(|a| a.to_string()),
        "min_rtt_ms": quic.min_rtt.map(span),
        "retry": quic.retry,
        "version_negotiation": quic.version_negotiation,
        "datagrams_sent": quic.datagrams_sent,
        "datagrams_received": quic.datagrams_received,
        "lost_packets": quic.lost_packets,
        "lost_in_handshake": quic.lost_in_handshake,
        "missing_packets": quic.missing_packets,
        "gaps": quic.gaps,
        "probe_timeouts": quic.probe_timeouts,
        "mtu": quic.mtu,
        "congestion_window": quic.congestion_window,
    })
}

pub(super) fn tls(tls: &TlsFacts) -> Value {
    json!({
        "version": tls.version,
        "cipher": tls.cipher,
        "group": tls.group,
        "alpn": tls.alpn,
        "resumed": tls.resumed,
        "ticket_shown": tls.ticket_shown,
        "early_data": tls.early_data == EarlyData::Accepted,
        "early_data_outcome": match tls.early_data {
            EarlyData::NotOffered => "not_offered",
            EarlyData::Accepted => "accepted",
            EarlyData::Refused => "refused",
        },
        "hello_retry": tls.hello_retry,
        "client_hello_bytes": tls.client_hello_bytes,
        "flights": tls.flights,
        "bytes_sent": tls.bytes_sent,
        "bytes_received": tls.bytes_received,
        "tickets": tls.tickets,
        "verify_result": tls.verify_result,
        "client_certificate_asked": tls.client_certificate_asked,
        "chain": tls.chain.as_ref().map(chain),
    })
}

fn chain(chain: &ChainFacts) -> Value {
    json!({
        "certificates": chain.certificates.iter().map(certificate).collect::<Vec<_>>(),
        "bytes_on_wire": chain.bytes_on_wire,
        "compressed": chain.compressed,
        "stapled_ocsp": chain.stapled_ocsp,
    })
}

fn certificate(certificate: &CertificateFacts) -> Value {
    json!({
        "subject": certificate.subject,
        "issuer": certificate.issuer,
        "names": certificate.names,
        "days_left": certificate.days_left,
        "not_after": certificate.not_after,
        "key": certificate.key,
        "bytes": certificate.bytes,
    })
}

pub(super) fn http(http: &HttpFacts) -> Value {
    let seen = http.is_seen();
    let headers: Vec<Value> = http
        .headers
        .iter()
        .map(|(name, value)| json!({"name": name, "value": lossy(value)}))
        .collect();
    let timings: Vec<Value> = http
        .server_timing
        .iter()
        .map(|(name, took, text)| json!({"name": name, "ms": took.map(span), "description": text}))
        .collect();
    json!({
        "method": seen.then_some(&http.method),
        "version": seen.then_some(&http.version),
        "status": seen.then_some(http.status),
        "reason": http.reason,
        "headers": headers,
        "interim": http.interim,
        "request_bytes": http.request_bytes,
        "header_bytes": http.header_bytes,
        "uploaded_bytes": http.uploaded,
        "continue_wait_ms": http.continue_wait.map(span),
        "downloaded_bytes": http.downloaded,
        "decoded_bytes": http.decoded,
        "redirect": http.redirect,
        "server_timing": timings,
        "alt_svc": http.alt_svc,
        "keep_alive": http.keep_alive,
        "proxy_status": (http.proxy_status != 0).then_some(http.proxy_status),
    })
}

pub(super) fn echo(echo: &EchoFacts) -> Value {
    json!({"sent": echo.sent, "received": echo.received, "exchanges": echo.exchanges})
}
