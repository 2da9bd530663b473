//! Rules of RFC 9000 that only a peer that does the handshake on its own can break.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::sync::Arc;

use roundtrip_quic::{
    ClientConfig, CloseReason, Code, Dir, Endpoint, Event, Handle, RecvMeta, Retry, ServerConfig,
    Time, Transport,
};
use roundtrip_wire::quic::{ConnectionId, Frame, Frames, Parameters, Pen, Version, write_retry};

use super::key_holder::{HANDSHAKE, INITIAL, KeyHolder, ONE_RTT, own_id};
use super::replayable_tls::configs;

const NOW: Time = Time(1_000_000_000);
const SIZE: usize = 1200;

/// An engine of one connection, and a peer.
struct Pair {
    engine: Endpoint,
    handle: Option<Handle>,
    peer: KeyHolder,
    /// What the engine has sent and was not opened yet.
    sent: Vec<Vec<u8>>,
}

fn parameters() -> Parameters {
    Parameters {
        initial_max_data: 1 << 20,
        initial_max_streams_bidi: 10,
        ..Parameters::default()
    }
}

fn peers_address() -> SocketAddr {
    "192.0.2.1:4000".parse().unwrap()
}

impl Pair {
    fn with_server(parameters: Parameters) -> Self {
        let (client, server) = configs();
        let mut config = ServerConfig::new(server, Arc::new(Transport::default()));
        config.retry = Retry::Never;
        Self {
            engine: Endpoint::new(Some(config), [1; 32]),
            handle: None,
            peer: KeyHolder::client(client, parameters),
            sent: Vec::new(),
        }
    }

    fn with_client(parameters: Parameters) -> Self {
        let (client, server) = configs();
        let mut engine = Endpoint::new(None, [1; 32]);
        let config = ClientConfig::new(client, Arc::new(Transport::default()));
        let handle = engine.connect(NOW, &config, peers_address(), "server.test");
        let mut pair = Self {
            engine,
            handle: Some(handle.unwrap()),
            peer: KeyHolder::server(server, parameters),
            sent: Vec::new(),
        };
        pair.send();
        pair
    }

    fn send(&mut self) {
        let Some(handle) = self.handle else { return };
        let mut buffer = vec![0; 1 << 16];
        let connection = self.engine.connection(handle).unwrap();
        while let Some(sent) = connection.transmit(NOW, &mut buffer) {
            let datagrams = buffer[..sent.length].chunks(sent.segment);
            self.sent.extend(datagrams.map(<[u8]>::to_vec));
        }
    }

    fn receive(&mut self, datagram: Vec<u8>) {
        self.receive_from(peers_address(), datagram);
    }

    fn receive_from(&mut self, remote: SocketAddr, mut datagram: Vec<u8>) {
        let way = RecvMeta {
            remote,
            local: None,
            ecn: 0,
        };
        self.engine.receive(NOW, &way, &mut datagram);
        self.handle = self.handle.or_else(|| self.engine.accept());
        self.send();
    }

    /// The peer opens what was sent, and sends what TLS wants to send.
    fn exchange(&mut self) {
        for datagram in std::mem::take(&mut self.sent) {
            self.peer.open(&datagram);
        }
        for level in [INITIAL, HANDSHAKE] {
            while let Some((offset, data)) = self.peer.unsaid(level) {
                let frame = Frame::Crypto { offset, data };
                let mut payload = vec![0; frame.size()];
                frame.write(&mut Pen::new(&mut payload));
                let length = data.len();
                self.peer.on_said(level, length);
                let packet = self.peer.seal(level, &payload, 0, SIZE).unwrap();
                self.receive(packet);
            }
        }
    }

    fn events(&mut self) -> Vec<Event> {
        let handle = self.handle.unwrap();
        let connection = self.engine.connection(handle).unwrap();
        std::iter::from_fn(|| connection.poll()).collect()
    }

    fn is_connected(&mut self) -> bool {
        let handle = self.handle.unwrap();
        self.engine.connection(handle).unwrap().is_connected()
    }

    fn violated(&mut self) -> Option<Code> {
        self.events().into_iter().find_map(|event| match event {
            Event::Closed(CloseReason::Violated { code, .. }) => Some(code),
            _ => None,
        })
    }
}

#[test]
fn the_peer_that_keeps_all_rules_is_met() {
    for mut pair in [
        Pair::with_server(parameters()),
        Pair::with_client(parameters()),
    ] {
        (0..3).for_each(|_| pair.exchange());
        assert!(pair.is_connected());
        assert_eq!(pair.violated(), None);
    }
}

#[test]
fn parameters_that_name_other_ids_than_the_packets_end_the_handshake() {
    type Bend = fn(&mut Parameters);
    let bends: [Bend; 3] = [
        |parameters| parameters.initial_source_connection_id = Some(own_id(77)),
        |parameters| parameters.original_destination_connection_id = Some(own_id(77)),
        |parameters| parameters.retry_source_connection_id = Some(own_id(77)),
    ];
    for (at, bend) in bends.into_iter().enumerate() {
        let mut pair = Pair::with_client(parameters());
        pair.peer.bend = Some(bend);
        (0..3).for_each(|_| pair.exchange());
        let code = pair.violated();
        assert_eq!(code, Some(Code::TRANSPORT_PARAMETER_ERROR), "{at}");
    }
    let mut pair = Pair::with_server(parameters());
    pair.peer = KeyHolder::silent_client(configs().0, parameters());
    pair.peer.bend = Some(bends[0]);
    pair.peer.speak(own_id(1));
    (0..3).for_each(|_| pair.exchange());
    assert_eq!(pair.violated(), Some(Code::TRANSPORT_PARAMETER_ERROR));
}

#[test]
fn a_first_destination_of_less_than_eight_bytes_begins_nothing() {
    for (length, begins) in [(7, false), (8, true)] {
        let mut pair = Pair::with_server(parameters());
        let first = ConnectionId::new(&[0x11; 8][..length]).unwrap();
        pair.peer = KeyHolder::silent_client(configs().0, parameters());
        pair.peer.speak(first);
        pair.exchange();
        assert_eq!(pair.handle.is_some(), begins, "{length}");
    }
}

/// RFC 9000 §12.2: even packets that the engine could open.
#[test]
fn what_lies_behind_a_packet_for_another_id_is_not_read() {
    for is_same in [true, false] {
        let mut pair = Pair::with_client(parameters());
        for datagram in std::mem::take(&mut pair.sent) {
            pair.peer.open(&datagram);
        }
        let mut datagram = pair.peer.seal(INITIAL, &[1], 0, 100).unwrap();
        let close = Frame::Close {
            code: 7,
            frame: Some(0),
            reason: b"",
        };
        let mut payload = vec![0; close.size()];
        close.write(&mut Pen::new(&mut payload));
        if !is_same {
            pair.peer.ids.push(own_id(5));
        }
        let other = usize::from(!is_same);
        datagram.extend(pair.peer.seal(INITIAL, &payload, other, 100).unwrap());
        pair.receive(datagram);
        let closed = pair.events().iter().any(|e| matches!(e, Event::Closed(_)));
        assert_eq!(closed, is_same);
    }
}

/// RFC 9000 §17.2.5.2.
#[test]
fn a_retry_counts_once_and_before_anything_else() {
    let mut pair = greeted_client();
    let first = retry(&pair, b"once");
    // Without a token, or with an invalid tag, it is ignored.
    let empty = retry(&pair, b"");
    pair.receive(empty);
    let mut spoilt = first.clone();
    *spoilt.last_mut().unwrap() ^= 1;
    pair.receive(spoilt);
    assert!(pair.sent.is_empty());
    pair.receive(first);
    assert!(!pair.sent.is_empty());
    pair.sent.clear();
    let second = retry(&pair, b"twice");
    pair.receive(second);
    assert!(pair.sent.is_empty());

    let mut pair = Pair::with_client(parameters());
    pair.exchange();
    let late = retry(&pair, b"late");
    pair.sent.clear();
    pair.receive(late);
    assert!(pair.sent.is_empty());
}

/// Otherwise nothing could be sent any more, and it would look as if the server did not answer.
#[test]
fn a_retry_whose_token_leaves_no_room_for_the_hello_ends_the_connection() {
    for (length, code) in [(1000, None), (1001, Some(Code::INTERNAL_ERROR))] {
        let mut pair = greeted_client();
        let retry = retry(&pair, &vec![7; length]);
        pair.receive(retry);
        assert!(!pair.sent.is_empty(), "{length}");
        assert_eq!(pair.violated(), code, "{length}");
    }
}

/// A client whose hello the peer has received.
fn greeted_client() -> Pair {
    let mut pair = Pair::with_client(parameters());
    for datagram in std::mem::take(&mut pair.sent) {
        pair.peer.open(&datagram);
    }
    pair
}

fn retry(pair: &Pair, token: &[u8]) -> Vec<u8> {
    let original = pair.peer.original();
    let us = *pair.peer.ids.first().unwrap();
    let source = ConnectionId::new(&[0x77; 8]).unwrap();
    write_retry(Version::V1, &us, &source, &original, token).unwrap()
}

/// RFC 9000 §9 and §9.1.
#[test]
fn a_client_is_followed_once_confirmed_and_not_for_probes() {
    let elsewhere: SocketAddr = "203.0.113.9:4000".parse().unwrap();
    let mut pair = Pair::with_server(parameters());
    pair.exchange();
    pair.sent
        .drain(..)
        .for_each(|datagram| drop(pair.peer.open(&datagram)));
    let handle = pair.handle.unwrap();
    let received = |pair: &mut Pair| {
        pair.engine
            .connection(handle)
            .unwrap()
            .stats()
            .packets_received
    };
    let before = received(&mut pair);
    let early = pair.peer.seal(HANDSHAKE, &[1], 0, 0).unwrap();
    pair.receive_from(elsewhere, early);
    assert_eq!(received(&mut pair), before);
    (0..2).for_each(|_| pair.exchange());
    assert!(pair.is_connected());
    let remote = |pair: &mut Pair| pair.engine.connection(handle).unwrap().remote();
    for (frame, moves) in [(Frame::PathChallenge([3; 8]), false), (Frame::Ping, true)] {
        let mut payload = vec![0; frame.size()];
        frame.write(&mut Pen::new(&mut payload));
        let packet = pair.peer.seal(ONE_RTT, &payload, 0, SIZE).unwrap();
        pair.receive_from(elsewhere, packet);
        assert_eq!(remote(&mut pair) == elsewhere, moves);
    }
}

/// RFC 9000 §14.1.
#[test]
fn datagrams_with_initial_packets_that_elicit_have_full_size() {
    let mut client = Pair::with_client(parameters());
    assert!(!client.sent.is_empty());
    let mut server = Pair::with_server(parameters());
    server.exchange();
    assert!(!server.sent.is_empty());
    for pair in [&mut client, &mut server] {
        let mut looked_at = 0;
        for datagram in std::mem::take(&mut pair.sent) {
            let opened = pair.peer.open(&datagram);
            let elicits =
                |payload: &[u8]| Frames::new(payload).flatten().any(|f| f.is_ack_eliciting());
            if opened
                .iter()
                .any(|p| p.level == INITIAL && elicits(&p.payload))
            {
                assert!(datagram.len() >= SIZE, "{}", datagram.len());
                looked_at += 1;
            }
        }
        assert!(looked_at > 0);
    }
}

/// RFC 9000 §7.2.
#[test]
fn a_peer_that_calls_itself_otherwise_within_the_handshake_is_not_heard() {
    let server = (Pair::with_server(parameters()), INITIAL);
    let client = (Pair::with_client(parameters()), HANDSHAKE);
    for (mut pair, level) in [server, client] {
        pair.exchange();
        let handle = pair.handle.unwrap();
        let received = |pair: &mut Pair| {
            let connection = pair.engine.connection(handle).unwrap();
            connection.stats().packets_received
        };
        let before = received(&mut pair);
        pair.peer.source = own_id(9);
        let packet = pair.peer.seal(level, &[1], 0, SIZE).unwrap();
        pair.receive(packet);
        assert_eq!(received(&mut pair), before);
        pair.peer.source = own_id(0);
        let packet = pair.peer.seal(level, &[1], 0, SIZE).unwrap();
        pair.receive(packet);
        assert_eq!(received(&mut pair), before + 1);
    }
}

/// RFC 9000 §10.3.1: also from clients, and wherever they have moved to.
#[test]
fn a_client_that_has_forgotten_a_connection_resets_it() {
    let elsewhere: SocketAddr = "203.0.113.9:4000".parse().unwrap();
    let mut pair = Pair::with_server(parameters());
    (0..3).for_each(|_| pair.exchange());
    let frame = Frame::NewConnectionId {
        sequence: 1,
        retire_prior_to: 1,
        id: own_id(1),
        reset_token: [9; 16],
    };
    let mut payload = vec![0; frame.size()];
    frame.write(&mut Pen::new(&mut payload));
    // A packet that does more than probe moves the connection.
    payload.push(1);
    let packet = pair.peer.seal(ONE_RTT, &payload, 0, SIZE).unwrap();
    pair.receive_from(elsewhere, packet);
    let reset = [&[0x41; 30][..], &[9; 16]].concat();
    for (from, ends) in [(peers_address(), false), (elsewhere, true)] {
        pair.receive_from(from, reset.clone());
        let reset = Event::Closed(CloseReason::Reset);
        assert_eq!(pair.events().contains(&reset), ends, "{from}");
    }
}

const CLOSE: Frame<'static> = Frame::Close {
    code: 7,
    frame: Some(0),
    reason: b"",
};

impl Pair {
    /// The peer accepts what the engine has sent, and sends nothing of the handshake.
    fn hear(&mut self) {
        for datagram in std::mem::take(&mut self.sent) {
            self.peer.open(&datagram);
        }
    }

    /// The peer sends a packet with this frame from there.
    fn say_from(&mut self, remote: SocketAddr, level: usize, frame: &Frame<'_>) {
        let mut payload = vec![0; frame.size()];
        frame.write(&mut Pen::new(&mut payload));
        let packet = self.peer.seal(level, &payload, 0, SIZE).unwrap();
        self.receive_from(remote, packet);
    }

    fn is_closed(&mut self) -> bool {
        let handle = self.handle.unwrap();
        self.engine.connection(handle).unwrap().is_closed()
    }

    fn remote(&mut self) -> SocketAddr {
        let handle = self.handle.unwrap();
        self.engine.connection(handle).unwrap().remote()
    }
}

/// RFC 9000 §9.
#[test]
fn nobody_moves_before_the_handshake_is_confirmed_and_servers_never() {
    let elsewhere = "192.0.2.7:4000".parse().unwrap();
    let mut pair = Pair::with_server(parameters());
    pair.exchange();
    pair.hear();
    pair.say_from(elsewhere, HANDSHAKE, &Frame::Ping);
    assert_eq!(pair.remote(), peers_address());
    (0..3).for_each(|_| pair.exchange());
    assert!(pair.is_connected());
    pair.say_from(elsewhere, ONE_RTT, &Frame::Ping);
    assert_eq!(pair.remote(), elsewhere);
    let mut pair = Pair::with_client(parameters());
    (0..3).for_each(|_| pair.exchange());
    pair.say_from(peers_address(), ONE_RTT, &Frame::HandshakeDone);
    pair.say_from(elsewhere, ONE_RTT, &CLOSE);
    assert!(!pair.is_closed() && pair.remote() == peers_address());
}

/// RFC 9001 §4.9.1 and §4.9.2: packets protected with discarded keys are ignored.
#[test]
fn keys_of_the_handshake_go_in_time() {
    let home = peers_address();
    let mut pair = Pair::with_server(parameters());
    pair.exchange();
    pair.hear();
    pair.say_from(home, HANDSHAKE, &Frame::Ping);
    pair.say_from(home, INITIAL, &CLOSE);
    assert!(!pair.is_closed());
    (0..3).for_each(|_| pair.exchange());
    assert!(pair.is_connected());
    pair.say_from(home, HANDSHAKE, &CLOSE);
    assert!(!pair.is_closed());
    pair.say_from(home, ONE_RTT, &CLOSE);
    assert!(pair.is_closed());
    let mut pair = Pair::with_client(parameters());
    (0..3).for_each(|_| pair.exchange());
    assert!(pair.is_connected());
    pair.say_from(home, INITIAL, &CLOSE);
    pair.say_from(home, ONE_RTT, &Frame::HandshakeDone);
    pair.say_from(home, HANDSHAKE, &CLOSE);
    assert!(!pair.is_closed());
}

/// RFC 9000 §19.16: an endpoint may treat that as an error.
#[test]
fn a_client_that_retires_the_id_which_its_packet_carries_goes_on_with_another() {
    let home = peers_address();
    let mut pair = Pair::with_server(parameters());
    (0..3).for_each(|_| pair.exchange());
    pair.say_from(home, ONE_RTT, &Frame::Ping);
    pair.hear();
    assert!(pair.peer.ids.len() > 1);
    pair.say_from(home, ONE_RTT, &Frame::RetireConnectionId(0));
    assert_eq!(pair.violated(), None);
    assert!(!pair.is_closed());
    pair.peer.ids.remove(0);
    pair.say_from(home, ONE_RTT, &CLOSE);
    assert!(pair.is_closed());
}

/// RFC 9002 §6.2.4: a server that has dropped the handshake's keys reads no other packet of the
/// handshake, and has no other reason to confirm the handshake again.
#[test]
fn a_client_repeats_its_data_beside_its_handshake_until_that_is_confirmed() {
    let mut pair = Pair::with_client(parameters());
    (0..3).for_each(|_| pair.exchange());
    assert!(pair.is_connected());
    let connection = pair.engine.connection(pair.handle.unwrap()).unwrap();
    let stream = connection.open(Dir::Bidi).unwrap();
    connection.write(stream, "GET".into()).unwrap();
    pair.send();
    // All that was lost.
    pair.sent.clear();
    for _ in 0..3 {
        let connection = pair.engine.connection(pair.handle.unwrap()).unwrap();
        let due = connection.deadline().unwrap();
        connection.on_timeout(due);
        let mut buffer = vec![0; 1 << 16];
        let mut levels = BTreeSet::new();
        while let Some(sent) = connection.transmit(due, &mut buffer) {
            for datagram in buffer[..sent.length].chunks(sent.segment) {
                let opened = pair.peer.open(datagram);
                levels.extend(opened.iter().map(|packet| packet.level));
            }
        }
        assert_eq!(levels, BTreeSet::from([HANDSHAKE, ONE_RTT]));
    }
}
