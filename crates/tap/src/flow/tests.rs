//! Tickets of TLS 1.3 over a path that is too short for times to tell them from an answer.

use std::time::SystemTime;

use roundtrip_model::Exchange;

use super::*;
use crate::lookup::Lookups;

/// The bytes of the server's handshake, and of its tickets.
const FLIGHT: u64 = 2_000;
const TICKETS: u64 = 500;

/// A connection over the loopback to a server of TLS 1.3, and what the kernel counts of it.
struct Scene {
    flow: Flow,
    lookups: Lookups,
    attempts: Vec<(i32, roundtrip_model::Attempt)>,
    accepted: u64,
    received: u64,
}

impl Scene {
    /// Makes a scene after the client's Finished, at 1.2 ms.
    fn shaken() -> Self {
        let holder = Holder {
            process: 1,
            descriptor: 3,
        };
        let peer = "127.0.0.1:443".parse().unwrap();
        let mut scene = Self {
            flow: Flow::new(holder, peer, Moment::ZERO),
            lookups: Lookups::default(),
            attempts: Vec::new(),
            accepted: 0,
            received: 0,
        };
        scene.comes(0.1, 0);
        assert!(scene.writes(0.2, &hello()).is_none());
        scene.comes(1.0, FLIGHT);
        let finished = [record(20, &[1]), record(23, &[0; 53])].concat();
        assert!(scene.writes(1.2, &finished).is_none());
        scene
    }

    /// `TCP_INFO` as the kernel lays it out (linux/tcp.h).
    fn info(&self) -> TcpInfo {
        let mut bytes = vec![0; 240];
        bytes[0] = 1;
        let mut put = |at: usize, value: &[u8]| bytes[at..at + value.len()].copy_from_slice(value);
        // The smoothed and the shortest round trip, in microseconds.
        put(68, &100_u32.to_ne_bytes());
        put(148, &100_u32.to_ne_bytes());
        put(128, &self.received.to_ne_bytes());
        put(136, &10_u32.to_ne_bytes());
        put(200, &self.accepted.to_ne_bytes());
        TcpInfo::parse(&bytes)
    }

    fn writes(&mut self, ms: f64, bytes: &[u8]) -> Option<Exchange> {
        let info = self.info();
        let mut surroundings = Surroundings {
            now: Moment::from_millis(ms),
            wall: SystemTime::UNIX_EPOCH,
            lookups: &mut self.lookups,
            attempts: &mut self.attempts,
        };
        let (now, length) = (surroundings.now, bytes.len() as u64);
        let ended = self
            .flow
            .writes(now, &info, bytes.to_vec(), length, &mut surroundings);
        self.accepted += length;
        ended
    }

    fn comes(&mut self, ms: f64, bytes: u64) {
        self.received += bytes;
        let info = self.info();
        let now = Moment::from_millis(ms);
        let mut surroundings = Surroundings {
            now,
            wall: SystemTime::UNIX_EPOCH,
            lookups: &mut self.lookups,
            attempts: &mut self.attempts,
        };
        assert!(
            self.flow
                .stirs(now, &info, None, &mut surroundings)
                .is_none()
        );
    }

    fn ends(mut self, ms: f64) -> Exchange {
        let mut surroundings = Surroundings {
            now: Moment::from_millis(ms),
            wall: SystemTime::UNIX_EPOCH,
            lookups: &mut self.lookups,
            attempts: &mut self.attempts,
        };
        self.flow.conclude(&mut surroundings).unwrap()
    }
}

fn record(kind: u8, body: &[u8]) -> Vec<u8> {
    let length = (body.len() as u16).to_be_bytes();
    [&[kind, 3, 3], &length[..], body].concat()
}

fn hello() -> Vec<u8> {
    let mut body = vec![3, 3];
    body.extend([7; 32]);
    body.extend([0, 0, 2, 0x13, 1, 1, 0]);
    let message = [&[1, 0, 0, body.len() as u8][..], &body].concat();
    record(22, &message)
}

fn first_byte(exchange: &Exchange) -> f64 {
    let at = exchange.timeline.first(|event| *event == Event::FirstByte);
    at.unwrap().as_millis()
}

#[test]
fn tickets_that_came_before_the_request_are_not_an_answer() {
    let mut scene = Scene::shaken();
    // The tap does not know of them yet when the program writes.
    scene.received += TICKETS;
    assert!(scene.writes(1.5, &record(23, &[0; 200])).is_none());
    scene.comes(61.5, 300);
    let exchange = scene.ends(62.0);
    assert!((first_byte(&exchange) - 61.5).abs() < 0.01);
    assert!(exchange.notes.is_empty(), "{:?}", exchange.notes);
}

#[test]
fn a_small_answer_behind_tickets_is_one_and_the_servers_goodbye_is_none() {
    let mut scene = Scene::shaken();
    scene.received += TICKETS;
    assert!(scene.writes(1.5, &record(23, &[0; 200])).is_none());
    scene.comes(61.5, 1_232);
    // Both send an alert.
    assert!(scene.writes(61.7, &record(23, &[0; 19])).is_none());
    scene.comes(61.9, 24);
    let exchange = scene.ends(62.0);
    assert!((first_byte(&exchange) - 61.5).abs() < 0.01);
}

#[test]
fn tickets_between_two_writes_of_a_request_do_not_end_it_and_that_is_said() {
    let mut scene = Scene::shaken();
    assert!(scene.writes(1.3, &record(23, &[0; 90])).is_none());
    scene.comes(1.5, TICKETS);
    assert!(scene.writes(1.6, &record(23, &[0; 200])).is_none());
    scene.comes(61.6, 300);
    let exchange = scene.ends(62.0);
    assert!((first_byte(&exchange) - 61.6).abs() < 0.01);
    assert!(exchange.notes.iter().any(|note| note.contains("inferred")));
}

#[test]
fn an_answer_that_is_larger_than_tickets_ends_its_request() {
    let mut scene = Scene::shaken();
    assert!(scene.writes(1.3, &record(23, &[0; 90])).is_none());
    scene.comes(1.5, TICKETS + 2_000);
    assert!(scene.writes(1.6, &record(23, &[0; 200])).is_none());
    let info = scene.info();
    let mut surroundings = Surroundings {
        now: Moment::from_millis(1.7),
        wall: SystemTime::UNIX_EPOCH,
        lookups: &mut scene.lookups,
        attempts: &mut scene.attempts,
    };
    let ended = scene
        .flow
        .stirs(surroundings.now, &info, None, &mut surroundings);
    assert!((first_byte(&ended.unwrap()) - 1.5).abs() < 0.01);
}
