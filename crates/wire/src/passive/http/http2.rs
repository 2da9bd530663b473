//! HTTP/2: frames, header blocks, and the windows of both sides. RFC 9113.
//!
//! Push what each side sent, in the order of the capture. After missing bytes, frames are searched
//! at the beginning of each push, and fields that were sent before are unknown.

mod windows;

use std::collections::BTreeMap;
use std::ops::Range;

use self::windows::Windows;
use super::{HttpEvent, HttpFact, PushRange, RequestFacts, ResponseFacts};
use crate::hpack::Decoder;
use crate::quic::Side;

const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
const FRAME_HEAD: usize = 9;
/// The largest frame other than DATA, in bytes; senders may use 16 KiB unless more was announced.
const MAX_FRAME: usize = 1 << 20;
/// The largest header block in bytes.
const MAX_BLOCK: usize = 1 << 20;
/// The assumed largest DATA frame in bytes while the settings are unknown. Larger ones are rare.
const USUAL_FRAME: usize = 1 << 14;
/// The number of streams that are remembered; the oldest are forgotten.
const MAX_STREAMS: usize = 4096;
/// The approximate memory of a stream and its windows, in bytes.
const PER_STREAM: usize = 128;

const DATA: u8 = 0;
const HEADERS: u8 = 1;
const RST_STREAM: u8 = 3;
const SETTINGS: u8 = 4;
const PUSH_PROMISE: u8 = 5;
const PING: u8 = 6;
const GOAWAY: u8 = 7;
const WINDOW_UPDATE: u8 = 8;
const CONTINUATION: u8 = 9;

/// END_STREAM; in PING and SETTINGS: ACK.
const END_STREAM: u8 = 0x1;
const ACK: u8 = 0x1;
const END_HEADERS: u8 = 0x4;
const PADDED: u8 = 0x8;
const PRIORITY: u8 = 0x20;

/// A connection, seen from outside.
#[derive(Default)]
pub struct Http2Reader {
    client: Http2Half,
    server: Http2Half,
    streams: BTreeMap<u64, StreamProgress>,
    windows: Windows,
}

/// Whether the stream has had its response: later fields are trailers.
#[derive(Debug, Clone, Copy, Default)]
struct StreamProgress {
    request: bool,
    response: bool,
}

#[derive(Default)]
struct Http2Half {
    state: Http2State,
    held: Vec<u8>,
    /// Where the current frame began.
    began: u64,
    block: Option<HeaderBlock>,
    decoder: Decoder,
}

#[derive(Debug, Clone, Copy, Default)]
enum Http2State {
    /// The client begins with the preface, or this is not the beginning.
    #[default]
    Start,
    Frame,
    Data {
        stream: u64,
        left: usize,
        ends: bool,
    },
    /// The start of the next frame is unknown.
    Lost,
}

/// An incomplete header block.
#[derive(Debug)]
struct HeaderBlock {
    stream: u64,
    ends: bool,
    began: u64,
    bytes: Vec<u8>,
    is_promise: bool,
}

#[derive(Debug, Clone, Copy)]
struct FrameHead {
    length: usize,
    kind: u8,
    flags: u8,
    stream: u64,
}

impl FrameHead {
    fn read(bytes: &[u8]) -> Option<Self> {
        let [a, b, c, kind, flags, s0, s1, s2, s3] = *bytes.first_chunk::<FRAME_HEAD>()?;
        Some(Self {
            length: usize::from(a) << 16 | usize::from(b) << 8 | usize::from(c),
            kind,
            flags,
            stream: u64::from(u32::from_be_bytes([s0 & 0x7f, s1, s2, s3])),
        })
    }

    /// Whether this could be a frame's head. RFC 9113 §6.
    fn is_likely(self) -> bool {
        let of_stream = self.stream != 0;
        let length = self.length;
        match self.kind {
            DATA => of_stream && length <= USUAL_FRAME && self.flags & !(END_STREAM | PADDED) == 0,
            HEADERS | PUSH_PROMISE | CONTINUATION => of_stream && length <= USUAL_FRAME,
            2 => of_stream && length == 5,
            RST_STREAM => of_stream && length == 4,
            SETTINGS => !of_stream && length.is_multiple_of(6) && length < 256,
            PING => !of_stream && length == 8,
            GOAWAY => !of_stream && (8..1024).contains(&length),
            WINDOW_UPDATE => length == 4,
            _ => false,
        }
    }
}

impl Http2Reader {
    pub fn new() -> Self {
        Self::default()
    }

    /// Whether this beginning of a client's stream is HTTP/2's preface.
    pub fn recognises(beginning: &[u8]) -> bool {
        beginning.starts_with(PREFACE)
    }

    /// Takes the next bytes of a side, which came from these positions.
    pub fn push(
        &mut self,
        side: Side,
        bytes: &[u8],
        at: Range<u64>,
        mut each: impl FnMut(HttpEvent),
    ) {
        let source = PushRange::new(bytes, at);
        let mut place = 0;
        if matches!(self.half(side).state, Http2State::Lost) && begins_frames(bytes) {
            self.half(side).state = Http2State::Frame;
        }
        while let Some(rest) = bytes.get(place..).filter(|rest| !rest.is_empty()) {
            place += self.step(side, rest, place, &source, &mut each);
        }
    }

    /// Notes that the next `length` bytes of a side are missing.
    pub fn skip(
        &mut self,
        side: Side,
        length: u64,
        at: Range<u64>,
        mut each: impl FnMut(HttpEvent),
    ) {
        let half = self.half(side);
        if let Http2State::Data { stream, left, ends } = &mut half.state
            && length <= *left as u64
        {
            *left -= length as usize;
            if *left == 0 {
                let (stream, ends) = (*stream, *ends);
                half.state = Http2State::Frame;
                if ends {
                    each(HttpEvent::new(side, stream, at, HttpFact::End));
                }
            }
            return;
        }
        self.lose(side, at, &mut each);
    }

    /// Roughly the number of bytes that the reader holds.
    pub fn held(&self) -> usize {
        self.client.held() + self.server.held() + self.streams.len() * PER_STREAM
    }

    fn half(&mut self, side: Side) -> &mut Http2Half {
        match side {
            Side::Client => &mut self.client,
            Side::Server => &mut self.server,
        }
    }

    fn lose(&mut self, side: Side, at: Range<u64>, each: &mut dyn FnMut(HttpEvent)) {
        self.windows.forget();
        let half = self.half(side);
        if matches!(half.state, Http2State::Lost) {
            return;
        }
        half.state = Http2State::Lost;
        half.held.clear();
        half.block = None;
        half.decoder.forget();
        each(HttpEvent::new(side, None, at, HttpFact::Lost));
    }

    /// Continues at `rest`, and returns how many bytes that took: at least one.
    fn step(
        &mut self,
        side: Side,
        rest: &[u8],
        place: usize,
        source: &PushRange,
        each: &mut dyn FnMut(HttpEvent),
    ) -> usize {
        let half = self.half(side);
        match half.state {
            Http2State::Lost => rest.len(),
            Http2State::Data { stream, left, ends } => {
                let taken = left.min(rest.len());
                let left = left - taken;
                half.state = if left == 0 {
                    Http2State::Frame
                } else {
                    Http2State::Data { stream, left, ends }
                };
                let at = source.start(place)..source.end(place + taken);
                let end = at.end;
                each(HttpEvent::new(
                    side,
                    stream,
                    at,
                    HttpFact::Body(taken as u64),
                ));
                if left == 0 && ends {
                    each(HttpEvent::new(side, stream, end..end, HttpFact::End));
                }
                taken
            }
            Http2State::Start | Http2State::Frame => {
                if half.held.is_empty() {
                    half.began = source.start(place);
                }
                let wanted = half.wanted(side);
                let taken = wanted
                    .saturating_sub(half.held.len())
                    .min(rest.len())
                    .max(1);
                half.held
                    .extend_from_slice(rest.get(..taken).unwrap_or_default());
                let end = source.end(place + taken);
                if half.held.len() >= wanted {
                    self.advance(side, end, each);
                }
                taken
            }
        }
    }

    /// Handles the bytes that were waited for: a preface, the head of a frame, or a whole frame.
    fn advance(&mut self, side: Side, end: u64, each: &mut dyn FnMut(HttpEvent)) {
        let half = self.half(side);
        let at = half.began..end;
        if matches!(half.state, Http2State::Start) {
            half.state = Http2State::Frame;
            let first = FrameHead::read(&half.held);
            let begins = match side {
                Side::Client => Self::recognises(&half.held),
                // A server begins with its settings.
                Side::Server => first.is_some_and(|h| h.kind == SETTINGS && h.is_likely()),
            };
            if !begins {
                return self.lose(side, at, each);
            }
            if side == Side::Client {
                half.held.clear();
                return;
            }
        }
        let Some(head) = FrameHead::read(&half.held) else {
            return;
        };
        let content = match head.kind {
            DATA if head.flags & PADDED == 0 => 0,
            DATA => head.length.min(1),
            _ => head.length,
        };
        if content > MAX_FRAME {
            return self.lose(side, at, each);
        }
        if half.held.len() < FRAME_HEAD + content {
            return;
        }
        let frame = std::mem::take(&mut half.held);
        let content = frame.get(FRAME_HEAD..).unwrap_or_default();
        if self.read(side, head, content, at.clone(), each).is_none() {
            self.lose(side, at, each);
        }
        let half = self.half(side);
        half.held = frame;
        half.held.clear();
    }

    /// Reads a frame; of DATA, only the part before the data. `None` if it is invalid.
    fn read(
        &mut self,
        side: Side,
        head: FrameHead,
        content: &[u8],
        at: Range<u64>,
        each: &mut dyn FnMut(HttpEvent),
    ) -> Option<()> {
        let stream = head.stream;
        let mut say = |stream: u64, what| {
            let stream = (stream != 0).then_some(stream);
            each(HttpEvent::new(side, stream, at.clone(), what));
        };
        match head.kind {
            DATA => {
                let left = head.length - content.len();
                let ends = head.flags & END_STREAM != 0;
                self.half(side).state = if left > 0 {
                    Http2State::Data { stream, left, ends }
                } else {
                    Http2State::Frame
                };
                if left == 0 && ends {
                    say(stream, HttpFact::End);
                }
                for blocked in self.windows.spend(side, stream, head.length, ends) {
                    say(blocked, HttpFact::Blocked);
                }
            }
            HEADERS | PUSH_PROMISE => {
                let is_padded = head.flags & PADDED != 0;
                let padding = usize::from(*content.first()?) * usize::from(is_padded);
                let before = match head.kind {
                    // The id of the promised stream. RFC 9113 §6.6.
                    PUSH_PROMISE => 4,
                    _ => usize::from(head.flags & PRIORITY != 0) * 5,
                };
                let front = usize::from(is_padded) + before;
                let end = content.len().checked_sub(padding)?;
                let stream = if head.kind == PUSH_PROMISE {
                    let promised = content.get(usize::from(is_padded)..)?.first_chunk::<4>()?;
                    u64::from(u32::from_be_bytes(*promised) & 0x7fff_ffff)
                } else {
                    stream
                };
                let block = HeaderBlock {
                    stream,
                    ends: head.kind == HEADERS && head.flags & END_STREAM != 0,
                    began: at.start,
                    bytes: content.get(front..end)?.to_vec(),
                    is_promise: head.kind == PUSH_PROMISE,
                };
                self.half(side).block = Some(block);
                self.finish_block(side, head, at.end, each)?;
            }
            CONTINUATION => {
                let block = self.half(side).block.as_mut()?;
                (block.bytes.len() + content.len() <= MAX_BLOCK).then_some(())?;
                block.bytes.extend_from_slice(content);
                self.finish_block(side, head, at.end, each)?;
            }
            RST_STREAM => {
                let code = u64::from(u32::from_be_bytes(*content.first_chunk()?));
                self.streams.remove(&stream);
                self.windows.end(stream);
                say(stream, HttpFact::Reset { code });
            }
            SETTINGS if head.flags & ACK == 0 => {
                for [a, b, c, d, e, f] in content.as_chunks::<6>().0 {
                    let value = u64::from(u32::from_be_bytes([*c, *d, *e, *f]));
                    match u16::from_be_bytes([*a, *b]) {
                        3 => say(0, HttpFact::MaxStreams(value)),
                        4 => self.windows.set_initial(side, value),
                        _ => {}
                    }
                }
            }
            PING => {
                let ack = head.flags & ACK != 0;
                say(0, HttpFact::Ping { ack });
            }
            GOAWAY => {
                let (last, rest) = content.split_first_chunk::<4>()?;
                let last = u64::from(u32::from_be_bytes(*last) & 0x7fff_ffff);
                let code = u64::from(u32::from_be_bytes(*rest.first_chunk()?));
                say(0, HttpFact::GoAway { last, code });
            }
            WINDOW_UPDATE => {
                let more = u64::from(u32::from_be_bytes(*content.first_chunk()?) & 0x7fff_ffff);
                self.windows.allow(side, stream, more);
                say(stream, HttpFact::Window(more));
            }
            _ => {}
        }
        Some(())
    }

    fn finish_block(
        &mut self,
        side: Side,
        head: FrameHead,
        end: u64,
        each: &mut dyn FnMut(HttpEvent),
    ) -> Option<()> {
        if head.flags & END_HEADERS == 0 {
            return Some(());
        }
        let half = self.half(side);
        let block = half.block.take()?;
        let lines = half.decoder.read(&block.bytes).ok()?;
        let lines = lines
            .iter()
            .map(|(name, value)| (name.as_slice(), value.as_slice()));
        let at = block.began..end;
        let length = block.bytes.len();
        if self.streams.len() >= MAX_STREAMS && !self.streams.contains_key(&block.stream) {
            self.streams.pop_first();
        }
        let known = self.streams.entry(block.stream).or_default();
        let mut say = |at, what| each(HttpEvent::new(side, block.stream, at, what));
        if (side == Side::Client && !known.request) || block.is_promise {
            known.request = true;
            let facts = RequestFacts::read(length, lines);
            say(at, HttpFact::Request(Box::new(facts)));
        } else if side == Side::Server && !known.response {
            let facts = ResponseFacts::read(length, lines);
            if (100..200).contains(&facts.status) {
                say(at, HttpFact::Interim(facts.status));
            } else {
                known.response = true;
                say(at, HttpFact::Response(Box::new(facts)));
            }
        }
        if block.ends {
            say(end..end, HttpFact::End);
            if side == Side::Server {
                self.streams.remove(&block.stream);
                self.windows.end(block.stream);
            }
        }
        Some(())
    }
}

impl Http2Half {
    fn held(&self) -> usize {
        let block = self
            .block
            .as_ref()
            .map_or(0, |block| block.bytes.capacity());
        self.held.capacity() + block + self.decoder.held()
    }

    /// The number of bytes that must be collected before anything can be reported.
    fn wanted(&self, side: Side) -> usize {
        if matches!(self.state, Http2State::Start) && side == Side::Client {
            return PREFACE.len();
        }
        let Some(head) = FrameHead::read(&self.held) else {
            return FRAME_HEAD;
        };
        match head.kind {
            DATA if head.flags & PADDED == 0 => FRAME_HEAD,
            DATA => FRAME_HEAD + head.length.min(1),
            _ => FRAME_HEAD + head.length.min(MAX_FRAME + 1),
        }
    }
}

/// Whether frames follow each other from here to the end of the bytes, or beyond it.
fn begins_frames(bytes: &[u8]) -> bool {
    let mut rest = bytes;
    let mut frames = 0;
    while let Some(head) = FrameHead::read(rest) {
        if !head.is_likely() {
            return false;
        }
        frames += 1;
        rest = rest.get(FRAME_HEAD + head.length..).unwrap_or_default();
    }
    frames > 0
}
