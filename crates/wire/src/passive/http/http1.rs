//! HTTP/1.0 and 1.1: requests one after the other, pipelined or not. RFC 9112.
//!
//! Push what each side sent, in the order of the capture: an answer belongs to the first request
//! without an answer. After missing bytes, the next push that begins like a message is taken for
//! one.

use std::collections::VecDeque;
use std::mem::MaybeUninit;
use std::ops::Range;

use super::head::number;
use super::{HttpEvent, HttpFact, PushRange, RequestFacts, ResponseFacts};
use crate::http1::{Chunked, ChunkedLimits, Strictness, end_of_head, request, response};
use crate::quic::Side;

/// The largest head in bytes.
const MAX_HEAD: usize = 256 << 10;
const MAX_FIELDS: usize = 512;
/// The largest number of requests without an answer; pipelines of clients have a few.
const MAX_WAITING: usize = 1024;
const CHUNKS: ChunkedLimits = ChunkedLimits {
    size_digits: 16,
    line: 16 << 10,
    trailers: 512,
    section: 64 << 10,
};

/// A connection, seen from outside.
#[derive(Default)]
pub struct Http1Reader {
    client: Http1Half,
    server: Http1Half,
    /// Requests without an answer.
    waiting: VecDeque<AwaitedResponse>,
    requests: u64,
}

#[derive(Default)]
struct Http1Half {
    state: Http1State,
    /// The beginning of a head.
    held: Vec<u8>,
    /// Where the head began.
    began: u64,
    /// The number of the message.
    stream: u64,
}

#[derive(Debug, Clone, Default)]
enum Http1State {
    #[default]
    Head,
    Length(u64),
    Chunked(Box<Chunked>),
    UntilClose,
    /// The start of the next message is unknown.
    Lost,
    /// The client waits to see whether the server switches.
    MaySwitch,
    Switched,
}

#[derive(Debug, Clone, Copy)]
struct AwaitedResponse {
    stream: u64,
    is_head: bool,
    is_connect: bool,
}

impl Http1Reader {
    pub fn new() -> Self {
        Self::default()
    }

    /// Roughly the number of bytes that the reader holds.
    pub fn held(&self) -> usize {
        let waiting = self.waiting.capacity() * size_of::<AwaitedResponse>();
        self.client.held.capacity() + self.server.held.capacity() + waiting
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
        while let Some(rest) = bytes.get(place..).filter(|rest| !rest.is_empty()) {
            match self.step(side, rest, place, &source, &mut each) {
                0 => return,
                taken => place += taken,
            }
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
        let stream = half.stream;
        let mut event = |what| each(HttpEvent::new(side, stream, at.clone(), what));
        let is_whole = match &mut half.state {
            Http1State::Length(left) if length < *left => {
                *left -= length;
                true
            }
            Http1State::Length(left) if length == *left => {
                half.state = Http1State::Head;
                event(HttpFact::End);
                self.answered(side);
                return;
            }
            Http1State::Chunked(chunked) => chunked.skip_data(length),
            Http1State::UntilClose
            | Http1State::Switched
            | Http1State::MaySwitch
            | Http1State::Lost => true,
            Http1State::Head | Http1State::Length(_) => false,
        };
        if !is_whole {
            half.lose();
            event(HttpFact::Lost);
        }
    }

    /// The side sends nothing more.
    pub fn close(&mut self, side: Side, at: u64, mut each: impl FnMut(HttpEvent)) {
        let half = self.half(side);
        if matches!(half.state, Http1State::UntilClose) {
            half.state = Http1State::Head;
            each(HttpEvent::new(side, half.stream, at..at, HttpFact::End));
            self.answered(side);
        }
    }

    fn half(&mut self, side: Side) -> &mut Http1Half {
        match side {
            Side::Client => &mut self.client,
            Side::Server => &mut self.server,
        }
    }

    /// Continues at `rest`, and returns how many bytes that took.
    fn step(
        &mut self,
        side: Side,
        rest: &[u8],
        place: usize,
        source: &PushRange,
        each: &mut dyn FnMut(HttpEvent),
    ) -> usize {
        let half = self.half(side);
        let stream = half.stream;
        let mut body = |taken: usize, length: u64, is_over: bool| {
            let at = source.start(place)..source.end(place + taken);
            if length > 0 {
                each(HttpEvent::new(
                    side,
                    stream,
                    at.clone(),
                    HttpFact::Body(length),
                ));
            }
            if is_over {
                each(HttpEvent::new(side, stream, at.end..at.end, HttpFact::End));
            }
        };
        match &mut half.state {
            Http1State::Length(left) => {
                let taken = usize::try_from(*left).unwrap_or(usize::MAX).min(rest.len());
                *left -= taken as u64;
                let is_over = *left == 0;
                body(taken, taken as u64, is_over);
                if is_over {
                    half.state = Http1State::Head;
                    self.answered(side);
                }
                taken
            }
            Http1State::Chunked(chunked) => {
                let mut length = 0;
                let take = |data: &[u8]| {
                    length += data.len() as u64;
                    Ok(())
                };
                let Ok(taken) = chunked.feed::<crate::http1::ChunkError>(rest, take) else {
                    half.lose();
                    let at = source.start(place)..source.end(place);
                    each(HttpEvent::new(side, stream, at, HttpFact::Lost));
                    return rest.len();
                };
                let is_over = chunked.is_done();
                body(taken, length, is_over);
                if is_over {
                    half.state = Http1State::Head;
                    self.answered(side);
                }
                taken
            }
            Http1State::UntilClose => {
                body(rest.len(), rest.len() as u64, false);
                rest.len()
            }
            Http1State::Lost if place == 0 && begins_message(side, rest) => {
                half.state = Http1State::Head;
                if side == Side::Server && self.waiting.len() > 1 {
                    // It is unclear which request it answers; most likely there is no pipelining.
                    self.waiting.drain(..self.waiting.len() - 1);
                }
                self.read_head(side, rest, place, source, each)
            }
            Http1State::Lost | Http1State::Switched | Http1State::MaySwitch => rest.len(),
            Http1State::Head => self.read_head(side, rest, place, source, each),
        }
    }

    fn read_head(
        &mut self,
        side: Side,
        rest: &[u8],
        place: usize,
        source: &PushRange,
        each: &mut dyn FnMut(HttpEvent),
    ) -> usize {
        let half = self.half(side);
        if half.held.is_empty() {
            // Empty lines may come before a request. RFC 9112 §2.2.
            let blank = rest
                .iter()
                .take_while(|b| matches!(b, b'\r' | b'\n'))
                .count();
            if blank > 0 {
                return blank;
            }
            half.began = source.start(place);
        }
        let before = half.held.len();
        half.held.extend_from_slice(rest);
        let Some(length) = end_of_head(&half.held, before.saturating_sub(3)) else {
            if half.held.len() > MAX_HEAD || !may_begin_message(side, &half.held) {
                half.lose();
                let at = half.began..source.end(place + rest.len());
                each(HttpEvent::new(side, half.stream, at, HttpFact::Lost));
            }
            return rest.len();
        };
        let mut head = std::mem::take(&mut half.held);
        head.truncate(length);
        let taken = length - before;
        let at = half.began..source.end(place + taken);
        let read = match side {
            Side::Client => self.read_request(&head, at.clone(), each),
            Side::Server => self.read_response(&head, at.clone(), each),
        };
        let half = self.half(side);
        if read.is_none() {
            half.lose();
            each(HttpEvent::new(side, half.stream, at, HttpFact::Lost));
        }
        taken
    }

    fn read_request(
        &mut self,
        head: &[u8],
        at: Range<u64>,
        each: &mut dyn FnMut(HttpEvent),
    ) -> Option<()> {
        let mut room = [const { MaybeUninit::uninit() }; MAX_FIELDS];
        let read = request(head, &mut room, Strictness::Tolerant).ok()??;
        let lines = read.fields.iter().map(|f| (f.name.as_bytes(), f.value));
        let mut facts = RequestFacts::read(read.length, lines.clone());
        read.method.clone_into(&mut facts.method);
        (facts.authority, facts.path) = split_target(read.target, facts.authority);
        let stream = self.requests;
        self.requests += 1;
        let is_connect = read.method == "CONNECT";
        self.waiting.push_back(AwaitedResponse {
            stream,
            is_head: read.method == "HEAD",
            is_connect,
        });
        if self.waiting.len() > MAX_WAITING {
            self.waiting.pop_front();
        }
        let upgrades = is_connect || has(lines.clone(), b"upgrade");
        let state = match framing(lines) {
            MessageLength::Chunked => {
                Http1State::Chunked(Box::new(Chunked::new(Strictness::Tolerant, CHUNKS)))
            }
            MessageLength::Length(length) if length > 0 => Http1State::Length(length),
            _ if upgrades => Http1State::MaySwitch,
            _ => Http1State::Head,
        };
        let is_over = matches!(state, Http1State::Head | Http1State::MaySwitch);
        (self.client.stream, self.client.state) = (stream, state);
        let end = at.end;
        each(HttpEvent::new(
            Side::Client,
            stream,
            at,
            HttpFact::Request(Box::new(facts)),
        ));
        if is_over {
            each(HttpEvent::new(
                Side::Client,
                stream,
                end..end,
                HttpFact::End,
            ));
        }
        Some(())
    }

    fn read_response(
        &mut self,
        head: &[u8],
        at: Range<u64>,
        each: &mut dyn FnMut(HttpEvent),
    ) -> Option<()> {
        let mut room = [const { MaybeUninit::uninit() }; MAX_FIELDS];
        let read = response(head, &mut room, Strictness::AsCurl).ok()??;
        let lines = read.fields.iter().map(|f| (f.name.as_bytes(), f.value));
        // If no request is waiting, it answers one that the capture missed.
        let asked = self.waiting.front().copied().unwrap_or(AwaitedResponse {
            stream: self.requests,
            is_head: false,
            is_connect: false,
        });
        let stream = asked.stream;
        self.server.stream = stream;
        let end = at.end;
        let mut say = |at, what| each(HttpEvent::new(Side::Server, stream, at, what));
        if (100..200).contains(&read.status) && read.status != 101 {
            say(at, HttpFact::Interim(read.status));
            return Some(());
        }
        if self.waiting.is_empty() {
            self.requests += 1;
        }
        let mut facts = ResponseFacts::read(read.length, lines.clone());
        facts.status = read.status;
        say(at, HttpFact::Response(Box::new(facts)));
        let is_tunnel = asked.is_connect && (200..300).contains(&read.status);
        if is_tunnel || read.status == 101 {
            say(end..end, HttpFact::Switched);
            (self.client.state, self.server.state) = (Http1State::Switched, Http1State::Switched);
            return Some(());
        }
        if matches!(self.client.state, Http1State::MaySwitch) {
            self.client.state = Http1State::Head;
        }
        let is_empty = asked.is_head || matches!(read.status, 204 | 304);
        self.server.state = match framing(lines) {
            _ if is_empty => Http1State::Head,
            MessageLength::Chunked => {
                Http1State::Chunked(Box::new(Chunked::new(Strictness::Tolerant, CHUNKS)))
            }
            MessageLength::Length(0) => Http1State::Head,
            MessageLength::Length(length) => Http1State::Length(length),
            MessageLength::Unknown => Http1State::UntilClose,
        };
        if matches!(self.server.state, Http1State::Head) {
            say(end..end, HttpFact::End);
            self.answered(Side::Server);
        }
        Some(())
    }

    fn answered(&mut self, side: Side) {
        if side == Side::Server {
            self.waiting.pop_front();
        }
    }
}

impl Http1Half {
    fn lose(&mut self) {
        self.state = Http1State::Lost;
        self.held.clear();
    }
}

enum MessageLength {
    Chunked,
    Length(u64),
    Unknown,
}

/// RFC 9112 §6.3.
fn framing<'a>(lines: impl Iterator<Item = (&'a [u8], &'a [u8])>) -> MessageLength {
    let mut framing = MessageLength::Unknown;
    for (name, value) in lines {
        if name.eq_ignore_ascii_case(b"transfer-encoding") {
            let last = value
                .rsplit(|byte| *byte == b',')
                .next()
                .unwrap_or_default();
            if last.trim_ascii().eq_ignore_ascii_case(b"chunked") {
                return MessageLength::Chunked;
            }
        } else if name.eq_ignore_ascii_case(b"content-length")
            && let Some(length) = number(value)
        {
            framing = MessageLength::Length(length);
        }
    }
    framing
}

fn has<'a>(mut lines: impl Iterator<Item = (&'a [u8], &'a [u8])>, wanted: &[u8]) -> bool {
    lines.any(|(name, _)| name.eq_ignore_ascii_case(wanted))
}

/// Authority and path; `host` is the authority unless the target has one. RFC 9112 §3.2.
fn split_target(target: &str, host: String) -> (String, String) {
    let Some((_, rest)) = target
        .split_once("://")
        .filter(|(scheme, _)| !scheme.contains('/'))
    else {
        return (host, target.to_owned());
    };
    let path = rest.find(['/', '?']).unwrap_or(rest.len());
    let (authority, path) = rest.split_at(path);
    let path = if path.is_empty() { "/" } else { path };
    (authority.to_owned(), path.to_owned())
}

/// Whether a message begins here, after bytes that could not be read.
fn begins_message(side: Side, bytes: &[u8]) -> bool {
    match side {
        Side::Server => bytes.starts_with(b"HTTP/1."),
        Side::Client => {
            let line = bytes
                .split(|byte| *byte == b'\r')
                .next()
                .unwrap_or_default();
            line.windows(8).any(|part| part == b" HTTP/1.") && may_begin_message(side, bytes)
        }
    }
}

/// Whether this could still become a message.
fn may_begin_message(side: Side, bytes: &[u8]) -> bool {
    match side {
        Side::Server => bytes
            .iter()
            .zip(b"HTTP/1.")
            .all(|(byte, wanted)| byte == wanted),
        Side::Client => {
            let method = bytes.iter().take_while(|byte| **byte != b' ');
            method.clone().count() <= 32 && method.clone().all(u8::is_ascii_graphic)
        }
    }
}
