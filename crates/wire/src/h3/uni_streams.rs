//! The unidirectional streams of a peer, and our own control stream. RFC 9114 §6.2, RFC 9204 §4.2.

use super::control::ControlStream;
use super::frame::{GOAWAY, read_varint, write_varint};
use super::qpack_streams::{DecoderStream, read_encoder_stream};
use super::{Code, ProtocolError, Settings};
use crate::quic::Side;

const CONTROL: u64 = 0;
const PUSH: u64 = 1;
const QPACK_ENCODER: u64 = 2;
const QPACK_DECODER: u64 = 3;
/// The largest number of bytes that one of these streams may carry while the connection lasts, and
/// the number that each request adds: a client may send PRIORITY_UPDATE for the request. RFC 9218
/// §7.
const MAX_BYTES: u64 = 1 << 20;
const MAX_BYTES_A_REQUEST: u64 = 256;

/// The combined state of the streams of one peer.
#[derive(Debug)]
pub struct UniStreams {
    peer: Side,
    control: ControlStream,
    decoder: DecoderStream,
    /// The types of the streams that may occur only once, as bits.
    seen: u8,
    max_bytes: u64,
}

/// One of the streams.
#[derive(Debug, Default)]
pub struct UniStream {
    /// The part of the stream's type that has arrived.
    held: Vec<u8>,
    kind: Option<u64>,
    bytes: u64,
}

impl UniStreams {
    pub fn new(peer: Side) -> Self {
        Self {
            peer,
            control: ControlStream::new(peer),
            decoder: DecoderStream::default(),
            seen: 0,
            max_bytes: MAX_BYTES,
        }
    }

    /// The peer has begun a request.
    pub fn on_request(&mut self) {
        self.max_bytes = self.max_bytes.saturating_add(MAX_BYTES_A_REQUEST);
    }

    /// The peer's settings, once they have arrived.
    pub fn settings(&self) -> Option<Settings> {
        self.control.settings()
    }

    /// The id in the peer's last GOAWAY: the first request that it will not process or, if the peer
    /// is a client, a push.
    pub fn goaway(&self) -> Option<u64> {
        self.control.goaway()
    }

    /// Takes the next bytes of a stream. False if the rest need not be read: its type is unknown.
    pub fn read(&mut self, stream: &mut UniStream, bytes: &[u8]) -> Result<bool, ProtocolError> {
        stream.bytes += bytes.len() as u64;
        if stream.bytes > self.max_bytes {
            return Err(ProtocolError {
                code: Code::H3_EXCESSIVE_LOAD,
                why: "more than a stream of its type needs",
            });
        }
        let mut rest = bytes;
        while stream.kind.is_none() {
            let Some((byte, behind)) = rest.split_first() else {
                return Ok(true);
            };
            stream.held.push(*byte);
            rest = behind;
            if let Some((kind, _)) = read_varint(&stream.held) {
                self.begin(kind)?;
                stream.kind = Some(kind);
            }
        }
        match stream.kind {
            Some(CONTROL) => self.control.read(rest)?,
            Some(QPACK_ENCODER) => read_encoder_stream(rest)?,
            Some(QPACK_DECODER) => self.decoder.read(rest)?,
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// A stream has ended, or was reset.
    pub fn end(&self, stream: &UniStream) -> Result<(), ProtocolError> {
        if matches!(stream.kind, Some(CONTROL | QPACK_ENCODER | QPACK_DECODER)) {
            return Err(ProtocolError {
                code: Code::H3_CLOSED_CRITICAL_STREAM,
                why: "the end of a stream that must stay open",
            });
        }
        Ok(())
    }

    fn begin(&mut self, kind: u64) -> Result<(), ProtocolError> {
        if kind == PUSH {
            // A server may push only what was permitted, and nothing was. RFC 9114 §4.6, §6.2.2.
            let code = match self.peer {
                Side::Client => Code::H3_STREAM_CREATION_ERROR,
                Side::Server => Code::H3_ID_ERROR,
            };
            let why = "a push stream";
            return Err(ProtocolError { code, why });
        }
        if kind <= QPACK_DECODER {
            let bit = 1 << kind;
            if self.seen & bit != 0 {
                return Err(ProtocolError {
                    code: Code::H3_STREAM_CREATION_ERROR,
                    why: "a second stream of a type that may occur only once",
                });
            }
            self.seen |= bit;
        }
        Ok(())
    }
}

/// The beginning of our own control stream. RFC 9114 §6.2.1.
pub fn open_control(settings: Settings) -> Vec<u8> {
    let mut out = Vec::new();
    write_varint(&mut out, CONTROL);
    settings.write(&mut out);
    out
}

/// A GOAWAY frame. RFC 9114 §7.2.6.
pub fn goaway(id: u64) -> Vec<u8> {
    let mut content = Vec::new();
    write_varint(&mut content, id);
    let mut out = Vec::new();
    write_varint(&mut out, GOAWAY);
    write_varint(&mut out, content.len() as u64);
    out.append(&mut content);
    out
}
