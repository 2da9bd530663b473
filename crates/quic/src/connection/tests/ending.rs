//! What a connection keeps once it is over.

use bytes::Bytes;

use super::pair::{End, Pair};
use crate::{Dir, Transport};

#[test]
fn what_was_not_delivered_is_dropped_at_once_at_both_ends() {
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
