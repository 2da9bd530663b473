//! Packets that are drawn one by one: several connections, options, TLS, interfaces and captures
//! that keep only the first bytes.

use std::time::Duration;

use roundtrip_model::Exchange;
use roundtrip_trace::{CaptureCounts, Conversation, Options, Trace};
use roundtrip_wire::pcapng::{Captured, LinkType};

pub(crate) const FIN: u8 = 1;
pub(crate) const SYN: u8 = 2;
pub(crate) const RST: u8 = 4;
pub(crate) const ACK: u8 = 16;

/// A capture that is being made.
pub(crate) struct Drawn {
    trace: Trace,
    /// How many bytes of each packet are kept.
    pub(crate) keeps: usize,
    pub(crate) interface: u32,
    /// The number of the last packet of each side.
    pub(crate) ids: [u16; 2],
}

/// A connection of the client 10.0.0.1 to 10.0.0.2.
pub(crate) struct Link {
    ports: [u16; 2],
    /// The sequence number that follows what each side has sent.
    pub(crate) next: [u32; 2],
    pub(crate) windows: [u16; 2],
    pub(crate) hops: [u8; 2],
}

impl Link {
    pub(crate) fn new(client: u16, server: u16) -> Self {
        Self {
            ports: [client, server],
            next: [1000, 9000],
            windows: [60_000; 2],
            hops: [64; 2],
        }
    }
}

/// A segment that differs from the next one in order.
#[derive(Clone, Copy, Default)]
pub(crate) struct Segment<'a> {
    pub(crate) sequence: Option<u32>,
    pub(crate) acknowledges: Option<u32>,
    pub(crate) flags: u8,
    pub(crate) options: &'a [u8],
    pub(crate) payload: &'a [u8],
}

impl Drawn {
    pub(crate) fn new() -> Self {
        Self::within(Options::default().memory)
    }

    /// A capture that is read within so many bytes of memory.
    pub(crate) fn within(memory: usize) -> Self {
        Self {
            trace: Trace::new(Options {
                memory,
                ..Options::default()
            }),
            keeps: usize::MAX,
            interface: 0,
            ids: [0; 2],
        }
    }

    /// Side 0 is the client.
    pub(crate) fn segment(
        &mut self,
        ms: f64,
        link: &mut Link,
        side: usize,
        segment: Segment<'_>,
    ) -> Vec<u8> {
        self.ids[side] += 1;
        let sequence = segment.sequence.unwrap_or(link.next[side]);
        let acknowledges = segment.acknowledges.unwrap_or(link.next[1 - side]);
        let head = 20 + segment.options.len();
        assert!(head.is_multiple_of(4));
        let mut bytes = vec![0x45, 0];
        bytes.extend((20 + head as u16 + segment.payload.len() as u16).to_be_bytes());
        bytes.extend(self.ids[side].to_be_bytes());
        bytes.extend([0x40, 0, link.hops[side], 6, 0, 0]);
        let addresses = [[10, 0, 0, 1], [10, 0, 0, 2]];
        for end in [side, 1 - side] {
            bytes.extend(addresses[end]);
        }
        for end in [side, 1 - side] {
            bytes.extend(link.ports[end].to_be_bytes());
        }
        bytes.extend(sequence.to_be_bytes());
        bytes.extend(acknowledges.to_be_bytes());
        bytes.extend([(head as u8 / 4) << 4, segment.flags]);
        bytes.extend(link.windows[side].to_be_bytes());
        bytes.extend([0; 4]);
        bytes.extend(segment.options);
        bytes.extend(segment.payload);
        self.frame(ms, &bytes);
        if segment.sequence.is_none() {
            let extra = u32::from(segment.flags & (SYN | FIN) != 0);
            link.next[side] += segment.payload.len() as u32 + extra;
        }
        bytes
    }

    pub(crate) fn send(
        &mut self,
        ms: f64,
        link: &mut Link,
        side: usize,
        flags: u8,
        payload: &[u8],
    ) -> Vec<u8> {
        let segment = Segment {
            flags,
            payload,
            ..Segment::default()
        };
        self.segment(ms, link, side, segment)
    }

    /// A datagram between 10.0.0.1:50000 and 10.0.0.2:443.
    pub(crate) fn datagram(&mut self, ms: f64, side: usize, payload: &[u8]) {
        let mut bytes = vec![0x45, 0];
        bytes.extend((28 + payload.len() as u16).to_be_bytes());
        bytes.extend([0, 1, 0x40, 0, 64, 17, 0, 0]);
        for end in [side, 1 - side] {
            bytes.extend([[10, 0, 0, 1], [10, 0, 0, 2]][end]);
        }
        for end in [side, 1 - side] {
            bytes.extend([50_000_u16, 443][end].to_be_bytes());
        }
        bytes.extend((8 + payload.len() as u16).to_be_bytes());
        bytes.extend([0, 0]);
        bytes.extend(payload);
        self.frame(ms, &bytes);
    }

    /// Any IP packet.
    pub(crate) fn frame(&mut self, ms: f64, bytes: &[u8]) {
        let kept = bytes.get(..bytes.len().min(self.keeps)).unwrap();
        self.trace.push(&Captured {
            interface: self.interface,
            link: LinkType::RAW,
            time: Some((1e15 + ms * 1e6) as u64),
            original_length: bytes.len() as u32,
            data: kept.to_vec().into(),
            direction: None,
            comments: Vec::new(),
        });
    }

    /// The handshake at the client's end, which is over after a round trip.
    pub(crate) fn open(&mut self, ms: f64, link: &mut Link, rtt: f64) {
        self.send(ms, link, 0, SYN, b"");
        self.send(ms + rtt, link, 1, SYN | ACK, b"");
        self.send(ms + rtt + 0.05, link, 0, ACK, b"");
    }

    /// The connections that have ended so far.
    pub(crate) fn finished(&mut self) -> Vec<Conversation> {
        self.trace.finished()
    }

    pub(crate) fn silence(&mut self, seconds: u64) {
        self.trace.silence(Duration::from_secs(seconds));
    }

    pub(crate) fn read(self) -> (Vec<Conversation>, CaptureCounts) {
        let (mut all, counts) = self.trace.end();
        all.sort_by_key(|conversation| conversation.number);
        (all, counts)
    }

    /// All exchanges.
    pub(crate) fn exchanges(self) -> Vec<Exchange> {
        let all = self.read().0.into_iter();
        all.flat_map(|conversation| conversation.exchanges)
            .collect()
    }

    /// The only exchange.
    pub(crate) fn exchange(self) -> Exchange {
        let mut all = self.exchanges();
        assert_eq!(all.len(), 1, "{all:#?}");
        all.remove(0)
    }
}

/// Names and rounded milliseconds of what was found.
pub(crate) fn found(exchange: &Exchange) -> Vec<(&'static str, f64)> {
    let findings = exchange.findings.iter();
    findings.map(|f| (f.id, f.ms.round())).collect()
}

pub(crate) fn request(path: &str) -> Vec<u8> {
    format!("GET {path} HTTP/1.1\r\nHost: example.org\r\n\r\n").into_bytes()
}

pub(crate) fn answer(body: usize, fields: &str) -> Vec<u8> {
    let head = format!("HTTP/1.1 200 OK\r\n{fields}Content-Length: {body}\r\n\r\n");
    [head.as_bytes(), &vec![b'x'; body]].concat()
}

/// A TLS record of this many bytes, with its header.
pub(crate) fn record(kind: u8, length: usize) -> Vec<u8> {
    wrapped(kind, &vec![0xaa; length - 5])
}

fn wrapped(kind: u8, content: &[u8]) -> Vec<u8> {
    let length = (content.len() as u16).to_be_bytes();
    [&[kind, 3, 3], &length[..], content].concat()
}

fn extension(kind: u16, content: &[u8]) -> Vec<u8> {
    let length = (content.len() as u16).to_be_bytes();
    [&kind.to_be_bytes(), &length[..], content].concat()
}

fn message(kind: u8, body: &[u8]) -> Vec<u8> {
    let length = (body.len() as u32).to_be_bytes();
    let message = [&[kind], &length[1..], body].concat();
    wrapped(22, &message)
}

/// The record of a TLS 1.3 ClientHello with these protocols for ALPN, and with early data or not.
pub(crate) fn client_hello(alpn: &[&str], early: bool) -> Vec<u8> {
    // It can use tickets (RFC 8446 §4.2.9).
    let mut more = extension(45, &[1, 1]);
    if early {
        more.extend(extension(42, &[]));
        // One identity of 32 bytes, one binder of 32.
        let psk = [
            &[0, 38, 0, 32][..],
            &[5; 32],
            &[0; 4],
            &[0, 33, 32],
            &[6; 32],
        ];
        more.extend(extension(41, &psk.concat()));
    }
    hello(alpn, &more)
}

/// The record of a TLS 1.3 ClientHello with these protocols and more extensions.
pub(crate) fn hello(alpn: &[&str], more: &[u8]) -> Vec<u8> {
    let mut names = Vec::new();
    for name in alpn {
        names.push(name.len() as u8);
        names.extend(name.as_bytes());
    }
    let mut extensions = extension(43, &[2, 3, 4]);
    extensions.extend(extension(
        51,
        &[&[0, 36, 0, 0x1d, 0, 32][..], &[7; 32]].concat(),
    ));
    if !alpn.is_empty() {
        let length = (names.len() as u16).to_be_bytes();
        extensions.extend(extension(16, &[&length[..], &names].concat()));
    }
    extensions.extend(more);
    let length = (extensions.len() as u16).to_be_bytes();
    let body = [
        &[3, 3][..],
        &[1; 32],
        &[0, 0, 2, 0x13, 1, 1, 0],
        &length,
        &extensions,
    ];
    message(1, &body.concat())
}

/// The record of a TLS 1.3 ServerHello, which may accept the offered session.
pub(crate) fn server_hello(resumes: bool) -> Vec<u8> {
    let mut extensions = extension(43, &[3, 4]);
    extensions.extend(extension(51, &[&[0, 0x1d, 0, 32][..], &[8; 32]].concat()));
    if resumes {
        extensions.extend(extension(41, &[0, 0]));
    }
    let length = (extensions.len() as u16).to_be_bytes();
    let body = [
        &[3, 3][..],
        &[2; 32],
        &[0, 0x13, 1, 0],
        &length,
        &extensions,
    ];
    message(2, &body.concat())
}

/// A QUIC datagram that nobody can open: an Initial (0) or a Handshake packet (2).
pub(crate) fn long(kind: u8, length: usize) -> Vec<u8> {
    let mut bytes = vec![0xc0 | kind << 4, 0, 0, 0, 1, 8, 1, 2, 3, 4, 5, 6, 7, 8, 0];
    if kind == 0 {
        bytes.push(0);
    }
    let rest = (length - bytes.len() - 2) as u16;
    bytes.extend((0x4000 | rest).to_be_bytes());
    bytes.resize(length, 0xaa);
    bytes
}

/// A 1-RTT packet.
pub(crate) fn short(length: usize) -> Vec<u8> {
    let mut bytes = vec![0x40];
    bytes.resize(length, 0xaa);
    bytes
}
