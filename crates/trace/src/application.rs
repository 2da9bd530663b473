//! Which requests and answers a connection carried, with their places in its streams and their
//! times at the client.
//!
//! HTTP/1 in clear text shows this itself. Of TLS, only the records are seen, not their content:
//! the k-th burst of the client is taken for the k-th request, bursts too small to be one are
//! ignored, and tickets that come before a later answer are not taken for the answer.

mod clear;
mod sealed;

use std::borrow::Cow;

use roundtrip_wire::quic::Side as Party;
use roundtrip_wire::tls::{ClientHello, ServerHello, Version};

use crate::http1::Http1Message;
use crate::http2::ClearHttp2;
use crate::opened::Inside;
use crate::records::RecordFollower;
use crate::requests::OpenedRequest;
use crate::segment::Side;
use crate::view::ClientView;

pub(crate) use clear::{of_answer_alone, of_http1};
use sealed::hellos;
pub(crate) use sealed::of_tls;

/// The shortest time in which an answer can arrive, as a share of a round trip.
const SOONEST: f64 = 0.8;

/// The facts of the handshake.
#[derive(Debug, Default)]
pub(crate) struct TlsSeen {
    pub(crate) client: Option<ClientHello>,
    pub(crate) server: Option<ServerHello>,
    /// The version that the server chose, or that the order of the records shows if its hello was
    /// truncated.
    pub(crate) version: Option<Version>,
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
#[derive(Debug, Clone, Default)]
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
    /// The bytes of the first burst, if the request was seen only as bursts.
    pub(crate) first_bytes: u64,
    pub(crate) response_bytes: u64,
    /// The request was seen only as a burst, which may hold several.
    pub(crate) is_inferred: bool,
    pub(crate) is_whole: bool,
    /// When a side ended the stream before the answer was complete.
    pub(crate) reset: Option<(u64, Side)>,
}

impl TracedRequest {
    /// A pipelined request of HTTP/1 has to wait until the answer before it has ended, at `before`:
    /// until then, the connection was busy with that. RFC 9112 §9.3.2.
    pub(crate) fn in_turn(&self, before: Option<u64>) -> Cow<'_, Self> {
        let request = self.request.as_ref();
        let has_turns = request.is_some_and(|request| request.version.starts_with('1'));
        match before.filter(|end| has_turns && *end > self.began) {
            Some(end) => Cow::Owned(Self {
                began: end,
                sent: self.sent.max(end),
                ..self.clone()
            }),
            None => Cow::Borrowed(self),
        }
    }
}

/// Data in either direction, in the order of the client's times.
#[derive(Debug, Clone, Copy)]
struct DataBurst {
    /// When the first byte left or arrived.
    began: u64,
    /// When the last byte of a request left, or when all of an answer could be read.
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
                began: burst.began,
                sent: burst.at,
                request_bytes: burst.bytes,
                first_bytes: burst.bytes,
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
                began: *at,
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

/// The content of a TLS connection whose secrets are known.
pub(crate) fn of_opened(
    inside: &Inside,
    followers: &[RecordFollower; 2],
    view: &ClientView,
) -> (TlsSeen, Vec<TracedRequest>) {
    let mut seen = hellos(&followers[0], &followers[1]);
    seen.began = view.connected.or(view.sent.first().map(|(_, at)| *at));
    let is_13 = seen.version == Some(Version::TLS13);
    // TLS 1.2: the handshake ends when the server's Finished has arrived, or after the client's if
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

/// The requests of HTTP/2 in clear text.
pub(crate) fn of_http2(http: &ClearHttp2, view: &ClientView) -> Vec<TracedRequest> {
    let (left, readable) = (|end| view.left(end), |end| view.readable(end));
    let mut all = of_requests(http.requests(), "2", &left, &readable);
    for asked in &mut all {
        asked.is_whole |= view.fin.is_some();
    }
    all
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
    // Data that arrives before the whole request has left answers its head: `100 Continue`.
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
        first_bytes: 0,
        response_bytes: response.map_or(0, |(facts, _)| facts.size as u64) + request.body_down,
        is_inferred: false,
        is_whole: request.is_whole,
        reset: request
            .reset
            .filter(|_| !request.is_whole)
            .and_then(|(side, place)| match side {
                Party::Client => Some((left(place)?, Side::Client)),
                Party::Server => Some((readable(place)?, Side::Server)),
            }),
    })
}
