//! What a connection keeps once it is over.

use std::time::Duration;

use bytes::Bytes;

use super::pair::{End, Pair};
use crate::{CloseReason, Code, Dir, Event, Transport};

#[test]
fn undelivered_data_is_dropped_at_once_at_both_ends() {
    let mut pair = Pair::new(&Transport::default());
    pair.connect();
    let server = pair.server();
    let stream = server.open(Dir::Bidi).unwrap();
    let data = Bytes::from(vec![7; 100_000]);
    assert!(server.write(stream, data).unwrap() > 0);
    let sent = |pair: &mut Pair| pair.server().stats().packets_sent;
    let before = sent(&mut pair);
    assert!(pair.run(|pair| sent(pair) > before));
    assert_eq!(pair.server().streams.count(), 1);
    assert!(pair.server().recovery.remembered() > 0);
    let now = pair.now;
    let told = pair.server().stats().stream_bytes_sent;
    pair.server().close(now, 7, b"enough");
    assert!(pair.run(|pair| pair.connection(End::Client).is_closed()));
    for end in [End::Server, End::Client] {
        let connection = pair.connection(end);
        assert!(!connection.is_drained());
        assert_eq!(connection.streams.count(), 0);
        assert_eq!(connection.recovery.remembered(), 0);
    }
    assert!(pair.server().stats().stream_bytes_sent >= told);
}

/// The packets that were sealed before the key was used up still leave.
#[test]
fn a_key_that_is_used_up_within_a_burst_ends_the_connection() {
    let mut pair = Pair::new(&Transport::default());
    pair.connect();
    let (now, mut buffer) = (pair.now, vec![0; 65_536]);
    let client = &mut pair.client;
    while client.transmit(now, &mut buffer).is_some() {}
    let stream = client.open(Dir::Uni).unwrap();
    let data = Bytes::from(vec![7; 20_000]);
    assert!(client.write(stream, data).unwrap() > 0);
    client.crypto.wear(2);
    let burst = client.transmit(now, &mut buffer).unwrap();
    assert_eq!(burst.count(), 2);
    assert!(client.is_closed());
    let Some(Event::Closed(CloseReason::Violated { code, .. })) = client.poll() else {
        panic!("it says nothing");
    };
    assert_eq!(code, Code::AEAD_LIMIT_REACHED);
    assert_eq!(client.recovery.remembered(), 0);
}

/// Round trips of a minute, which a peer can simulate.
#[test]
fn a_connection_that_is_over_does_not_stay_because_its_peer_is_slow() {
    let mut pair = Pair::new(&Transport {
        initial_rtt: Duration::from_mins(1),
        ..Transport::default()
    });
    let now = pair.now;
    pair.client.close(now, 7, b"enough");
    let deadline = pair.client.deadline().unwrap();
    assert!(deadline.since(now) <= Duration::from_secs(6));
}

/// The owner's process did not run for a while, and then handled the timers first; or so many
/// connections have ended at once that it does not wait for late packets.
#[test]
fn an_end_is_told_however_late_the_owner_is() {
    for is_hastened in [false, true] {
        let mut pair = Pair::new(&Transport::default());
        pair.connect();
        pair.run_for(Duration::from_secs(1));
        let now = pair.now;
        pair.client.close(now, 7, b"enough");
        let late = if is_hastened {
            pair.client.hasten();
            now
        } else {
            now.after(Duration::from_secs(10))
        };
        pair.client.on_timeout(late);
        pair.now = late;
        pair.send();
        assert!(pair.run(|pair| pair.server().is_closed()));
        let told = CloseReason::Application {
            code: 7,
            reason: "enough".to_owned(),
        };
        assert!(pair.server_events.contains(&Event::Closed(told)));
        pair.run_for(Duration::from_secs(10));
        assert!(pair.client.is_drained());
    }
}
