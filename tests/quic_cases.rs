//! What RFC 9000 and RFC 9001 forbid a client to send, as frames, and the code with which a server
//! has to close. Servers are tested by [`play`] over a socket.

use std::net::SocketAddr;

use roundtrip_wire::quic::{ConnectionId, Frame};

use super::key_holder::{HANDSHAKE, INITIAL, ONE_RTT};
use super::quic_client::{Close, RawClient, written};

const FLOW_CONTROL_ERROR: u64 = 0x03;
const STREAM_LIMIT_ERROR: u64 = 0x04;
const STREAM_STATE_ERROR: u64 = 0x05;
const FINAL_SIZE_ERROR: u64 = 0x06;
const FRAME_ENCODING_ERROR: u64 = 0x07;
const CONNECTION_ID_LIMIT_ERROR: u64 = 0x09;
const PROTOCOL_VIOLATION: u64 = 0x0a;
const CRYPTO_BUFFER_EXCEEDED: u64 = 0x0d;
/// RFC 9001 §6: the alert `unexpected_message`.
const UNEXPECTED_MESSAGE: u64 = 0x10a;
/// The largest number that frames can carry.
const LARGEST: u64 = (1 << 62) - 1;

struct Case {
    name: &'static str,
    level: usize,
    payload: Vec<u8>,
    /// The transport error code, or `None` if the connection goes on.
    expected: Option<u64>,
}

fn stream(id: u64, offset: u64, fin: bool) -> Frame<'static> {
    Frame::Stream {
        id,
        offset,
        data: b"x",
        fin,
    }
}

fn id(sequence: u64, retire_prior_to: u64, byte: u8) -> Frame<'static> {
    Frame::NewConnectionId {
        sequence,
        retire_prior_to,
        id: ConnectionId::new(&[byte; 8]).unwrap(),
        reset_token: [byte; 16],
    }
}

/// A stream of one direction whose type HTTP/3 does not know, so that the server reads none of it.
const UNI: u64 = 2;

/// A name, what a 1-RTT packet holds, and the code.
type Said<T> = (&'static str, T, Option<u64>);

fn reset(id: u64, size: u64) -> Frame<'static> {
    Frame::ResetStream { id, code: 0, size }
}

/// Frames about streams.
fn stream_frames() -> Vec<Said<Vec<Frame<'static>>>> {
    let state = Some(STREAM_STATE_ERROR);
    let size = Some(FINAL_SIZE_ERROR);
    vec![
        (
            "STREAM on the server's stream",
            vec![stream(3, 0, false)],
            state,
        ),
        (
            "STREAM on a stream that the server has not opened",
            vec![stream(1, 0, false)],
            state,
        ),
        (
            "RESET_STREAM on the server's stream",
            vec![reset(3, 0)],
            state,
        ),
        (
            "STOP_SENDING on a stream that only the client sends on",
            vec![Frame::StopSending { id: UNI, code: 0 }],
            state,
        ),
        (
            "STOP_SENDING on a stream that the server has not opened",
            vec![Frame::StopSending { id: 401, code: 0 }],
            state,
        ),
        (
            "MAX_STREAM_DATA on a stream that only the client sends on",
            vec![Frame::MaxStreamData { id: UNI, limit: 9 }],
            state,
        ),
        (
            "STREAM_DATA_BLOCKED on the server's stream",
            vec![Frame::StreamDataBlocked { id: 3, limit: 9 }],
            state,
        ),
        (
            "too many streams of two directions",
            vec![stream(4 << 20, 0, false)],
            Some(STREAM_LIMIT_ERROR),
        ),
        (
            "too many streams of one direction",
            vec![stream((4 << 20) + 2, 0, false)],
            Some(STREAM_LIMIT_ERROR),
        ),
        (
            "more than a stream may hold",
            vec![stream(0, 1 << 40, false)],
            Some(FLOW_CONTROL_ERROR),
        ),
        (
            "a size above what a stream may hold",
            vec![reset(0, 1 << 40)],
            Some(FLOW_CONTROL_ERROR),
        ),
        (
            "data beyond the largest offset",
            vec![stream(0, LARGEST, false)],
            Some(FRAME_ENCODING_ERROR),
        ),
        (
            "data behind the end",
            vec![stream(UNI, 100, true), stream(UNI, 200, false)],
            size,
        ),
        (
            "two ends",
            vec![stream(UNI, 100, true), stream(UNI, 101, true)],
            size,
        ),
        (
            "an end before the data",
            vec![stream(UNI, 100, false), stream(UNI, 10, true)],
            size,
        ),
        (
            "a reset of another size",
            vec![stream(UNI, 100, true), reset(UNI, 50)],
            size,
        ),
        (
            "a reset below the data",
            vec![stream(UNI, 100, false), reset(UNI, 50)],
            size,
        ),
    ]
}

/// Other frames.
fn frames() -> Vec<Said<Vec<Frame<'static>>>> {
    let violation = Some(PROTOCOL_VIOLATION);
    let encoding = Some(FRAME_ENCODING_ERROR);
    let delay = |max_delay_us| Frame::AckFrequency {
        sequence: 0,
        threshold: 4,
        max_delay_us,
        reordering: 1,
    };
    vec![
        ("a PING", vec![Frame::Ping], None),
        (
            "an unasked PATH_RESPONSE",
            vec![Frame::PathResponse([7; 8])],
            None,
        ),
        ("HANDSHAKE_DONE", vec![Frame::HandshakeDone], violation),
        ("NEW_TOKEN", vec![Frame::NewToken(b"x")], violation),
        ("a DATAGRAM", vec![Frame::Datagram(b"x")], violation),
        (
            "an ACK delay that is too short",
            vec![delay(999)],
            violation,
        ),
        ("an ACK delay that is not", vec![delay(1000)], None),
        (
            "more streams than can be",
            vec![Frame::MaxStreams {
                bidi: true,
                limit: (1 << 60) + 1,
            }],
            encoding,
        ),
        (
            "STREAMS_BLOCKED beyond all",
            vec![Frame::StreamsBlocked {
                bidi: false,
                limit: (1 << 60) + 1,
            }],
            encoding,
        ),
        (
            "an id that was never issued",
            vec![Frame::RetireConnectionId(99)],
            violation,
        ),
        (
            "an id with two values",
            vec![id(1, 0, 7), id(1, 0, 8)],
            violation,
        ),
        (
            "more ids than are kept",
            (1..20).map(|n| id(n, 0, n as u8)).collect(),
            Some(CONNECTION_ID_LIMIT_ERROR),
        ),
        (
            "ids that replace each other",
            (1..4).map(|n| id(n, n, n as u8)).collect(),
            None,
        ),
        // RFC 9000 §5.1.2: their retirements were not acknowledged yet.
        (
            "more ids that replace each other than are remembered",
            (1..20).map(|n| id(n, n, n as u8)).collect(),
            Some(CONNECTION_ID_LIMIT_ERROR),
        ),
        (
            "a key update by TLS",
            vec![Frame::Crypto {
                offset: 0,
                data: &[24, 0, 0, 1, 0],
            }],
            Some(UNEXPECTED_MESSAGE),
        ),
        (
            "handshake bytes far ahead",
            vec![Frame::Crypto {
                offset: 1 << 20,
                data: b"x",
            }],
            Some(CRYPTO_BUFFER_EXCEEDED),
        ),
    ]
}

/// Payloads of 1-RTT packets that are not frames.
fn bytes() -> Vec<Said<Vec<u8>>> {
    let encoding = Some(FRAME_ENCODING_ERROR);
    let id = |retires, length| [&[0x18, 9, retires, length][..], &[7; 40]].concat();
    let token_without_content = vec![0x07, 0];
    vec![
        ("an unknown frame", vec![0x40, 0xff, 0, 0], encoding),
        (
            "a type that is longer than necessary",
            vec![0x40, 0x01, 0, 0],
            Some(PROTOCOL_VIOLATION),
        ),
        (
            "a frame that is cut off",
            vec![0x01, 0x01, 0x01, 0x10],
            encoding,
        ),
        (
            "a stream frame that is cut off",
            vec![0x0a, 0, 9, b'x'],
            encoding,
        ),
        ("an ACK below 0", vec![0x02, 5, 0, 0, 6], encoding),
        (
            "an ACK of what was never sent",
            vec![0x02, 0x80, 1, 0, 0, 0, 0, 0],
            Some(PROTOCOL_VIOLATION),
        ),
        ("an id that retires itself", id(10, 8), encoding),
        ("an id of no bytes", id(0, 0), encoding),
        ("an id of 21 bytes", id(0, 21), encoding),
        ("an empty token", token_without_content, encoding),
    ]
}

/// Packets of the handshake, on a connection whose handshake is not complete.
fn early() -> Vec<Case> {
    let frames = [
        ("STREAM in an Initial packet", INITIAL, stream(0, 0, false)),
        ("MAX_DATA in an Initial packet", INITIAL, Frame::MaxData(9)),
        (
            "STREAM in a Handshake packet",
            HANDSHAKE,
            stream(0, 0, false),
        ),
        (
            "MAX_DATA in a Handshake packet",
            HANDSHAKE,
            Frame::MaxData(9),
        ),
        (
            "HANDSHAKE_DONE in a Handshake packet",
            HANDSHAKE,
            Frame::HandshakeDone,
        ),
        (
            "NEW_CONNECTION_ID in a Handshake packet",
            HANDSHAKE,
            id(1, 0, 7),
        ),
        (
            "PATH_CHALLENGE in a Handshake packet",
            HANDSHAKE,
            Frame::PathChallenge([7; 8]),
        ),
        (
            "an application's close in a Handshake packet",
            HANDSHAKE,
            Frame::Close {
                code: 0,
                frame: None,
                reason: b"",
            },
        ),
    ];
    let mut cases: Vec<Case> = frames
        .iter()
        .map(|(name, level, frame)| Case {
            name,
            level: *level,
            payload: written(std::slice::from_ref(frame)),
            expected: Some(PROTOCOL_VIOLATION),
        })
        .collect();
    let far = written(&[Frame::Crypto {
        offset: 1 << 20,
        data: b"x",
    }]);
    let unknown = vec![0x40, 0xff, 0, 0];
    let encoding = FRAME_ENCODING_ERROR;
    let others = [
        (
            "an unknown frame in an Initial packet",
            INITIAL,
            unknown.clone(),
            encoding,
        ),
        (
            "an unknown frame in a Handshake packet",
            HANDSHAKE,
            unknown,
            encoding,
        ),
        // RFC 9001 §4.1.3: the server has begun to send on the next level.
        (
            "bytes behind the hello",
            INITIAL,
            far.clone(),
            PROTOCOL_VIOLATION,
        ),
        (
            "handshake bytes far ahead",
            HANDSHAKE,
            far,
            CRYPTO_BUFFER_EXCEEDED,
        ),
    ];
    for (name, level, payload, code) in others {
        cases.push(Case {
            name,
            level,
            payload,
            expected: Some(code),
        });
    }
    cases
}

/// Plays each case against the server on separate connections; returns what was wrong, and the
/// number of cases.
pub(crate) fn play(server: SocketAddr) -> (Vec<String>, usize) {
    let frames = stream_frames().into_iter().chain(frames());
    let mut cases: Vec<Case> = frames
        .map(|(name, frames, expected)| (name, written(&frames), expected))
        .chain(bytes())
        .map(|(name, payload, expected)| Case {
            name,
            level: ONE_RTT,
            payload,
            expected,
        })
        .collect();
    cases.append(&mut early());
    let wrong = cases.iter().filter_map(|case| {
        let outcome = outcome(server, case);
        let expected = case.expected.map(|code| (code, false));
        (outcome != expected)
            .then(|| format!("{}: {outcome:x?} instead of {expected:x?}", case.name))
    });
    (wrong.collect(), cases.len())
}

fn outcome(server: SocketAddr, case: &Case) -> Option<Close> {
    let mut client = RawClient::new(server);
    if case.level == ONE_RTT {
        client.complete();
        assert!(
            client.is_answered(),
            "{:?} before {}",
            client.closed,
            case.name
        );
    } else {
        client.half();
    }
    client.send(case.level, &case.payload);
    if case.expected.is_none() {
        client.is_answered();
        return client.closed;
    }
    client.wait_for_close()
}
