//! QUIC's frames, headers and transport parameters: what is written is read back, and hostile bytes
//! only give errors.

use std::ops::RangeInclusive;

use proptest::collection::vec;
use proptest::prelude::*;
use roundtrip_wire::quic::{
    Ack, ConnectionId, Frame, Frames, LongKind, MAX_VARINT, Packet, PacketKind, Packets,
    Parameters, Pen, PreferredAddress, Side, Version, VersionInformation, retry_is_authentic,
    set_length, stream_header_size, write_ack, write_long, write_retry, write_short,
    write_stream_header, write_version_negotiation,
};

/// Numbers of every size that a variable-length integer has.
fn number() -> impl Strategy<Value = u64> {
    (0..=MAX_VARINT, 0_u32..62).prop_map(|(n, shift)| n >> shift)
}

fn id() -> impl Strategy<Value = ConnectionId> {
    vec(any::<u8>(), 1..=20).prop_map(|id| ConnectionId::new(&id).unwrap())
}

/// The parts that frames are made of.
#[derive(Debug, Clone)]
struct Parts {
    numbers: [u64; 4],
    bytes: Vec<u8>,
    id: ConnectionId,
    flag: bool,
    array: [u8; 16],
}

fn parts() -> impl Strategy<Value = Parts> {
    (
        [number(), number(), number(), number()],
        vec(any::<u8>(), 1..60),
        id(),
        any::<bool>(),
        any::<[u8; 16]>(),
    )
        .prop_map(|(numbers, bytes, id, flag, array)| Parts {
            numbers,
            bytes,
            id,
            flag,
            array,
        })
}

/// One of each kind, except padding and acknowledgements.
fn frames(parts: &Parts) -> Vec<Frame<'_>> {
    let [a, b, c, d] = parts.numbers;
    let (data, flag) = (&parts.bytes[..], parts.flag);
    let (stream, within, count) = (a, b / 2, c >> 2);
    let challenge = *parts.array.first_chunk().unwrap();
    let mut all = vec![
        Frame::Ping,
        Frame::ResetStream {
            id: stream,
            code: b,
            size: c,
        },
        Frame::StopSending {
            id: stream,
            code: b,
        },
        Frame::Crypto {
            offset: within,
            data,
        },
        Frame::NewToken(data),
        Frame::Stream {
            id: stream,
            offset: within,
            data,
            fin: flag,
        },
        Frame::Stream {
            id: stream,
            offset: 0,
            data: &[],
            fin: !flag,
        },
        Frame::MaxData(d),
        Frame::MaxStreamData {
            id: stream,
            limit: d,
        },
        Frame::MaxStreams {
            bidi: flag,
            limit: count,
        },
        Frame::DataBlocked(d),
        Frame::StreamDataBlocked {
            id: stream,
            limit: d,
        },
        Frame::StreamsBlocked {
            bidi: flag,
            limit: count,
        },
        Frame::RetireConnectionId(a),
        Frame::PathChallenge(challenge),
        Frame::PathResponse(challenge),
        Frame::Close {
            code: a,
            frame: Some(b),
            reason: data,
        },
        Frame::Close {
            code: a,
            frame: None,
            reason: data,
        },
        Frame::HandshakeDone,
        Frame::ImmediateAck,
        Frame::Datagram(data),
    ];
    all.push(Frame::NewConnectionId {
        sequence: a.max(b),
        retire_prior_to: a.min(b),
        id: parts.id,
        reset_token: parts.array,
    });
    all.push(Frame::AckFrequency {
        sequence: a,
        threshold: b,
        max_delay_us: c,
        reordering: d,
    });
    all
}

/// Ranges that do not touch, from the highest down.
fn ranges() -> impl Strategy<Value = Vec<RangeInclusive<u64>>> {
    (vec((0_u64..300, 2_u64..300), 1..120), number()).prop_map(|(steps, above)| {
        let mut next = above;
        let mut ranges = Vec::new();
        for (length, gap) in steps.into_iter().rev() {
            if let Some(end) = next.checked_add(length).filter(|end| *end <= MAX_VARINT) {
                ranges.push(next..=end);
                next = end + gap;
            }
        }
        ranges.reverse();
        ranges
    })
}

proptest! {
    #[test]
    fn frames_come_back_as_they_were_written(parts in parts(), padding in 1_usize..50) {
        let mut all = frames(&parts);
        all.push(Frame::Padding(padding));
        let size: usize = all.iter().map(Frame::size).sum();
        let mut buffer = vec![0xff; size];
        let mut pen = Pen::new(&mut buffer);
        for frame in &all {
            let before = pen.position();
            // With a byte less room, nothing is written.
            let mut short = vec![0; frame.size() - 1];
            let mut tight = Pen::new(&mut short);
            prop_assert!(!frame.write(&mut tight));
            prop_assert_eq!(tight.position(), 0);
            prop_assert!(frame.write(&mut pen));
            prop_assert_eq!(pen.position() - before, frame.size());
        }
        let read: Vec<_> = Frames::new(&buffer).map(Result::unwrap).collect();
        prop_assert_eq!(read, all);
    }

    #[test]
    fn acks_come_back_as_they_were_written(
        ranges in ranges(),
        delay in number(),
        ecn in proptest::option::of([number(), number(), number()]),
        room in 0_usize..400,
    ) {
        let mut buffer = vec![0; room];
        let mut pen = Pen::new(&mut buffer);
        let written = write_ack(&mut pen, delay, ranges.iter().cloned(), ecn);
        if !written {
            prop_assert_eq!(pen.position(), 0);
            prop_assert!(ranges.is_empty() || room < 60);
            return Ok(());
        }
        let frame = pen.written().to_vec();
        let ack = Ack::parse(&frame).unwrap();
        prop_assert_eq!((ack.delay, ack.ecn), (delay, ecn));
        let read: Vec<_> = ack.ranges().collect();
        // As many as fit: at most the next range and its gap had no room.
        prop_assert!(read.len() == ranges.len().min(64) || room - frame.len() < 16);
        prop_assert_eq!(&read[..], &ranges[..read.len()]);
        let mut again = vec![0; frame.len()];
        prop_assert!(Frame::Ack(ack).write(&mut Pen::new(&mut again)));
        prop_assert_eq!(again, frame);
    }

    #[test]
    fn stream_headers_stand_before_their_data(
        stream in number(), offset in number(), data in vec(any::<u8>(), 0..40),
        fin in any::<bool>(), with_length in any::<bool>(),
    ) {
        let offset = offset / 2;
        let length = with_length.then_some(data.len() as u16);
        let mut buffer = vec![0; stream_header_size(stream, offset, length)];
        prop_assert!(write_stream_header(&mut Pen::new(&mut buffer), stream, offset, length, fin));
        let last = buffer.len() - 1;
        prop_assert!(!write_stream_header(&mut Pen::new(&mut buffer[..last]), stream, offset, length, fin));
        buffer.extend(&data);
        if with_length {
            buffer.push(1);
        }
        let first = Frames::new(&buffer).next().unwrap().unwrap();
        let whole = Frame::Stream { id: stream, offset, data: &data, fin };
        prop_assert_eq!(first, whole);
        prop_assert_eq!(Frames::new(&buffer).count(), 1 + usize::from(with_length));
    }

    #[test]
    fn long_headers_come_back(
        kind in proptest::sample::select(vec![LongKind::Initial, LongKind::ZeroRtt, LongKind::Handshake]),
        version in proptest::sample::select(vec![Version::V1, Version::V2]),
        ids in (id(), id()), token in vec(any::<u8>(), 0..100), number in any::<u32>(),
        number_length in 1_usize..=4, payload in 0_usize..500,
    ) {
        let mut buffer = vec![0; 800];
        let mut pen = Pen::new(&mut buffer);
        let at = write_long(
            &mut pen, kind, version, &ids.0, &ids.1, &token, number.into(), number_length,
        ).unwrap();
        let end = pen.position() + payload;
        prop_assert!(set_length(&mut buffer, at.length_at, number_length + payload));
        let Some(Ok(Packet::Long(packet))) = Packets::new(&buffer).next() else {
            panic!("{buffer:?}");
        };
        prop_assert_eq!((packet.kind, packet.version), (kind, version));
        prop_assert_eq!((packet.destination, packet.source), ids);
        let token = if kind == LongKind::Initial { &token[..] } else { &[] };
        prop_assert_eq!(packet.token, token);
        prop_assert_eq!((packet.bytes.len(), packet.number_at), (end, at.number_at));
        prop_assert_eq!(usize::from(packet.bytes[0] & 3) + 1, number_length);
        let kept = &number.to_be_bytes()[4 - number_length..];
        prop_assert_eq!(&packet.bytes[at.number_at..][..number_length], kept);
    }

    #[test]
    fn parameters_come_back(
        numbers in [number(), number(), number(), number()], small in (0_u64..=20, 1_u64..1 << 14),
        ids in [proptest::option::of(id()), proptest::option::of(id()), proptest::option::of(id())],
        token in proptest::option::of(any::<[u8; 16]>()), flags in any::<[bool; 2]>(), random in any::<u64>(),
    ) {
        let [a, b, c, d] = numbers;
        let written = Parameters {
            original_destination_connection_id: ids[0],
            initial_source_connection_id: ids[1],
            retry_source_connection_id: ids[2],
            stateless_reset_token: token,
            max_idle_timeout: a,
            max_udp_payload_size: 1200 + b / 2,
            initial_max_data: b,
            initial_max_stream_data_bidi_local: c,
            initial_max_stream_data_bidi_remote: d,
            initial_max_stream_data_uni: a,
            initial_max_streams_bidi: b >> 2,
            initial_max_streams_uni: c >> 2,
            ack_delay_exponent: small.0,
            max_ack_delay: small.1,
            disable_active_migration: flags[0],
            grease_quic_bit: flags[1],
            preferred_address: None,
            active_connection_id_limit: 2 + d / 2,
            max_datagram_frame_size: d,
            min_ack_delay: flags[0].then_some(small.1 * 900),
            version_information: flags[1].then(|| VersionInformation {
                chosen: Version::V2,
                available: vec![Version(0x1a2a_3a4a), Version::V2],
            }),
        };
        let mut bytes = Vec::new();
        written.write(&mut bytes);
        Parameters::write_grease(&mut bytes, random, b"?");
        prop_assert_eq!(Parameters::read(&bytes, Side::Server), Ok(written.clone()));
        let of_server = ids[0].is_some() || ids[2].is_some() || token.is_some();
        prop_assert_eq!(Parameters::read(&bytes, Side::Client).is_err(), of_server);
        bytes.extend_from_within(..);
        prop_assert!(Parameters::read(&bytes, Side::Server).is_err());
    }

    #[test]
    fn hostile_bytes_give_errors(bytes in vec(any::<u8>(), 0..300), first in 0_u8..0x41) {
        let framed = [&[first][..], &bytes].concat();
        for frame in Frames::new(&framed).flatten() {
            let mut buffer = vec![0; frame.size()];
            prop_assert!(frame.write(&mut Pen::new(&mut buffer)));
            if let Frame::Ack(ack) = &frame {
                let mut below = u64::MAX;
                for range in ack.ranges().take(1000) {
                    prop_assert!(range.start() <= range.end() && *range.end() < below);
                    below = *range.start();
                }
            }
        }
        for side in [Side::Client, Side::Server] {
            let _ = Parameters::read(&bytes, side);
        }
    }
}

#[test]
fn packets_carry_what_their_kind_allows() {
    use PacketKind::{Handshake, Initial, OneRtt, ZeroRtt};
    let close = |frame| Frame::Close {
        code: 0,
        frame,
        reason: b"",
    };
    let crypto = Frame::Crypto {
        offset: 0,
        data: b"",
    };
    let stream = Frame::Stream {
        id: 0,
        offset: 0,
        data: b"",
        fin: false,
    };
    let all = [Initial, ZeroRtt, Handshake, OneRtt];
    // RFC 9000 §12.4, table 3, and §12.5.
    for (frame, allowed) in [
        (Frame::Padding(1), &all[..]),
        (Frame::Ping, &all),
        (crypto, &[Initial, Handshake, OneRtt]),
        (close(Some(0)), &all),
        (close(None), &[ZeroRtt, OneRtt]),
        (stream, &[ZeroRtt, OneRtt]),
        (Frame::MaxData(1), &[ZeroRtt, OneRtt]),
        (Frame::PathChallenge([0; 8]), &[ZeroRtt, OneRtt]),
        (Frame::PathResponse([0; 8]), &[OneRtt]),
        (Frame::NewToken(b"a"), &[OneRtt]),
        (Frame::HandshakeDone, &[OneRtt]),
    ] {
        for kind in all {
            assert_eq!(
                frame.is_allowed(kind),
                allowed.contains(&kind),
                "{frame:?} {kind:?}"
            );
        }
    }
    assert!(Frame::PathResponse([0; 8]).is_probing() && !Frame::Ping.is_probing());
    assert!(Frame::Ping.is_ack_eliciting() && !close(None).is_ack_eliciting());
}

#[test]
fn answers_to_nobody_are_read_back() {
    let (client, server) = (
        ConnectionId::new(b"client").unwrap(),
        ConnectionId::new(b"srv").unwrap(),
    );
    let versions = [Version::V1, Version(0x1a2a_3a4a)];
    let datagram = write_version_negotiation(&[7; 40], b"srv", &versions, 0x2a);
    let read: Vec<_> = Packets::new(&datagram).map(Result::unwrap).collect();
    let negotiation = Packet::VersionNegotiation {
        destination: &[7; 40],
        source: b"srv",
        versions: versions.to_vec(),
    };
    assert_eq!(read, [negotiation]);

    let original = ConnectionId::new(b"original").unwrap();
    for version in [Version::V1, Version::V2] {
        let datagram = write_retry(version, &client, &server, &original, b"token").unwrap();
        let Some(Ok(Packet::Retry(retry))) = Packets::new(&datagram).next() else {
            panic!("{datagram:?}");
        };
        assert_eq!(
            (retry.destination, retry.source, retry.token),
            (client, server, &b"token"[..])
        );
        assert_eq!(retry_is_authentic(&retry, &original), Ok(true));
        assert_eq!(retry_is_authentic(&retry, &client), Ok(false));
    }
    assert!(write_retry(Version(2), &client, &server, &original, b"").is_err());
}

#[test]
fn short_headers_are_written() {
    let id = ConnectionId::new(&[1, 2, 3]).unwrap();
    let mut buffer = [0; 6];
    let at = write_short(&mut Pen::new(&mut buffer), &id, true, true, 0x12_3456, 2);
    assert_eq!((at, buffer), (Some(4), [0x65, 1, 2, 3, 0x34, 0x56]));
    assert_eq!(
        write_short(&mut Pen::new(&mut buffer), &id, false, false, 0, 3),
        None
    );
    assert!(!set_length(&mut buffer, 5, 1) && !set_length(&mut buffer, 0, 1 << 14));
}

#[test]
fn parameters_out_of_range_are_refused() {
    let cases: [&[u8]; 11] = [
        &[0x04, 1, 1, 0x04, 1, 1],             // twice
        &[0x03, 2, 0x44, 0xaf],                // 1199 bytes
        &[0x08, 8, 0xd0, 0, 0, 0, 0, 0, 0, 1], // 2^60 + 1 streams
        &[0x0a, 1, 21],                        // an exponent of 21
        &[0x0b, 4, 0x80, 0, 0x40, 0],          // 2^14 ms
        &[0x0c, 1, 0],                         // a flag with a value
        &[0x0e, 1, 1],                         // one connection id
        &[0x04, 2, 1, 1],                      // more than an integer
        &[0x02, 1, 1],                         // a short token
        &[0x0d, 3, 1, 2, 3],                   // a short address
        &[
            0xc0, 0, 0, 0, 0xff, 0x04, 0xde, 0x1b, 4, 0x80, 0, 0x61, 0xa9,
        ], // 25 001 µs
    ];
    for bytes in cases {
        assert!(Parameters::read(bytes, Side::Server).is_err(), "{bytes:?}");
    }
    for (bytes, sides) in [
        (&[0x11, 3, 0, 0, 1][..], [false, false]),
        (&[0x11, 5, 0, 0, 0, 1, 0], [false, false]),
        (&[0x11, 8, 0, 0, 0, 0, 0, 0, 0, 1], [false, false]),
        (
            &[0x11, 12, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 0],
            [false, false],
        ),
        // A client lists its chosen version among those that it accepts.
        (&[0x11, 4, 0, 0, 0, 1], [false, true]),
        (&[0x11, 8, 0, 0, 0, 1, 0, 0, 0, 2], [false, true]),
        (&[0x11, 8, 0, 0, 0, 1, 0, 0, 0, 1], [true, true]),
    ] {
        let read = [Side::Client, Side::Server].map(|from| Parameters::read(bytes, from).is_ok());
        assert_eq!(read, sides, "{bytes:?}");
    }
    let mut address = vec![0x0d, 45];
    address.extend([0; 24]);
    address.push(4);
    address.extend([9; 4 + 16]);
    let read = Parameters::read(&address, Side::Server).unwrap();
    let expected = PreferredAddress {
        id: ConnectionId::new(&[9; 4]).unwrap(),
        reset_token: [9; 16],
    };
    assert_eq!(read.preferred_address, Some(expected));
    assert!(Parameters::read(&address, Side::Client).is_err());
    for length in [0, 3, 5, 21] {
        address[26] = length;
        let refused = Parameters::read(&address, Side::Server);
        assert!(refused.is_err(), "{length}");
    }
    let mut without_id = vec![0x0d, 41];
    without_id.extend([0; 24 + 1 + 16]);
    assert!(Parameters::read(&without_id, Side::Server).is_err());
}
