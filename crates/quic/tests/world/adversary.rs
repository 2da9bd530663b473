//! A peer that has the keys and does what input bytes tell it: a client of our server, or a server
//! of our client, at several addresses, with time and the application's calls in between. The same
//! bytes repeat the same game. [`play`] panics if anything is violated that must hold whatever a
//! peer does:
//!
//! - no address gets more than three times what came from it, before it is validated;
//! - memory is bounded, and the budget's counts are right;
//! - no timer stays in the past, and nothing is sent for ever;
//! - the application gets each byte of each stream once, in its place, and the peer gets only what
//!   was written, within the limits that it gave;
//! - only what was sent is acknowledged;
//! - once the peer is silent, the connection ends.

use std::collections::{HashMap, HashSet};
use std::io::ErrorKind;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use roundtrip_quic::{
    Budget, ClientConfig, Connection, Endpoint, Handle, RecvMeta, Retry, ServerConfig, StreamId,
    Time, Transport,
};
use roundtrip_wire::quic::{
    Frame, Frames, Parameters, Pen, Side, Version, write_ack, write_version_negotiation,
};

use super::adversary_frames::Input;
use super::key_holder::{HANDSHAKE, INITIAL, KeyHolder, ONE_RTT};
use super::replayable_tls::configs;

const START: Time = Time(1_000_000_000);
const MAX_STEPS: usize = 2000;
const MAX_OVERDUE: u32 = 8;
/// A connection whose peer is silent ends within this time, and after this many timers.
const MAX_SILENCE: Duration = Duration::from_hours(2);
const MAX_TIMERS: usize = 2000;

pub(crate) struct Game {
    pub(crate) now: Time,
    pub(crate) endpoint: Endpoint,
    pub(crate) peer: KeyHolder,
    pub(crate) challenges: Vec<(SocketAddr, [u8; 8])>,
    /// The numbers of received packets that were not acknowledged yet, on each level.
    pub(crate) unacked: [Vec<u64>; 3],
    /// How many ids the peer gave, and the engine's ids by sequence number.
    pub(crate) given: u64,
    pub(crate) issued: Vec<u64>,
    /// How far the peer has sent on each stream.
    pub(crate) sent: HashMap<u64, u64>,
    /// Streams that the engine opened.
    pub(crate) opened: Vec<u64>,
    /// The limits that the peer has given.
    pub(crate) parameters: Parameters,
    pub(crate) max_data: u64,
    pub(crate) max_stream_data: HashMap<u64, u64>,
    /// The peer has sent data that was not made by `pattern`.
    pub(crate) is_spoilt: bool,
    pub(crate) side: Side,
    pub(crate) handle: Option<Handle>,
    pub(crate) budget: Arc<Budget>,
    pub(crate) addresses: Vec<SocketAddr>,
    /// What came from each address that is not validated, and what was sent there.
    pub(crate) traffic: HashMap<SocketAddr, [u64; 2]>,
    pub(crate) proved: HashSet<SocketAddr>,
    /// The streams that the application knows, what it wrote there, and what it read.
    pub(crate) streams: Vec<StreamId>,
    pub(crate) written: HashMap<u64, u64>,
    pub(crate) taken: HashMap<StreamId, u64>,
    /// The highest offset that came on each stream.
    pub(crate) offsets: HashMap<u64, u64>,
    pub(crate) last: Vec<u8>,
    pub(crate) overdue: (Time, u32),
    pub(crate) buffer: Vec<u8>,
}

/// What a game reached, so that a test can check that it is worth its time.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Reached {
    pub(crate) packets: u64,
    pub(crate) migrations: u64,
    pub(crate) connected: bool,
    pub(crate) bytes_read: u64,
}

/// Plays one game.
pub(crate) fn play(bytes: &[u8]) -> Reached {
    let mut input = Input::new(bytes);
    let mut game = Game::new(&mut input);
    if input.byte() & 3 != 0 {
        for _ in 0..6 {
            game.shake_hands();
            game.act();
        }
    }
    for _ in 0..MAX_STEPS {
        if input.is_empty() {
            break;
        }
        game.step(&mut input);
        game.act();
    }
    game.end()
}

impl Game {
    fn new(input: &mut Input<'_>) -> Self {
        let (client_tls, server_tls) = configs();
        let flags = input.byte();
        let side = if flags & 1 == 0 {
            Side::Server
        } else {
            Side::Client
        };
        let budget = Arc::new(Budget::new(if flags & 2 == 0 {
            64 << 20
        } else {
            256 << 10
        }));
        let transport = Arc::new(Transport {
            window: 1 << 20,
            stream_window: 256 << 10,
            send_buffer: 1 << 20,
            bidi_streams: 16,
            uni_streams: 16,
            budget: Some(budget.clone()),
            ..Transport::default()
        });
        let parameters = input.parameters();
        let addresses = [
            "192.0.2.1:4000",
            "192.0.2.1:4001",
            "203.0.113.66:1",
            "203.0.113.66:2",
        ];
        let addresses: Vec<SocketAddr> = addresses.iter().map(|a| a.parse().unwrap()).collect();
        let peer_parameters = parameters.clone();
        let (endpoint, handle, peer) = match side {
            Side::Server => {
                let mut config = ServerConfig::new(server_tls, transport);
                config.retry = if flags & 4 == 0 {
                    Retry::Never
                } else {
                    Retry::Always
                };
                config.holds = flags & 8 != 0;
                let endpoint = Endpoint::new(Some(config), [1; 32]);
                (
                    endpoint,
                    None,
                    KeyHolder::client(client_tls, peer_parameters),
                )
            }
            Side::Client => {
                let mut endpoint = Endpoint::new(None, [1; 32]);
                let config = ClientConfig::new(client_tls, transport);
                let handle = endpoint.connect(START, &config, addresses[0], "server.test");
                let peer = KeyHolder::server(server_tls, peer_parameters);
                (endpoint, Some(handle.unwrap()), peer)
            }
        };
        let mut game = Self {
            now: START,
            endpoint,
            peer,
            challenges: Vec::new(),
            unacked: Default::default(),
            given: 0,
            issued: Vec::new(),
            sent: HashMap::new(),
            opened: Vec::new(),
            max_data: parameters.initial_max_data,
            max_stream_data: HashMap::new(),
            parameters,
            is_spoilt: false,
            side,
            handle,
            budget,
            traffic: HashMap::new(),
            // A client chose its server's address itself.
            proved: addresses
                .iter()
                .filter(|_| side == Side::Client)
                .copied()
                .collect(),
            addresses,
            streams: Vec::new(),
            written: HashMap::new(),
            taken: HashMap::new(),
            offsets: HashMap::new(),
            last: Vec::new(),
            overdue: (START, 0),
            buffer: vec![0; 65_536],
        };
        game.act();
        game
    }

    pub(crate) fn connection(&mut self) -> Option<&mut Connection> {
        self.endpoint.connection(self.handle?)
    }

    fn step(&mut self, input: &mut Input<'_>) {
        match input.byte() % 16 {
            0..6 => self.send(input, ONE_RTT),
            6 => {
                let level = usize::from(input.byte() % 3);
                self.send(input, level);
            }
            7 => self.let_time_pass(input),
            8 | 9 => self.use_streams(input),
            11 => self.shake_hands(),
            12 if input.byte() == 0 => {
                let payload = input.take(64).to_vec();
                self.is_spoilt = true;
                self.prove(&payload, ONE_RTT, 0);
                self.seal_and_throw(&payload, ONE_RTT, 0, 0, 0);
            }
            13 => {
                let mut datagram = self.last.clone();
                if let Some(at) = usize::from(input.byte()).checked_rem(datagram.len()) {
                    datagram[at] ^= input.byte();
                }
                self.throw(datagram, usize::from(input.byte()));
            }
            14 => self.invent(input),
            15 => self.disturb(input),
            _ => self.acknowledge(),
        }
    }

    /// Sends one packet of some frames from one of the addresses.
    fn send(&mut self, input: &mut Input<'_>, level: usize) {
        let how = input.byte();
        let mut payload = vec![0; 1150];
        let mut pen = Pen::new(&mut payload);
        for _ in 0..=how >> 6 {
            self.write_frame(input, &mut pen, level);
        }
        let length = pen.position();
        payload.truncate(length);
        let from = if how & 0x30 == 0x30 {
            usize::from(input.byte())
        } else {
            0
        };
        if how & 0x0f == 0x0f {
            self.peer.numbers[level] += u64::from(input.byte());
        }
        let size = if level == INITIAL || how & 0x04 != 0 {
            1200
        } else {
            0
        };
        self.prove(&payload, level, from);
        self.seal_and_throw(&payload, level, usize::from(how & 3 == 3), size, from);
    }

    /// Records what the engine may conclude from such a packet.
    fn prove(&mut self, payload: &[u8], level: usize, from: usize) {
        if level == HANDSHAKE && self.peer.has_keys(HANDSHAKE) {
            self.proved
                .insert(self.addresses[from % self.addresses.len()]);
        }
        for frame in Frames::new(payload).map_while(Result::ok) {
            if let Frame::PathResponse(data) = frame {
                let asked = self
                    .challenges
                    .iter()
                    .filter(|(_, challenge)| *challenge == data);
                self.proved.extend(asked.map(|(address, _)| *address));
            }
            self.permit(&frame);
        }
    }

    fn permit(&mut self, frame: &Frame<'_>) {
        match *frame {
            Frame::MaxData(limit) => self.max_data = self.max_data.max(limit),
            Frame::MaxStreamData { id, limit } => {
                let permitted = self.max_stream_data.entry(id).or_default();
                *permitted = limit.max(*permitted);
            }
            _ => {}
        }
    }

    fn seal_and_throw(
        &mut self,
        payload: &[u8],
        level: usize,
        id: usize,
        size: usize,
        from: usize,
    ) {
        if let Some(packet) = self.peer.seal(level, payload, id, size) {
            self.throw(packet, from);
        }
    }

    /// Delivers a datagram from the address at index `from`.
    fn throw(&mut self, mut datagram: Vec<u8>, from: usize) {
        let remote = self.addresses[from % self.addresses.len()];
        self.last.clone_from(&datagram);
        self.traffic.entry(remote).or_default()[0] += datagram.len() as u64;
        let way = RecvMeta {
            remote,
            local: None,
            ecn: (from / 64) as u8 & 3,
        };
        self.endpoint.receive(self.now, &way, &mut datagram);
        while let Some(handle) = self.endpoint.accept() {
            self.handle.get_or_insert(handle);
        }
    }

    /// Continues the handshake as TLS requires, and acknowledges.
    fn shake_hands(&mut self) {
        if let Some(connection) = self.connection() {
            connection.proceed(Time(0));
        }
        for level in [INITIAL, HANDSHAKE, ONE_RTT] {
            while let Some((offset, data)) = self.peer.unsaid(level) {
                let frame = Frame::Crypto { offset, data };
                let mut payload = vec![0; frame.size()];
                frame.write(&mut Pen::new(&mut payload));
                let length = data.len();
                if !self.peer.has_keys(level) {
                    break;
                }
                self.peer.on_said(level, length);
                self.prove(&payload, level, 0);
                self.seal_and_throw(
                    &payload,
                    level,
                    0,
                    if level == INITIAL { 1200 } else { 0 },
                    0,
                );
                self.act();
            }
        }
        self.acknowledge();
    }

    fn acknowledge(&mut self) {
        for level in [INITIAL, HANDSHAKE, ONE_RTT] {
            let mut numbers = std::mem::take(&mut self.unacked[level]);
            numbers.sort_unstable();
            numbers.dedup();
            let mut ranges: Vec<std::ops::RangeInclusive<u64>> = Vec::new();
            for number in numbers.into_iter().rev() {
                match ranges.last_mut() {
                    Some(range) if *range.start() == number + 1 => *range = number..=*range.end(),
                    _ => ranges.push(number..=number),
                }
            }
            let mut payload = vec![0; 1000];
            let mut pen = Pen::new(&mut payload);
            if write_ack(&mut pen, 0, ranges.into_iter(), None) {
                let length = pen.position();
                let size = if level == INITIAL { 1200 } else { 0 };
                self.prove(&[], level, 0);
                self.seal_and_throw(&payload[..length], level, 0, size, 0);
            }
        }
    }

    /// Sends a datagram that an attacker without keys could send.
    fn invent(&mut self, input: &mut Input<'_>) {
        let kind = input.byte();
        let from = usize::from(input.byte());
        let datagram = match kind % 4 {
            0 => {
                let mut datagram = vec![0x40; 30 + usize::from(input.byte())];
                let token = datagram.len() - 16;
                datagram[token..].fill(input.byte());
                datagram
            }
            1 => {
                let versions = [Version(input.byte().into()), Version::V2];
                let [own, theirs] = [super::key_holder::own_id(0), self.peer.original()];
                write_version_negotiation(theirs.as_slice(), own.as_slice(), &versions, kind)
            }
            2 => self
                .last
                .get(usize::from(kind)..)
                .unwrap_or_default()
                .to_vec(),
            _ => input.take(usize::from(kind)).to_vec(),
        };
        self.throw(datagram, from);
    }

    /// Causes other events for an engine: its socket refuses, its owner decides, the peer updates
    /// keys.
    fn disturb(&mut self, input: &mut Input<'_>) {
        let (now, what) = (self.now, input.byte());
        let size = usize::from(input.byte()) * 8;
        match what % 16 {
            0..4 => self.peer.update_keys(),
            4 => self.peer.repeat(),
            5 if what == 5 => self.endpoint.set_server(None),
            _ => {
                let Some(connection) = self.connection() else {
                    return;
                };
                match what % 16 {
                    6 => connection.on_too_big(size),
                    7 => connection.on_unreachable(now, ErrorKind::ConnectionRefused),
                    8 => drop(connection.update_keys()),
                    9 => drop(connection.migrate(now, None)),
                    10 => connection.ping(),
                    11 => connection.rest(),
                    12 if what == 12 => connection.close(now, 7, b"enough"),
                    13 if what == 13 => connection.refuse(now),
                    _ => connection.proceed(now),
                }
            }
        }
    }

    fn let_time_pass(&mut self, input: &mut Input<'_>) {
        let span = match input.byte() {
            byte @ 0..64 => u64::from(byte) * 16,
            byte @ 64..224 => u64::from(byte) * 1000,
            byte => u64::from(byte - 223) * 1_000_000,
        };
        let until = self.now.after(Duration::from_micros(span));
        self.pass_until(until);
    }

    /// Handles deadlines until `until`; returns how many.
    fn pass_until(&mut self, until: Time) -> usize {
        let mut met = 0;
        while let Some(deadline) = self
            .endpoint
            .deadline()
            .filter(|deadline| *deadline <= until)
        {
            self.now = self.now.max(deadline);
            self.overdue = match self.overdue {
                (time, count) if time == self.now => (time, count + 1),
                _ => (self.now, 0),
            };
            assert!(self.overdue.1 < MAX_OVERDUE, "a timer stays in the past");
            self.endpoint.on_timeout(self.now, &mut Vec::new());
            self.act();
            met += 1;
            if met > MAX_TIMERS {
                break;
            }
        }
        self.now = self.now.max(until);
        met
    }

    /// The peer falls silent, and the connection must end.
    fn end(mut self) -> Reached {
        let mut reached = Reached {
            bytes_read: self.taken.values().sum(),
            ..Reached::default()
        };
        if let Some(connection) = self.connection() {
            let stats = connection.stats();
            reached.packets = stats.packets_received;
            reached.migrations = stats.migrations;
            reached.connected = connection.is_connected();
        }
        let met = self.pass_until(self.now.after(MAX_SILENCE));
        assert!(met < MAX_TIMERS, "it waits for ever");
        let handles: Vec<Handle> = self.endpoint.handles().collect();
        for handle in handles {
            assert!(self.endpoint.connection(handle).unwrap().is_drained());
        }
        self.endpoint.remove_drained();
        assert_eq!((self.endpoint.len(), self.budget.used()), (0, 0));
        reached
    }
}
