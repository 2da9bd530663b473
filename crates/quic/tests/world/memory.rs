//! How much memory many connections use together.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use roundtrip_quic::{Budget, CloseReason, Code, StreamId, Transport};
use roundtrip_wire::quic::{Frame, Parameters};

use super::crowd::Crowd;
use super::simulation::{RTT, SERVER, Simulation, fast};

const BUDGET: u64 = 4 << 20;

#[test]
fn clients_that_fall_silent_stay_within_the_budget_and_others_are_served_afterwards() {
    let budget = Arc::new(Budget::new(BUDGET));
    let shared = Transport {
        budget: Some(budget.clone()),
        ..fast()
    };
    let mut simulation = Simulation::with(1, &fast(), |server| {
        server.transport = Arc::new(shared);
    });
    for number in 0..30 {
        let address = format!("203.0.113.{number}:50000");
        let host = simulation.add_host(None, &address);
        let client = simulation.connect_from(host);
        simulation.run_for(4 * RTT);
        assert!(simulation.nodes[host].lives[&client].closed().is_none());
        simulation.request_from(host, client, 0, 20 << 20);
        simulation.act();
        // The client receives nothing more.
        simulation.hosts.remove(&address.parse().unwrap());
        simulation.run_for(RTT);
        assert!(budget.used() <= BUDGET, "{}", budget.used());
    }
    assert!(budget.used() > BUDGET / 2, "{}", budget.used());
    let endpoint = &simulation.nodes[SERVER].endpoint;
    assert!(endpoint.evicted() > 5, "{}", endpoint.evicted());
    assert_eq!(endpoint.refused_over_budget(), 0);
    // Their idle timeouts end them.
    simulation.run_for(Duration::from_mins(3));
    simulation.nodes[SERVER].endpoint.remove_drained();
    assert_eq!(budget.used(), 0);
    let (client, _) = simulation.establish();
    simulation.request(client, 1000, 1 << 20);
    simulation.run_until_completed(client, 1);
    let closed: Option<&CloseReason> = simulation.life(client).closed();
    assert_eq!(closed, None);
}

/// The window of a stream and of a connection.
const WINDOW: u64 = 256 << 10;
const PIECE: &[u8] = &[7; 1100];
/// What a connection costs at rest, and a stream.
const COSTS: (u64, u64) = (20 << 10, 5 << 10);

fn crowd(budget: &Arc<Budget>) -> Crowd {
    let transport = Transport {
        window: WINDOW,
        stream_window: WINDOW,
        budget: Some(budget.clone()),
        ..fast()
    };
    Crowd::new(transport, |_| {})
}

fn at(host: u8, port: u16) -> SocketAddr {
    SocketAddr::from(([203, 0, 113, host], port))
}

fn data(id: u64, offset: u64, data: &'static [u8]) -> Frame<'static> {
    Frame::Stream {
        id,
        offset,
        data,
        fin: false,
    }
}

/// The packets by which a client that holds the keys can fill memory, in one of several ways, as
/// far as its limits permit. RFC 9000 §21.6.
fn fill(way: usize, limits: &Parameters) -> Vec<Vec<Frame<'static>>> {
    let window = limits.initial_max_data;
    let piece = PIECE.len() as u64;
    match way {
        // All but the first byte of a stream.
        0 => (0..(window - 1) / piece)
            .map(|n| vec![data(2, 1 + n * piece, PIECE)])
            .collect(),
        // The same on many streams, so that each has a little.
        1 => (0..(window / 16 - 1) / piece)
            .flat_map(|n| (0..8).map(move |stream| vec![data(4 * stream, 1 + n * piece, PIECE)]))
            .collect(),
        // Many streams with a single byte each.
        _ => {
            let last = |count: u64| 4 * count.saturating_sub(1);
            let bidi = data(last(limits.initial_max_streams_bidi), 0, b"x");
            let uni = data(last(limits.initial_max_streams_uni) + 2, 0, b"x");
            vec![vec![bidi, uni]]
        }
    }
}

fn hoard(crowd: &mut Crowd, address: SocketAddr, way: usize, limits: &Parameters) {
    for frames in fill(way, limits) {
        crowd.say(address, &frames);
    }
}

/// All connections are there before the first of them sends anything.
#[test]
fn what_clients_send_ahead_stays_within_the_budget_however_many_there_are() {
    for way in 0..3 {
        let budget = Arc::new(Budget::new(BUDGET).with_costs(COSTS.0, COSTS.1));
        let mut crowd = crowd(&budget);
        let honest = at(250, 443);
        crowd.connect(honest);
        for host in 0..60 {
            crowd.connect(at(host, 443));
        }
        assert_eq!(crowd.engine.evicted(), 0);
        for host in 0..60 {
            let limits = crowd.clients[&at(host, 443)].limits();
            hoard(&mut crowd, at(host, 443), way, &limits);
            let (kept, used) = (crowd.kept(), budget.used());
            assert!(kept <= used && used <= BUDGET, "{way}: {kept} {used}");
        }
        assert!(crowd.engine.evicted() > 3, "{way}");
        let evicted = CloseReason::Local {
            code: Code::INTERNAL_ERROR.0,
        };
        assert!(crowd.closed.values().all(|why| *why == evicted));
        // Clients that keep little stay, and others may come.
        assert!(crowd.serves(honest), "{way}");
        crowd.connect(at(251, 443));
        assert!(crowd.serves(at(251, 443)), "{way}");
    }
}

#[test]
fn one_client_cannot_use_up_what_is_for_all() {
    for way in 0..3 {
        let budget = Arc::new(Budget::new(BUDGET).with_costs(COSTS.0, COSTS.1));
        let mut crowd = crowd(&budget);
        let honest = at(250, 443);
        crowd.connect(honest);
        let share = BUDGET / 2 + 2 * COSTS.0;
        for port in 0..100 {
            crowd.connect(at(1, 1000 + port));
            if crowd.serves(at(1, 1000 + port)) {
                let limits = crowd.clients[&at(1, 1000 + port)].limits();
                hoard(&mut crowd, at(1, 1000 + port), way, &limits);
            }
            assert!(budget.used() <= share, "{way}: {}", budget.used());
        }
        // The other client has its whole window.
        crowd.say(honest, &[data(2, WINDOW - 1, b"x")]);
        assert!(crowd.serves(honest), "{way}");
        crowd.connect(at(2, 443));
        assert!(crowd.serves(at(2, 443)), "{way}");
    }
}

/// Each client fills what it was granted before the next one comes.
#[test]
fn a_client_that_comes_when_little_is_left_is_granted_little_at_first() {
    let budget = Arc::new(Budget::new(BUDGET).with_costs(COSTS.0, COSTS.1));
    let mut crowd = crowd(&budget);
    let mut granted = Vec::new();
    for host in 0..16 {
        crowd.connect(at(host, 443));
        let limits = crowd.clients[&at(host, 443)].limits();
        let stream_limit = limits.initial_max_stream_data_uni;
        assert_eq!(stream_limit, limits.initial_max_data);
        granted.push((limits.initial_max_data, limits.initial_max_streams_bidi));
        hoard(&mut crowd, at(host, 443), 0, &limits);
        assert!(budget.used() <= BUDGET, "{host}: {}", budget.used());
    }
    assert_eq!(granted[0], (WINDOW, 100));
    assert!(
        granted.is_sorted_by(|before, then| before >= then),
        "{granted:?}"
    );
    let (window, streams) = granted[15];
    assert!(window < WINDOW / 2 && streams < 50, "{granted:?}");
    // No connection was evicted.
    assert_eq!((crowd.engine.evicted(), crowd.closed.len()), (0, 0));
    // Once the others have filled their holes and were read, there is room again.
    let last = at(15, 443);
    for host in 0..15 {
        let close = Frame::Close {
            code: 0,
            frame: None,
            reason: b"",
        };
        crowd.say(at(host, 443), &[close]);
    }
    crowd.say(last, &[data(2, 0, b"x")]);
    let connection = crowd.connection(last).unwrap();
    connection.consume(StreamId(2), 1 << 20);
    crowd.say(last, &[Frame::Ping]);
    let raised = crowd.raised.get(&last).copied();
    assert!(raised.is_some_and(|limit| limit >= WINDOW), "{raised:?}");
}

/// A client occupies a place until its connection has ended, and few ended connections are kept:
/// the smaller the budget is, the fewer.
#[test]
fn connections_that_are_over_take_no_place_and_little_memory() {
    let close = Frame::Close {
        code: 0,
        frame: None,
        reason: b"",
    };
    let little = Arc::new(Budget::new(16 << 20));
    for (budget, kept) in [(None, 1000..1030), (Some(little), 60..70)] {
        let transport = Transport { budget, ..fast() };
        let mut crowd = Crowd::new(transport, |server| server.most_connections = 2);
        let began = crowd.now;
        let mut most = 0;
        for number in 0..1200_u16 {
            let address = at(1, 1000 + number);
            crowd.connect(address);
            assert!(crowd.serves(address), "{number}");
            crowd.say(address, std::slice::from_ref(&close));
            most = most.max(crowd.engine.len());
        }
        assert_eq!(crowd.now, began);
        assert!(kept.contains(&most), "{most}");
        for number in 0..3 {
            crowd.connect(at(2, 1000 + number));
        }
        assert!(crowd.serves(at(2, 1001)) && !crowd.serves(at(2, 1002)));
        crowd.wait(Duration::from_secs(6));
        assert_eq!(crowd.engine.len(), 2);
    }
}
