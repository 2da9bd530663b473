//! A TLS connection whose secrets are known: the content of its handshake, and the requests that it
//! carried, by their places in the two streams.
//!
//! Pieces wait until [`OpenedTls::read`] is called with the key log: a flow does not hold it.

use std::fmt;
use std::ops::Range;

use roundtrip_wire::key_log::KeyLog;
use roundtrip_wire::passive::{
    Http1Reader, Http2Reader, HttpEvent, SealedReason, TlsContent, TlsEpoch, TlsReader, TlsRecord,
};
use roundtrip_wire::quic::Side as Party;
use roundtrip_wire::tls::{ContentKind, EncryptedExtensions, HandshakeKind, ServerHello};

use crate::requests::{OpenedRequest, Requests};
use crate::segment::Side;
use crate::stream::Piece;

/// The limit in bytes for a handshake message, and for early data that waits for the server's
/// decision.
const MAX_MESSAGE: usize = 1 << 18;
const MAX_EARLY: usize = 1 << 20;
/// The approximate memory of a piece that waits, in bytes, beside its data.
const PER_PIECE: usize = 64;

pub(crate) struct OpenedTls {
    reader: TlsReader,
    waiting: Vec<(Side, HeldData)>,
    inside: Inside,
}

enum HeldData {
    Bytes(Vec<u8>),
    Unknown(u64),
}

/// The decrypted content.
pub(crate) struct Inside {
    /// The positions of both sides' streams when TLS began.
    start: [u64; 2],
    messages: [Vec<u8>; 2],
    early: Vec<(Vec<u8>, Range<u64>)>,
    early_bytes: usize,
    http: Option<HttpReader>,
    requests: Requests,
    pub(crate) alpn: Option<String>,
    /// Whether the server accepted early data.
    pub(crate) accepts_early: Option<bool>,
    /// Where the record with the Finished of each side ends.
    pub(crate) finished: [Option<u64>; 2],
    /// The size of the certificate chain in bytes, as sent.
    pub(crate) chain_bytes: u64,
    pub(crate) is_opened: bool,
    /// Why the first sealed record could not be decrypted.
    pub(crate) sealed: Option<SealedReason>,
}

enum HttpReader {
    One(Http1Reader),
    Two(Box<Http2Reader>),
}

impl fmt::Debug for OpenedTls {
    /// Omits the secrets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OpenedTls").finish_non_exhaustive()
    }
}

impl OpenedTls {
    /// Begins with TLS at these positions in the two streams.
    pub(crate) fn starting_at(start: [u64; 2]) -> Self {
        Self {
            reader: TlsReader::new(),
            waiting: Vec::new(),
            inside: Inside {
                start,
                messages: Default::default(),
                early: Vec::new(),
                early_bytes: 0,
                http: None,
                requests: Requests::default(),
                alpn: None,
                accepts_early: None,
                finished: [None; 2],
                chain_bytes: 0,
                is_opened: false,
                sealed: None,
            },
        }
    }

    pub(crate) fn take(&mut self, from: Side, piece: Piece<'_>) {
        let piece = match piece {
            Piece::Bytes(bytes) => HeldData::Bytes(bytes.to_vec()),
            Piece::Unknown(count) => HeldData::Unknown(count),
        };
        self.waiting.push((from, piece));
    }

    /// Reads the data that has arrived since the last call.
    pub(crate) fn read(&mut self, keys: &KeyLog) {
        let inside = &mut self.inside;
        for (side, piece) in self.waiting.drain(..) {
            let party = party(side);
            let each = |record: TlsRecord<'_>| inside.record(side, &record);
            match piece {
                HeldData::Bytes(bytes) => self.reader.push(party, &bytes, keys, each),
                HeldData::Unknown(count) => self.reader.skip(party, count, keys, each),
            }
        }
    }

    /// The decrypted content, if there is any.
    pub(crate) fn inside(&self) -> Option<&Inside> {
        Some(&self.inside).filter(|inside| inside.is_opened)
    }

    /// Forgets the requests, all of which are over.
    pub(crate) fn clear(&mut self) {
        self.inside.requests.clear();
    }

    pub(crate) fn session(&self) -> Option<[u8; 32]> {
        self.reader.client_random().copied()
    }

    pub(crate) fn sealed(&self) -> Option<SealedReason> {
        self.inside.sealed
    }

    /// Roughly the number of bytes that this holds.
    pub(crate) fn held(&self) -> usize {
        let inside = &self.inside;
        let http = match &inside.http {
            Some(HttpReader::One(http)) => http.held(),
            Some(HttpReader::Two(http)) => http.held(),
            None => 0,
        };
        inside.requests.held()
            + http
            + self.reader.held()
            + inside.early_bytes
            + inside.messages.iter().map(Vec::capacity).sum::<usize>()
    }
}

impl Inside {
    pub(crate) fn requests(&self) -> &[OpenedRequest] {
        self.requests.all()
    }

    /// Whether no request is under way.
    pub(crate) fn is_quiet(&self) -> bool {
        self.requests.are_over()
    }

    pub(crate) fn version(&self) -> &'static str {
        match self.http {
            Some(HttpReader::Two(_)) => "2",
            _ => "1.1",
        }
    }

    fn record(&mut self, side: Side, record: &TlsRecord<'_>) {
        let start = self.start[side.index()];
        let at = start + record.at.start..start + record.at.end;
        let is_data = record.kind == ContentKind::ApplicationData;
        match record.content {
            TlsContent::Clear(bytes) if record.kind == ContentKind::Handshake => {
                self.handshake(side, bytes, at.end);
            }
            TlsContent::Clear(_) => {}
            TlsContent::Opened { epoch, bytes } => {
                self.is_opened = true;
                if record.kind == ContentKind::Handshake {
                    self.handshake(side, bytes, at.end);
                } else if is_data && epoch == TlsEpoch::Early {
                    self.early(bytes, at);
                } else if is_data {
                    self.data(side, bytes, at);
                }
            }
            TlsContent::Sealed { reason, length } => {
                self.sealed.get_or_insert(reason);
                if is_data {
                    self.skip(side, length as u64, at);
                }
            }
            TlsContent::Lost => {
                let length = at.end - at.start;
                self.skip(side, length, at);
            }
        }
    }

    fn handshake(&mut self, side: Side, bytes: &[u8], end: u64) {
        let mut held = std::mem::take(&mut self.messages[side.index()]);
        if held.len() + bytes.len() > MAX_MESSAGE {
            return;
        }
        held.extend_from_slice(bytes);
        let mut rest = held.as_slice();
        while let Some((kind, body, after)) = message(rest) {
            self.message(side, kind, body, end);
            rest = after;
        }
        self.messages[side.index()] = rest.to_vec();
    }

    fn message(&mut self, side: Side, kind: HandshakeKind, body: &[u8], end: u64) {
        match kind {
            HandshakeKind::SERVER_HELLO => {
                let told = ServerHello::parse(body).ok().and_then(|hello| hello.alpn);
                self.alpn = told.or(self.alpn.take());
            }
            HandshakeKind::ENCRYPTED_EXTENSIONS => {
                if let Ok(told) = EncryptedExtensions::parse(body) {
                    self.alpn = told.alpn;
                    self.decide_early(told.early_data);
                }
            }
            HandshakeKind::CERTIFICATE | HandshakeKind::COMPRESSED_CERTIFICATE
                if side == Side::Server =>
            {
                self.chain_bytes = body.len() as u64 + 4;
            }
            HandshakeKind::FINISHED => {
                self.finished[side.index()].get_or_insert(end);
            }
            _ => {}
        }
    }

    /// Early data counts only if the server accepts it: otherwise the client sends it again.
    fn early(&mut self, bytes: &[u8], at: Range<u64>) {
        match self.accepts_early {
            Some(true) => self.data(Side::Client, bytes, at),
            None if self.early_bytes + bytes.len() <= MAX_EARLY => {
                self.early_bytes += PER_PIECE + bytes.len();
                self.early.push((bytes.to_vec(), at));
            }
            Some(false) | None => {}
        }
    }

    fn decide_early(&mut self, is_accepted: bool) {
        self.accepts_early = Some(is_accepted);
        self.early_bytes = 0;
        for (bytes, at) in std::mem::take(&mut self.early) {
            self.early(&bytes, at);
        }
    }

    fn data(&mut self, side: Side, bytes: &[u8], at: Range<u64>) {
        if self.http.is_none() {
            self.http = match self.alpn.as_deref() {
                Some("h2") => Some(HttpReader::Two(Box::default())),
                Some("http/1.1" | "http/1.0") => Some(HttpReader::One(Http1Reader::new())),
                None if side == Side::Client && Http2Reader::recognises(bytes) => {
                    Some(HttpReader::Two(Box::default()))
                }
                None if side == Side::Client => Some(HttpReader::One(Http1Reader::new())),
                _ => None,
            };
        }
        self.with_http(|http, each| match http {
            HttpReader::One(http) => http.push(party(side), bytes, at, each),
            HttpReader::Two(http) => http.push(party(side), bytes, at, each),
        });
    }

    fn skip(&mut self, side: Side, length: u64, at: Range<u64>) {
        self.with_http(|http, each| match http {
            HttpReader::One(http) => http.skip(party(side), length, at, each),
            HttpReader::Two(http) => http.skip(party(side), length, at, each),
        });
    }

    fn with_http(&mut self, step: impl FnOnce(&mut HttpReader, &mut dyn FnMut(HttpEvent))) {
        // The reader is taken out, because its results change other fields.
        if let Some(mut http) = self.http.take() {
            step(&mut http, &mut |event| self.requests.event(event));
            self.http = Some(http);
        }
    }
}

fn party(side: Side) -> Party {
    match side {
        Side::Client => Party::Client,
        Side::Server => Party::Server,
    }
}

/// Splits off the first handshake message. RFC 8446 §4.
fn message(bytes: &[u8]) -> Option<(HandshakeKind, &[u8], &[u8])> {
    let [kind, a, b, c] = *bytes.first_chunk::<4>()?;
    let length = usize::from(a) << 16 | usize::from(b) << 8 | usize::from(c);
    let (body, after) = bytes.get(4..)?.split_at_checked(length)?;
    Some((HandshakeKind(kind), body, after))
}
