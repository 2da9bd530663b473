//! One connection, by its frames: the rules of RFC 9113, windows, and arbitrary bytes.

mod violations;

use std::task::{Context, Poll, Waker};

use proptest::prelude::*;

use super::*;
use crate::h2::frame::{
    ACK, CONTINUATION, DATA, END_HEADERS, END_STREAM, FrameHead, GOAWAY, HEAD, HEADERS, PADDED,
    PING, PREFACE, RST_STREAM, SETTINGS, WINDOW_UPDATE,
};
use crate::h2::write_line;

const CONFIG: ServerConfig = ServerConfig {
    streams: 3,
    stream_window: 100_000,
    connection_window: 200_000,
    section: SectionBounds {
        lines: 20,
        size: 2000,
    },
    extended_connect: false,
};
/// The largest number of bytes that are read at once.
const MAX_READ: usize = 60_000;
/// `GET https://a/` in HPACK.
const GET: &[u8] = b"\x82\x87\x84\x41\x01a";
const POST: &[u8] = b"\x83\x87\x84\x41\x01a";

fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let head = FrameHead {
        length: payload.len(),
        kind,
        flags,
        stream,
    };
    let mut frame = Vec::new();
    head.write(&mut frame);
    frame.extend_from_slice(payload);
    frame
}

fn get(stream: u32) -> Vec<u8> {
    frame(HEADERS, END_HEADERS | END_STREAM, stream, GET)
}

fn post(stream: u32) -> Vec<u8> {
    frame(HEADERS, END_HEADERS, stream, POST)
}

/// A server that has been greeted, and whose first frames were read.
fn greeted(config: ServerConfig) -> Server {
    let mut server = Server::new(config);
    server.receive(PREFACE).unwrap();
    server.receive(&frame(SETTINGS, 0, 0, &[])).unwrap();
    let first = sent(&mut server);
    assert_eq!(first[0].kind, SETTINGS);
    assert_eq!((first[2].kind, first[2].flags), (SETTINGS, ACK));
    server
}

#[derive(Debug, PartialEq, Eq)]
struct Sent {
    kind: u8,
    flags: u8,
    stream: u32,
    payload: Vec<u8>,
}

impl Sent {
    fn number(&self) -> u32 {
        u32::from_be_bytes(*self.payload.last_chunk().unwrap())
    }
}

/// The frames that were sent since the last call.
fn sent(server: &mut Server) -> Vec<Sent> {
    let bytes = server.pending().to_vec();
    server.on_written(bytes.len());
    let (mut rest, mut frames) = (bytes.as_slice(), Vec::new());
    while let Some((head, tail)) = rest.split_first_chunk::<HEAD>() {
        let head = FrameHead::parse(*head).unwrap();
        let (payload, tail) = tail.split_at(head.length);
        frames.push(Sent {
            kind: head.kind,
            flags: head.flags,
            stream: head.stream,
            payload: payload.to_vec(),
        });
        rest = tail;
    }
    assert!(rest.is_empty());
    frames
}

fn with_waker<T>(poll: impl FnOnce(&mut Context<'_>) -> T) -> T {
    poll(&mut Context::from_waker(Waker::noop()))
}

fn read(server: &mut Server, stream: u32) -> Poll<Result<Option<Vec<u8>>, StreamGoneError>> {
    let mut into = Vec::new();
    let read = with_waker(|cx| server.poll_read(stream, &mut into, MAX_READ, cx));
    read.map_ok(|length| length.map(|_| into))
}

fn room(server: &mut Server, stream: u32, wanted: usize) -> Poll<Result<usize, StreamGoneError>> {
    with_waker(|cx| server.poll_room(stream, wanted, cx))
}

fn head() -> Vec<u8> {
    let mut block = Vec::new();
    write_line(&mut block, b":status", b"200");
    block
}

#[test]
fn a_request_is_answered() {
    let mut server = greeted(CONFIG);
    server.receive(&post(1)).unwrap();
    let arrival = server.next_request().unwrap();
    assert_eq!((arrival.stream, arrival.is_ended), (1, false));
    assert_eq!(arrival.head.unwrap().lines().count(), 4);
    assert!(server.next_request().is_none());
    assert!(read(&mut server, 1).is_pending());
    server.receive(&frame(DATA, 0, 1, b"hel")).unwrap();
    let padded = frame(DATA, END_STREAM | PADDED, 1, b"\x03lo\0\0\0");
    server.receive(&padded).unwrap();
    assert_eq!(
        read(&mut server, 1),
        Poll::Ready(Ok(Some(b"hello".to_vec())))
    );
    assert_eq!(read(&mut server, 1), Poll::Ready(Ok(None)));
    server.send_head(1, &head(), false).unwrap();
    assert_eq!(room(&mut server, 1, 3), Poll::Ready(Ok(3)));
    server.send_data(1, b"yes", false).unwrap();
    server.send_trailers(1, b"\x00\x01x\x01y").unwrap();
    server.release(1);
    let frames = sent(&mut server);
    let kinds: Vec<_> = frames
        .iter()
        .map(|frame| (frame.kind, frame.flags))
        .collect();
    assert_eq!(
        kinds,
        [
            (HEADERS, END_HEADERS),
            (DATA, 0),
            (HEADERS, END_HEADERS | END_STREAM)
        ]
    );
    assert_eq!(frames[0].payload, [0x88]);
    assert_eq!(server.connection.streams.len(), 0);
}

#[test]
fn a_client_must_greet_first() {
    for first in [&b"GET / HTTP/1.1\r\n"[..], b"PRI * HTTP/2.1"] {
        assert!(Server::new(CONFIG).receive(first).is_err());
    }
    let mut server = Server::new(CONFIG);
    server.receive(PREFACE).unwrap();
    assert!(!server.is_greeted());
    let error = server.receive(&frame(PING, 0, 0, &[0; 8])).unwrap_err();
    assert_eq!(error.code, Code::PROTOCOL_ERROR);
}

#[test]
fn heads_are_checked_and_bounded() {
    let mut server = greeted(CONFIG);
    server
        .receive(&frame(HEADERS, 5, 1, b"\x82\x87\x84"))
        .unwrap();
    let long = [GET, b"\x00\x01x\x7f\xf2\x0e", &[b'y'; 2033]].concat();
    server.receive(&frame(HEADERS, 5, 3, &long)).unwrap();
    server.receive(&get(5)).unwrap();
    let heads = std::iter::from_fn(|| server.next_request());
    let heads: Vec<_> = heads.map(|arrival| arrival.head.map(|_| ())).collect();
    let expected = [
        Err(HeadError::Malformed(MalformedError::Authority)),
        Err(HeadError::TooLarge),
        Ok(()),
    ];
    assert_eq!(heads, expected);
}

#[test]
fn a_length_that_is_wrong_is_an_error_of_the_stream() {
    let announced = [POST, b"\x0f\x0d\x015"].concat();
    for (flags, data) in [(0, b"123456".as_slice()), (END_STREAM, b"1234")] {
        let mut server = greeted(CONFIG);
        server
            .receive(&frame(HEADERS, END_HEADERS, 1, &announced))
            .unwrap();
        assert!(server.next_request().is_some());
        server.receive(&frame(DATA, flags, 1, data)).unwrap();
        let gone = Poll::Ready(Err(StreamGoneError(Code::PROTOCOL_ERROR)));
        assert_eq!(read(&mut server, 1), gone);
    }
}

#[test]
fn too_many_streams_are_refused() {
    let mut server = greeted(CONFIG);
    for stream in [1, 3, 5, 7] {
        server.receive(&get(stream)).unwrap();
    }
    let refused = sent(&mut server).pop().unwrap();
    assert_eq!(
        (refused.stream, refused.number()),
        (7, Code::REFUSED_STREAM.value())
    );
    // Its data may be under way.
    server.receive(&frame(DATA, 0, 7, b"x")).unwrap();
}

#[test]
fn a_window_is_given_back_when_data_was_used() {
    let mut server = greeted(CONFIG);
    server.receive(&post(1)).unwrap();
    server.next_request().unwrap();
    let piece = frame(DATA, 0, 1, &[b'x'; 10_000]);
    for _ in 0..10 {
        server.receive(&piece).unwrap();
    }
    assert!(sent(&mut server).is_empty());
    for length in [60_000, 40_000] {
        let Poll::Ready(Ok(Some(part))) = read(&mut server, 1) else {
            panic!("there is data");
        };
        assert_eq!(part.len(), length);
    }
    server.consume(1, 100_000);
    let updates: Vec<_> = sent(&mut server)
        .iter()
        .map(|f| (f.kind, f.stream, f.number()))
        .collect();
    assert_eq!(
        updates,
        [(WINDOW_UPDATE, 0, 100_000), (WINDOW_UPDATE, 1, 100_000)]
    );
    for _ in 0..10 {
        server.receive(&piece).unwrap();
    }
    server.receive(&frame(DATA, 0, 1, b"x")).unwrap();
    assert_eq!(
        sent(&mut server).pop().unwrap().number(),
        Code::FLOW_CONTROL_ERROR.value()
    );
}

#[test]
fn the_connection_s_window_holds_for_all_streams() {
    let mut server = greeted(CONFIG);
    let mut outcome = Ok(());
    for stream in [1, 3, 5] {
        server.receive(&post(stream)).unwrap();
        for _ in 0..10 {
            outcome = outcome.and(server.receive(&frame(DATA, 0, stream, &[0; 9000])));
        }
    }
    assert_eq!(outcome.unwrap_err().code, Code::FLOW_CONTROL_ERROR);
}

#[test]
fn streams_that_end_give_their_part_of_the_window_back() {
    let mut server = greeted(CONFIG);
    for number in 0..100 {
        let stream = 2 * number + 1;
        server.receive(&post(stream)).unwrap();
        server.next_request().unwrap();
        server.receive(&frame(DATA, 0, stream, &[0; 9000])).unwrap();
        server.release(stream);
        // It was under way.
        server.receive(&frame(DATA, 0, stream, &[0; 9000])).unwrap();
    }
    assert_eq!(server.connection.streams.len(), 0);
}

/// Data that was read also counts, until the owner reports that it was used.
#[test]
fn aborted_uploads_take_nothing_from_the_window() {
    let mut server = greeted(CONFIG);
    for number in 0..100 {
        let stream = 2 * number + 1;
        server.receive(&post(stream)).unwrap();
        server.next_request().unwrap();
        let data = frame(DATA, 0, stream, &[0; 9000]);
        server.receive(&data.repeat(2)).unwrap();
        assert!(read(&mut server, stream).is_ready());
        match number % 3 {
            0 => drop(server.receive(&frame(RST_STREAM, 0, stream, &[0; 4]))),
            1 => server.send_head(stream, &head(), true).unwrap(),
            _ => server.consume(stream, 9000),
        }
        server.release(stream);
        server.consume(stream, 9000);
    }
}

/// A reader that is always a little behind.
#[test]
fn buffers_that_are_never_empty_do_not_grow() {
    let mut server = greeted(CONFIG);
    let larger = frame(WINDOW_UPDATE, 0, 0, &0x7000_0000_u32.to_be_bytes());
    server.receive(&larger).unwrap();
    server.receive(&post(1)).unwrap();
    let larger = frame(WINDOW_UPDATE, 0, 1, &0x7000_0000_u32.to_be_bytes());
    server.receive(&larger).unwrap();
    server.next_request().unwrap();
    server.send_head(1, &head(), false).unwrap();
    let mut most = 0;
    for _ in 0..1000 {
        if let Poll::Ready(Ok(room)) = room(&mut server, 1, 10_000) {
            server.send_data(1, &vec![0; room], false).unwrap();
        }
        server.on_written(server.pending().len().saturating_sub(100));
        server.receive(&frame(DATA, 0, 1, &[0; 5000])).unwrap();
        let mut into = Vec::new();
        let length = with_waker(|cx| server.poll_read(1, &mut into, 4990, cx));
        let Poll::Ready(Ok(Some(length))) = length else {
            panic!("there is data");
        };
        server.consume(1, length);
        most = most.max(server.memory());
    }
    assert!(most < 300_000, "{most}");
}

#[test]
fn answers_wait_for_windows_and_for_each_other() {
    let mut server = greeted(CONFIG);
    let larger = frame(WINDOW_UPDATE, 0, 0, &1_000_000_u32.to_be_bytes());
    server.receive(&larger).unwrap();
    for stream in [1, 3] {
        server.receive(&get(stream)).unwrap();
        server.next_request().unwrap();
        server.send_head(stream, &head(), false).unwrap();
    }
    let mut total = 0;
    while let Poll::Ready(Ok(most)) = room(&mut server, 1, 1 << 20) {
        assert!(most <= 16_384, "one frame at a time");
        server.send_data(1, &vec![0; most], false).unwrap();
        total += most;
    }
    assert!((48 * 1024..=65_535).contains(&total), "{total}");
    assert!(room(&mut server, 3, 1).is_pending(), "too much is pending");
    sent(&mut server);
    assert!(room(&mut server, 3, 1).is_ready());
    let smaller = frame(SETTINGS, 0, 0, &[0, 4, 0, 0, 0, 0]);
    server.receive(&smaller).unwrap();
    assert!(room(&mut server, 3, 1).is_pending());
    let one = frame(WINDOW_UPDATE, 0, 3, &1_u32.to_be_bytes());
    server.receive(&one).unwrap();
    assert_eq!(room(&mut server, 3, 9), Poll::Ready(Ok(1)));
}

#[test]
fn after_goaway_earlier_requests_are_answered() {
    let mut server = greeted(CONFIG);
    server.leave();
    let frames = sent(&mut server);
    assert_eq!((frames[0].kind, frames[1].kind), (GOAWAY, PING));
    server.receive(&get(1)).unwrap();
    server
        .receive(&frame(PING, ACK, 0, &frames[1].payload))
        .unwrap();
    let last = sent(&mut server).pop().unwrap();
    assert_eq!((last.kind, last.payload[3]), (GOAWAY, 1));
    server.receive(&get(3)).unwrap();
    assert_eq!(server.next_request().unwrap().stream, 1);
    assert!(server.next_request().is_none());
    assert!(!server.is_over());
    server.send_head(1, &head(), true).unwrap();
    server.release(1);
    assert!(server.is_over());
}

#[test]
fn a_client_without_a_table_is_told_that_there_is_none() {
    let mut server = greeted(CONFIG);
    let none = frame(SETTINGS, 0, 0, &[0, 1, 0, 0, 0, 0]);
    server.receive(&none).unwrap();
    for (stream, block) in [(1, &[0x20, 0x88][..]), (3, &[0x88])] {
        server.receive(&get(stream)).unwrap();
        server.next_request().unwrap();
        server.send_head(stream, &head(), true).unwrap();
        assert_eq!(sent(&mut server).pop().unwrap().payload, block);
    }
}

#[test]
fn a_block_larger_than_a_frame_is_continued() {
    let mut server = greeted(CONFIG);
    server.receive(&get(1)).unwrap();
    server.next_request().unwrap();
    server.send_head(1, &vec![0x88; 40_000], true).unwrap();
    let frames = sent(&mut server);
    let kinds: Vec<_> = frames
        .iter()
        .map(|frame| (frame.kind, frame.flags))
        .collect();
    assert_eq!(
        kinds,
        [
            (HEADERS, END_STREAM),
            (CONTINUATION, 0),
            (CONTINUATION, END_HEADERS)
        ]
    );
}

#[test]
fn control_frames_are_counted() {
    let mut server = greeted(CONFIG);
    server.take_tally();
    let frames = [
        frame(PING, 0, 0, &[0; 8]),
        frame(99, 0, 0, b"x"),
        frame(SETTINGS, 0, 0, &[]),
        post(1),
        frame(DATA, 0, 1, b""),
        frame(DATA, 0, 1, b"x"),
        frame(RST_STREAM, 0, 1, &[0; 4]),
        // Refused, and then ignored.
        post(3),
        post(5),
        post(7),
        post(9),
        post(9),
    ];
    server.receive(&frames.concat()).unwrap();
    let expected = Tally {
        control_frames: 7,
        requests: 4,
        resets: 1,
    };
    assert_eq!(server.take_tally(), expected);
    assert_eq!(server.take_tally(), Tally::default());
}

/// Bytes that look like frames more often than not.
fn frames() -> impl Strategy<Value = Vec<u8>> {
    let payload = prop_oneof![
        Just(GET.to_vec()),
        Just(POST.to_vec()),
        prop::collection::vec(any::<u8>(), 0..40),
        prop::collection::vec(Just(b'x'), 0..4000),
    ];
    let one = (0..11_u8, any::<u8>(), 0..8_u32, payload);
    let one = one.prop_map(|(kind, flags, stream, payload)| frame(kind, flags, stream, &payload));
    prop::collection::vec(one, 0..30).prop_map(|frames| frames.concat())
}

proptest! {
    #[test]
    fn the_outcome_does_not_depend_on_how_bytes_come(bytes in frames(), piece in 1..60_usize) {
        let mut whole = greeted(CONFIG);
        let mut pieces = greeted(CONFIG);
        let outcome = whole.receive(&bytes);
        let mut other = Ok(());
        for piece in bytes.chunks(piece) {
            other = other.and_then(|()| pieces.receive(piece));
        }
        prop_assert_eq!(outcome, other);
        // Windows are counted by piece.
        if outcome.is_ok() {
            prop_assert_eq!(sent(&mut whole), sent(&mut pieces));
        }
    }

    #[test]
    fn no_bytes_end_in_a_panic(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        let mut server = Server::new(CONFIG);
        let _ = server.receive(&bytes);
        let mut server = greeted(CONFIG);
        let _ = server.receive(&bytes);
        while let Some(arrival) = server.next_request() {
            let _ = read(&mut server, arrival.stream);
            server.release(arrival.stream);
        }
        prop_assert!(server.pending().len() < 10_000);
    }
}
