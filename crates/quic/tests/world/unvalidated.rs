//! First datagrams in the name of addresses where nobody answers: the memory and work that they
//! cost a server are bounded, and clients that validate their address are served meanwhile. RFC
//! 9000 §8.1 and §21.3.

use std::net::SocketAddr;
use std::time::Duration;

use roundtrip_quic::{Event, Retry, StrayCounts};
use roundtrip_wire::quic::ConnectionId;

use super::simulation::{RTT, SERVER, Simulation, fast};
use super::strangers::{KINDS, Kind, SIZE, first, hello};

/// The largest number of unvalidated clients at once.
const MOST: usize = 20;
const FLOOD: u16 = 1000;
/// The duration of the flood.
const SPAN: Duration = Duration::from_millis(500);
struct Outcome {
    /// The largest number of connections at one time, and how many were accepted.
    held: usize,
    accepted: usize,
    retries: u64,
}

/// Sends datagrams from as many addresses, none of which answers.
fn flood(simulation: &mut Simulation, kind: Kind) -> Outcome {
    let hello = hello(&simulation.client_config.tls);
    let frames = kind.frames(&hello);
    let before = simulation.nodes[SERVER].accepted.len();
    let mut held = 0;
    for number in 0..FLOOD {
        let id = ConnectionId::new(&simulation.dice.bytes(8)).unwrap();
        let from = SocketAddr::from(([203, 0, 113, 5], 1000 + number));
        simulation.inject(SERVER, from, &first(&id, &frames));
        simulation.act();
        let endpoint = &mut simulation.nodes[SERVER].endpoint;
        endpoint.remove_drained();
        held = held.max(endpoint.len());
        simulation.run_for(SPAN / u32::from(FLOOD));
    }
    Outcome {
        held,
        accepted: simulation.nodes[SERVER].accepted.len() - before,
        retries: simulation.nodes[SERVER].endpoint.retries_sent(),
    }
}

#[test]
fn clients_that_do_not_exist_are_bounded_in_number_and_time() {
    for kind in KINDS {
        let mut simulation = Simulation::with(1, &fast(), |server| {
            server.retry = Retry::AboveHandshakes(MOST);
        });
        // A client that was here before has a token, and returns in the middle of the flood.
        let (known, _) = simulation.establish();
        simulation.run_for(RTT);
        let token = simulation.life(known).events.iter().find_map(|event| {
            let (_, Event::NewToken(token)) = event else {
                return None;
            };
            Some(token.clone())
        });
        assert!(token.is_some());
        let outcome = flood(&mut simulation, kind);
        // The clients admitted at once, those admitted in later quarters of a second, and the
        // earlier client.
        let admitted = MOST + 2 * MOST + 1;
        let Outcome {
            held,
            accepted,
            retries,
        } = outcome;
        let stays = !matches!(kind, Kind::Failing | Kind::Closing);
        let most = if stays { MOST + 1 } else { 1 };
        assert_eq!(held, most, "{kind:?}");
        assert!(accepted <= admitted, "{kind:?}: {accepted} were accepted");
        let least = u64::from(FLOOD) - admitted as u64;
        assert!(retries >= least, "{kind:?}: {retries} retries");
        let counts = simulation.nodes[SERVER].endpoint.strays();
        assert_eq!((counts.retried, counts.dropped), (retries, 0), "{kind:?}");
        simulation.client_config.token = token;
        let start = simulation.now;
        let client = simulation.connect();
        simulation.run_for(RTT * 5 / 4);
        let connected = simulation.life(client).time_of(&Event::Connected);
        assert!(
            connected.is_some_and(|at| at.since(start) == RTT),
            "{kind:?}"
        );
        assert_eq!(simulation.nodes[SERVER].endpoint.tokens_taken(), 1);
    }
}

#[test]
fn a_hello_with_its_end_gets_nothing_and_leaves_nothing() {
    let mut simulation = Simulation::new(2);
    let hello = hello(&simulation.client_config.tls);
    let id = ConnectionId::new(b"12345678").unwrap();
    let stranger = SocketAddr::from(([203, 0, 113, 5], 1000));
    for _ in 0..3 {
        let packet = first(&id, &Kind::Closing.frames(&hello));
        simulation.seen = Some(Vec::new());
        simulation.inject(SERVER, stranger, &packet);
        simulation.act();
        assert!(simulation.seen.take().unwrap().is_empty());
        simulation.nodes[SERVER].endpoint.remove_drained();
        assert!(simulation.nodes[SERVER].endpoint.is_empty());
    }
    // Repetitions begin no other connection.
    assert_eq!(simulation.nodes[SERVER].accepted.len(), 1);
    let other = ConnectionId::new(b"87654321").unwrap();
    let packet = first(&other, &Kind::Whole.frames(&hello));
    simulation.inject(SERVER, stranger, &packet);
    simulation.act();
    simulation.nodes[SERVER].endpoint.remove_drained();
    assert_eq!(simulation.nodes[SERVER].endpoint.len(), 1);
}

/// The closing datagram is repeated, and leaves no connection behind.
#[test]
fn one_that_fails_at_once_leaves_its_farewell_alone() {
    let mut simulation = Simulation::new(3);
    let id = ConnectionId::new(b"12345678").unwrap();
    let packet = first(&id, &Kind::Failing.frames(b""));
    let stranger = SocketAddr::from(([203, 0, 113, 5], 1000));
    let mut told = Vec::new();
    for _ in 0..3 {
        simulation.seen = Some(Vec::new());
        simulation.inject(SERVER, stranger, &packet);
        simulation.act();
        simulation.nodes[SERVER].endpoint.remove_drained();
        assert!(simulation.nodes[SERVER].endpoint.is_empty());
        let seen = simulation.seen.take().unwrap();
        let bytes: Vec<_> = seen.into_iter().map(|sent| sent.bytes).collect();
        assert_eq!(bytes.len(), 1);
        told.extend(bytes);
    }
    assert!(told.iter().all(|farewell| *farewell == told[0]));
    assert!(told[0].len() < 3 * SIZE);
    assert_eq!(simulation.nodes[SERVER].accepted.len(), 1);
}

#[test]
fn what_became_of_each_datagram_that_belongs_to_nobody_is_counted() {
    let mut simulation = Simulation::with(4, &fast(), |server| {
        server.retry = Retry::Always;
        server.most_connections = 1;
    });
    let hello = hello(&simulation.client_config.tls);
    let stranger = SocketAddr::from(([203, 0, 113, 5], 1000));
    let id = ConnectionId::new(b"12345678").unwrap();
    let good = first(&id, &Kind::Whole.frames(&hello));
    let mut other_version = good.clone();
    other_version[1..5].copy_from_slice(&[0x1a, 0x2a, 0x3a, 0x4a]);
    for datagram in [&good, &other_version, &good[..600].to_vec(), &vec![0; 40]] {
        simulation.inject(SERVER, stranger, datagram);
    }
    let expected = StrayCounts {
        retried: 1,
        other_version: 1,
        dropped: 2,
        ..StrayCounts::default()
    };
    assert_eq!(simulation.nodes[SERVER].endpoint.strays(), expected);
    // A connection that begins is not counted, but its Retry is; the next one finds no room.
    simulation.establish();
    simulation.inject(SERVER, stranger, &good);
    let expected = StrayCounts {
        retried: 2,
        refused: 1,
        ..expected
    };
    assert_eq!(simulation.nodes[SERVER].endpoint.strays(), expected);
}
