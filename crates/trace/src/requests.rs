//! The requests inside an opened connection, assembled from its HTTP.

use std::collections::HashMap;
use std::ops::Range;

use roundtrip_wire::passive::{HttpEvent, HttpFact, RequestFacts, ResponseFacts};
use roundtrip_wire::quic::Side as Party;

/// The largest number of requests that are kept for one connection.
const MAX_REQUESTS: usize = 100_000;

#[derive(Default)]
pub(crate) struct Requests {
    all: Vec<OpenedRequest>,
    by_stream: HashMap<u64, usize>,
    /// The number of requests that are over.
    over: usize,
    /// The bytes of the requests' texts, which compression may have made far larger than what was
    /// sent.
    texts: usize,
}

/// A request and its answer. Positions are offsets in the sender's stream; for QUIC, the times of
/// the datagrams.
pub(crate) struct OpenedRequest {
    pub(crate) facts: RequestFacts,
    pub(crate) head: Range<u64>,
    /// The position where the request ends.
    pub(crate) sent: u64,
    pub(crate) body_up: u64,
    pub(crate) interim: Vec<u16>,
    /// The positions where the first records of the final answer and of interim answers end: they
    /// cannot be read earlier.
    pub(crate) first: Option<u64>,
    pub(crate) interim_at: Vec<u64>,
    pub(crate) response: Option<(ResponseFacts, Range<u64>)>,
    pub(crate) received: Option<u64>,
    pub(crate) body_down: u64,
    pub(crate) is_whole: bool,
    /// The side that ended the stream before the answer was complete, and where.
    pub(crate) reset: Option<(Party, u64)>,
    /// Whether the connection carries another protocol after the answer's head.
    pub(crate) is_switched: bool,
}

impl Requests {
    pub(crate) fn all(&self) -> &[OpenedRequest] {
        &self.all
    }

    /// Whether no request is under way.
    pub(crate) fn are_over(&self) -> bool {
        self.over == self.all.len()
    }

    pub(crate) fn clear(&mut self) {
        *self = Self::default();
    }

    /// Roughly the number of bytes that the requests hold.
    pub(crate) fn held(&self) -> usize {
        self.all.len() * (size_of::<OpenedRequest>() + size_of::<(u64, usize)>()) + self.texts
    }

    pub(crate) fn event(&mut self, event: HttpEvent) {
        let Some(stream) = event.stream else {
            return;
        };
        let HttpEvent { side, at, what, .. } = event;
        if let HttpFact::Request(facts) = what {
            if self.all.len() < MAX_REQUESTS {
                self.by_stream.insert(stream, self.all.len());
                let texts = [&facts.method, &facts.authority, &facts.path];
                let texts = texts.into_iter().chain(&facts.referer);
                self.texts += texts.map(String::len).sum::<usize>();
                self.all.push(OpenedRequest::new(*facts, at));
            }
            return;
        }
        let known = self.by_stream.get(&stream);
        let Some(request) = known.and_then(|n| self.all.get_mut(*n)) else {
            return;
        };
        let was_over = request.is_over();
        match (side, what) {
            (side, HttpFact::Reset { .. }) if !request.is_whole => {
                request.reset.get_or_insert((side, at.end));
            }
            (_, HttpFact::Switched) => request.switch(),
            _ if request.is_switched => {}
            (Party::Client, HttpFact::Body(bytes)) => {
                request.body_up += bytes;
                request.sent = request.sent.max(at.end);
            }
            (Party::Client, HttpFact::End) => request.sent = request.sent.max(at.end),
            (Party::Server, HttpFact::Interim(status)) => {
                self.texts += size_of::<(u64, u16)>();
                request.interim_at.push(at.end);
                request.interim.push(status);
            }
            (Party::Server, HttpFact::Response(facts)) => {
                request.first.get_or_insert(at.end);
                request.received = Some(at.end);
                // RFC 9110 §9.3.6, RFC 8441 §5.
                let lines = facts.lines.iter();
                let lines = lines.map(|line| size_of_val(line) + line.0.len() + line.1.len());
                self.texts += lines.sum::<usize>();
                let is_tunnel = request.facts.method == "CONNECT" && facts.status / 100 == 2;
                request.response = Some((*facts, at));
                if is_tunnel {
                    request.switch();
                }
            }
            (Party::Server, HttpFact::Body(bytes)) => {
                request.body_down += bytes;
                request.received = Some(at.end);
            }
            (Party::Server, HttpFact::End) => {
                request.received = request.received.max(Some(at.end));
                request.is_whole = true;
            }
            _ => {}
        }
        self.over += usize::from(request.is_over() && !was_over);
    }
}

impl OpenedRequest {
    fn new(facts: RequestFacts, head: Range<u64>) -> Self {
        Self {
            facts,
            sent: head.end,
            head,
            body_up: 0,
            interim: Vec::new(),
            interim_at: Vec::new(),
            first: None,
            response: None,
            received: None,
            body_down: 0,
            is_whole: false,
            reset: None,
            is_switched: false,
        }
    }

    fn is_over(&self) -> bool {
        self.is_whole || self.reset.is_some()
    }

    /// The answer's head was the whole answer.
    fn switch(&mut self) {
        (self.is_switched, self.is_whole) = (true, true);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An index of one byte may stand for a path of 4 KiB. RFC 7541 §6.1.
    #[test]
    fn texts_count_as_memory_however_few_bytes_they_were_sent_in() {
        let mut requests = Requests::default();
        for stream in 0..100 {
            let facts = RequestFacts {
                path: "/".repeat(4096),
                size: 4,
                ..RequestFacts::default()
            };
            let what = HttpFact::Request(Box::new(facts));
            requests.event(HttpEvent {
                side: Party::Client,
                stream: Some(stream),
                at: stream..stream + 4,
                what,
            });
        }
        assert!(requests.held() > 100 * 4096);
    }
}
