//! One TCP connection as the capture shows it: its segments, and the content of its bytes.

use std::net::SocketAddr;

use roundtrip_wire::key_log::KeyLog;
use roundtrip_wire::link::LinkDirection;
use roundtrip_wire::packet::{Flags, Packet, Tcp};
use roundtrip_wire::passive::Http2Reader;

use crate::http1::{Http1, Http1Message};
use crate::http2::ClearHttp2;
use crate::opened::OpenedTls;
use crate::records::{RecordFollower, RecordPlace};
use crate::segment::{SeenSegment, Side, SynOptions, is_before};
use crate::stream::{Piece, Reassembly};
use crate::tried::Tried;

/// The number of segments of one connection that are kept individually. Beyond this, consecutive
/// ones in the same direction are kept as one.
const MAX_SIGHTS: usize = 20_000;
/// The largest distance, in nanoseconds, between segments that are merged.
const TOGETHER: u64 = 1_000_000;
/// The number of segments among which a copy is looked for.
const MAX_COPIES_BACK: usize = 64;
/// The number of requests that are reported together, before the connection has ended.
const MAX_TOGETHER: usize = 1000;
/// The number of bytes that are enough to recognise the protocol.
const FRONT: usize = 64;
/// The largest number of a server's bytes that are held until the client's first bytes arrive.
const MAX_FRONT: usize = 4096;
/// Roughly the number of bytes that TLS in one direction takes.
const CLEAR: usize = 64 << 10;

/// The content of a connection.
#[derive(Debug, Default)]
pub(crate) enum Content {
    /// No data was seen yet, so the protocol is unknown.
    #[default]
    Unknown,
    Tls([RecordFollower; 2]),
    Http1(Http1),
    Http2(Box<ClearHttp2>),
    Opaque,
}

/// The part of a connection that was reported before its end.
#[derive(Debug)]
pub(crate) struct Reported {
    /// Where in the two streams that part ends, and when its last exchange ended.
    pub(crate) until: [u64; 2],
    pub(crate) ended: Option<u64>,
}

#[derive(Debug)]
pub(crate) struct TcpFlow {
    pub(crate) client: SocketAddr,
    pub(crate) server: SocketAddr,
    pub(crate) interface: u32,
    pub(crate) sights: Vec<SeenSegment>,
    /// The number of segments that were kept as part of others.
    pub(crate) merged: u64,
    pub(crate) syn: Option<SynOptions>,
    pub(crate) syn_ack: Option<SynOptions>,
    /// The sequence number of each side's first byte of data.
    pub(crate) first: [Option<u32>; 2],
    /// The bytes of data of each side, up to the last that was seen.
    pub(crate) ends: [u64; 2],
    streams: [Reassembly; 2],
    /// The number of bytes read from each stream.
    taken: [u64; 2],
    pub(crate) content: Content,
    /// The content of TLS, if its secrets may be known.
    pub(crate) opened: Option<Box<OpenedTls>>,
    has_keys: bool,
    /// The request to a proxy, and its answer, which precede everything else.
    pub(crate) tunnel: Option<(Http1Message, Http1Message)>,
    front: [Vec<u8>; 2],
    fins: [bool; 2],
    reset: bool,
    /// The part of the connection that was reported already.
    pub(crate) reported: Option<Reported>,
    /// Whether the connection was an attempt of a client that then got an answer from another
    /// address.
    pub(crate) belongs_to_another: bool,
}

impl TcpFlow {
    /// `client` is the end that makes requests, judging by the first segment.
    pub(crate) fn new(client: SocketAddr, server: SocketAddr, interface: u32) -> Self {
        Self {
            client,
            server,
            interface,
            sights: Vec::new(),
            merged: 0,
            syn: None,
            syn_ack: None,
            first: [None; 2],
            ends: [0; 2],
            streams: Default::default(),
            taken: [0; 2],
            content: Content::Unknown,
            opened: None,
            has_keys: false,
            tunnel: None,
            front: Default::default(),
            fins: [false; 2],
            reset: false,
            reported: None,
            belongs_to_another: false,
        }
    }

    /// Whether the client sent this segment, if it is the only one that is known.
    pub(crate) fn client_sent(tcp: &Tcp<'_>) -> bool {
        if tcp.flags().contains(Flags::SYN) {
            return !tcp.flags().contains(Flags::ACK);
        }
        let payload = tcp.payload();
        if payload.starts_with(b"HTTP/1.") {
            return false;
        }
        if Http1::recognises(payload) {
            return true;
        }
        // Servers have the lower port.
        tcp.source_port() >= tcp.destination_port()
    }

    pub(crate) fn push(
        &mut self,
        (frame, at, way): (u64, u64, Option<LinkDirection>),
        packet: &Packet<'_>,
        tcp: &Tcp<'_>,
        keys: Option<&KeyLog>,
    ) {
        // TLS that begins from now on may be opened.
        self.has_keys |= keys.is_some();
        let from = if packet.source() == self.client.ip() && tcp.source_port() == self.client.port()
        {
            Side::Client
        } else {
            Side::Server
        };
        let sight = SeenSegment::new(frame, at, from, way, packet, tcp);
        let recent = self.sights.iter().rev().take(MAX_COPIES_BACK);
        if recent.into_iter().any(|other| sight.is_copy_of(other)) {
            self.merged += 1;
            return;
        }
        self.note_syn(&sight, tcp);
        self.fins[from.index()] |= sight.is_fin();
        self.reset |= sight.is_reset();
        let side = from.index();
        let data_at = sight.sequence.wrapping_add(u32::from(sight.is_syn()));
        let first = *self.first[side].get_or_insert(data_at);
        if sight.length > 0 {
            let offset = self.offset(from, data_at, first);
            if let Some(offset) = offset {
                self.ends[side] = self.ends[side].max(offset + u64::from(sight.length));
                self.read(from, offset, u64::from(sight.length), tcp.payload());
            }
        }
        if let Some(end) = self.acknowledged(&sight) {
            let other = from.other();
            let mut stream = std::mem::take(&mut self.streams[other.index()]);
            stream.acknowledged(end, &mut |piece| self.take(other, piece));
            self.streams[other.index()] = stream;
        }
        if let Some((keys, opened)) = keys.zip(self.opened.as_mut()) {
            opened.read(keys);
        }
        self.keep(sight);
    }

    fn note_syn(&mut self, sight: &SeenSegment, tcp: &Tcp<'_>) {
        if !sight.is_syn() {
            return;
        }
        match sight.from {
            Side::Client => self.syn = self.syn.or(Some(SynOptions::from_tcp(tcp))),
            Side::Server => self.syn_ack = self.syn_ack.or(Some(SynOptions::from_tcp(tcp))),
        }
        let first = sight.sequence.wrapping_add(1);
        self.first[sight.from.index()].get_or_insert(first);
    }

    /// The place of a sequence number in the stream: the one closest to what was last seen.
    fn offset(&self, from: Side, sequence: u32, first: u32) -> Option<u64> {
        let end = self.ends[from.index()];
        let expected = first.wrapping_add(end as u32);
        let distance = i64::from(sequence.wrapping_sub(expected).cast_signed());
        // Data before the first byte is a keep-alive probe, or older than the capture.
        u64::try_from(end.cast_signed() + distance).ok()
    }

    /// The place of a sequence number in a stream whose end is known.
    pub(crate) fn place(&self, side: Side, sequence: u32) -> Option<u64> {
        self.offset(side, sequence, self.first[side.index()]?)
    }

    fn read(&mut self, from: Side, offset: u64, length: u64, kept: &[u8]) {
        let side = from.index();
        let mut stream = std::mem::take(&mut self.streams[side]);
        stream.push(offset, length, kept, &mut |piece| self.take(from, piece));
        self.streams[side] = stream;
    }

    fn take(&mut self, from: Side, piece: Piece<'_>) {
        self.read_on(from, piece);
        self.taken[from.index()] += match piece {
            Piece::Bytes(bytes) => bytes.len() as u64,
            Piece::Unknown(count) => count,
        };
        if let Content::Http1(http) = &self.content
            && let Some((request, response)) = http.tunnel()
        {
            self.tunnel = Some((request.clone(), response.clone()));
            self.content = Content::Unknown;
            return;
        }
        if let Content::Http1(http) = &self.content
            && let Some((request, response, followed)) = http.upgraded()
        {
            let mut http = ClearHttp2::upgraded(request, response);
            if let Piece::Bytes(bytes) = piece {
                let read = bytes.len().saturating_sub(followed as usize);
                http.take(
                    Side::Server,
                    Piece::Bytes(bytes.get(read..).unwrap_or_default()),
                );
            }
            self.content = Content::Http2(Box::new(http));
        }
    }

    fn read_on(&mut self, from: Side, piece: Piece<'_>) {
        if matches!(self.content, Content::Unknown) {
            self.recognise(from, piece);
            return;
        }
        match &mut self.content {
            Content::Tls(followers) => {
                followers[from.index()].take(piece);
                if let Some(opened) = &mut self.opened {
                    opened.take(from, piece);
                }
            }
            Content::Http1(http) => http.take(from, piece),
            Content::Http2(http) => http.take(from, piece),
            Content::Unknown | Content::Opaque => {}
        }
    }

    /// Decides by the client's first bytes, or by those of the server if the client's first bytes
    /// are missing.
    fn recognise(&mut self, from: Side, piece: Piece<'_>) {
        let Piece::Bytes(bytes) = piece else {
            self.content = Content::Opaque;
            return;
        };
        let before = std::mem::take(&mut self.front[from.index()]);
        let front: Vec<u8> = [&before, bytes].concat();
        let looked = front.get(..front.len().min(4096)).unwrap_or(&front);
        // Data that waits to be recognised is already counted.
        let waiting = [0, 1].map(|side| self.front[side].len() as u64);
        let mut start = [0, 1].map(|side| self.taken[side] - waiting[side]);
        start[from.index()] -= before.len() as u64;
        let may_be_http2 = match from {
            Side::Client => ClearHttp2::may_begin(looked),
            Side::Server => front.len() < MAX_FRONT && ClearHttp2::server_may_begin(looked),
        };
        let content = if RecordFollower::recognises(looked) {
            self.opened = self
                .has_keys
                .then(|| Box::new(OpenedTls::starting_at(start)));
            Content::Tls(start.map(RecordFollower::starting_at))
        } else if Http1::recognises(looked) || looked.starts_with(b"HTTP/1.") {
            Content::Http1(Http1::starting_at(start))
        } else if from == Side::Client && Http2Reader::recognises(looked) {
            Content::Http2(Box::new(ClearHttp2::starting_at(start)))
        } else if looked.len() < 3
            || may_be_http2
            || (looked.len() < FRONT && looked.iter().all(u8::is_ascii_graphic))
        {
            self.front[from.index()] = front;
            return;
        } else {
            Content::Opaque
        };
        self.content = content;
        self.read_on(from, Piece::Bytes(&front));
        let other = std::mem::take(&mut self.front[from.other().index()]);
        if !other.is_empty() {
            self.read_on(from.other(), Piece::Bytes(&other));
        }
    }

    fn keep(&mut self, sight: SeenSegment) {
        let full = self.sights.len() >= MAX_SIGHTS;
        if full
            && let Some(last) = self.sights.last_mut()
            && last.from == sight.from
            && sight.at.saturating_sub(last.at) < TOGETHER
            && last.sequence.wrapping_add(last.length) == sight.sequence
            && !sight.is_syn()
            && !sight.is_fin()
            && !sight.is_reset()
            && !last.is_fin()
        {
            last.length = last.length.saturating_add(sight.length);
            last.acknowledgment = sight.acknowledgment;
            last.window = sight.window;
            self.merged += 1;
            return;
        }
        // In a large transfer, a single acknowledgement adds little.
        if full && sight.length == 0 && self.sights.len() >= 2 * MAX_SIGHTS {
            self.merged += 1;
            return;
        }
        self.sights.push(sight);
    }

    /// The attempt that this was, if it never became a connection.
    pub(crate) fn tried(&self) -> Option<Tried> {
        self.syn?;
        if self.syn_ack.is_some() {
            return None;
        }
        let refused = self
            .sights
            .iter()
            .find(|s| s.is_reset() && s.from == Side::Server);
        Some(Tried {
            peer: self.server,
            began: self.sights.first()?.at,
            refused: refused.map(|sight| sight.at),
        })
    }

    /// Whether the connection has ended, apart from packets that may still be in the network.
    pub(crate) fn is_over(&self) -> bool {
        self.reset || self.fins == [true, true]
    }

    /// Whether the capture has only what one side sent, although the other side spoke: a SYN was
    /// followed by more, or acknowledgements advanced.
    pub(crate) fn is_one_way(&self) -> bool {
        let Some(first) = self.sights.first() else {
            return false;
        };
        let acknowledges = |sight: &&SeenSegment| sight.acknowledges() && !sight.is_reset();
        let mut acks = self.sights.iter().filter(acknowledges);
        let Some(known) = acks.next().map(|sight| sight.acknowledgment) else {
            return false;
        };
        let went_on = first.is_syn() && !first.acknowledges();
        self.reported.is_none()
            && (went_on || acks.any(|sight| is_before(known, sight.acknowledgment)))
            && self.sights.iter().all(|sight| sight.from == first.from)
    }

    /// When the first segment was seen.
    pub(crate) fn began(&self) -> u64 {
        self.sights.first().map_or(0, |sight| sight.at)
    }

    /// Whether a SYN was seen and not yet answered.
    pub(crate) fn is_opening(&self) -> bool {
        self.syn.is_some() && self.syn_ack.is_none()
    }

    /// Whether HTTP ended because the connection was switched to a protocol that is not read.
    pub(crate) fn is_switched(&self) -> bool {
        match &self.content {
            Content::Http1(http) => http.is_switched(),
            Content::Tls(_) => {
                let inside = self.opened.as_ref().and_then(|opened| opened.inside());
                inside.is_some_and(|inside| inside.requests().iter().any(|r| r.is_switched))
            }
            Content::Http2(http) => http.requests().iter().any(|r| r.is_switched),
            Content::Unknown | Content::Opaque => false,
        }
    }

    /// Where in the two streams begins what was not reported yet.
    pub(crate) fn unreported(&self) -> [u64; 2] {
        self.reported.as_ref().map_or([0; 2], |before| before.until)
    }

    /// Whether this segment begins a request, and enough requests precede it to be worth a report.
    pub(crate) fn is_worth_a_report(&self, packet: &Packet<'_>, tcp: &Tcp<'_>) -> bool {
        let is_clients =
            packet.source() == self.client.ip() && tcp.source_port() == self.client.port();
        let is_next = || {
            let start = self.place(Side::Client, tcp.sequence());
            start == Some(self.ends[Side::Client.index()])
        };
        if !is_clients || tcp.payload().is_empty() || !is_next() {
            return false;
        }
        let inside = self.opened.as_ref().and_then(|opened| opened.inside());
        let (count, is_quiet) = match (&self.content, inside) {
            (Content::Http1(http), _) => (http.requests().len(), http.is_quiet()),
            (Content::Http2(http), _) => (http.requests().len(), http.is_quiet()),
            (Content::Tls(_), Some(inside)) => (inside.requests().len(), inside.is_quiet()),
            _ => return false,
        };
        count >= MAX_TOGETHER && is_quiet && self.streams.iter().all(|s| s.held() == 0)
    }

    /// Forgets what was reported.
    pub(crate) fn report(&mut self, ended: Option<u64>) {
        self.sights = Vec::new();
        self.merged = 0;
        self.reported = Some(Reported {
            until: self.ends,
            ended,
        });
        match &mut self.content {
            Content::Http1(http) => http.clear(),
            Content::Http2(http) => http.clear(),
            _ => {}
        }
        if let Some(opened) = &mut self.opened {
            opened.clear();
        }
    }

    /// Roughly the number of bytes that this holds.
    pub(crate) fn held(&self) -> usize {
        let streams: usize = self.streams.iter().map(Reassembly::held).sum();
        let content = match &self.content {
            Content::Tls(followers) => {
                let records = followers.iter().map(|follower| follower.records().len());
                let clear = self.taken.iter().map(|taken| (*taken as usize).min(CLEAR));
                records.sum::<usize>() * size_of::<RecordPlace>() + clear.sum::<usize>()
            }
            Content::Http1(http) => http.held(),
            Content::Http2(http) => http.held(),
            Content::Unknown | Content::Opaque => 0,
        };
        let opened = self.opened.as_ref().map_or(0, |opened| opened.held());
        let front: usize = self.front.iter().map(Vec::capacity).sum();
        opened + front + self.sights.capacity() * size_of::<SeenSegment>() + streams + content
    }

    /// Whether this is a SYN that opens another connection between the same ports.
    pub(crate) fn is_another(&self, tcp: &Tcp<'_>) -> bool {
        let syn = tcp.flags().contains(Flags::SYN) && !tcp.flags().contains(Flags::ACK);
        let first = self.first[Side::Client.index()];
        syn && first.is_some_and(|first| first != tcp.sequence().wrapping_add(1))
    }

    /// The position in the stream of `side` up to which its peer reports data as received.
    pub(crate) fn acknowledged(&self, sight: &SeenSegment) -> Option<u64> {
        let side = sight.from.other();
        let first = self.first[side.index()]?;
        if !sight.acknowledges()
            || is_before(sight.acknowledgment, first) && self.ends[side.index()] < 1 << 31
        {
            return None;
        }
        let end = self.ends[side.index()];
        let expected = first.wrapping_add(end as u32);
        let distance = i64::from(sight.acknowledgment.wrapping_sub(expected).cast_signed());
        u64::try_from(end.cast_signed() + distance).ok()
    }
}

/// The largest segment of the connection, in bytes of data.
pub(crate) fn mss(flow: &TcpFlow) -> u32 {
    let told = [flow.syn, flow.syn_ack].map(|syn| syn.and_then(|syn| syn.mss));
    let told = told.into_iter().flatten().min().unwrap_or(1460);
    let stamps = [flow.syn, flow.syn_ack]
        .iter()
        .all(|syn| syn.is_some_and(|syn| syn.has_stamps));
    u32::from(told) - if stamps { 12.min(u32::from(told)) } else { 0 }
}
