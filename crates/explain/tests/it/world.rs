//! HTTP/1.1 over TCP in virtual time, over a path whose delay varies: what a prober would record of
//! one exchange. Nothing is lost, and the server's window grows as in slow start.

mod client;
mod path;
mod server;

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::time::Duration;

use roundtrip_model::{
    Event, Exchange, FastOpenFacts, HttpFacts, KeptFacts, Moment, Random, TcpFacts,
};

use crate::story::{MSS, tls};

use client::Client;
use path::Way;
pub(crate) use path::{Jitter, Shape};
use server::Server;

/// The sizes in bytes of a request, a ClientHello, the server's flight, the client's last flight
/// with the request, and tickets.
const REQUEST: u64 = 120;
const HELLO: u64 = 1_700;
const FLIGHT: u64 = 3_000;
const RESUMED_FLIGHT: u64 = 1_322;
const FINISHED: u64 = 80;
const TICKETS: u64 = 184;
/// A response's header, and what TLS adds to a record, in bytes.
const HEAD: u64 = 180;
const RECORD_OVERHEAD: u64 = 22;
/// The largest record of TLS (RFC 8446 §5.1), in bytes.
const RECORD: u64 = 16_384;
/// How long a receiver delays an acknowledgement, in milliseconds, as Linux does.
const DELAYED_ACK: f64 = 40.0;
/// The size of the answer to the request that opens a connection.
const FIRST_BODY: u64 = 10;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Opening {
    New,
    /// A request came before, this many milliseconds ago.
    Kept(u32),
    FastOpen,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Security {
    Clear,
    Full,
    Resumed,
}

/// An exchange and its path. Times are in milliseconds, sizes in bytes.
#[derive(Debug, Clone)]
pub(crate) struct Scene {
    pub(crate) rtt: f64,
    pub(crate) jitter: Option<Jitter>,
    /// The bytes that the line carries in a millisecond, towards the client.
    pub(crate) rate: Option<f64>,
    pub(crate) opening: Opening,
    pub(crate) security: Security,
    pub(crate) body: u64,
    /// How long the server thinks, and how long it needs for its flight.
    pub(crate) think: f64,
    pub(crate) handshake_work: f64,
    /// How often the server pauses, and for how many milliseconds: it sends the body in as many
    /// equal parts, and pauses after each.
    pub(crate) stalls: (u64, f64),
    /// Whether the server says how long it thought.
    pub(crate) timing: bool,
}

impl Scene {
    pub(crate) fn over(rtt: f64) -> Self {
        Self {
            rtt,
            jitter: None,
            rate: None,
            opening: Opening::New,
            security: Security::Clear,
            body: 1_000,
            think: 0.0,
            handshake_work: 0.0,
            stalls: (0, 0.0),
            timing: false,
        }
    }

    /// Plays the exchange.
    pub(crate) fn run(&self, seed: u64) -> Exchange {
        World::new(self, seed).run()
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Step {
    ToServer(Packet),
    ToClient(Packet),
    ServerWrites(u64),
    ServerAcks,
    ClientAcks,
    Read,
    Ask,
}

/// A segment: how much data it has, where that ends in the stream, and what it acknowledges.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Packet {
    bytes: u64,
    end: u64,
    acked: u64,
    syn: bool,
}

struct World<'a> {
    scene: &'a Scene,
    random: Random,
    /// In milliseconds; the exchange began at `zero`.
    now: f64,
    zero: f64,
    steps: BinaryHeap<Reverse<(u64, u64, Step)>>,
    number: u64,
    up: Way,
    down: Way,
    server: Server,
    client: Client,
    exchange: Exchange,
}

impl<'a> World<'a> {
    fn new(scene: &'a Scene, seed: u64) -> Self {
        let mut random = Random::seeded(seed);
        let mut way = |jitter, rate| {
            let random = Random::seeded(random.next_u64());
            Way::new(scene.rtt / 2.0, jitter, rate, random)
        };
        let up = way(scene.jitter.filter(|jitter| jitter.up), None);
        let down = way(scene.jitter.filter(|jitter| jitter.down), scene.rate);
        let server = Server::new(random.below(2) == 0);
        Self {
            scene,
            random,
            now: 1e4,
            zero: 1e4,
            steps: BinaryHeap::new(),
            number: 0,
            up,
            down,
            server,
            client: Client::default(),
            exchange: Exchange::default(),
        }
    }

    fn run(mut self) -> Exchange {
        self.connect();
        while !self.client.done
            && let Some(Reverse((at, _, step))) = self.steps.pop()
        {
            self.now = at as f64 / 1e6;
            match step {
                Step::ToServer(packet) => self.reached_server(packet),
                Step::ToClient(packet) => self.reached_client(packet),
                Step::ServerWrites(bytes) => {
                    self.server.written += bytes;
                    self.server_sends();
                }
                Step::ServerAcks if self.server.unacked > 0 => self.acknowledge_client(),
                Step::ClientAcks if self.client.unacked > 0 => self.acknowledge_server(),
                Step::ServerAcks | Step::ClientAcks => {}
                Step::Read => self.read(),
                Step::Ask => self.ask(),
            }
        }
        self.facts()
    }

    fn after(&mut self, ms: f64, step: Step) {
        self.at(self.now + ms, step);
    }

    fn at(&mut self, at: f64, step: Step) {
        self.number += 1;
        let entry = ((at * 1e6).round() as u64, self.number, step);
        self.steps.push(Reverse(entry));
    }

    fn record_at(&mut self, at: f64, event: Event) {
        // What belongs to an earlier exchange is not recorded.
        if at >= self.zero {
            let at = Moment::from_millis(at - self.zero);
            self.exchange.timeline.push(at, event);
        }
    }

    fn record(&mut self, event: Event) {
        self.record_at(self.now, event);
    }

    /// The milliseconds that a program or a kernel needs for a step.
    fn work(&mut self) -> f64 {
        0.02 + 0.08 * self.random.unit()
    }

    fn is_secure(&self) -> bool {
        self.scene.security != Security::Clear
    }

    /// Whether the exchange is the one that is measured.
    fn is_measured(&self, request: u64) -> bool {
        !matches!(self.scene.opening, Opening::Kept(_)) || request > 1
    }

    fn send_up(&mut self, packet: Packet) {
        let at = self.up.carry(self.now, packet.bytes);
        self.at(at, Step::ToServer(packet));
    }

    fn send_down(&mut self, packet: Packet) {
        let at = self.down.carry(self.now, packet.bytes);
        self.at(at, Step::ToClient(packet));
    }

    fn reached_server(&mut self, packet: Packet) {
        self.server.received = packet.end;
        if packet.syn {
            self.send_down(Packet {
                bytes: 0,
                end: 0,
                acked: packet.end,
                syn: true,
            });
        } else {
            self.server.hear(packet.acked);
        }
        if packet.bytes > 0 {
            if !packet.syn && self.server.must_acknowledge() {
                self.acknowledge_client();
            } else if !packet.syn {
                self.after(DELAYED_ACK, Step::ServerAcks);
            }
            self.react();
        }
        self.server_sends();
    }

    fn acknowledge_client(&mut self) {
        self.server.unacked = 0;
        let packet = Packet {
            bytes: 0,
            end: self.server.sent,
            acked: self.server.received,
            syn: false,
        };
        self.send_down(packet);
    }

    fn server_sends(&mut self) {
        while let Some((bytes, end)) = self.server.next_segment() {
            self.server.unacked = 0;
            let packet = Packet {
                bytes,
                end,
                acked: self.server.received,
                syn: false,
            };
            self.send_down(packet);
        }
    }

    /// The server's program answers what has arrived.
    fn react(&mut self) {
        let (hello, finished) = if self.is_secure() {
            (HELLO, FINISHED)
        } else {
            (0, 0)
        };
        if hello > 0 && self.server.planned == 0 && self.server.received >= hello {
            let took = 0.4 + self.work() + self.scene.handshake_work;
            self.server_writes(took, self.flight());
        }
        let request = self.server.answers + 1;
        if self.server.received < hello + finished + request * REQUEST {
            return;
        }
        self.server.answers = request;
        if self.is_secure() && request == 1 {
            let took = self.work();
            self.server_writes(took, TICKETS);
        }
        let measured = self.is_measured(request);
        let mut took = 0.1 + self.work() + if measured { self.scene.think } else { 0.0 };
        for part in self.answer(measured) {
            self.server_writes(took, part);
            took += self.scene.stalls.1;
        }
    }

    fn server_writes(&mut self, after: f64, bytes: u64) {
        self.server.planned += bytes;
        self.after(after, Step::ServerWrites(bytes));
    }

    fn flight(&self) -> u64 {
        match self.scene.security {
            Security::Clear => 0,
            Security::Full => FLIGHT,
            Security::Resumed => RESUMED_FLIGHT,
        }
    }

    /// The parts of the answer as they are written. Notes where its records end.
    fn answer(&mut self, measured: bool) -> Vec<u64> {
        let (body, stalls) = if measured {
            (self.scene.body, self.scene.stalls.0)
        } else {
            (FIRST_BODY, 0)
        };
        let overhead = if self.is_secure() { RECORD_OVERHEAD } else { 0 };
        let mut end = self.server.planned;
        self.client.records = vec![end];
        let mut parts = Vec::new();
        for part in 0..=stalls {
            let (from, to) = (body * part / (stalls + 1), body * (part + 1) / (stalls + 1));
            let mut left = to - from + if part == 0 { HEAD } else { 0 };
            let began = end;
            while left > 0 {
                let record = left.min(RECORD);
                left -= record;
                end += record + overhead;
                self.client.records.push(end);
            }
            parts.push(end - began);
        }
        parts
    }

    /// The exchange, with what the kernel says about its connection.
    fn facts(self) -> Exchange {
        let span = |ms: f64| Duration::from_secs_f64(ms / 1e3);
        let (scene, client) = (self.scene, &self.client);
        let mut e = self.exchange;
        e.url = "https://shop.example/".into();
        e.rtt = client.smallest.map(span);
        if let Opening::Kept(idle) = scene.opening {
            e.reused = true;
            e.kept = Some(KeptFacts {
                idle: Duration::from_millis(idle.into()),
                bytes_received: client.records.first().copied().unwrap_or(0),
                beyond: None,
            });
        }
        let opened_fast = scene.opening == Opening::FastOpen;
        e.tcp = Some(TcpFacts {
            mss: MSS as u32,
            first_mss: MSS as u32,
            peer_mss: MSS as u32,
            handshake_rtt: client.handshake.map(span),
            min_rtt: client.smallest.map(span),
            rtt: client.smoothed.map(span),
            fast_open: FastOpenFacts {
                asked: opened_fast,
                cookie: opened_fast,
                data_sent: if opened_fast { REQUEST } else { 0 },
                data_acked: if opened_fast { REQUEST } else { 0 },
                saved_round_trips: opened_fast.into(),
                ..FastOpenFacts::default()
            },
            ..TcpFacts::default()
        });
        e.tls = (scene.security != Security::Clear).then(|| {
            let mut facts = tls("TLSv1.3", FLIGHT);
            facts.resumed = scene.security == Security::Resumed;
            facts
        });
        let timing = ("app".into(), Some(span(scene.think)), String::new());
        e.http = Some(HttpFacts {
            version: "1.1".into(),
            status: 200,
            downloaded: scene.body,
            request_bytes: REQUEST,
            server_timing: scene.timing.then_some(timing).into_iter().collect(),
            ..HttpFacts::default()
        });
        e
    }
}
