//! Flow control and the limits of streams, each with the error for breaking it. RFC 9000 §4.

use bytes::Bytes;
use roundtrip_wire::quic::{Frame, Frames, Side};

use super::super::{Dir, Peek, StreamEvent, Streams};
use super::peer::{self, client, server, transport};
use crate::error::TransportError;
use crate::sent::SentFrame;
use crate::{Code, Transport};

type Case = fn(&mut Streams, u64) -> Result<(), TransportError>;

fn streams(side: Side) -> Streams {
    let mut streams = Streams::new(side, &transport());
    streams.set_peer(&peer::parameters(&transport()));
    streams
}

fn code(outcome: Result<(), TransportError>) -> Code {
    outcome.unwrap_err().code
}

#[test]
fn more_than_a_stream_may_hold_is_an_error() {
    let id = client(Dir::Uni, 0).0;
    let mut server = streams(Side::Server);
    server.on_stream(id, 999, b"x", false).unwrap();
    assert_eq!(
        code(server.on_stream(id, 1000, b"x", false)),
        Code::FLOW_CONTROL_ERROR
    );
    assert_eq!(code(server.on_reset(id, 0, 1001)), Code::FLOW_CONTROL_ERROR);
    let beyond = server.on_stream(id, (1 << 62) - 1, b"x", false);
    assert_eq!(code(beyond), Code::FRAME_ENCODING_ERROR);
}

#[test]
fn more_than_the_connection_may_hold_is_an_error() {
    let mut server = streams(Side::Server);
    for index in 0..2 {
        let id = client(Dir::Bidi, index).0;
        server.on_stream(id, 999, b"x", false).unwrap();
        // The same again counts once.
        server.on_stream(id, 998, b"xx", false).unwrap();
    }
    let id = client(Dir::Bidi, 2).0;
    server.on_stream(id, 499, b"x", false).unwrap();
    assert_eq!(
        code(server.on_stream(id, 500, b"x", false)),
        Code::FLOW_CONTROL_ERROR
    );
    assert_eq!(code(server.on_reset(id, 0, 501)), Code::FLOW_CONTROL_ERROR);
    assert_eq!(server.counters().bytes_received, 2500);
}

#[test]
fn a_final_size_does_not_change() {
    let id = client(Dir::Uni, 0).0;
    let cases: [Case; 6] = [
        |s, id| s.on_stream(id, 10, b"x", false),
        |s, id| s.on_stream(id, 0, b"123456789", true),
        |s, id| s.on_stream(id, 10, b"x", true),
        |s, id| s.on_reset(id, 0, 9),
        |s, id| s.on_reset(id, 0, 11),
        |s, id| s.on_reset(id, 0, 10).and_then(|()| s.on_reset(id, 0, 11)),
    ];
    for case in cases {
        let mut server = streams(Side::Server);
        server.on_stream(id, 5, b"67890", true).unwrap();
        assert_eq!(code(case(&mut server, id)), Code::FINAL_SIZE_ERROR);
    }
    // Less than what was sent.
    for fin in [true, false] {
        let mut server = streams(Side::Server);
        server.on_stream(id, 5, b"67890", false).unwrap();
        let outcome = if fin {
            server.on_stream(id, 0, b"1234", true)
        } else {
            server.on_reset(id, 0, 9)
        };
        assert_eq!(code(outcome), Code::FINAL_SIZE_ERROR);
    }
}

#[test]
fn more_streams_than_allowed_are_an_error() {
    let mut ends = peer::pair(&transport());
    for (dir, limit) in [(Dir::Bidi, 3), (Dir::Uni, 2)] {
        let last = client(dir, limit - 1).0;
        let beyond = client(dir, limit).0;
        ends[1].on_stream(last, 0, b"", false).unwrap();
        assert_eq!(
            code(ends[1].on_stream(beyond, 0, b"", false)),
            Code::STREAM_LIMIT_ERROR
        );
        assert_eq!(
            code(ends[1].on_reset(beyond, 0, 0)),
            Code::STREAM_LIMIT_ERROR
        );
        let blocked = ends[1].on_stream_data_blocked(beyond, 0);
        assert_eq!(code(blocked), Code::STREAM_LIMIT_ERROR);
    }
    let beyond = client(Dir::Bidi, 3).0;
    assert_eq!(
        code(ends[1].on_stop_sending(beyond, 0)),
        Code::STREAM_LIMIT_ERROR
    );
    assert_eq!(
        code(ends[1].on_max_stream_data(beyond, 0)),
        Code::STREAM_LIMIT_ERROR
    );
    for outcome in [
        ends[1].on_max_streams(true, (1 << 60) + 1),
        ends[1].on_streams_blocked(false, (1 << 60) + 1),
    ] {
        assert_eq!(code(outcome), Code::FRAME_ENCODING_ERROR);
    }
}

#[test]
fn frames_on_the_wrong_stream_are_an_error() {
    let mut client_end = streams(Side::Client);
    let mine = client_end.open(Dir::Uni).unwrap().0;
    let theirs = server(Dir::Uni, 0).0;
    let unopened = client(Dir::Bidi, 0).0;
    for outcome in [
        client_end.on_stream(mine, 0, b"", false),
        client_end.on_reset(mine, 0, 0),
        client_end.on_stream_data_blocked(mine, 0),
        client_end.on_stop_sending(theirs, 0),
        client_end.on_max_stream_data(theirs, 9),
        client_end.on_stream(unopened, 0, b"", false),
        client_end.on_reset(unopened, 0, 0),
        client_end.on_stop_sending(unopened, 0),
        client_end.on_max_stream_data(unopened, 9),
        client_end.on_stream_data_blocked(unopened, 9),
    ] {
        assert_eq!(code(outcome), Code::STREAM_STATE_ERROR);
    }
    // The same frames where they belong.
    client_end.on_max_stream_data(mine, 9).unwrap();
    client_end.on_stream(theirs, 0, b"", false).unwrap();
}

#[test]
fn half_a_window_read_lets_the_peer_send_more() {
    let mut ends = peer::pair(&transport());
    let id = ends[0].open(Dir::Uni).unwrap();
    assert_eq!(ends[0].write(id, Bytes::from(vec![0; 4000])), Ok(4000));
    peer::exchange(&mut ends);
    let Ok(Peek::Bytes(bytes)) = ends[1].peek(id) else {
        panic!()
    };
    assert_eq!(bytes.len(), 1000);
    ends[1].consume(id, 499);
    assert!(!ends[1].has_control());
    ends[1].consume(id, 1);
    let sent = peer::send(&mut ends[1], 300).unwrap();
    assert_eq!(sent.items, [SentFrame::MaxStreamData(id.0)]);
    let frames: Vec<_> = Frames::new(&sent.payload).map(Result::unwrap).collect();
    let (id_, limit) = (id.0, 1500);
    assert_eq!(frames, [Frame::MaxStreamData { id: id_, limit }]);
    ends[1].consume(id, 250);
    // It was lost: the new frame has the current limit.
    peer::lost(&mut ends[1], &sent);
    let again = peer::send(&mut ends[1], 300).unwrap();
    let frames: Vec<_> = Frames::new(&again.payload).map(Result::unwrap).collect();
    let limit = 1750;
    assert_eq!(frames, [Frame::MaxStreamData { id: id_, limit }]);
    peer::deliver(&mut ends[0], &again.payload).unwrap();
    peer::exchange(&mut ends);
    ends[1].consume(id, 500);
    // 1250 of 2500: the connection's window is due, too.
    let sent = peer::send(&mut ends[1], 300).unwrap();
    assert_eq!(
        sent.items,
        [SentFrame::MaxData, SentFrame::MaxStreamData(id.0)]
    );
    let limit = Frames::new(&sent.payload).next().unwrap().unwrap();
    assert_eq!(limit, Frame::MaxData(3750));
}

#[test]
fn a_sender_that_a_limit_holds_back_says_so_once() {
    let mut ends = peer::pair(&transport());
    let [client, _] = &mut ends;
    let one = client.open(Dir::Bidi).unwrap();
    client.write(one, Bytes::from(vec![0; 1001])).unwrap();
    let sent: Vec<_> = std::iter::from_fn(|| peer::send(client, 300)).collect();
    let items: Vec<_> = sent.iter().flat_map(|sent| &sent.items).collect();
    assert_eq!(items, [&SentFrame::StreamDataBlocked(one.0)]);
    // The limit rose before the frame was sent again, so the frame would be wrong.
    client.on_max_stream_data(one.0, 2000).unwrap();
    for sent in &sent {
        peer::lost(client, sent);
    }
    assert!(!client.has_control() && client.wants_to_send());
    let others = [
        client.open(Dir::Bidi).unwrap(),
        client.open(Dir::Bidi).unwrap(),
    ];
    for id in others {
        client.write(id, Bytes::from(vec![0; 900])).unwrap();
    }
    let sent: Vec<_> = std::iter::from_fn(|| peer::send(client, 300)).collect();
    let items: Vec<_> = sent.iter().flat_map(|sent| &sent.items).collect();
    assert_eq!(items, [&SentFrame::DataBlocked]);
    let last = sent.last().unwrap();
    assert_eq!(
        Frames::new(&last.payload).next().unwrap().unwrap(),
        Frame::DataBlocked(2500)
    );
    assert_eq!(client.open(Dir::Bidi), None);
    assert_eq!(client.open(Dir::Bidi), None);
    let sent = peer::send(client, 300).unwrap();
    assert_eq!(sent.items, [SentFrame::StreamsBlocked { bidi: true }]);
    assert!(peer::send(client, 300).is_none());
    client.on_max_streams(true, 4).unwrap();
    assert_eq!(peer::events(client), [StreamEvent::Available(Dir::Bidi)]);
    assert!(client.open(Dir::Bidi).is_some());
    // Lower limits are old ones. RFC 9000 §4.1.
    client.on_max_streams(true, 1).unwrap();
    client.on_max_data(5);
    client.on_max_stream_data(one.0, 5).unwrap();
    client.on_max_data(2501);
    assert!(client.wants_to_send());
}

#[test]
fn a_sender_that_reports_that_it_is_blocked_may_continue() {
    let mut ends = peer::pair(&transport());
    let id = client(Dir::Uni, 0);
    ends[1].on_stream(id.0, 0, &[0; 100], false).unwrap();
    ends[1].on_stream_data_blocked(id.0, 1000).unwrap();
    ends[1].on_data_blocked(2500);
    ends[1].on_streams_blocked(true, 3).unwrap();
    assert!(!ends[1].has_control());
    ends[1].consume(id, 100);
    ends[1].on_stream_data_blocked(id.0, 1000).unwrap();
    ends[1].on_data_blocked(2500);
    let sent = peer::send(&mut ends[1], 300).unwrap();
    assert_eq!(
        sent.items,
        [SentFrame::MaxData, SentFrame::MaxStreamData(id.0)]
    );
}

#[test]
fn data_that_nobody_reads_frees_the_connection() {
    let mut ends = peer::pair(&transport());
    let stopped = client(Dir::Uni, 0);
    ends[1].on_stream(stopped.0, 0, &[0; 100], false).unwrap();
    ends[1].stop(stopped, 0).unwrap();
    ends[1].on_stream(stopped.0, 700, &[0; 300], false).unwrap();
    let reset = client(Dir::Uni, 1);
    ends[1].on_stream(reset.0, 0, &[0; 100], false).unwrap();
    assert!(!ends[1].receiving.pending);
    ends[1].on_reset(reset.0, 0, 250).unwrap();
    assert_eq!(
        (ends[1].receiving.pending, ends[1].receiving.next_limit()),
        (true, 3750)
    );
    // The peer's fin: nothing is left of the stopped stream.
    ends[1].on_stream(stopped.0, 1000, b"", true).unwrap();
    assert!(peer::read_all(&mut ends[1], reset).is_err());
    assert_eq!(ends[1].count(), 0);
}

#[test]
fn hostile_fragments_end_the_connection_and_hold_little() {
    let transport = Transport {
        stream_window: 8 << 20,
        window: 16 << 20,
        ..transport()
    };
    let mut server = Streams::new(Side::Server, &transport);
    let id = client(Dir::Uni, 0).0;
    let allowed = 1024 + (16 << 10);
    for index in 0..allowed {
        server.on_stream(id, 1 + 2 * index, b"x", false).unwrap();
    }
    assert_eq!(server.spares.pieces.count as u64, allowed);
    let more = server.on_stream(id, 1 + 2 * allowed, b"x", false);
    assert_eq!(code(more), Code::INTERNAL_ERROR);
    assert!(server.memory() <= 128 * allowed, "{}", server.memory());
    // One byte far ahead takes as little memory as one close by.
    let mut server = Streams::new(Side::Server, &transport);
    let at_rest = server.memory();
    for index in 0..2 {
        let far = client(Dir::Uni, index).0;
        server.on_stream(far, (8 << 20) - 1, b"x", false).unwrap();
    }
    let more = server.memory() - at_rest;
    assert!(more < 3000, "{more}");
}

#[test]
fn numbers_too_large_for_the_wire_hold_nothing_up() {
    let mut ends = peer::pair(&Transport {
        stream_window: u64::MAX,
        window: u64::MAX,
        ..transport()
    });
    let id = client(Dir::Bidi, 0);
    ends[1].on_stream(id.0, 0, b"data", false).unwrap();
    ends[1].consume(id, 4);
    // No more can be allowed than at first.
    ends[1].on_stream_data_blocked(id.0, 0).unwrap();
    ends[1].on_data_blocked(0);
    assert!(!ends[1].has_control());
    ends[1].reset(id, u64::MAX).unwrap();
    ends[1].stop(id, u64::MAX).unwrap();
    let sent = peer::send(&mut ends[1], 300).unwrap();
    assert_eq!(
        sent.items,
        [SentFrame::ResetStream(id.0), SentFrame::StopSending(id.0)]
    );
    assert!(!ends[1].has_control());
}
