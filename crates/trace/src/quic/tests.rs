//! Requests and answers are recognised by their datagrams, and memory is bounded.

use super::*;

/// Makes a connection with these datagrams: when, from whom, and whether it is a 1-RTT packet.
fn flow(datagrams: &[(u64, Side, bool)]) -> QuicFlow {
    let peer = SocketAddr::from(([127, 0, 0, 1], 443));
    let datagrams = datagrams.iter().map(|(at, from, short)| Datagram {
        frame: 1,
        at: *at,
        from: *from,
        bytes: 600,
        kinds: Kinds {
            short: *short,
            ..Kinds::default()
        },
        again: false,
        hop_limit: 64,
        way: None,
    });
    QuicFlow {
        client: peer,
        server: peer,
        interface: 0,
        datagrams: datagrams.collect(),
        merged: 0,
        keys: None,
        origin: (Version::V1, ConnectionId::EMPTY),
        retries: Vec::new(),
        server_ids: Vec::new(),
        largest: [None; 2],
        crypto: Default::default(),
        told: Default::default(),
        numbers: Default::default(),
        shortest: [None; 2],
        repeats: false,
        mark: 0,
        opened: None,
    }
}

#[test]
fn what_follows_a_silence_shows_the_path_also_after_the_handshake() {
    use Side::{Client, Server};
    let opening = [
        (0, Client, false),
        (1, Server, false),
        (30, Server, false),
        (166, Client, true),
    ];
    let sooner = |later: &[(u64, Side, bool)]| {
        let all = [&opening[..], later].concat();
        flow(&all).sooner(Client, 165)
    };
    assert_eq!(sooner(&[(400, Server, true), (558, Client, true)]), 158);
    // The server answers what its packets before brought about.
    assert_eq!(sooner(&[(170, Server, true), (328, Client, true)]), 158);
    // It may be for a datagram before.
    let busy = [
        (400, Server, true),
        (420, Client, true),
        (450, Server, true),
        (600, Client, true),
    ];
    assert_eq!(sooner(&busy), 165);
}

/// One byte far ahead makes the buffer reserve room for everything before it.
#[test]
fn what_hellos_need_counts_as_memory() {
    let mut flow = flow(&[]);
    let before = flow.held();
    flow.crypto[0].push(60_000, b"x").unwrap();
    assert!(flow.held() >= before + 60_000);
}

#[test]
fn an_address_of_version_six_has_brackets_in_a_url() {
    let mut flow = flow(&[(0, Side::Client, false), (30, Side::Server, false)]);
    flow.server = "[2001:db8::7]:443".parse().unwrap();
    let vantage = flow.vantage();
    let (all, _) = QuicReading::new(&flow, &vantage).exchanges(None, None);
    assert_eq!(all[0].url, "https://[2001:db8::7]/");
}
