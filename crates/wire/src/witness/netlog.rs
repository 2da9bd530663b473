//! Chrome's NetLog, as `--log-net-log` or chrome://net-export write it, complete or cut off. Its
//! events belong to sources (a request, a job, a socket) that refer to each other; here they become
//! requests, each with the work of its jobs and sockets.

mod packets;
mod sources;

use std::collections::HashMap;

use serde_json::Value;

use self::sources::{NetLogSource, Sources};
use super::items::{Items, parse};
use super::{MAX_KEPT, TimeSource, ToldConnection, ToldPhase, ToldRequest, Witness};
use super::{nanoseconds, number, text, whole};

/// Reads a NetLog; `None` if this is not one.
pub fn read(bytes: &[u8]) -> Option<Witness> {
    let mut members = Items::of_object(bytes)?;
    let mut names = None;
    let mut witness = Witness::default();
    let mut sources = Sources::default();
    let mut events = 0_u64;
    for (name, value) in members.by_ref() {
        match name {
            b"constants" => {
                names = parse(value).and_then(|constants| NetLogConstants::read(&constants));
            }
            // The constants must come first, because events cannot be interpreted without them.
            b"events" => {
                let names = names.as_ref()?;
                let mut all = Items::of_array(value)?;
                for (_, event) in all.by_ref() {
                    let taken = parse(event).and_then(|event| sources.take(names, &event));
                    match taken {
                        Some(()) => events += 1,
                        None => witness.damaged += 1,
                    }
                }
                witness.is_cut = !all.is_whole;
            }
            _ => {}
        }
    }
    let names = names?;
    witness.is_cut |= !members.is_whole;
    if events == 0 && witness.damaged == 0 {
        return Some(witness);
    }
    witness.started = sources
        .first()
        .zip(names.tick_offset)
        .and_then(|(first, offset)| nanoseconds(offset + first as f64 / 1e6));
    collect(&sources, &mut witness);
    Some(witness)
}

/// The meaning of the numbers of a log, which differ from version to version.
struct NetLogConstants {
    events: HashMap<u64, String>,
    sources: HashMap<u64, String>,
    begin: u64,
    end: u64,
    /// Converts ticks to milliseconds since 1970.
    tick_offset: Option<f64>,
}

impl NetLogConstants {
    fn read(constants: &Value) -> Option<Self> {
        let names = |key: &str| -> Option<HashMap<u64, String>> {
            let numbers = constants[key].as_object()?.iter();
            let named = numbers.filter_map(|(name, number)| Some((whole(number)?, name.clone())));
            Some(named.collect())
        };
        let phases = &constants["logEventPhase"];
        Some(Self {
            events: names("logEventTypes")?,
            sources: names("logSourceType")?,
            begin: whole(&phases["PHASE_BEGIN"]).unwrap_or(1),
            end: whole(&phases["PHASE_END"]).unwrap_or(2),
            tick_offset: number(&constants["timeTickOffset"]),
        })
    }
}

/// Events whose spans are phases of a request: its own events, and those of the sources that work
/// for it.
const OF_REQUEST: [(&str, ToldPhase); 5] = [
    ("HTTP_TRANSACTION_SEND_REQUEST", ToldPhase::Send),
    ("HTTP_TRANSACTION_TUNNEL_SEND_REQUEST", ToldPhase::Proxy),
    ("HTTP_TRANSACTION_TUNNEL_READ_HEADERS", ToldPhase::Proxy),
    ("HTTP_TRANSACTION_READ_HEADERS", ToldPhase::Wait),
    ("HTTP_TRANSACTION_READ_BODY", ToldPhase::Body),
];
const OF_OTHERS: [(&str, ToldPhase); 6] = [
    ("PROXY_RESOLUTION_SERVICE", ToldPhase::Proxy),
    ("HOST_RESOLVER_MANAGER_REQUEST", ToldPhase::Name),
    ("HOST_RESOLVER_MANAGER_JOB", ToldPhase::Name),
    ("TCP_CONNECT", ToldPhase::Connect),
    ("SSL_CONNECT", ToldPhase::Handshake),
    ("QUIC_SESSION_CRYPTO_HANDSHAKE", ToldPhase::Handshake),
];

fn collect(sources: &Sources, witness: &mut Witness) {
    let mut connections = HashMap::new();
    for (id, source) in sources
        .iter()
        .filter(|(_, source)| source.kind == "URL_REQUEST")
    {
        // Not every request goes to the network.
        let Some(url) = source.text("url") else {
            continue;
        };
        if witness.requests.len() >= MAX_KEPT {
            witness.damaged += 1;
            continue;
        }
        let mut request = ToldRequest {
            id: id.to_string(),
            method: source.text("method").unwrap_or("GET").to_owned(),
            url: url.to_owned(),
            status: source.text("status").and_then(|status| status.parse().ok()),
            protocol: source.text("protocol").map(str::to_owned),
            begin: source.begin,
            end: source.end,
            error: source.text("error").map(str::to_owned),
            // Chrome writes only the origin of the initiator.
            initiator: source
                .text("initiator")
                .filter(|origin| origin.contains("://"))
                .map(str::to_owned),
            ..ToldRequest::default()
        };
        for (name, phase) in OF_REQUEST {
            // Reading a body begins and ends with each piece.
            if let Some((begin, end)) = source.span(name) {
                request.span(phase, begin, end, TimeSource::Seen);
            }
        }
        let helpers = sources.helpers(id);
        for helper in &helpers {
            let Some(source) = sources.get(*helper) else {
                continue;
            };
            if let Some(reason) = source.text("stalled") {
                request.queued_for = Some(reason.to_owned());
            }
            let is_reused = connections.contains_key(helper);
            if is_connection(source) {
                let index = *connections.entry(*helper).or_insert_with(|| {
                    witness.connections.push(connection(*helper, source));
                    witness.connections.len() - 1
                });
                request.connection = Some(index);
            }
            if is_reused {
                continue;
            }
            for (name, phase) in OF_OTHERS {
                if let Some((begin, end)) =
                    source.span(name).filter(|(_, end)| *end > request.begin)
                {
                    request.span(phase, begin.max(request.begin), end, TimeSource::Seen);
                }
            }
        }
        lookups(sources, id, &mut request);
        queue(&mut request, source);
        request.spans.sort_by_key(|span| (span.begin, span.phase));
        request.spans.dedup_by(|later, first| {
            let same = later.phase == first.phase && later.begin <= first.end;
            if same {
                first.end = first.end.max(later.end);
            }
            same
        });
        witness.requests.push(request);
    }
    witness.requests.sort_by_key(|request| request.begin);
}

/// Adds the lookups of jobs that did not win: the job that won may have waited for them.
fn lookups(sources: &Sources, id: u64, request: &mut ToldRequest) {
    let Some((begin, end)) = sources.get(id).and_then(|s| s.span("HTTP_STREAM_REQUEST")) else {
        return;
    };
    for tried in sources.tried(id) {
        for (name, phase) in OF_OTHERS {
            let span = sources.get(tried).and_then(|source| source.span(name));
            if phase == ToldPhase::Name
                && let Some((from, until)) = span.filter(|(_, until)| *until > begin)
            {
                request.span(phase, from.max(begin), until.min(end), TimeSource::Seen);
            }
        }
    }
}

/// The time that a request waits for a stream counts as queue time, except while another of its
/// spans is in progress.
fn queue(request: &mut ToldRequest, source: &NetLogSource) {
    let Some((begin, end)) = source.span("HTTP_STREAM_REQUEST") else {
        return;
    };
    let mut spans = request.spans.clone();
    spans.sort_by_key(|span| span.begin);
    let mut at = begin;
    for span in spans {
        if span.begin > at && at < end {
            request.span(ToldPhase::Queue, at, span.begin.min(end), TimeSource::Seen);
        }
        at = at.max(span.end);
    }
    if at < end {
        request.span(ToldPhase::Queue, at, end, TimeSource::Seen);
    }
}

fn is_connection(source: &NetLogSource) -> bool {
    matches!(
        source.kind.as_str(),
        "SOCKET" | "HTTP2_SESSION" | "QUIC_SESSION"
    )
}

fn connection(id: u64, source: &NetLogSource) -> ToldConnection {
    let mut connection = ToldConnection {
        id: id.to_string(),
        peer: source.text("remote_address").map(str::to_owned),
        events: source.packets.events().to_vec(),
        ..ToldConnection::default()
    };
    for (name, phase) in OF_OTHERS {
        if let Some((begin, end)) = source.span(name) {
            connection.spans.push(super::ToldSpan {
                phase,
                begin,
                end,
                known: TimeSource::Seen,
            });
        }
    }
    connection
}

/// A parameter that is kept, with the name that it gets here.
fn parameter(event: &str, parameters: &Value) -> Option<(&'static str, String)> {
    if event.starts_with("SOCKET_POOL_STALLED") {
        return Some(("stalled", event.to_owned()));
    }
    if let Some(line) = parameters["headers"].get(0).and_then(Value::as_str)
        && event.ends_with("READ_RESPONSE_HEADERS")
    {
        let status = line.strip_prefix(":status: ").or(line.split(' ').nth(1))?;
        return Some(("status", status.trim().chars().take(3).collect()));
    }
    let kept = [
        ("url", "url"),
        ("method", "method"),
        ("proto", "protocol"),
        ("remote_address", "remote_address"),
        ("peer_address", "remote_address"),
    ];
    for (name, kept) in kept {
        if let Some(value) = text(&parameters[name]) {
            return Some((kept, value));
        }
    }
    let error = parameters["net_error"]
        .as_i64()
        .filter(|error| *error < -1)?;
    (event == "FAILED" || event == "REQUEST_ALIVE").then(|| ("error", error.to_string()))
}

#[cfg(test)]
mod tests;
