//! Data that lies behind a hole which is not filled.

use std::time::Duration;

use roundtrip_wire::quic::Side;

use super::super::{Dir, Peek, ReadError, StreamEvent, Streams};
use super::peer::{self, client, transport};
use crate::Time;
use crate::sent::SentFrame;

const CODE: u64 = 7;
const START: Time = Time(1_000_000_000);

fn seconds(count: u64) -> Time {
    START.after(Duration::from_secs(count))
}

fn server() -> Streams {
    let mut server = Streams::new(Side::Server, &transport());
    server.set_peer(&peer::parameters(&transport()));
    server.set_clock(START);
    server
}

#[test]
fn a_stream_whose_hole_is_not_filled_is_given_up() {
    let mut server = server();
    let id = client(Dir::Uni, 0);
    assert_eq!(server.hole_deadline(), None);
    server.on_stream(id.0, 100, &[1; 300], false).unwrap();
    assert!(server.spares.pieces.memory() >= 300);
    // Data that arrives later, behind the hole or into it, does not extend the deadline.
    server.set_clock(seconds(29));
    server.on_stream(id.0, 0, &[1; 99], false).unwrap();
    server.on_stream(id.0, 500, &[1; 100], false).unwrap();
    assert_eq!(server.hole_deadline(), Some(seconds(30)));
    server.give_up_holes(seconds(30), CODE);
    server.check();
    assert_eq!(server.hole_deadline(), None);
    assert_eq!(server.spares.pieces.memory(), 0);
    assert!(peer::events(&mut server).contains(&StreamEvent::Readable(id)));
    assert_eq!(server.peek(id), Err(ReadError::Reset(CODE)));
    assert_eq!(server.peek(id), Err(ReadError::Unknown));
    let sent = peer::send(&mut server, 300).unwrap();
    assert!(sent.items.contains(&SentFrame::StopSending(id.0)));
    // Data that still arrives is counted, and dropped.
    server.on_stream(id.0, 600, &[1; 400], true).unwrap();
    assert_eq!((server.count(), server.counters().given_up), (0, 1));
    assert_eq!(server.receiving.next_limit(), 1000 + transport().window);
}

#[test]
fn a_stream_whose_end_is_known_is_given_up_at_once() {
    let mut server = server();
    let id = client(Dir::Uni, 0);
    server.on_stream(id.0, 100, &[1; 300], true).unwrap();
    server.give_up_holes(seconds(30), CODE);
    assert_eq!(server.peek(id), Err(ReadError::Reset(CODE)));
    assert_eq!(server.count(), 0);
    let sent = peer::send(&mut server, 300);
    let stops = |item: &SentFrame| matches!(item, SentFrame::StopSending(_));
    assert!(sent.is_none_or(|sent| !sent.items.iter().any(stops)));
}

#[test]
fn holes_that_are_filled_in_time_cost_nobody_a_stream() {
    let mut server = server();
    let (filled, later) = (client(Dir::Uni, 0), client(Dir::Uni, 1));
    server.on_stream(filled.0, 100, &[1; 300], false).unwrap();
    server.set_clock(seconds(20));
    server.on_stream(later.0, 100, &[1; 300], false).unwrap();
    server.on_stream(filled.0, 0, &[1; 100], false).unwrap();
    server.give_up_holes(seconds(30), CODE);
    assert_eq!(server.hole_deadline(), Some(seconds(50)));
    assert!(matches!(server.peek(filled), Ok(Peek::Bytes(bytes)) if bytes.len() == 400));
    assert_eq!(server.peek(later), Ok(Peek::Blocked));
    server.give_up_holes(seconds(50), CODE);
    assert_eq!(server.peek(later), Err(ReadError::Reset(CODE)));
    assert_eq!(
        (server.hole_deadline(), server.counters().given_up),
        (None, 1)
    );
}
