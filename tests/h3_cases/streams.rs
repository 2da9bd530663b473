//! Streams of one direction. RFC 9114 §6.2, §7.2, RFC 9204 §4.2 to §4.4.

use super::{Case, Expected, SOUND, head};
use roundtrip_wire::h3::Code;

/// A name and a value.
type Line<'a> = (&'a str, &'a str);

pub(super) fn cases(host: Line<'_>) -> Vec<Case> {
    let mut cases = control_streams(host);
    cases.append(&mut other_streams(host));
    cases.extend(streams_that_end(host));
    cases
}

/// Streams of one direction, and a sound request behind them.
fn streams(host: Line<'_>, name: &str, streams: &[(&[u8], bool)], expected: Expected) -> Case {
    Case {
        name: name.to_owned(),
        request: head(&[&SOUND, &[host]]),
        streams: streams.iter().map(|(b, e)| (b.to_vec(), *e)).collect(),
        stops: false,
        expected,
    }
}

fn control_streams(host: Line<'_>) -> Vec<Case> {
    use Expected::{Answered, Closed};
    let unexpected = Closed(Code::H3_FRAME_UNEXPECTED);
    let missing = Closed(Code::H3_MISSING_SETTINGS);
    let wrong = Closed(Code::H3_SETTINGS_ERROR);
    let id = Closed(Code::H3_ID_ERROR);
    let length = Closed(Code::H3_FRAME_ERROR);
    let frames: [(&str, &[u8], Expected); 32] = [
        (
            "settings that are unknown",
            &[4, 4, 0x21, 1, 8, 1],
            Answered,
        ),
        ("frames that are unknown", &[4, 0, 0x21, 1, 7], Answered),
        (
            "MAX_PUSH_ID that grows",
            &[4, 0, 0xd, 1, 5, 0xd, 1, 5, 0xd, 1, 6],
            Answered,
        ),
        (
            "GOAWAY that falls",
            &[4, 0, 7, 1, 8, 7, 1, 8, 7, 1, 0],
            Answered,
        ),
        (
            "an unknown frame before SETTINGS",
            &[0x21, 0, 4, 0],
            missing,
        ),
        ("GOAWAY before SETTINGS", &[7, 1, 0], missing),
        ("DATA before SETTINGS", &[0, 1, 0], missing),
        ("SETTINGS twice", &[4, 0, 4, 0], unexpected),
        ("DATA on the control stream", &[4, 0, 0, 1, 0], unexpected),
        (
            "HEADERS on the control stream",
            &[4, 0, 1, 1, 0],
            unexpected,
        ),
        (
            "PUSH_PROMISE on the control stream",
            &[4, 0, 5, 1, 0],
            unexpected,
        ),
        ("HTTP/2's PRIORITY", &[4, 0, 2, 1, 0], unexpected),
        ("HTTP/2's PING", &[4, 0, 6, 1, 0], unexpected),
        ("HTTP/2's WINDOW_UPDATE", &[4, 0, 8, 1, 0], unexpected),
        ("HTTP/2's CONTINUATION", &[4, 0, 9, 1, 0], unexpected),
        ("HTTP/2's ENABLE_PUSH", &[4, 2, 2, 0], wrong),
        ("HTTP/2's MAX_CONCURRENT_STREAMS", &[4, 2, 3, 1], wrong),
        ("HTTP/2's INITIAL_WINDOW_SIZE", &[4, 2, 4, 1], wrong),
        ("HTTP/2's MAX_FRAME_SIZE", &[4, 2, 5, 1], wrong),
        ("a setting twice", &[4, 4, 6, 1, 6, 1], wrong),
        ("a setting that is neither 0 nor 1", &[4, 2, 8, 2], wrong),
        ("a setting without its value", &[4, 1, 6], length),
        ("GOAWAY without an id", &[4, 0, 7, 0], length),
        ("GOAWAY with more than an id", &[4, 0, 7, 2, 0, 0], length),
        ("GOAWAY that grows", &[4, 0, 7, 1, 4, 7, 1, 8], id),
        ("CANCEL_PUSH of nothing", &[4, 0, 3, 1, 0], id),
        (
            "CANCEL_PUSH of what was permitted",
            &[4, 0, 0xd, 1, 5, 3, 1, 0],
            id,
        ),
        ("MAX_PUSH_ID that falls", &[4, 0, 0xd, 1, 5, 0xd, 1, 4], id),
        (
            "PRIORITY_UPDATE of requests",
            &[4, 0, 0x80, 0x0f, 7, 0, 2, 0, b'u', 0x80, 0x0f, 7, 0, 1, 4],
            Answered,
        ),
        (
            "PRIORITY_UPDATE of a stream of one direction",
            &[4, 0, 0x80, 0x0f, 7, 0, 1, 2],
            id,
        ),
        (
            "PRIORITY_UPDATE of a push",
            &[4, 0, 0x80, 0x0f, 7, 1, 1, 0],
            id,
        ),
        (
            "PRIORITY_UPDATE of nothing",
            &[4, 0, 0x80, 0x0f, 7, 0, 0],
            length,
        ),
    ];
    let all = frames.iter().map(|(name, frames, expected)| {
        let control = [&[0], *frames].concat();
        streams(host, name, &[(&control, false)], *expected)
    });
    all.collect()
}

fn other_streams(host: Line<'_>) -> Vec<Case> {
    use Expected::{Answered, Closed};
    let twice = Closed(Code::H3_STREAM_CREATION_ERROR);
    let ended = Closed(Code::H3_CLOSED_CRITICAL_STREAM);
    let encoder = Closed(Code::QPACK_ENCODER_STREAM_ERROR);
    let decoder = Closed(Code::QPACK_DECODER_STREAM_ERROR);
    let cases: [(&str, &[u8], bool, Expected); 19] = [
        (
            "a stream of an unknown type",
            &[0x21, 1, 2, 3],
            true,
            Answered,
        ),
        ("a stream without a type", &[], true, Answered),
        ("a type that is cut off", &[0x40], true, Answered),
        (
            "an encoder without a table",
            &[2, 0x20, 0x20],
            false,
            Answered,
        ),
        (
            "a decoder that gives up streams",
            &[3, 0x40, 0x7f, 0x80, 1],
            false,
            Answered,
        ),
        ("a second control stream", &[0, 4, 0], false, twice),
        ("a push stream", &[1, 0], false, twice),
        ("an encoder that ends", &[2], true, ended),
        ("a decoder that ends", &[3], true, ended),
        ("a capacity", &[2, 0x3f, 0xe1, 0x1f], false, encoder),
        ("a small capacity", &[2, 0x21], false, encoder),
        (
            "an insert by a static name",
            &[2, 0xc1, 1, b'x'],
            false,
            encoder,
        ),
        (
            "an insert by a dynamic name",
            &[2, 0x80, 1, b'x'],
            false,
            encoder,
        ),
        (
            "an insert of a literal name",
            &[2, 0x41, b'x', 1, b'y'],
            false,
            encoder,
        ),
        ("a duplicate", &[2, 0], false, encoder),
        ("an increment of 0", &[3, 0], false, decoder),
        ("an increment of 1", &[3, 1], false, decoder),
        ("an acknowledgement of nothing", &[3, 0x80], false, decoder),
        (
            "an integer without end",
            &[
                3, 0x7f, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80,
            ],
            false,
            decoder,
        ),
    ];
    let control: (&[u8], bool) = (&[0, 4, 0], false);
    let all = cases.iter().map(|(name, bytes, ends, expected)| {
        streams(host, name, &[control, (bytes, *ends)], *expected)
    });
    let mut all: Vec<Case> = all.collect();
    all.push(streams(
        host,
        "two encoders",
        &[control, (&[2], false), (&[2], false)],
        twice,
    ));
    all.push(streams(
        host,
        "two decoders",
        &[control, (&[3], false), (&[3], false)],
        twice,
    ));
    all.push(Case {
        stops: true,
        ..streams(
            host,
            "STOP_SENDING for the control stream",
            &[control],
            ended,
        )
    });
    all.push(streams(
        host,
        "a control stream that ends",
        &[(&[0, 4, 0], true)],
        ended,
    ));
    all
}

fn streams_that_end(host: Line<'_>) -> [Case; 2] {
    let unneeded: [(&[u8], bool); 2] = [(&[0x21], true), (&[], true)];
    let control: (&[u8], bool) = (&[0, 4, 0], false);
    let mut many = [vec![control], unneeded.repeat(512)].concat();
    let few = streams(host, "1024 streams that end", &many, Expected::Answered);
    many.push(unneeded[0]);
    let load = Expected::Closed(Code::H3_EXCESSIVE_LOAD);
    [few, streams(host, "1025 streams that end", &many, load)]
}
