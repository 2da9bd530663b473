//! A peer that has the keys and follows no rule: random frames from several addresses, with time
//! and the application's calls between them. Nothing panics, no timer stays in the past, memory is
//! bounded, and (`Pair` checks) no address gets more than three times what came from it.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use roundtrip_wire::quic::{ConnectionId, Frame, Frames, Pen, write_ack};

use super::pair::{End, Pair, tls};
use crate::crypto::Level;
use crate::{Dir, Event, StreamId, Transport};

const SEEDS: u64 = 24;
const PACKETS: usize = 1500;
/// The limit on memory: windows in both directions, rings whose length is a power of two, reserves,
/// and bookkeeping.
const MAX_MEMORY: u64 = 6 << 20;

struct Dice(u64);

impl Dice {
    fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33) % end
    }

    /// A random number of a random length: small numbers are as likely as large ones.
    fn up_to_bits(&mut self, bits: u64) -> u64 {
        let bits = self.below(bits);
        self.below(1 << bits)
    }

    fn one_in(&mut self, count: u64) -> bool {
        self.below(count) == 0
    }
}

struct Peer {
    pair: Pair,
    dice: Dice,
    addresses: Vec<SocketAddr>,
    /// What the server sent and the peer has not read yet.
    caught: Arc<Mutex<Vec<Vec<u8>>>>,
    challenges: Vec<[u8; 8]>,
    /// The packet numbers that the peer may acknowledge.
    numbers: Vec<u64>,
    expected: u64,
    /// The server's ids, by sequence number, and how many ids the peer gave.
    issued: Vec<u64>,
    given: u64,
    streams: Vec<StreamId>,
}

impl Peer {
    fn new(seed: u64) -> Self {
        let transport = Transport {
            window: 1 << 20,
            stream_window: 256 << 10,
            send_buffer: 1 << 20,
            bidi_streams: 16,
            uni_streams: 16,
            ..Transport::default()
        };
        // Tickets from other tests remember other limits.
        let (client, server) = tls();
        let mut client = (*client).clone();
        client.resumption = rustls::client::Resumption::disabled();
        let mut pair = Pair::with(&transport, &transport, client.into(), server);
        pair.connect();
        pair.run_for(Duration::from_millis(200));
        let caught = Arc::new(Mutex::new(Vec::new()));
        let catching = caught.clone();
        pair.arrives = Box::new(move |end, _, datagram| {
            if end == End::Server {
                catching.lock().unwrap().push(datagram.clone());
            }
            false
        });
        let mut addresses = vec![pair.client_address];
        for other in [
            "192.0.2.1:4001",
            "203.0.113.66:1",
            "203.0.113.66:2",
            "203.0.113.67:1",
        ] {
            addresses.push(other.parse().unwrap());
        }
        Self {
            pair,
            dice: Dice(seed * 2 + 1),
            addresses,
            caught,
            challenges: Vec::new(),
            numbers: Vec::new(),
            expected: 0,
            issued: Vec::new(),
            given: 3,
            streams: Vec::new(),
        }
    }

    /// Reads what the server has sent.
    fn read(&mut self) {
        let datagrams = std::mem::take(&mut *self.caught.lock().unwrap());
        let now = self.pair.now;
        for mut datagram in datagrams {
            let crypto = &mut self.pair.client.crypto;
            let opened = crypto.open(Level::OneRtt, &mut datagram, 9, self.expected, now);
            let Ok(opened) = opened else {
                continue;
            };
            self.expected = self.expected.max(opened.number + 1);
            self.numbers.push(opened.number);
            for frame in Frames::new(&datagram[opened.payload]).flatten() {
                match frame {
                    Frame::PathChallenge(data) => self.challenges.push(data),
                    Frame::NewConnectionId { sequence, .. } => self.issued.push(sequence),
                    _ => {}
                }
            }
        }
    }

    fn write(&mut self, pen: &mut Pen<'_>) {
        let dice = &mut self.dice;
        let stream = dice.below(12);
        // If nearly every packet broke a rule, no connection would get far.
        let is_careful = !dice.one_in(300);
        let offset = dice.up_to_bits(if is_careful { 15 } else { 21 });
        let data = vec![7; dice.below(400) as usize];
        let limit = dice.up_to_bits(30);
        let byte = dice.below(256) as u8;
        let frame = match dice.below(60) {
            6..9 => Frame::Padding(1 + dice.below(1000) as usize),
            9..14 => {
                if let Some(number) = self.numbers.pop() {
                    write_ack(pen, 0, [number..=number].into_iter(), None);
                }
                return;
            }
            14..19 => Frame::PathChallenge([byte; 8]),
            19..22 => match self.challenges.pop() {
                Some(data) => Frame::PathResponse(data),
                None => Frame::PathResponse([byte; 8]),
            },
            22..40 => Frame::Stream {
                id: stream * 4 + 2 * dice.below(2),
                offset,
                data: &data,
                fin: false,
            },
            40..42 if !is_careful => Frame::Stream {
                id: stream * 4,
                offset: 0,
                data: b"all",
                fin: true,
            },
            42 => Frame::StopSending {
                id: stream * 4,
                code: 1,
            },
            43 => Frame::DataBlocked(limit),
            44..46 => Frame::MaxData(limit),
            46..48 => Frame::MaxStreamData {
                id: stream * 4,
                limit,
            },
            48..50 => Frame::MaxStreams {
                bidi: true,
                limit: limit % 1000,
            },
            50 => Frame::StreamDataBlocked {
                id: stream * 4,
                limit,
            },
            51..53 => match self.issued.pop() {
                Some(sequence) => Frame::RetireConnectionId(sequence),
                None => Frame::RetireConnectionId(u64::from(!is_careful) * 90),
            },
            53 => {
                self.given += if is_careful { 1 } else { 5 };
                let sequence = self.given;
                Frame::NewConnectionId {
                    sequence,
                    retire_prior_to: sequence - 1,
                    id: ConnectionId::new(&[sequence as u8; 8]).unwrap(),
                    reset_token: [byte; 16],
                }
            }
            54 if !is_careful => Frame::Crypto { offset, data: b"x" },
            55 => Frame::ImmediateAck,
            56 => Frame::AckFrequency {
                sequence: dice.below(100),
                threshold: dice.below(4),
                max_delay_us: 1000 + dice.below(100_000),
                reordering: dice.below(4),
            },
            _ => Frame::Ping,
        };
        frame.write(pen);
    }

    fn send(&mut self) {
        let mut payload = vec![0; 1200];
        let mut pen = Pen::new(&mut payload);
        for _ in 0..=self.dice.below(5) {
            self.write(&mut pen);
        }
        let length = pen.position().max(1);
        let from = match self.dice.below(4) {
            0 => self.addresses[self.dice.below(5) as usize],
            _ => self.addresses[0],
        };
        self.pair.forge_bytes(from, &payload[..length]);
    }

    /// The server's application reads, writes, and opens streams.
    fn serve(&mut self) {
        let dice = &mut self.dice;
        let server = self.pair.server.as_mut().unwrap();
        for dir in [Dir::Bidi, Dir::Uni] {
            while let Some(id) = server.accept(dir) {
                self.streams.push(id);
            }
        }
        if dice.one_in(10) {
            self.streams.extend(server.open(Dir::Uni));
        }
        for id in &self.streams {
            match dice.below(12) {
                0 => {
                    let _ = server.read(*id, &mut vec![0; dice.below(20_000) as usize + 1]);
                }
                1 => {
                    let _ = server.write(*id, Bytes::from(vec![0; dice.below(50_000) as usize]));
                }
                2 if dice.one_in(20) => {
                    let _ = server.finish(*id);
                }
                _ => {}
            }
        }
    }

    fn let_time_pass(&mut self) {
        let span = match self.dice.below(40) {
            0 => 2_000_000,
            1..8 => 30_000,
            8..20 => 1000,
            _ => 0,
        };
        let until = self.pair.now.after(Duration::from_micros(span));
        let mut before = (self.pair.now, 0);
        loop {
            let deadline = self.pair.server().deadline();
            let Some(deadline) = deadline.filter(|deadline| *deadline <= until) else {
                break;
            };
            self.pair.now = self.pair.now.max(deadline);
            let now = self.pair.now;
            self.pair.server().on_timeout(now);
            self.pair.send_of(&[End::Server]);
            before = (now, if before.0 == now { before.1 + 1 } else { 0 });
            assert!(before.1 < 4, "a timer stays in the past");
        }
        self.pair.now = until;
    }
}

#[test]
fn a_peer_with_the_keys_that_follows_no_rule_is_bounded() {
    let mut taken = 0;
    let mut moved = 0;
    let mut proved = 0;
    for seed in 0..SEEDS {
        let mut peer = Peer::new(seed);
        for _ in 0..PACKETS {
            peer.send();
            peer.serve();
            peer.pair.send_of(&[End::Server]);
            peer.let_time_pass();
            peer.read();
            let server = peer.pair.server();
            let memory = server.memory();
            assert!(memory <= MAX_MEMORY, "seed {seed}: {memory} bytes");
            while let Some(event) = server.poll() {
                proved += usize::from(matches!(event, Event::PathChanged(_)));
            }
            if server.is_closed() {
                break;
            }
        }
        let stats = peer.pair.server().stats();
        taken += stats.packets_received;
        moved += stats.migrations;
    }
    // It gets far enough to find something.
    assert!(
        taken > 2000 && moved > 20 && proved > 5,
        "{taken} {moved} {proved}"
    );
}
