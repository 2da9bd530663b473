//! Which requests and answers a connection carried, with their places in its streams and their
//! times at the client.
//!
//! HTTP/1 in clear text shows this itself. Of TLS, only the records are seen, not their content:
//! the k-th burst of the client is taken for the k-th request, bursts too small to be one are
//! ignored, and tickets that come before a later answer are not taken for the answer.

mod clear;

use roundtrip_wire::tls::{ClientHello, ContentKind, HandshakeKind, ServerHello, Version};

use crate::http1::Http1Message;
use crate::opened::Inside;
use crate::records::{RecordFollower, RecordPlace};
use crate::requests::OpenedRequest;
use crate::view::ClientView;

pub(crate) use clear::{of_answer_alone, of_http1};

/// In bytes on the wire: records that hold only an HTTP/2 acknowledgement of SETTINGS, a
/// WINDOW_UPDATE or a PING.
const MAX_CONTROL: u64 = 5 + 17 + 17;
/// In bytes on the wire: an encrypted alert, and the record that ends early data.
const ALERT: u64 = 5 + 2 + 17;
const END_OF_EARLY_DATA: u64 = 5 + 4 + 17;
/// In bytes: the beginning of an HTTP/2 connection, without and with a SETTINGS frame; each setting
/// takes six, and a WINDOW_UPDATE thirteen.
const PREFACE: u64 = 24;
const SETTINGS: u64 = 9;
const SETTING: u64 = 6;
const MAX_SETTINGS: u64 = 8;
const WINDOW_UPDATE: u64 = 13;
/// In bytes on the wire: tickets and SETTINGS.
const MAX_TICKET: u64 = 700;
/// As a share of a round trip: no answer comes sooner.
const SOONEST: f64 = 0.8;
/// In nanoseconds: what comes with the acknowledgement of the client's Finished.
const WITH_ACK: u64 = 5_000_000;

/// What the handshake showed.
#[derive(Debug, Default)]
pub(crate) struct TlsSeen {
    pub(crate) client: Option<ClientHello>,
    pub(crate) server: Option<ServerHello>,
    pub(crate) was_retried: bool,
    pub(crate) began: Option<u64>,
    pub(crate) finished: Option<u64>,
    /// The client marked the end of its early data, so the server had accepted it.
    pub(crate) ended_early_data: bool,
    /// When a fatal alert arrived in the clear.
    pub(crate) alert: Option<u64>,
    pub(crate) hello_bytes: u64,
    pub(crate) chain_bytes: u64,
}

/// A request and its answer.
#[derive(Debug, Default)]
pub(crate) struct TracedRequest {
    pub(crate) request: Option<Http1Message>,
    pub(crate) response: Option<Http1Message>,
    pub(crate) interim: Vec<u16>,
    /// When the request began to leave, and when it had left completely.
    pub(crate) began: u64,
    pub(crate) sent: u64,
    /// When the answer began, when its final head came, and when it was complete.
    pub(crate) first_byte: Option<u64>,
    pub(crate) answered: Option<u64>,
    pub(crate) finished: Option<u64>,
    pub(crate) request_bytes: u64,
    pub(crate) response_bytes: u64,
    /// The request was seen only as a burst, which may hold several.
    pub(crate) is_inferred: bool,
    pub(crate) is_whole: bool,
}

/// Data in either direction, in the order of the client's times.
#[derive(Debug, Clone, Copy)]
struct DataBurst {
    at: u64,
    is_request: bool,
    bytes: u64,
}

/// Requests and answers that are seen only as bytes, starting at `from` in each stream.
fn of_bursts(bursts: &[DataBurst], rtt: u64) -> Vec<TracedRequest> {
    let soonest = (rtt as f64 * SOONEST) as u64;
    let mut all: Vec<TracedRequest> = Vec::new();
    for burst in bursts {
        let open = all.last_mut();
        match open {
            Some(asked) if !burst.is_request => {
                if burst.at < asked.began + soonest {
                    // It answers the previous request, or nothing.
                    let before = all.len().checked_sub(2).and_then(|n| all.get_mut(n));
                    if let Some(before) = before {
                        before.finished = Some(burst.at);
                        before.response_bytes += burst.bytes;
                    }
                    continue;
                }
                asked.first_byte.get_or_insert(burst.at);
                asked.answered.get_or_insert(burst.at);
                asked.finished = Some(burst.at);
                asked.response_bytes += burst.bytes;
                asked.is_whole = true;
            }
            Some(asked) if asked.first_byte.is_none() => {
                asked.sent = burst.at;
                asked.request_bytes += burst.bytes;
            }
            _ if burst.is_request => all.push(TracedRequest {
                began: burst.at,
                sent: burst.at,
                request_bytes: burst.bytes,
                is_inferred: true,
                ..TracedRequest::default()
            }),
            _ => {}
        }
    }
    all
}

/// The requests of a protocol that is neither TLS nor HTTP.
pub(crate) fn of_bytes(view: &ClientView, rtt: u64) -> Vec<TracedRequest> {
    let mut bursts = Vec::new();
    for (places, is_request) in [(&view.sent, true), (&view.read, false)] {
        let mut before = 0;
        for (place, at) in places {
            bursts.push(DataBurst {
                at: *at,
                is_request,
                bytes: place - before,
            });
            before = *place;
        }
    }
    bursts.sort_by_key(|burst| burst.at);
    of_bursts(&bursts, rtt)
}

/// What a TLS connection shows without its keys.
pub(crate) fn of_tls(
    followers: &[RecordFollower; 2],
    view: &ClientView,
    rtt: u64,
) -> (TlsSeen, Vec<TracedRequest>) {
    let [client, server] = followers;
    let mut seen = hellos(client, server);
    seen.began = view.connected.or(view.sent.first().map(|(_, at)| *at));
    let is_13 = seen
        .server
        .as_ref()
        .is_some_and(|s| s.version == Version::TLS13);
    seen.alert = server
        .records()
        .iter()
        .find(|r| r.kind == ContentKind::Alert && r.length() == 7)
        .and_then(|r| view.readable(r.end));
    let began_before = seen.client.is_none() && seen.server.is_none();
    let (from_client, from_server) = if began_before {
        (0, 0)
    } else if is_13 {
        match finished_13(client, server, view, &mut seen) {
            Some(places) => places,
            None => return (seen, Vec::new()),
        }
    } else {
        match finished_12(server, view, &mut seen) {
            Some(()) => (0, 0),
            None => return (seen, Vec::new()),
        }
    };
    let may_be_h2 = seen
        .client
        .as_ref()
        .is_none_or(|c| c.alpn.iter().any(|name| name == "h2"));
    let of = |records: &[RecordPlace], from: u64, is_request: bool| -> Vec<DataBurst> {
        let data = records
            .iter()
            .filter(|r| r.is_application_data() && r.start >= from);
        // In TLS 1.3, alerts look like data.
        let data = data.filter(|r| !is_13 || r.length() != ALERT);
        let large = data.filter(|r| !(is_request && may_be_h2 && r.length() <= MAX_CONTROL));
        large
            .filter_map(|record| {
                let at = if is_request {
                    view.left(record.end)?
                } else {
                    view.readable(record.end)?
                };
                Some(DataBurst {
                    at,
                    is_request,
                    bytes: record.length(),
                })
            })
            .collect()
    };
    let mut requests = of(client.records(), from_client, true);
    if may_be_h2 {
        drop_preface(&mut requests, rtt);
    }
    let mut answers = of(server.records(), from_server, false);
    if is_13 {
        drop_tickets(&mut answers, &requests, &seen, rtt);
    }
    let mut bursts = [requests, answers].concat();
    bursts.sort_by_key(|burst| burst.at);
    (seen, of_bursts(&bursts, rtt))
}

/// The content of a TLS connection whose secrets are known.
pub(crate) fn of_opened(
    inside: &Inside,
    followers: &[RecordFollower; 2],
    view: &ClientView,
) -> (TlsSeen, Vec<TracedRequest>) {
    let mut seen = hellos(&followers[0], &followers[1]);
    seen.began = view.connected.or(view.sent.first().map(|(_, at)| *at));
    let is_13 = seen
        .server
        .as_ref()
        .is_some_and(|s| s.version == Version::TLS13);
    // TLS 1.2: the handshake is over when the server's Finished has come, or after the client's if
    // it ends a resumption. RFC 5246 §7.3.
    let [client, server] = inside.finished;
    let left = client.and_then(|end| view.left(end));
    let read = server.and_then(|end| view.readable(end));
    seen.finished = if is_13 { left } else { left.max(read) };
    seen.ended_early_data = inside.accepts_early == Some(true);
    if inside.chain_bytes > 0 {
        seen.chain_bytes = inside.chain_bytes;
    }
    if let Some(server) = &mut seen.server {
        server.alpn = inside.alpn.clone().or(server.alpn.take());
    }
    let (left, readable) = (|end| view.left(end), |end| view.readable(end));
    let mut all = of_requests(inside.requests(), inside.version(), &left, &readable);
    for asked in &mut all {
        asked.is_whole |= view.fin.is_some();
    }
    (seen, all)
}

/// The requests inside an opened connection, in the order in which they left. `left` returns when
/// the client had sent the byte before a place, and `readable` when it could read the server's.
pub(crate) fn of_requests(
    requests: &[OpenedRequest],
    version: &'static str,
    left: &dyn Fn(u64) -> Option<u64>,
    readable: &dyn Fn(u64) -> Option<u64>,
) -> Vec<TracedRequest> {
    let requests = requests.iter();
    let mut all: Vec<TracedRequest> = requests
        .filter_map(|request| asked(request, version, left, readable))
        .collect();
    all.sort_by_key(|asked| asked.began);
    all
}

fn asked(
    request: &OpenedRequest,
    version: &'static str,
    left: &dyn Fn(u64) -> Option<u64>,
    readable: &dyn Fn(u64) -> Option<u64>,
) -> Option<TracedRequest> {
    let began = left(request.head.start + 1)?;
    let facts = &request.facts;
    let text = |name: &str, value: &str| (name.to_owned(), value.as_bytes().to_vec());
    let mut fields = Vec::new();
    if !facts.authority.is_empty() {
        fields.push(text("host", &facts.authority));
    }
    if facts.expects_continue {
        fields.push(text("expect", "100-continue"));
    }
    let response = request.response.as_ref();
    let sent = left(request.sent).unwrap_or(began);
    // What comes before the whole request has left answers its head: `100 Continue`.
    let mut interim = request.interim_at.iter().filter_map(|at| readable(*at));
    let interim = interim.find(|at| *at >= sent);
    Some(TracedRequest {
        request: Some(Http1Message {
            start: request.head.start,
            head_end: request.head.end,
            head_bytes: facts.size as u64,
            end: Some(request.sent),
            method: facts.method.clone(),
            target: facts.path.clone(),
            version,
            fields,
            ..Http1Message::default()
        }),
        response: response.map(|(facts, at)| Http1Message {
            start: at.start,
            head_end: at.end,
            head_bytes: facts.size as u64,
            end: request.received.filter(|_| request.is_whole),
            status: facts.status,
            version,
            fields: facts.lines.clone(),
            ..Http1Message::default()
        }),
        interim: request.interim.clone(),
        began,
        sent,
        first_byte: interim.or_else(|| request.first.and_then(readable)),
        answered: response.and_then(|(_, at)| readable(at.end)),
        finished: request.received.and_then(readable),
        request_bytes: facts.size as u64 + request.body_up,
        response_bytes: response.map_or(0, |(facts, _)| facts.size as u64) + request.body_down,
        is_inferred: false,
        is_whole: request.is_whole,
    })
}

fn hellos(client: &RecordFollower, server: &RecordFollower) -> TlsSeen {
    let mut seen = TlsSeen::default();
    client.messages(|messages| {
        for message in messages {
            if message.kind == HandshakeKind::CLIENT_HELLO
                && let Ok(hello) = ClientHello::parse(message.body)
            {
                seen.hello_bytes = message.body.len() as u64 + 4;
                // The first hello shows what was wanted; after a retry there is a second.
                seen.client.get_or_insert(hello);
            }
        }
    });
    server.messages(|messages| {
        for message in messages {
            if message.kind == HandshakeKind::SERVER_HELLO
                && let Ok(hello) = ServerHello::parse(message.body)
            {
                seen.was_retried |= hello.is_retry;
                seen.server = Some(hello);
            } else if message.kind == HandshakeKind::CERTIFICATE {
                seen.chain_bytes = message.body.len() as u64 + 4;
            }
        }
    });
    seen
}

/// TLS 1.3: the client's first encrypted record after the server's hello is its Finished. Returns
/// where the requests and the answers begin in the two streams.
fn finished_13(
    client: &RecordFollower,
    server: &RecordFollower,
    view: &ClientView,
    seen: &mut TlsSeen,
) -> Option<(u64, u64)> {
    let hello = server
        .records()
        .iter()
        .find(|r| r.kind == ContentKind::Handshake)?;
    let flight = server.records().iter().find(|r| r.is_application_data())?;
    let answered = view.readable(hello.end)?.max(view.readable(flight.end)?);
    let early = seen.client.as_ref().is_some_and(|c| c.early_data);
    let resumed = seen.server.as_ref().is_some_and(|s| s.psk.is_some());
    let data: Vec<&RecordPlace> = client
        .records()
        .iter()
        .filter(|r| r.is_application_data())
        .collect();
    let finished = data
        .iter()
        .find(|record| view.left(record.end).is_some_and(|at| at >= answered))?;
    seen.finished = view.left(finished.end);
    let first = data.first().map_or(0, |record| record.start);
    seen.ended_early_data =
        early && resumed && first < finished.start && finished.length() == END_OF_EARLY_DATA;
    let from_client = if seen.ended_early_data {
        first
    } else {
        finished.end
    };
    // Data that the server sent before it had the Finished belongs to the handshake, unless it
    // answers early data.
    let before = seen.finished?;
    let after = server.records().iter().filter(|r| r.is_application_data());
    let mut late = after.filter(|r| view.readable(r.end).is_some_and(|at| at > before));
    let from_server = late.next().map_or(u64::MAX, |r| r.start);
    Some((from_client, from_server))
}

/// TLS 1.2: the handshake is over when the server's Finished has come.
fn finished_12(server: &RecordFollower, view: &ClientView, seen: &mut TlsSeen) -> Option<()> {
    let records = server.records();
    let changed = records
        .iter()
        .position(|r| r.kind == ContentKind::ChangeCipherSpec)?;
    let finished = records.get(changed + 1..)?.first()?;
    seen.finished = view.readable(finished.end);
    Some(())
}

/// An HTTP/2 client may send its preface in a separate record, and the first request after it.
fn drop_preface(requests: &mut Vec<DataBurst>, rtt: u64) {
    let [first, second, ..] = requests.as_slice() else {
        return;
    };
    let inside = first.bytes.saturating_sub(5 + 17);
    let rest = inside.saturating_sub(PREFACE + SETTINGS);
    let settings = |rest: u64| rest.is_multiple_of(SETTING) && rest / SETTING <= MAX_SETTINGS;
    let is_preface = inside == PREFACE
        || (inside >= PREFACE + SETTINGS
            && (settings(rest) || rest.checked_sub(WINDOW_UPDATE).is_some_and(settings)));
    if is_preface && second.at.saturating_sub(first.at) <= rtt.saturating_mul(2).max(WITH_ACK * 4) {
        requests.remove(0);
    }
}

/// Tickets and SETTINGS come a round trip after the client's Finished, whatever the answer to the
/// request: if a later answer follows, they are not the answer.
fn drop_tickets(answers: &mut Vec<DataBurst>, requests: &[DataBurst], seen: &TlsSeen, rtt: u64) {
    let Some(finished) = seen.finished else {
        return;
    };
    let early = finished + rtt + (rtt / 4).max(WITH_ACK);
    let second = requests
        .iter()
        .find(|request| request.at > early)
        .map_or(u64::MAX, |request| request.at);
    let first: Vec<&DataBurst> = answers.iter().filter(|a| a.at <= early).collect();
    let later = answers
        .iter()
        .any(|a| a.at > early && a.at < second.saturating_add(rtt));
    let all_small = first.iter().all(|a| a.bytes <= MAX_TICKET);
    if later && all_small && !first.is_empty() {
        answers.retain(|answer| answer.at > early);
    }
}
