//! Each rule of RFC 9114 and RFC 9204 about the bytes on a stream, by its error code. The result
//! does not depend on how the bytes are split.

use std::fmt::Write as _;

use proptest::collection::vec;
use proptest::prelude::*;

use super::frame::read_varint;
use super::*;
use crate::message::MalformedError;
use crate::quic::Side;

const LIMITS: SectionLimits = SectionLimits {
    fields: 4,
    size: 1024,
};
/// `GET https://x/`, by the static table.
const HEAD: &[u8] = &[1, 8, 0, 0, 0xd1, 0xd7, 0xc1, 0x50, 1, b'x'];
/// Like the head above, with `content-length: 3`.
const LONG: &[u8] = &[1, 11, 0, 0, 0xd1, 0xd7, 0xc1, 0x50, 1, b'x', 0x54, 1, b'3'];
const BODY: &[u8] = &[0, 3, b'a', b'b', b'c'];
/// `age: 0`.
const TRAILERS: &[u8] = &[1, 3, 0, 0, 0xc2];
/// A frame of a type that is reserved to be ignored.
const GREASE: &[u8] = &[0x40, 0x21, 0x40, 2, 7, 7];
/// The types of PRIORITY_UPDATE for a request and for a push.
const REQUEST_PRIORITY: [u8; 4] = [0x80, 0x0f, 7, 0];
const PUSH_PRIORITY: [u8; 4] = [0x80, 0x0f, 7, 1];
/// `:status: 103` and `:status: 200`.
const INTERIM: &[u8] = &[1, 3, 0, 0, 0xd8];
const FINAL: &[u8] = &[1, 3, 0, 0, 0xd9];
const SETTINGS: &[u8] = &[4, 0];

/// The parts of a message that comes in pieces of one length, as text.
fn read(sender: Side, stream: &[u8], piece: usize) -> Result<String, MessageError> {
    let mut reader = MessageReader::new(sender, LIMITS);
    let mut text = String::new();
    for mut bytes in stream.chunks(piece) {
        while !bytes.is_empty() {
            let (used, part) = reader.read(bytes)?;
            assert!(part.is_some() || used == bytes.len());
            match part {
                Some(Part::Head(section)) => write!(text, "H{}", section.len()).unwrap(),
                Some(Part::Trailers(section)) => write!(text, "T{}", section.len()).unwrap(),
                Some(Part::Data(range)) => {
                    assert_eq!(range.end, used);
                    text += &bytes[range].escape_ascii().to_string();
                }
                None => {}
            }
            bytes = &bytes[used..];
        }
    }
    reader.end().map(|()| text)
}

/// The code of an error, and whether it concerns the connection.
fn code(error: MessageError) -> (Code, bool) {
    let whole = matches!(error, MessageError::Protocol(_));
    (error.code(), whole)
}

#[test]
fn messages_are_read_however_they_come() {
    let empty = [0, 0];
    let whole = [GREASE, HEAD, BODY, &empty, BODY, GREASE, TRAILERS, GREASE].concat();
    for (sender, stream, expected) in [
        (Side::Client, whole, "H4abcabcT1"),
        (Side::Client, HEAD.to_vec(), "H4"),
        (Side::Client, [LONG, BODY].concat(), "H5abc"),
        (
            Side::Client,
            [LONG, &[0, 1, b'a'], &[0, 2, b'b', b'c']].concat(),
            "H5abc",
        ),
        (Side::Client, [HEAD, TRAILERS].concat(), "H4T1"),
        (
            Side::Server,
            [INTERIM, INTERIM, FINAL, BODY].concat(),
            "H1H1H1abc",
        ),
        (Side::Server, [FINAL, BODY, TRAILERS].concat(), "H1abcT1"),
    ] {
        for piece in 1..=stream.len() {
            assert_eq!(read(sender, &stream, piece).unwrap(), expected, "{piece}");
        }
    }
}

#[test]
fn streams_of_messages_end_with_the_code_of_the_rule() {
    use Side::{Client, Server};
    let unexpected = (Code::H3_FRAME_UNEXPECTED, true);
    let cut = (Code::H3_FRAME_ERROR, true);
    let section = (Code::QPACK_DECOMPRESSION_FAILED, true);
    let malformed = (Code::H3_MESSAGE_ERROR, false);
    let load = (Code::H3_EXCESSIVE_LOAD, false);
    let ignored = [&[0x21, 0x80, 1, 0, 0][..], &[0; 1]].concat();
    let mut cases = vec![
        (Client, BODY.to_vec(), unexpected),
        (Client, [HEAD, TRAILERS, BODY].concat(), unexpected),
        (Client, [HEAD, TRAILERS, TRAILERS].concat(), unexpected),
        (Client, [HEAD, &[5, 1, 0]].concat(), unexpected),
        (
            Server,
            [FINAL, &[5, 1, 0]].concat(),
            (Code::H3_ID_ERROR, true),
        ),
        (Server, BODY.to_vec(), unexpected),
        (Server, [INTERIM, BODY].concat(), unexpected),
        (Client, vec![], (Code::H3_REQUEST_INCOMPLETE, false)),
        (
            Client,
            GREASE.to_vec(),
            (Code::H3_REQUEST_INCOMPLETE, false),
        ),
        (Server, INTERIM.to_vec(), malformed),
        (Client, vec![1], cut),
        (Client, HEAD[..5].to_vec(), cut),
        (Client, [HEAD, &[0, 9, 1]].concat(), cut),
        (Client, [HEAD, &[0x21, 9, 1]].concat(), cut),
        (Client, [HEAD, &[0x40]].concat(), cut),
        (Client, vec![1, 0], section),
        (Client, vec![1, 3, 0, 0, 0x80], section),
        (Client, vec![1, 3, 1, 0, 0x80], section),
        (Client, vec![1, 4, 0, 0, 0xff, 0x24], section),
        (Client, [HEAD, &[1, 3, 0, 0, 0x80]].concat(), section),
        (Client, vec![1, 4, 0, 0, 0xd1, 0xd1], malformed),
        (Client, [HEAD, &[1, 3, 0, 0, 0xc1]].concat(), malformed),
        (Client, LONG.to_vec(), malformed),
        (Client, [LONG, BODY, BODY].concat(), malformed),
        (Client, [LONG, &[0, 4]].concat(), malformed),
        (Client, [LONG, &[0, 1, b'a']].concat(), malformed),
        (Server, HEAD.to_vec(), malformed),
        (Server, TRAILERS.to_vec(), malformed),
        (Client, vec![1, 7, 0, 0, 0xc2, 0xc2, 0xc2, 0xc2, 0xc2], load),
        (Client, vec![1, 0x44, 1], load),
        (Client, vec![1, 0xbf, 0xff, 0xff, 0xff], load),
        (Client, ignored, load),
        (Client, [0x21, 0].repeat(40_000), load),
    ];
    for kind in [2, 3, 4, 6, 7, 8, 9, 0xd] {
        for sender in [Client, Server] {
            let head = if sender == Client { HEAD } else { FINAL };
            cases.push((sender, vec![kind, 1, 0], unexpected));
            cases.push((sender, [head, &[kind, 1, 0]].concat(), unexpected));
        }
    }
    for kind in [REQUEST_PRIORITY, PUSH_PRIORITY] {
        cases.push((Client, [&kind[..], &[1, 0]].concat(), unexpected));
        cases.push((Client, [HEAD, &kind, &[1, 0]].concat(), unexpected));
        cases.push((Server, [FINAL, &kind, &[1, 0]].concat(), unexpected));
    }
    for (sender, stream, expected) in cases {
        let pieces = if stream.len() > 100 {
            1..2
        } else {
            1..stream.len() + 1
        };
        for piece in pieces.chain([usize::MAX]) {
            let error = read(sender, &stream, piece).unwrap_err();
            assert_eq!(code(error), expected, "{sender:?} {stream:x?}: {error}");
        }
    }
}

#[test]
fn limits_are_told_from_errors() {
    let many = read(Side::Client, &[1, 7, 0, 0, 0xc2, 0xc2, 0xc2, 0xc2, 0xc2], 1).unwrap_err();
    assert_eq!(many, MessageError::TooManyFields);
    assert!(many.is_limit());
    let twice = read(Side::Client, &[1, 4, 0, 0, 0xd1, 0xd1], 1).unwrap_err();
    assert_eq!(twice, MalformedError::RepeatedPseudo.into());
    assert!(!twice.is_limit());
    // Pieces of cookies count as one field, and their number is bounded.
    let cookies = |count: usize| {
        let limits = SectionLimits {
            fields: 1,
            size: 1 << 20,
        };
        let mut section = HEAD[2..].to_vec();
        section.resize(section.len() + count, 0xc5);
        let length = (section.len() as u16 | 0x4000).to_be_bytes();
        let frame = [&[1], length.as_slice(), &section].concat();
        MessageReader::new(Side::Client, limits)
            .read(&frame)
            .map(drop)
    };
    assert_eq!(cookies(100), Ok(()));
    assert_eq!(cookies(1026), Err(MessageError::TooManyFields));
}

/// The outcome of one peer's streams, one after the other, in pieces of equal length. Each stream
/// may end.
fn streams(peer: Side, all: &[(&[u8], bool)], piece: usize) -> Result<UniStreams, Code> {
    let mut streams = UniStreams::new(peer);
    for (bytes, ends) in all {
        let mut stream = UniStream::default();
        let mut goes_on = true;
        for bytes in bytes.chunks(piece) {
            if goes_on {
                goes_on = streams.read(&mut stream, bytes).map_err(|e| e.code)?;
            }
        }
        if *ends {
            streams.end(&stream).map_err(|e| e.code)?;
        }
    }
    Ok(streams)
}

#[test]
fn what_control_streams_say_is_known() {
    let control = [
        &[0, 4, 7, 0x06, 0x44, 0, 1, 0, 0x21, 5][..],
        GREASE,
        &[0xd, 1, 5, 0xd, 1, 5],
        &REQUEST_PRIORITY,
        &[3, 8, b'u', b'0'],
        &REQUEST_PRIORITY,
        &[2, 0x40, 12],
        &[7, 1, 9, 7, 1, 9, 7, 1, 3],
    ];
    let control = control.concat();
    for piece in 1..=control.len() {
        let read = streams(Side::Client, &[(&control, false)], piece).unwrap();
        let settings = Settings {
            max_field_section_size: Some(1024),
        };
        assert_eq!((read.settings(), read.goaway()), (Some(settings), Some(3)));
    }
    let both = [
        (&[2, 0x20][..], false),
        (&[3, 0x44, 0x7f, 0x80, 1, 0x40], false),
    ];
    assert!(streams(Side::Server, &both, 1).is_ok());
    // Of other types, or of none.
    let odd = [
        (&[0x21, 1, 2][..], true),
        (&[0x40, 0x54], false),
        (&[0x40], true),
    ];
    let odd = [odd.as_slice(), &[(&[], true), (&[0x21], true)]].concat();
    assert!(streams(Side::Client, &odd, 1).unwrap().settings().is_none());
}

#[test]
fn streams_of_one_direction_end_with_the_code_of_the_rule() {
    use Side::{Client, Server};
    let unexpected = Code::H3_FRAME_UNEXPECTED;
    let control = |frames: &[u8]| [&[0], SETTINGS, frames].concat();
    let settings = |content: &[u8]| [&[0, 4, content.len() as u8], content].concat();
    let mut cases = vec![
        (Client, vec![0, 0x21, 0], Code::H3_MISSING_SETTINGS),
        (Client, vec![0, 7, 1, 0], Code::H3_MISSING_SETTINGS),
        (Client, vec![0, 0, 1, 0], Code::H3_MISSING_SETTINGS),
        (Client, control(SETTINGS), unexpected),
        (Server, control(&[0xd, 1, 0]), unexpected),
        (Client, control(&[0xd, 1, 5, 0xd, 1, 4]), Code::H3_ID_ERROR),
        (Client, control(&[3, 1, 0]), Code::H3_ID_ERROR),
        (Server, control(&[3, 1, 0]), Code::H3_ID_ERROR),
        (Client, control(&[7, 1, 4, 7, 1, 5]), Code::H3_ID_ERROR),
        (Server, control(&[7, 1, 4, 7, 1, 8]), Code::H3_ID_ERROR),
        (Server, control(&[7, 1, 1]), Code::H3_ID_ERROR),
        (Client, control(&[7, 0]), Code::H3_FRAME_ERROR),
        (Client, control(&[7, 2, 0, 0]), Code::H3_FRAME_ERROR),
        (Client, control(&[7, 1, 0x40]), Code::H3_FRAME_ERROR),
        (Client, control(&[7, 9]), Code::H3_FRAME_ERROR),
        (Client, settings(&[6]), Code::H3_FRAME_ERROR),
        (Client, settings(&[6, 0x40]), Code::H3_FRAME_ERROR),
        (Client, settings(&[6, 1, 6, 1]), Code::H3_SETTINGS_ERROR),
        (
            Client,
            settings(&[0x21, 1, 0x21, 1]),
            Code::H3_SETTINGS_ERROR,
        ),
        (Client, settings(&[8, 2]), Code::H3_SETTINGS_ERROR),
        (Client, settings(&[0x33, 2]), Code::H3_SETTINGS_ERROR),
        (Client, vec![0, 4, 0x60, 0], Code::H3_EXCESSIVE_LOAD),
        (Client, vec![1, 0], Code::H3_STREAM_CREATION_ERROR),
        (Server, vec![1, 0], Code::H3_ID_ERROR),
        // A capacity; two kinds of inserts; a duplicate.
        (Client, vec![2, 0x21], Code::QPACK_ENCODER_STREAM_ERROR),
        (Client, vec![2, 0x3f, 0], Code::QPACK_ENCODER_STREAM_ERROR),
        (Client, vec![2, 0xc1, 0], Code::QPACK_ENCODER_STREAM_ERROR),
        (
            Client,
            vec![2, 0x41, b'x', 0],
            Code::QPACK_ENCODER_STREAM_ERROR,
        ),
        (Client, vec![2, 0], Code::QPACK_ENCODER_STREAM_ERROR),
        // Increments; an acknowledgement; an integer without end.
        (Client, vec![3, 0], Code::QPACK_DECODER_STREAM_ERROR),
        (Client, vec![3, 1], Code::QPACK_DECODER_STREAM_ERROR),
        (Client, vec![3, 0x80], Code::QPACK_DECODER_STREAM_ERROR),
        (Server, vec![3, 0x84], Code::QPACK_DECODER_STREAM_ERROR),
        (
            Client,
            [&[3, 0x7f][..], &[0x80; 10]].concat(),
            Code::QPACK_DECODER_STREAM_ERROR,
        ),
    ];
    let priority = |kind: [u8; 4], content: &[u8]| {
        control(&[&kind[..], &[content.len() as u8], content].concat())
    };
    for (peer, kind, content, code) in [
        (Client, REQUEST_PRIORITY, &[5, b'u'][..], Code::H3_ID_ERROR),
        (Client, REQUEST_PRIORITY, &[], Code::H3_FRAME_ERROR),
        (Client, REQUEST_PRIORITY, &[0x40], Code::H3_FRAME_ERROR),
        (Client, PUSH_PRIORITY, &[0], Code::H3_ID_ERROR),
        (Server, REQUEST_PRIORITY, &[0], unexpected),
        (Server, PUSH_PRIORITY, &[0], unexpected),
    ] {
        cases.push((peer, priority(kind, content), code));
    }
    for name in [0, 2, 3, 4, 5] {
        cases.push((Client, settings(&[name, 1]), Code::H3_SETTINGS_ERROR));
    }
    for kind in [0, 1, 2, 5, 6, 8, 9] {
        cases.push((Client, control(&[kind, 1, 0]), unexpected));
        cases.push((Server, control(&[kind, 1, 0]), unexpected));
    }
    for (peer, bytes, expected) in cases {
        for piece in 1..=bytes.len() {
            let read = streams(peer, &[(&bytes, false)], piece).map(drop);
            assert_eq!(read, Err(expected), "{peer:?} {bytes:x?}");
        }
    }
    for (first, second) in [(&[0, 4, 0][..], &[0][..]), (&[2], &[2]), (&[3], &[3])] {
        let twice = streams(Client, &[(first, false), (second, false)], 1).map(drop);
        assert_eq!(twice, Err(Code::H3_STREAM_CREATION_ERROR));
        let ended = streams(Client, &[(first, true)], 1).map(drop);
        assert_eq!(ended, Err(Code::H3_CLOSED_CRITICAL_STREAM));
    }
    let long = [&[0x21], vec![0; 2 << 20].as_slice()].concat();
    let endless = [&[0, 4, 0, 0x21, 0xbf, 0xff, 0xff, 0xff], &long[1..]].concat();
    let read = streams(Client, &[(&endless, false)], 1 << 16).map(drop);
    assert_eq!(read, Err(Code::H3_EXCESSIVE_LOAD));
}

#[test]
fn a_control_stream_may_be_longer_the_more_requests_there_are() {
    let ignored = [&[0x21, 0x7f, 0xfe][..], &[0; 0x3ffe]].concat();
    let length = |requests| {
        let (mut all, mut stream) = (UniStreams::new(Side::Client), UniStream::default());
        all.read(&mut stream, &[0, 4, 0]).unwrap();
        (0..requests).for_each(|_| all.on_request());
        let read = (0..1000).take_while(|_| all.read(&mut stream, &ignored).is_ok());
        read.count()
    };
    assert_eq!((length(0), length(4096)), (63, 127));
}

#[test]
fn empty_frames_have_an_end() {
    for frame in [&[0, 0][..], &[0x21, 0]] {
        let frames = |count: usize| [HEAD, &frame.repeat(count)].concat();
        assert!(read(Side::Client, &frames(1000), 999).is_ok());
        assert!(read(Side::Client, &frames(100_000), 999).is_err());
    }
}

#[test]
fn a_section_is_wanted_as_a_whole() {
    let reader = |before: &[u8]| {
        let mut reader = MessageReader::new(Side::Client, LIMITS);
        let mut seen = 0;
        while seen < before.len() {
            seen += reader.read(&before[seen..]).unwrap().0;
        }
        reader
    };
    let all = (1, usize::MAX);
    let [half_head, half_trailers] = [HEAD, TRAILERS].map(|frame| &frame[..frame.len() - 1]);
    let too_large = &[1, 0x44, 1, 0][..];
    for (before, bytes, wanted) in [
        (&[][..], &HEAD[..1], all),
        (&[], half_head, (HEAD.len(), usize::MAX)),
        (&[], HEAD, all),
        (&[], too_large, all),
        (&[], &[GREASE, half_head].concat(), (1, GREASE.len())),
        (&HEAD[..1], &half_head[1..], all),
        (&HEAD[..4], half_head, (HEAD.len() - 4, usize::MAX)),
        (HEAD, BODY, all),
        (HEAD, &[BODY, half_trailers].concat(), (1, BODY.len())),
        (
            &[HEAD, &BODY[..3]].concat(),
            &[b"bc", half_trailers].concat(),
            (1, 2),
        ),
        (&[HEAD, &BODY[..3]].concat(), b"b", all),
    ] {
        assert_eq!(
            reader(before).wanted(bytes),
            wanted,
            "{before:x?} {bytes:x?}"
        );
    }
}

#[test]
fn our_own_control_stream_is_a_sound_one() {
    let settings = Settings {
        max_field_section_size: Some(65_536),
    };
    let ours = [open_control(settings), goaway(400), goaway(0)].concat();
    let read = streams(Side::Server, &[(&ours, false)], 1).unwrap();
    assert_eq!((read.settings(), read.goaway()), (Some(settings), Some(0)));
}

#[test]
fn a_message_written_at_once_is_read_back() {
    let lines: [crate::message::Pair<'_>; 2] = [(b":status", b"200"), (b"X-Own", b"value")];
    for length in [0, 1, 63, 0x3fff, 0x4000, 100_000] {
        let body = vec![b'x'; length];
        let mut writer = MessageWriter::default();
        writer.section([(b":status".as_slice(), b"103".as_slice())]);
        writer.section(lines);
        for piece in body.chunks(700) {
            writer.data(piece);
        }
        let written = writer.take();
        assert!(writer.is_empty());
        // A head of three bytes for each 16 KiB.
        assert!(written.len() <= length + 40 + 3 * (length >> 14));
        let read = read(Side::Server, &written, 999).unwrap();
        assert_eq!(read, format!("H1H2{}", String::from_utf8(body).unwrap()));
    }
    let mut writer = MessageWriter::default();
    writer.section(lines);
    writer.data_head(3);
    let mut written = writer.take();
    written.extend_from_slice(b"abc");
    writer.section([(b"x".as_slice(), b"y".as_slice())]);
    written.append(&mut writer.take());
    assert_eq!(read(Side::Server, &written, 7).unwrap(), "H2abcT1");
}

#[test]
fn a_section_that_is_longer_than_most_is_written() {
    let value = vec![b'|'; 20_000];
    let mut writer = MessageWriter::default();
    writer.section([(b":status".as_slice(), b"200".as_slice()), (b"x", &value)]);
    let frame = writer.take();
    let (length, size) = read_varint(&frame[1..]).unwrap();
    assert_eq!(frame.len(), 1 + size + length as usize);
    let limits = SectionLimits {
        fields: 9,
        size: 1 << 16,
    };
    let mut reader = MessageReader::new(Side::Server, limits);
    let Ok((_, Some(Part::Head(section)))) = reader.read(&frame) else {
        panic!("it is no head");
    };
    assert_eq!(section.lines().nth(1).unwrap().1, value);
}

#[test]
fn codes_have_names() {
    assert_eq!(Code::H3_REQUEST_REJECTED.to_string(), "H3_REQUEST_REJECTED");
    assert_eq!(Code::from_value(0x10c), Code::H3_REQUEST_CANCELLED);
    assert_eq!(Code::from_value(0x42).to_string(), "0x42");
}

proptest! {
    #[test]
    fn any_bytes_mean_the_same_in_pieces(stream in vec(any::<u8>(), 0..100), piece in 1..20_usize) {
        for sender in [Side::Client, Side::Server] {
            let whole = [HEAD, BODY, &stream].concat();
            prop_assert_eq!(read(sender, &whole, piece), read(sender, &whole, 1000));
            let control = [&[0], SETTINGS, &stream].concat();
            for bytes in [&stream, &control] {
                let in_pieces = streams(sender, &[(bytes, true)], piece).map(|s| s.goaway());
                let at_once = streams(sender, &[(bytes, true)], 1000).map(|s| s.goaway());
                prop_assert_eq!(in_pieces, at_once);
            }
        }
    }
}
