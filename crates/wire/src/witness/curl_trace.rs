//! The output of curl with `--trace-time` besides `-v`, `--trace` or `--trace-ascii`, with and
//! without `--trace-ids`. The lines have times of day; when they pass midnight, a day is added.
//!
//! The wording of curl's lines differs between its versions; the lines that mark a phase have
//! stayed the same.

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use super::{
    LogTime, MAX_KEPT, MAX_TEXT, TimeSource, ToldConnection, ToldPhase, ToldRequest, Witness,
};
use crate::text::printable;

const DAY: u64 = 86_400_000_000_000;

/// Reads a trace; `None` if no line has a time.
pub fn read(bytes: &[u8]) -> Option<Witness> {
    let mut trace = Trace::default();
    for line in bytes.split(|byte| *byte == b'\n') {
        trace.line(line.strip_suffix(b"\r").unwrap_or(line));
    }
    trace.first?;
    for (_, transfer) in std::mem::take(&mut trace.transfers) {
        trace.keep(transfer.request);
    }
    trace.witness.requests.sort_by_key(|request| request.begin);
    Some(trace.witness)
}

#[derive(Default)]
struct Trace {
    witness: Witness,
    first: Option<u64>,
    last: u64,
    days: u64,
    /// The current transfers, by curl's number.
    transfers: BTreeMap<String, TracedTransfer>,
    /// The transfer and the kind that apply to the following lines without a time.
    dump: Option<(String, CurlLine)>,
}

#[derive(Default)]
struct TracedTransfer {
    request: ToldRequest,
    /// When the current step began.
    since: LogTime,
    step: CurlStep,
    latest: LogTime,
    /// The status is 1xx, so another one follows.
    is_interim: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum CurlStep {
    /// Nothing has happened yet, or the name is looked up.
    #[default]
    Start,
    Connect,
    /// Connected, perhaps with a handshake under way.
    Handshake,
    Ready,
    Sent,
    Body,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CurlLine {
    Info,
    SendHead,
    Send,
    ReceiveHead,
    Receive,
    Other,
}

impl Trace {
    fn line(&mut self, line: &[u8]) {
        let line = line.get(..MAX_TEXT).unwrap_or(line);
        let Some((time, rest)) = split_time(line) else {
            self.dumped(line);
            return;
        };
        let mut at = time + self.days * DAY;
        // Clocks are set back by less than this.
        if at + DAY / 2 < self.last {
            self.days += 1;
            at += DAY;
        }
        self.last = self.last.max(at);
        let at = at.saturating_sub(*self.first.get_or_insert(at));
        let (transfer, connection, rest) = split_ids(rest);
        let (way, text) = kind(rest);
        self.dump = Some((transfer.clone(), way));
        self.take(&transfer, connection, way, text, at);
    }

    /// The content that the previous line announced: only the first line of a head matters.
    fn dumped(&mut self, line: &[u8]) {
        let Some((transfer, way @ (CurlLine::SendHead | CurlLine::ReceiveHead))) = self.dump.take()
        else {
            return;
        };
        // An offset, then the text, or sixteen bytes in hexadecimal before it.
        let Some(text) = line.get(6..).filter(|_| line.get(4) == Some(&b':')) else {
            return;
        };
        let hex = text.get(..48).filter(|hex| {
            hex.chunks(3).all(|three| {
                matches!(three, [a, b, b' ']
                if (a.is_ascii_hexdigit() && b.is_ascii_hexdigit()) || three == b"   ")
            })
        });
        let text = match hex {
            Some(_) => text.get(48..).unwrap_or_default(),
            None => text,
        };
        if let Some(transfer) = self.transfers.get_mut(&transfer) {
            transfer.head(way, text);
        }
    }

    fn take(
        &mut self,
        id: &str,
        connection: Option<String>,
        way: CurlLine,
        text: &[u8],
        at: LogTime,
    ) {
        let is_new = !self.transfers.contains_key(id);
        if is_new && self.transfers.len() >= MAX_KEPT {
            self.witness.damaged += 1;
            return;
        }
        let transfer = self.transfers.entry(id.to_owned()).or_default();
        if is_new {
            transfer.begin(at);
        }
        // Another request of the same transfer: a redirect, or the next URL.
        let is_next = match way {
            CurlLine::Info => {
                transfer.step == CurlStep::Body
                    && [
                        "Trying ",
                        "Re-using ",
                        "Issue another",
                        "Found bundle",
                        "Hostname ",
                    ]
                    .iter()
                    .any(|word| begins(text, word))
            }
            CurlLine::SendHead => transfer.step == CurlStep::Body,
            _ => false,
        };
        let mut finished = None;
        if is_next {
            finished = Some(std::mem::take(&mut transfer.request));
            transfer.begin(at);
        }
        transfer.take(way, text, at);
        let number = connection.or_else(|| match way {
            CurlLine::Info => number_behind(text, "onnection #").or(number_behind(text, "(#")),
            _ => None,
        });
        if let Some(request) = finished {
            self.keep(request);
        }
        if let Some(number) = number {
            let index = self.connection(&number, text);
            if let Some(transfer) = self.transfers.get_mut(id) {
                transfer.request.connection = Some(index);
            }
        }
    }

    fn connection(&mut self, number: &str, text: &[u8]) -> usize {
        let all = &mut self.witness.connections;
        let index = all
            .iter()
            .rposition(|known| known.id == number)
            .unwrap_or(all.len());
        if index == all.len() {
            all.push(ToldConnection {
                id: number.to_owned(),
                ..ToldConnection::default()
            });
        }
        // "Connected to NAME (ADDRESS) port N"
        let address = text.split(|byte| *byte == b'(').nth(1);
        let address = address.and_then(|rest| rest.split(|byte| *byte == b')').next());
        if let (Some(known), Some(address), true) =
            (all.get_mut(index), address, begins(text, "Connected to "))
        {
            known.peer = Some(printable(address));
        }
        index
    }

    fn keep(&mut self, mut request: ToldRequest) {
        // Lines about something else: a proxy's tunnel, or the end.
        if request.method.is_empty() && request.spans.is_empty() {
            return;
        }
        if self.witness.requests.len() >= MAX_KEPT {
            self.witness.damaged += 1;
            return;
        }
        request.id = self.witness.requests.len().to_string();
        self.witness.requests.push(request);
    }
}

impl TracedTransfer {
    fn begin(&mut self, at: LogTime) {
        self.request.begin = at;
        (self.since, self.latest, self.step) = (at, at, CurlStep::Start);
    }

    fn take(&mut self, way: CurlLine, text: &[u8], at: LogTime) {
        self.latest = at;
        match way {
            CurlLine::Info if begins(text, "Trying ") && self.step == CurlStep::Start => {
                self.finish(ToldPhase::Name, CurlStep::Connect, at);
            }
            CurlLine::Info
                if (begins(text, "Connected to ") || begins(text, "Established connection"))
                    && self.step <= CurlStep::Connect =>
            {
                self.finish(ToldPhase::Connect, CurlStep::Handshake, at);
            }
            CurlLine::Info
                if (begins(text, "SSL connection using") || begins(text, "QUIC cipher"))
                    && self.step == CurlStep::Handshake =>
            {
                self.finish(ToldPhase::Handshake, CurlStep::Ready, at);
            }
            CurlLine::Info if begins(text, "Re-using existing") => {
                (self.since, self.step) = (at, CurlStep::Ready);
            }
            CurlLine::Info
                if begins(text, "using HTTP/") || begins(text, "ALPN: server accepted ") =>
            {
                let word = text.rsplit(|byte| *byte == b' ').next().unwrap_or_default();
                self.request.protocol = Some(printable(word));
            }
            CurlLine::Info if is_failure(text) => {
                self.request.error = Some(printable(text));
                self.request.end = Some(at);
            }
            CurlLine::SendHead | CurlLine::Send => {
                let begin = match self.step {
                    CurlStep::Sent => self.since,
                    _ => at,
                };
                if self.step < CurlStep::Sent {
                    (self.since, self.step) = (begin, CurlStep::Sent);
                }
                if way == CurlLine::SendHead {
                    self.head(way, text);
                }
                self.grow(ToldPhase::Send, self.since, at);
            }
            CurlLine::ReceiveHead if self.step == CurlStep::Sent => {
                let sent = self.request.end_of(ToldPhase::Send).unwrap_or(self.since);
                self.grow(ToldPhase::Wait, sent, at);
                (self.since, self.step) = (at, CurlStep::Body);
                self.head(way, text);
                self.request.end = Some(at);
            }
            CurlLine::ReceiveHead | CurlLine::Receive if self.step == CurlStep::Body => {
                if way == CurlLine::ReceiveHead && (begins(text, "HTTP/") || self.is_interim) {
                    self.head(way, text);
                }
                self.grow(ToldPhase::Body, self.since, at);
                self.request.end = Some(at);
            }
            _ => {}
        }
    }

    fn finish(&mut self, phase: ToldPhase, next: CurlStep, at: LogTime) {
        self.request.span(phase, self.since, at, TimeSource::Seen);
        (self.since, self.step) = (at, next);
    }

    /// Extends a span, or begins it.
    fn grow(&mut self, phase: ToldPhase, begin: LogTime, end: LogTime) {
        match self
            .request
            .spans
            .iter_mut()
            .find(|span| span.phase == phase)
        {
            Some(span) => span.end = span.end.max(end),
            None => self.request.span(phase, begin, end, TimeSource::Seen),
        }
    }

    /// The first line of a request or a response; other lines are ignored here.
    fn head(&mut self, way: CurlLine, text: &[u8]) {
        let line = text.split(|byte| *byte == b'\r').next().unwrap_or_default();
        let mut words = line.split(|byte| *byte == b' ');
        let (first, second) = (words.next().unwrap_or_default(), words.next());
        match (way, second) {
            (CurlLine::SendHead, Some(path)) if self.request.method.is_empty() => {
                let is_method = !first.is_empty() && first.iter().all(u8::is_ascii_uppercase);
                if is_method {
                    self.request.method = printable(first);
                    self.request.url = printable(path);
                }
            }
            (CurlLine::ReceiveHead, Some(status)) if first.starts_with(b"HTTP/") => {
                let status = std::str::from_utf8(status)
                    .ok()
                    .and_then(|s| s.parse().ok());
                self.is_interim = status.is_some_and(|status: u16| (100..200).contains(&status));
                self.request.status = status;
                self.request
                    .protocol
                    .get_or_insert_with(|| printable(first));
            }
            _ => {}
        }
    }
}

impl PartialOrd for CurlStep {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some((*self as u8).cmp(&(*other as u8)))
    }
}

/// `HH:MM:SS.µµµµµµ` and a space, in nanoseconds since midnight.
fn split_time(line: &[u8]) -> Option<(u64, &[u8])> {
    let (time, rest) = line.split_at_checked(16)?;
    let digits = |range: std::ops::Range<usize>| -> Option<u64> {
        let digits = std::str::from_utf8(time.get(range)?).ok()?;
        digits
            .bytes()
            .all(|b| b.is_ascii_digit())
            .then(|| digits.parse().ok())?
    };
    let [_, _, b':', _, _, b':', _, _, b'.', .., b' '] = time else {
        return None;
    };
    let seconds = (digits(0..2)? * 60 + digits(3..5)?) * 60 + digits(6..8)?;
    Some((seconds * 1_000_000_000 + digits(9..15)? * 1000, rest))
}

/// `[TRANSFER-CONNECTION]`, either of which may be an `x`.
fn split_ids(line: &[u8]) -> (String, Option<String>, &[u8]) {
    let split = || {
        let end = memchr::memchr(b']', line).filter(|_| line.starts_with(b"["))?;
        let ids = std::str::from_utf8(line.get(1..end)?).ok()?;
        let (transfer, connection) = ids.split_once('-')?;
        let is_id = |id: &str| id == "x" || id.parse::<u32>().is_ok();
        (is_id(transfer) && is_id(connection)).then_some(())?;
        let connection = Some(connection.to_owned()).filter(|id| id != "x");
        let rest = line.get(end + 1..)?.trim_ascii_start();
        Some((transfer.to_owned(), connection, rest))
    };
    split().unwrap_or_else(|| ("0".to_owned(), None, line))
}

fn kind(line: &[u8]) -> (CurlLine, &[u8]) {
    for (mark, way) in [
        ("== Info: ", CurlLine::Info),
        ("* ", CurlLine::Info),
        ("=> Send header", CurlLine::SendHead),
        ("> ", CurlLine::SendHead),
        ("=> Send data", CurlLine::Send),
        ("<= Recv header", CurlLine::ReceiveHead),
        ("< ", CurlLine::ReceiveHead),
        ("<= Recv data", CurlLine::Receive),
        ("{ ", CurlLine::Receive),
    ] {
        if let Some(rest) = line.strip_prefix(mark.as_bytes()) {
            return (way, rest.trim_ascii_start());
        }
    }
    (CurlLine::Other, line)
}

fn begins(text: &[u8], words: &str) -> bool {
    text.starts_with(words.as_bytes())
}

fn is_failure(text: &[u8]) -> bool {
    [
        "Failed to connect",
        "Could not resolve",
        "Operation timed out",
        "Connection timed out",
    ]
    .iter()
    .any(|words| begins(text, words))
}

fn number_behind(text: &[u8], words: &str) -> Option<String> {
    let at = text
        .windows(words.len())
        .position(|part| part == words.as_bytes())?;
    let digits = text
        .get(at + words.len()..)?
        .iter()
        .take_while(|b| b.is_ascii_digit());
    let digits: String = digits.map(|byte| char::from(*byte)).collect();
    (!digits.is_empty()).then_some(digits)
}
