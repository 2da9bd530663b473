//! Follows HTTP/1 through both directions of a connection in clear text: which requests there were,
//! and where in the streams each head and body begins and ends.

mod malformed;

use std::mem::MaybeUninit;

use roundtrip_wire::http1::{self, Chunked, ChunkedLimits, EMPTY_FIELD, Strictness, end_of_head};

use crate::segment::Side;
use crate::stream::Piece;

/// The largest head in bytes.
const MAX_HEAD: usize = 64 << 10;
const MAX_FIELDS: usize = 100;
/// The largest number of requests that are kept for one connection.
const MAX_MESSAGES: usize = 100_000;
/// The approximate memory of a message in bytes, beside its head.
const PER_MESSAGE: usize = 1 << 10;
const CHUNKS: ChunkedLimits = ChunkedLimits {
    size_digits: 16,
    line: 4096,
    trailers: 100,
    section: 0,
};

/// The head of a message, and its places in the stream.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Http1Message {
    pub(crate) start: u64,
    pub(crate) head_end: u64,
    /// Where the message ends; `None` while it continues.
    pub(crate) end: Option<u64>,
    /// The method and the target; only a request has them.
    pub(crate) method: String,
    pub(crate) target: String,
    /// The status and the reason; only a response has them.
    pub(crate) status: u16,
    pub(crate) reason: String,
    /// "1.0", "1.1" or "2".
    pub(crate) version: &'static str,
    /// The length of the head in bytes, as sent; if it was encrypted, without the overhead of
    /// encryption.
    pub(crate) head_bytes: u64,
    pub(crate) fields: Vec<(String, Vec<u8>)>,
}

impl Http1Message {
    pub(crate) fn field(&self, name: &str) -> Option<&[u8]> {
        let mut fields = self.fields.iter();
        let found = fields.find(|(n, _)| n.eq_ignore_ascii_case(name))?;
        Some(&found.1)
    }

    fn has_token(&self, name: &str, token: &str) -> bool {
        self.field(name).is_some_and(|value| {
            let value = String::from_utf8_lossy(value).to_ascii_lowercase();
            value.split(',').any(|part| part.trim() == token)
        })
    }

    pub(crate) fn keeps_alive(&self) -> bool {
        if self.version == "1.0" {
            self.has_token("connection", "keep-alive")
        } else {
            !self.has_token("connection", "close")
        }
    }

    fn body(&self) -> MessageState {
        if self.has_token("transfer-encoding", "chunked") {
            return MessageState::Chunked(Box::new(Chunked::new(Strictness::AsCurl, CHUNKS)));
        }
        let length = self.field("content-length");
        let length = length.and_then(|value| std::str::from_utf8(value).ok()?.trim().parse().ok());
        match length {
            Some(length) => MessageState::Body(length),
            None if self.status > 0 => MessageState::UntilClose,
            None => MessageState::Body(0),
        }
    }
}

#[derive(Debug, Default)]
enum MessageState {
    #[default]
    Head,
    Body(u64),
    Chunked(Box<Chunked>),
    /// The body ends with the connection.
    UntilClose,
    /// Bytes are missing where a head should be: parsing resumes at the next head that begins a
    /// segment.
    Lost,
    /// The connection carries another protocol from here on.
    Tunnel,
}

/// The messages of one direction.
#[derive(Debug, Default)]
struct MessageParser {
    at: u64,
    /// The head that is being read.
    head: Vec<u8>,
    state: MessageState,
    messages: Vec<Http1Message>,
    /// The number of messages that are final responses, and roughly the bytes that all messages
    /// hold, without the head that is being read.
    over: usize,
    held: usize,
    /// Whether the position in the stream was lost at least once, so that heads are missing.
    has_holes: bool,
}

/// The messages of both directions.
#[derive(Debug, Default)]
pub(crate) struct Http1 {
    halves: [MessageParser; 2],
}

impl Http1 {
    /// A connection on which HTTP begins at these places of the two streams, as in a tunnel.
    pub(crate) fn starting_at(start: [u64; 2]) -> Self {
        Self {
            halves: start.map(|at| MessageParser {
                at,
                ..MessageParser::default()
            }),
        }
    }

    /// Whether a client's stream that begins like this is HTTP/1.
    pub(crate) fn recognises(front: &[u8]) -> bool {
        let line = front.split(|byte| *byte == b'\r' || *byte == b'\n').next();
        let line = line.unwrap_or_default();
        let is_token = |byte: &u8| byte.is_ascii_alphabetic() || *byte == b'-';
        let method = line.iter().take_while(|byte| is_token(byte)).count();
        (1..=20).contains(&method)
            && line.get(method) == Some(&b' ')
            && line.windows(7).any(|seven| seven == b"HTTP/1.")
    }

    pub(crate) fn requests(&self) -> &[Http1Message] {
        let [requests, _] = &self.halves;
        &requests.messages
    }

    pub(crate) fn responses(&self) -> &[Http1Message] {
        let [_, responses] = &self.halves;
        &responses.messages
    }

    /// Roughly the number of bytes that the messages hold.
    pub(crate) fn held(&self) -> usize {
        let halves = self.halves.iter();
        halves.map(|half| half.held + half.head.capacity()).sum()
    }

    /// Whether no message is under way, and each request was answered.
    pub(crate) fn is_quiet(&self) -> bool {
        let [requests, responses] = &self.halves;
        let is_idle = |half: &MessageParser| {
            matches!(half.state, MessageState::Head) && half.head.is_empty() && !half.has_holes
        };
        is_idle(requests) && is_idle(responses) && requests.messages.len() == responses.over
    }

    /// Forgets the messages, all of which are over.
    pub(crate) fn clear(&mut self) {
        for half in &mut self.halves {
            half.messages.clear();
            (half.over, half.held) = (0, 0);
        }
    }

    /// Whether heads of answers are missing, so that an answer does not belong to the next request.
    pub(crate) fn misses_answers(&self) -> bool {
        let [_, responses] = &self.halves;
        responses.has_holes
    }

    /// The first request for a tunnel and the last answer, once the tunnel is open: a proxy may
    /// have asked for a password before. RFC 9110 §11.7.1.
    pub(crate) fn tunnel(&self) -> Option<(&Http1Message, &Http1Message)> {
        let is_connect = |request: &&Http1Message| request.method == "CONNECT";
        let (last, response) = (self.requests().last()?, self.responses().last()?);
        let opened = is_connect(&last) && response.status / 100 == 2;
        let first = self.requests().iter().find(is_connect);
        first.filter(|_| opened).map(|first| (first, response))
    }

    /// The only request, if it has upgraded the connection to HTTP/2, with its answer and the
    /// number of bytes that the server sent after that. RFC 7540 §3.2.
    pub(crate) fn upgraded(&self) -> Option<(&Http1Message, &Http1Message, u64)> {
        let [request] = self.requests() else {
            return None;
        };
        let response = self.responses().last()?;
        let upgrades = response.status == 101 && response.has_token("upgrade", "h2c");
        let [_, server] = &self.halves;
        upgrades.then_some((request, response, server.at - response.head_end))
    }

    /// Whether another protocol follows the last answer.
    pub(crate) fn is_switched(&self) -> bool {
        let [_, responses] = &self.halves;
        matches!(responses.state, MessageState::Tunnel)
    }

    pub(crate) fn take(&mut self, side: Side, piece: Piece<'_>) {
        let methods: Vec<String> = match side {
            Side::Client => Vec::new(),
            Side::Server => self.unanswered(),
        };
        let half = match side {
            Side::Client => &mut self.halves[0],
            Side::Server => &mut self.halves[1],
        };
        match piece {
            Piece::Bytes(bytes) => half.follow(bytes, methods),
            Piece::Unknown(count) => half.skip(count),
        }
    }

    /// The methods of the requests that have no final response yet, oldest first.
    fn unanswered(&self) -> Vec<String> {
        let [requests, responses] = &self.halves;
        let open = requests.messages.get(responses.over..).unwrap_or_default();
        let open = open.iter().take(16);
        open.map(|request| request.method.clone()).collect()
    }
}

impl Http1Message {
    pub(crate) fn is_final(&self) -> bool {
        self.status >= 200 || self.status == 101
    }
}

impl MessageParser {
    fn skip(&mut self, count: u64) {
        self.at += count;
        match &mut self.state {
            MessageState::Body(left) if *left >= count => {
                *left -= count;
                self.close_if_over();
            }
            MessageState::UntilClose | MessageState::Tunnel => {}
            _ => self.lose(),
        }
    }

    fn lose(&mut self) {
        self.state = MessageState::Lost;
        self.has_holes = true;
        self.head.clear();
    }

    /// Resumes where a head begins.
    fn resume(&mut self, bytes: &[u8]) {
        let begins = bytes.starts_with(b"HTTP/1.") || Http1::recognises(bytes);
        if !begins || !matches!(self.state, MessageState::Lost) {
            return;
        }
        self.state = MessageState::Head;
        if let Some(message) = self.messages.last_mut() {
            message.end = message.end.or(Some(self.at));
        }
    }

    fn follow(&mut self, mut bytes: &[u8], methods: Vec<String>) {
        self.resume(bytes);
        let mut methods = methods.into_iter();
        while !bytes.is_empty() {
            let used = match &mut self.state {
                MessageState::Head => match self.read_head(bytes, &mut methods) {
                    Some(used) => used,
                    None => return,
                },
                MessageState::Body(left) => {
                    let used = (*left).min(bytes.len() as u64);
                    *left -= used;
                    used as usize
                }
                MessageState::Chunked(chunked) => {
                    let fed = chunked.feed(bytes, |_| Ok::<(), http1::ChunkError>(()));
                    match fed {
                        Ok(used) => used,
                        Err(_) => {
                            self.lose();
                            continue;
                        }
                    }
                }
                MessageState::UntilClose | MessageState::Lost | MessageState::Tunnel => bytes.len(),
            };
            self.at += used as u64;
            bytes = bytes.get(used..).unwrap_or_default();
            self.close_if_over();
        }
    }

    fn close_if_over(&mut self) {
        let over = match &self.state {
            MessageState::Body(left) => *left == 0,
            MessageState::Chunked(chunked) => chunked.is_done(),
            _ => false,
        };
        if over {
            if let Some(message) = self.messages.last_mut() {
                message.end = Some(self.at);
            }
            self.state = MessageState::Head;
        }
    }

    /// Reads more of a head. Returns how many of the bytes belong to it; `None` if all of them do,
    /// and the head is not complete.
    fn read_head(
        &mut self,
        bytes: &[u8],
        methods: &mut impl Iterator<Item = String>,
    ) -> Option<usize> {
        let before = self.head.len();
        // Empty lines before a request are ignored. RFC 9112 §2.2.
        let blank = bytes.iter().take_while(|b| matches!(b, b'\r' | b'\n'));
        let blank = if before == 0 { blank.count() } else { 0 };
        if blank > 0 {
            return Some(blank);
        }
        self.head.extend(bytes.iter().take(MAX_HEAD + 1 - before));
        let Some(end) = end_of_head(&self.head, before.saturating_sub(3)) else {
            self.at += bytes.len() as u64;
            if self.head.len() > MAX_HEAD {
                self.lose();
            }
            return None;
        };
        let start = self.at - before as u64;
        let head = std::mem::take(&mut self.head);
        let read = read_message(head.get(..end).unwrap_or_default());
        let Some(mut message) = read.filter(|_| self.messages.len() < MAX_MESSAGES) else {
            self.lose();
            return Some(end - before);
        };
        message.start = start;
        message.head_end = start + end as u64;
        message.head_bytes = end as u64;
        self.state = message.body();
        if message.status > 0 {
            let method = if message.is_final() {
                methods.next()
            } else {
                None
            };
            let is_head = method.as_deref() == Some("HEAD");
            let tunnel = message.status == 101
                || (method.as_deref() == Some("CONNECT") && message.status / 100 == 2);
            if tunnel {
                self.state = MessageState::Tunnel;
                message.end = Some(message.head_end);
            } else if is_head || message.status < 200 || matches!(message.status, 204 | 304) {
                self.state = MessageState::Body(0);
            }
        }
        self.over += usize::from(message.is_final());
        self.held += PER_MESSAGE + end;
        self.messages.push(message);
        Some(end - before)
    }
}

fn version(is_http10: bool) -> &'static str {
    if is_http10 { "1.0" } else { "1.1" }
}

/// Reads a head in the way in which tolerant programs do; lines that no grammar allows are split at
/// their colon.
fn read_message(head: &[u8]) -> Option<Http1Message> {
    let mut room = [MaybeUninit::new(EMPTY_FIELD); MAX_FIELDS];
    let owned = |fields: &[http1::Field<'_>]| {
        let fields = fields.iter();
        fields
            .map(|f| (f.name.to_owned(), f.value.to_vec()))
            .collect()
    };
    if head.starts_with(b"HTTP/") {
        return match http1::response(head, &mut room, Strictness::AsCurl) {
            Ok(response) => response.map(|response| Http1Message {
                status: response.status,
                reason: response.reason.to_owned(),
                version: version(response.is_http10),
                fields: owned(response.fields),
                ..Http1Message::default()
            }),
            Err(_) => malformed::response(head),
        };
    }
    match http1::request(head, &mut room, Strictness::AsCurl) {
        Ok(request) => request.map(|request| Http1Message {
            method: request.method.to_owned(),
            target: request.target.to_owned(),
            version: version(request.is_http10),
            fields: owned(request.fields),
            ..Http1Message::default()
        }),
        Err(_) => malformed::request(head),
    }
}

#[cfg(test)]
mod tests;
