//! The output of curl with `--trace-time` besides `-v`, `--trace` or `--trace-ascii`, with and
//! without `--trace-ids`. The lines have times of day, to which midnight adds a day.
//!
//! The wording of curl's lines differs between its versions; the lines that mark a phase have
//! stayed the same.

use std::collections::BTreeMap;

use super::{Known, MAX_KEPT, MAX_TEXT, Moment, ToldConnection, ToldPhase, ToldRequest, Witness};
use crate::text::printable;

const DAY: u64 = 86_400_000_000_000;

/// `None` if no line has a time.
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
    transfers: BTreeMap<String, Transfer>,
    /// The transfer and the kind of the following lines that have no time.
    dump: Option<(String, Way)>,
}

#[derive(Default)]
struct Transfer {
    request: ToldRequest,
    /// When the current step began.
    since: Moment,
    step: Step,
    latest: Moment,
    /// A 1xx status: another one follows.
    is_interim: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Step {
    /// Nothing yet, or the name is looked up.
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
enum Way {
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
        let Some((transfer, way @ (Way::SendHead | Way::ReceiveHead))) = self.dump.take() else {
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

    fn take(&mut self, id: &str, connection: Option<String>, way: Way, text: &[u8], at: Moment) {
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
            Way::Info => {
                transfer.step == Step::Body
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
            Way::SendHead => transfer.step == Step::Body,
            _ => false,
        };
        let mut finished = None;
        if is_next {
            finished = Some(std::mem::take(&mut transfer.request));
            transfer.begin(at);
        }
        transfer.take(way, text, at);
        let number = connection.or_else(|| match way {
            Way::Info => number_behind(text, "onnection #").or(number_behind(text, "(#")),
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

impl Transfer {
    fn begin(&mut self, at: Moment) {
        self.request.begin = at;
        (self.since, self.latest, self.step) = (at, at, Step::Start);
    }

    fn take(&mut self, way: Way, text: &[u8], at: Moment) {
        self.latest = at;
        match way {
            Way::Info if begins(text, "Trying ") && self.step == Step::Start => {
                self.finish(ToldPhase::Name, Step::Connect, at);
            }
            Way::Info
                if (begins(text, "Connected to ") || begins(text, "Established connection"))
                    && self.step <= Step::Connect =>
            {
                self.finish(ToldPhase::Connect, Step::Handshake, at);
            }
            Way::Info
                if (begins(text, "SSL connection using") || begins(text, "QUIC cipher"))
                    && self.step == Step::Handshake =>
            {
                self.finish(ToldPhase::Handshake, Step::Ready, at);
            }
            Way::Info if begins(text, "Re-using existing") => {
                (self.since, self.step) = (at, Step::Ready);
            }
            Way::Info if begins(text, "using HTTP/") || begins(text, "ALPN: server accepted ") => {
                let word = text.rsplit(|byte| *byte == b' ').next().unwrap_or_default();
                self.request.protocol = Some(printable(word));
            }
            Way::Info if is_failure(text) => {
                self.request.error = Some(printable(text));
                self.request.end = Some(at);
            }
            Way::SendHead | Way::Send => {
                let begin = match self.step {
                    Step::Sent => self.since,
                    _ => at,
                };
                if self.step < Step::Sent {
                    (self.since, self.step) = (begin, Step::Sent);
                }
                if way == Way::SendHead {
                    self.head(way, text);
                }
                self.grow(ToldPhase::Send, self.since, at);
            }
            Way::ReceiveHead if self.step == Step::Sent => {
                let sent = self.request.end_of(ToldPhase::Send).unwrap_or(self.since);
                self.grow(ToldPhase::Wait, sent, at);
                (self.since, self.step) = (at, Step::Body);
                self.head(way, text);
                self.request.end = Some(at);
            }
            Way::ReceiveHead | Way::Receive if self.step == Step::Body => {
                if way == Way::ReceiveHead && (begins(text, "HTTP/") || self.is_interim) {
                    self.head(way, text);
                }
                self.grow(ToldPhase::Body, self.since, at);
                self.request.end = Some(at);
            }
            _ => {}
        }
    }

    fn finish(&mut self, phase: ToldPhase, next: Step, at: Moment) {
        self.request.span(phase, self.since, at, Known::Seen);
        (self.since, self.step) = (at, next);
    }

    /// Extends a span, or begins it.
    fn grow(&mut self, phase: ToldPhase, begin: Moment, end: Moment) {
        match self
            .request
            .spans
            .iter_mut()
            .find(|span| span.phase == phase)
        {
            Some(span) => span.end = span.end.max(end),
            None => self.request.span(phase, begin, end, Known::Seen),
        }
    }

    /// The first line of a request or a response; other lines are ignored here.
    fn head(&mut self, way: Way, text: &[u8]) {
        let line = text.split(|byte| *byte == b'\r').next().unwrap_or_default();
        let mut words = line.split(|byte| *byte == b' ');
        let (first, second) = (words.next().unwrap_or_default(), words.next());
        match (way, second) {
            (Way::SendHead, Some(path)) if self.request.method.is_empty() => {
                let is_method = !first.is_empty() && first.iter().all(u8::is_ascii_uppercase);
                if is_method {
                    self.request.method = printable(first);
                    self.request.url = printable(path);
                }
            }
            (Way::ReceiveHead, Some(status)) if first.starts_with(b"HTTP/") => {
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

impl PartialOrd for Step {
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

fn kind(line: &[u8]) -> (Way, &[u8]) {
    for (mark, way) in [
        ("== Info: ", Way::Info),
        ("* ", Way::Info),
        ("=> Send header", Way::SendHead),
        ("> ", Way::SendHead),
        ("=> Send data", Way::Send),
        ("<= Recv header", Way::ReceiveHead),
        ("< ", Way::ReceiveHead),
        ("<= Recv data", Way::Receive),
        ("{ ", Way::Receive),
    ] {
        if let Some(rest) = line.strip_prefix(mark.as_bytes()) {
            return (way, rest.trim_ascii_start());
        }
    }
    (Way::Other, line)
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Output of curl 7.88, shortened.
    const FOLLOWED: &str = "\
23:59:59.900000 == Info:   Trying 127.0.0.1:18191...
23:59:59.950000 == Info: Connected to 127.0.0.1 (127.0.0.1) port 18191 (#0)
23:59:59.951000 => Send header, 80 bytes (0x50)
0000: 47 45 54 20 2f 72 20 48 54 54 50 2f 31 2e 31 0d GET /r HTTP/1.1.
0010: 0a 48 6f 73 74 3a 20 31 32 37 2e 30 2e 30 2e 31 .Host: 127.0.0.1
00:00:00.011000 <= Recv header, 20 bytes (0x14)
0000: 48 54 54 50 2f 31 2e 31 20 33 30 32 20 46 6f 75 HTTP/1.1 302 Fou
00:00:00.012000 <= Recv data, 300 bytes (0x12c)
00:00:00.013000 == Info: Connection #0 to host 127.0.0.1 left intact
00:00:00.014000 == Info: Issue another request to this URL: 'http://127.0.0.1:18191/b'
00:00:00.015000 == Info: Re-using existing connection #0 with host 127.0.0.1
00:00:00.016000 => Send header, 80 bytes (0x50)
0000: 47 45 54 20 2f 62 20 48 54 54 50 2f 31 2e 31 0d GET /b HTTP/1.1.
00:00:00.066000 <= Recv header, 17 bytes (0x11)
0000: 48 54 54 50 2f 31 2e 31 20 32 30 30 20 4f 4b 0d HTTP/1.1 200 OK.
00:00:00.070000 <= Recv data, 300 bytes (0x12c)
";

    fn spans(request: &ToldRequest) -> Vec<(ToldPhase, u64)> {
        let spans = request.spans.iter();
        spans
            .map(|span| (span.phase, (span.end - span.begin) / 1_000_000))
            .collect()
    }

    #[test]
    fn a_redirect_is_a_second_request_on_the_same_connection_over_midnight() {
        let witness = read(FOLLOWED.as_bytes()).unwrap();
        let [first, second] = witness.requests.as_slice() else {
            panic!("{witness:?}");
        };
        assert_eq!(
            (first.method.as_str(), first.url.as_str(), first.status),
            ("GET", "/r", Some(302))
        );
        assert_eq!(
            spans(first),
            [
                (ToldPhase::Name, 0),
                (ToldPhase::Connect, 50),
                (ToldPhase::Send, 0),
                (ToldPhase::Wait, 60),
                (ToldPhase::Body, 1),
            ]
        );
        assert_eq!((second.url.as_str(), second.status), ("/b", Some(200)));
        assert_eq!(
            spans(second),
            [
                (ToldPhase::Send, 0),
                (ToldPhase::Wait, 50),
                (ToldPhase::Body, 4)
            ]
        );
        assert_eq!((second.begin, second.end), (114_000_000, Some(170_000_000)));
        assert_eq!((first.connection, second.connection), (Some(0), Some(0)));
        assert_eq!(witness.connections[0].peer.as_deref(), Some("127.0.0.1"));
    }

    #[test]
    fn transfers_are_told_apart_by_their_ids() {
        let text = "\
06:18:06.000000 [0-0] *   Trying 192.0.2.1:443...
06:18:06.001000 [1-1] *   Trying 192.0.2.2:443...
06:18:06.010000 [0-0] * Connected to a (192.0.2.1) port 443
06:18:06.030000 [0-0] * SSL connection using TLSv1.3 / TLS_AES_256_GCM_SHA384
06:18:06.030500 [0-0] * using HTTP/2
06:18:06.031000 [0-0] > GET /a HTTP/2
06:18:06.041000 [1-1] * Failed to connect to b port 443 after 40 ms: Couldn't connect
06:18:06.051000 [0-0] < HTTP/2 103
06:18:06.061000 [0-0] < HTTP/2 200
06:18:06.062000 [0-0] { [10 bytes data]
";
        let witness = read(text.as_bytes()).unwrap();
        let [first, second] = witness.requests.as_slice() else {
            panic!("{witness:?}");
        };
        assert_eq!(first.status, Some(200));
        assert_eq!(first.protocol.as_deref(), Some("HTTP/2"));
        assert_eq!(
            spans(first)[1..3],
            [(ToldPhase::Connect, 10), (ToldPhase::Handshake, 20)]
        );
        assert!(second.error.is_some());
        assert_eq!(witness.connections.len(), 2);
        assert_eq!(read(b"nothing\nof the kind\n"), None);
    }
}
