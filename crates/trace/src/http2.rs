//! HTTP/2 in clear text: begun with prior knowledge, or after an upgrade.

use std::fmt;

use roundtrip_wire::passive::{Http2Reader, HttpEvent, HttpFact, RequestFacts};
use roundtrip_wire::quic::Side as Party;

use crate::http1::Http1Message;
use crate::requests::{OpenedRequest, Requests};
use crate::segment::Side;
use crate::stream::Piece;

/// The head of a frame. RFC 9113 §4.1.
const FRAME_HEAD: usize = 9;

pub(crate) struct ClearHttp2 {
    reader: Http2Reader,
    requests: Requests,
    /// The number of bytes read from each stream.
    at: [u64; 2],
}

impl fmt::Debug for ClearHttp2 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClearHttp2").finish_non_exhaustive()
    }
}

impl ClearHttp2 {
    /// A connection on which HTTP/2 begins at these places of the two streams.
    pub(crate) fn starting_at(at: [u64; 2]) -> Self {
        Self {
            reader: Http2Reader::new(),
            requests: Requests::default(),
            at,
        }
    }

    /// Makes a connection that was upgraded by this request, which is answered on stream 1. RFC
    /// 7540 §3.2.
    pub(crate) fn upgraded(request: &Http1Message, response: &Http1Message) -> Self {
        let end = request.end.unwrap_or(request.head_end);
        let mut upgraded = Self::starting_at([end, response.head_end]);
        let text = |name| {
            let value = request.field(name)?;
            Some(String::from_utf8_lossy(value).into_owned())
        };
        let facts = RequestFacts {
            method: request.method.clone(),
            authority: text("host").unwrap_or_default(),
            path: request.target.clone(),
            size: request.head_bytes as usize,
            ..RequestFacts::default()
        };
        let events = [
            (
                Party::Client,
                request.start..request.head_end,
                HttpFact::Request(Box::new(facts)),
            ),
            (Party::Client, end..end, HttpFact::End),
            (
                Party::Server,
                response.start..response.head_end,
                HttpFact::Interim(response.status),
            ),
        ];
        for (side, at, what) in events {
            upgraded.requests.event(HttpEvent {
                side,
                stream: Some(1),
                at,
                what,
            });
        }
        upgraded
    }

    /// Whether the bytes of a client's stream so far match the preface.
    pub(crate) fn may_begin(front: &[u8]) -> bool {
        const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
        let length = front.len().min(PREFACE.len());
        front.get(..length) == PREFACE.get(..length)
    }

    /// Whether a server's stream begins with its settings, which may come before the client's
    /// preface. RFC 9113 §3.4.
    pub(crate) fn server_may_begin(front: &[u8]) -> bool {
        const SETTINGS: u8 = 4;
        let Some([0, a, b, SETTINGS, 0, stream @ ..]) = front.first_chunk::<FRAME_HEAD>() else {
            return false;
        };
        let length = u16::from_be_bytes([*a, *b]);
        *stream == [0; 4] && length.is_multiple_of(6) && length < 256
    }

    pub(crate) fn take(&mut self, from: Side, piece: Piece<'_>) {
        let party = match from {
            Side::Client => Party::Client,
            Side::Server => Party::Server,
        };
        let place = &mut self.at[from.index()];
        let requests = &mut self.requests;
        let each = |event: HttpEvent| requests.event(event);
        let start = *place;
        match piece {
            Piece::Bytes(bytes) => {
                *place += bytes.len() as u64;
                self.reader.push(party, bytes, start..*place, each);
            }
            Piece::Unknown(count) => {
                *place += count;
                self.reader.skip(party, count, start..*place, each);
            }
        }
    }

    pub(crate) fn requests(&self) -> &[OpenedRequest] {
        self.requests.all()
    }

    /// Whether no request is under way.
    pub(crate) fn is_quiet(&self) -> bool {
        self.requests.are_over()
    }

    /// Forgets the requests, all of which are over.
    pub(crate) fn clear(&mut self) {
        self.requests.clear();
    }

    /// Roughly the number of bytes that this holds.
    pub(crate) fn held(&self) -> usize {
        self.requests.held() + self.reader.held()
    }
}
