//! The states of a stream's halves. RFC 9000 §3.

use bytes::Bytes;

use super::super::{Dir, Peek, Read, ReadError, StreamEvent, WriteError};
use super::peer::{self, client, server, transport};
use crate::sent::SentFrame;

#[test]
fn a_stream_goes_from_open_to_forgotten() {
    let mut ends = peer::pair(&transport());
    let id = ends[0].open(Dir::Bidi).unwrap();
    assert_eq!(id, client(Dir::Bidi, 0));
    assert_eq!(ends[0].write(id, Bytes::from_static(b"ask")), Ok(3));
    ends[0].finish(id).unwrap();
    assert_eq!(ends[0].finish(id), Err(WriteError::Finished));
    assert_eq!(
        ends[0].write(id, Bytes::from_static(b"!")),
        Err(WriteError::Finished)
    );
    peer::exchange(&mut ends);
    assert_eq!(peer::events(&mut ends[0]), [StreamEvent::Finished(id)]);
    let seen = [StreamEvent::Opened(Dir::Bidi), StreamEvent::Readable(id)];
    assert_eq!(peer::events(&mut ends[1]), seen);
    // The client's sending half is done, but not its receiving half.
    assert_eq!(ends[0].write(id, Bytes::new()), Err(WriteError::Unknown));
    assert_eq!(ends[0].peek(id), Ok(Peek::Blocked));
    assert_eq!(ends[1].accept(Dir::Bidi), Some(id));
    assert_eq!(ends[1].accept(Dir::Bidi), None);
    assert_eq!(ends[1].peek(id), Ok(Peek::Bytes(b"ask")));
    assert!(!ends[1].is_finished(id));
    ends[1].consume(id, 99);
    assert!(ends[1].is_finished(id));
    assert_eq!(ends[1].read(id, &mut [0]), Ok(Read::End));
    assert_eq!(ends[1].read(id, &mut [0]), Err(ReadError::Unknown));
    assert_eq!(ends[1].count(), 1);
    ends[1].finish(id).unwrap();
    peer::exchange(&mut ends);
    assert_eq!(ends[1].count(), 0);
    assert_eq!(peer::read_all(&mut ends[0], id), Ok((Vec::new(), true)));
    assert_eq!(ends[0].count(), 0);
    assert_eq!(peer::events(&mut ends[1]), [StreamEvent::Finished(id)]);
    // Late frames of a forgotten stream have no effect.
    for end in &mut ends {
        end.on_stream(id.0, 0, b"ask", true).unwrap();
        end.on_reset(id.0, 1, 3).unwrap();
        end.on_stop_sending(id.0, 1).unwrap();
        end.on_max_stream_data(id.0, 1 << 20).unwrap();
        assert_eq!((peer::events(end).len(), end.count()), (0, 0));
    }
}

#[test]
fn a_stream_of_one_way_has_one_half() {
    let mut ends = peer::pair(&transport());
    let id = ends[0].open(Dir::Uni).unwrap();
    assert_eq!(ends[0].peek(id), Err(ReadError::Unknown));
    assert_eq!(ends[0].stop(id, 1), Err(ReadError::Unknown));
    ends[0].finish(id).unwrap();
    peer::exchange(&mut ends);
    assert_eq!(ends[1].accept(Dir::Uni), Some(id));
    assert_eq!(ends[1].write(id, Bytes::new()), Err(WriteError::Unknown));
    assert_eq!(ends[1].reset(id, 1), Err(WriteError::Unknown));
    assert_eq!(peer::read_all(&mut ends[1], id), Ok((Vec::new(), true)));
    assert_eq!((ends[0].count(), ends[1].count()), (0, 0));
}

#[test]
fn a_frame_opens_all_streams_below() {
    let mut ends = peer::pair(&transport());
    ends[1]
        .on_stream(client(Dir::Bidi, 2).0, 0, b"", false)
        .unwrap();
    let accepted: Vec<_> = std::iter::from_fn(|| ends[1].accept(Dir::Bidi)).collect();
    assert_eq!(accepted, [0, 1, 2].map(|index| client(Dir::Bidi, index)));
    // One event for all of them, and none if there is nothing new.
    assert_eq!(peer::events(&mut ends[1]), [StreamEvent::Opened(Dir::Bidi)]);
}

#[test]
fn a_reset_replaces_what_was_not_read() {
    let mut ends = peer::pair(&transport());
    let id = ends[0].open(Dir::Uni).unwrap();
    ends[0]
        .write(
            id,
            peer::bytes(roundtrip_wire::quic::Side::Client, id, 0, 900),
        )
        .unwrap();
    let sent = peer::send(&mut ends[0], 400).unwrap();
    peer::deliver(&mut ends[1], &sent.payload).unwrap();
    ends[0].reset(id, 77).unwrap();
    ends[0].reset(id, 78).unwrap();
    assert_eq!(ends[0].held, 0);
    // Nothing of a reset stream is sent again.
    peer::lost(&mut ends[0], &sent);
    assert!(!ends[0].wants_to_send());
    let lost = peer::send(&mut ends[0], 400).unwrap();
    assert_eq!(lost.items, [SentFrame::ResetStream(id.0)]);
    assert!(!ends[0].has_control());
    peer::lost(&mut ends[0], &lost);
    let reset = peer::send(&mut ends[0], 400).unwrap();
    assert_eq!(reset.items, [SentFrame::ResetStream(id.0)]);
    peer::deliver(&mut ends[1], &reset.payload).unwrap();
    peer::acked(&mut ends[0], &reset);
    assert_eq!(ends[0].count(), 0);
    // No event: the stream did not finish.
    assert_eq!(peer::events(&mut ends[0]), []);
    assert_eq!(ends[1].ring_bytes(), 0);
    assert_eq!(ends[1].peek(id), Err(ReadError::Reset(77)));
    assert_eq!(ends[1].peek(id), Err(ReadError::Unknown));
    assert_eq!(ends[1].count(), 0);
}

#[test]
fn a_reset_after_all_data_says_nothing() {
    let mut ends = peer::pair(&transport());
    let id = client(Dir::Uni, 0);
    ends[1].on_stream(id.0, 0, b"whole", true).unwrap();
    ends[1].on_reset(id.0, 9, 5).unwrap();
    assert_eq!(
        peer::read_all(&mut ends[1], id),
        Ok((b"whole".to_vec(), true))
    );
}

#[test]
fn who_is_told_to_stop_resets() {
    let mut ends = peer::pair(&transport());
    let id = ends[0].open(Dir::Bidi).unwrap();
    ends[0].write(id, Bytes::from(vec![1; 600])).unwrap();
    peer::exchange(&mut ends);
    ends[0].write(id, Bytes::from(vec![1; 300])).unwrap();
    ends[1].stop(id, 5).unwrap();
    ends[1].stop(id, 6).unwrap();
    assert_eq!(ends[1].peek(id), Err(ReadError::Unknown));
    let stop = peer::send(&mut ends[1], 300).unwrap();
    assert_eq!(stop.items, [SentFrame::StopSending(id.0)]);
    peer::deliver(&mut ends[0], &stop.payload).unwrap();
    peer::deliver(&mut ends[0], &stop.payload).unwrap();
    assert_eq!(peer::events(&mut ends[0]), [StreamEvent::Stopped(id, 5)]);
    assert_eq!(ends[0].write(id, Bytes::new()), Err(WriteError::Stopped(5)));
    assert!(!ends[0].wants_to_send());
    peer::exchange(&mut ends);
    // Half of each is left: the server's sending direction.
    assert_eq!((ends[0].count(), ends[1].count()), (1, 1));
    ends[1].finish(id).unwrap();
    peer::exchange(&mut ends);
    assert_eq!(peer::read_all(&mut ends[0], id), Ok((Vec::new(), true)));
    assert_eq!((ends[0].count(), ends[1].count()), (0, 0));
}

#[test]
fn nobody_is_told_to_stop_what_has_ended() {
    let mut ends = peer::pair(&transport());
    let id = server(Dir::Uni, 0);
    ends[0].on_stream(id.0, 0, b"all", true).unwrap();
    ends[0].stop(id, 5).unwrap();
    assert_eq!(ends[0].count(), 0);
    // Another may come instead.
    let sent = peer::send(&mut ends[0], 300).unwrap();
    assert_eq!(sent.items, [SentFrame::MaxStreams { bidi: false }]);
}

#[test]
fn an_end_that_was_lost_goes_again() {
    let mut ends = peer::pair(&transport());
    let id = ends[0].open(Dir::Uni).unwrap();
    ends[0].write(id, Bytes::from_static(b"data")).unwrap();
    let data = peer::send(&mut ends[0], 300).unwrap();
    ends[0].finish(id).unwrap();
    let end = peer::send(&mut ends[0], 300).unwrap();
    assert_eq!((end.chunks[0].length, end.chunks[0].fin), (0, true));
    peer::lost(&mut ends[0], &end);
    let again = peer::send(&mut ends[0], 300).unwrap();
    assert_eq!((again.chunks[0].length, again.chunks[0].fin), (0, true));
    // The first frame arrives late, so the lost second one need not be sent again.
    peer::acked(&mut ends[0], &end);
    peer::lost(&mut ends[0], &again);
    assert!(!ends[0].wants_to_send());
    // If its data is lost, too, both leave in one frame.
    peer::lost(&mut ends[0], &data);
    let both = peer::send(&mut ends[0], 300).unwrap();
    assert_eq!((both.chunks.len(), both.chunks[0].length), (1, 4));
    peer::acked(&mut ends[0], &both);
    assert_eq!(peer::events(&mut ends[0]), [StreamEvent::Finished(id)]);
    assert_eq!((ends[0].count(), ends[0].counters().bytes_resent), (0, 4));
}

#[test]
fn news_are_told_once_until_they_are_heard() {
    let mut ends = peer::pair(&transport());
    let id = client(Dir::Uni, 0);
    ends[1].on_stream(id.0, 0, b"a", false).unwrap();
    ends[1].on_stream(id.0, 1, b"b", false).unwrap();
    let seen = [StreamEvent::Opened(Dir::Uni), StreamEvent::Readable(id)];
    assert_eq!(peer::events(&mut ends[1]), seen);
    // Out of order, and old: nothing new.
    ends[1].on_stream(id.0, 3, b"d", false).unwrap();
    ends[1].on_stream(id.0, 0, b"ab", false).unwrap();
    assert_eq!(peer::events(&mut ends[1]), []);
    ends[1].on_stream(id.0, 2, b"c", false).unwrap();
    assert_eq!(peer::events(&mut ends[1]), [StreamEvent::Readable(id)]);
    assert_eq!(
        peer::read_all(&mut ends[1], id),
        Ok((b"abcd".to_vec(), false))
    );
    ends[1].on_stream(id.0, 4, b"", true).unwrap();
    assert_eq!(peer::events(&mut ends[1]), [StreamEvent::Readable(id)]);
    assert_eq!(peer::read_all(&mut ends[1], id), Ok((Vec::new(), true)));
}
