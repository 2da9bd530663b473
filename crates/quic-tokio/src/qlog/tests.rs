//! A reader of the same schema, from another project, reads our logs.

use std::collections::BTreeMap;
use std::error::Error;
use std::sync::atomic::AtomicUsize;

use qlog::events::EventData;
use qlog::events::quic::QuicFrame;
use qlog::reader::{Event, QlogSeqReader};
use roundtrip_quic::{CloseReason, Code, DropReason, LoggedPacket, Metrics};
use roundtrip_wire::quic::{
    ConnectionId, Frame, Frames, PacketKind, Parameters, Pen, Version, write_ack,
};

use super::*;

type Tested = Result<(), Box<dyn Error>>;

fn connection(original: &[u8]) -> LoggedConnection {
    LoggedConnection {
        side: Side::Client,
        version: Version::V1,
        original: ConnectionId::new(original).unwrap(),
        remote: "192.0.2.1:443".parse().unwrap(),
        local: None,
    }
}

fn frames() -> Vec<u8> {
    let mut bytes = [0; 1200];
    let mut pen = Pen::new(&mut bytes);
    let id = ConnectionId::new(&[7; 8]).unwrap();
    let frames = [
        Frame::Ping,
        Frame::ResetStream {
            id: 4,
            code: 0x10c,
            size: 9,
        },
        Frame::StopSending { id: 4, code: 0x10c },
        Frame::Crypto {
            offset: 3,
            data: b"hidden hello",
        },
        Frame::NewToken(b"token"),
        Frame::MaxData(1 << 40),
        Frame::MaxStreamData { id: 4, limit: 5 },
        Frame::MaxStreams {
            bidi: true,
            limit: 6,
        },
        Frame::DataBlocked(7),
        Frame::StreamDataBlocked { id: 4, limit: 8 },
        Frame::StreamsBlocked {
            bidi: false,
            limit: 9,
        },
        Frame::NewConnectionId {
            sequence: 1,
            retire_prior_to: 0,
            id,
            reset_token: [0xab; 16],
        },
        Frame::RetireConnectionId(0),
        Frame::PathChallenge([1; 8]),
        Frame::PathResponse([2; 8]),
        Frame::HandshakeDone,
        Frame::ImmediateAck,
        Frame::Stream {
            id: 0,
            offset: 70_000,
            data: b"hidden body",
            fin: true,
        },
        Frame::Close {
            code: 0x0a,
            frame: Some(6),
            reason: b"bad \xff certificate",
        },
        Frame::Close {
            code: 0x100,
            frame: None,
            reason: b"",
        },
        Frame::Padding(20),
    ];
    assert!(frames.iter().all(|frame| frame.write(&mut pen)));
    assert!(write_ack(
        &mut pen,
        100,
        [5..=9, 1..=1].into_iter(),
        Some([1, 2, 3])
    ));
    let length = pen.position();
    bytes[..length].to_vec()
}

fn packet<'a>(header: &'a [u8], payload: &'a [u8]) -> LoggedPacket<'a> {
    LoggedPacket {
        kind: PacketKind::OneRtt,
        number: 17,
        header,
        payload,
        length: payload.len() + 30,
    }
}

fn at(ms: u64) -> Time {
    Time(5_000_000_000 + ms * 1_000_000)
}

#[test]
fn a_log_is_read_by_another_maker_s_reader() -> Tested {
    let folder = tempfile::tempdir()?;
    let directory = QlogDirectory::new(&folder.path().join("new"), |_, error| panic!("{error}"))?;
    let mut log = directory
        .open(at(0), &connection(b"12345678"))
        .ok_or("no log")?;
    let payload = frames();
    let count = Frames::new(&payload).count();
    let close = CloseReason::Violated {
        code: Code::PROTOCOL_VIOLATION,
        why: "late".into(),
    };
    let parameters = Parameters {
        stateless_reset_token: Some([0xab; 16]),
        ..Parameters::default()
    };
    let events = [
        LogEvent::Parameters {
            is_local: true,
            parameters: &parameters,
        },
        LogEvent::Sent(packet(b"\x64abcdefgh", &payload)),
        LogEvent::Received(packet(b"\xc0\0\0\0\x01\x02ab\x03xyz", &payload)),
        LogEvent::Dropped {
            kind: PacketKind::Handshake,
            length: 99,
            why: DropReason::Undecryptable,
        },
        LogEvent::Lost {
            kind: PacketKind::OneRtt,
            number: 16,
        },
        LogEvent::Retried {
            source: ConnectionId::new(b"r").unwrap(),
        },
        LogEvent::Metrics(Metrics {
            congestion_window: 12_000,
            ..Metrics::default()
        }),
        LogEvent::KeysDiscarded(PacketKind::Initial),
        LogEvent::Closed(&close),
    ];
    for (ms, event) in (1..).zip(&events) {
        log.on_event(at(ms), event);
    }
    drop(log);
    let path = folder.path().join("new/3132333435363738_client.sqlog");
    let text = fs::read_to_string(&path)?;
    assert!(
        !text.contains("hidden") && !text.contains("abababab"),
        "{text}"
    );
    let reader = QlogSeqReader::with_file(&path)?;
    assert_eq!(
        reader.qlog.file_schema,
        "urn:ietf:params:qlog:file:sequential"
    );
    let mut times = Vec::new();
    for event in reader {
        let event = match event {
            Event::Qlog(event) => event,
            // It has this one under an earlier name.
            Event::Json(event) if event.name == "quic:key_discarded" => {
                times.push(event.time);
                continue;
            }
            Event::Json(event) => panic!("{event:?}"),
        };
        if let EventData::QuicPacketSent(sent) = &event.data {
            let frames = sent.frames.as_ref().ok_or("no frames")?;
            assert_eq!(frames.len(), count);
            let known = frames
                .iter()
                .filter(|frame| !matches!(frame, QuicFrame::Unknown { .. }));
            assert_eq!(known.count(), count - 1, "all but the extension's");
            assert_eq!(sent.header.packet_number, Some(17));
        }
        times.push(event.time);
    }
    // Two come first.
    assert_eq!(times, [0., 0., 1., 2., 3., 4., 5., 6., 7., 8., 9.]);
    Ok(())
}

/// The other project's reader does not know TLS alerts yet.
#[test]
fn alerts_of_tls_are_errors_with_their_numbers() {
    assert_eq!(
        frame::transport_error(0x12a),
        ("crypto_error_0x12a".into(), None)
    );
    assert_eq!(frame::transport_error(0x11), ("unknown".into(), Some(0x11)));
    assert_eq!(
        frame::transport_error(0x1000),
        ("unknown".into(), Some(0x1000))
    );
}

#[test]
fn connections_with_the_same_id_have_files_of_their_own() -> Tested {
    let folder = tempfile::tempdir()?;
    let directory = QlogDirectory::new(folder.path(), |_, error| panic!("{error}"))?;
    let logs: Vec<_> = (0..3)
        .map(|_| directory.open(at(0), &connection(b"x")))
        .collect();
    assert!(logs.iter().all(Option::is_some));
    let mut names = BTreeMap::new();
    for entry in fs::read_dir(folder.path())? {
        let entry = entry?;
        names.insert(
            entry.file_name().into_string().unwrap(),
            entry.metadata()?.len(),
        );
    }
    let expected = ["78_client-2.sqlog", "78_client-3.sqlog", "78_client.sqlog"];
    assert!(names.keys().eq(expected), "{names:?}");
    Ok(())
}

#[test]
fn a_directory_that_goes_away_is_reported_once() -> Tested {
    static REPORTED: AtomicUsize = AtomicUsize::new(0);
    let folder = tempfile::tempdir()?;
    let directory = QlogDirectory::new(folder.path(), |_, _| {
        REPORTED.fetch_add(1, Ordering::Relaxed);
    })?;
    drop(folder);
    for id in [b"a", b"b"] {
        assert!(directory.open(at(0), &connection(id)).is_none());
    }
    assert_eq!(REPORTED.load(Ordering::Relaxed), 1);
    Ok(())
}
