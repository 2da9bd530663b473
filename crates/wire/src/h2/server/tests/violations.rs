//! What a client may not do, and the code that it gets.

use super::*;
use crate::h2::frame::{PADDED, PRIORITY, PUSH_PROMISE};

/// Some violations end the connection, others only the stream.
#[test]
fn violations_get_the_code_of_the_rfc() {
    let settings = |id: u16, value: u32| {
        frame(
            SETTINGS,
            0,
            0,
            &[&id.to_be_bytes()[..], &value.to_be_bytes()].concat(),
        )
    };
    let window = |stream, by: u32| frame(WINDOW_UPDATE, 0, stream, &by.to_be_bytes());
    let reset = |stream| frame(RST_STREAM, 0, stream, &8_u32.to_be_bytes());
    let (protocol, size) = (Code::PROTOCOL_ERROR, Code::FRAME_SIZE_ERROR);
    let (flow, closed) = (Code::FLOW_CONTROL_ERROR, Code::STREAM_CLOSED);
    for (frames, code) in [
        (frame(DATA, 0, 0, b"x"), protocol),
        (frame(DATA, 0, 1, b"x"), protocol),
        (frame(DATA, PADDED, 1, b""), size),
        (frame(DATA, PADDED, 1, b"\x05abc"), protocol),
        (frame(HEADERS, END_HEADERS, 2, GET), protocol),
        (frame(HEADERS, END_HEADERS, 0, GET), protocol),
        (
            frame(HEADERS, END_HEADERS, 1, b"\x80"),
            Code::COMPRESSION_ERROR,
        ),
        (frame(CONTINUATION, END_HEADERS, 1, GET), protocol),
        (
            [frame(HEADERS, 0, 1, GET), frame(PING, 0, 0, &[0; 8])].concat(),
            protocol,
        ),
        (
            [frame(HEADERS, 0, 1, GET), frame(CONTINUATION, 4, 3, b"")].concat(),
            protocol,
        ),
        ([get(3), get(1)].concat(), closed),
        (frame(PRIORITY, 0, 0, &[0; 5]), protocol),
        (frame(RST_STREAM, 0, 0, &[0; 4]), protocol),
        (reset(1), protocol),
        ([get(1), frame(RST_STREAM, 0, 1, &[0; 3])].concat(), size),
        (frame(SETTINGS, 0, 1, &[]), protocol),
        (frame(SETTINGS, 0, 0, &[0; 5]), size),
        (frame(SETTINGS, ACK, 0, &[0; 6]), size),
        (settings(2, 2), protocol),
        (settings(4, 1 << 31), flow),
        (settings(5, 16_383), protocol),
        (settings(5, 1 << 24), protocol),
        (frame(PUSH_PROMISE, 0, 1, &[0; 4]), protocol),
        (frame(PING, 0, 1, &[0; 8]), protocol),
        (frame(PING, 0, 0, &[0; 7]), size),
        (frame(GOAWAY, 0, 1, &[0; 8]), protocol),
        (frame(GOAWAY, 0, 0, &[0; 7]), size),
        (frame(WINDOW_UPDATE, 0, 0, &[0; 3]), size),
        (window(0, 0), protocol),
        (window(0, 0x7fff_ffff), flow),
        (window(1, 1), protocol),
        (vec![0, 0x40, 1, DATA, 0, 0, 0, 0, 1], size),
    ] {
        let mut server = greeted(CONFIG);
        let error = server.receive(&frames).unwrap_err();
        assert_eq!(error.code, code, "{error}: {frames:?}");
        let last = sent(&mut server).pop().unwrap();
        assert_eq!((last.kind, last.number()), (GOAWAY, code.value()));
    }
    let on_itself = [0, 0, 0, 1, 7];
    for (frames, code) in [
        (
            frame(HEADERS, 0x25, 1, &[&on_itself[..], GET].concat()),
            protocol,
        ),
        (
            [get(1), frame(PRIORITY, 0, 1, &on_itself)].concat(),
            protocol,
        ),
        ([get(1), frame(PRIORITY, 0, 1, &[0; 4])].concat(), size),
        ([get(1), frame(DATA, 0, 1, b"x")].concat(), closed),
        ([get(1), get(1)].concat(), closed),
        ([post(1), post(1)].concat(), protocol),
        ([post(1), window(1, 0)].concat(), protocol),
        ([post(1), window(1, 0x7fff_ffff)].concat(), flow),
        ([post(1), frame(HEADERS, 5, 1, b"\x82")].concat(), protocol),
    ] {
        let mut server = greeted(CONFIG);
        server.receive(&frames).unwrap();
        let last = sent(&mut server).pop().unwrap();
        assert_eq!(
            (last.kind, last.stream, last.number()),
            (RST_STREAM, 1, code.value())
        );
        assert_eq!(server.take_tally().resets, 1);
        assert!(server.next_request().is_none(), "{frames:?}");
        // The connection goes on.
        server.receive(&get(5)).unwrap();
        assert_eq!(server.next_request().unwrap().stream, 5);
    }
}

/// A client that sends frames after its RST_STREAM violates the protocol, even if the request is
/// still being answered. RFC 9113 §5.1.
#[test]
fn nothing_follows_a_reset_of_the_client() {
    for (frames, end) in [
        (get(1), Err(Code::STREAM_CLOSED)),
        (frame(DATA, 0, 1, b"x"), Err(Code::STREAM_CLOSED)),
        (frame(PRIORITY, 0, 1, &[0; 5]), Ok(())),
        (frame(WINDOW_UPDATE, 0, 1, &[0, 0, 0, 1]), Ok(())),
    ] {
        let mut server = greeted(CONFIG);
        server.receive(&post(1)).unwrap();
        assert_eq!(server.next_request().unwrap().stream, 1);
        let reset = frame(RST_STREAM, 0, 1, &8_u32.to_be_bytes());
        server.receive(&reset).unwrap();
        let outcome = server.receive(&frames);
        assert_eq!(outcome.map_err(|error| error.code), end, "{frames:?}");
    }
}
