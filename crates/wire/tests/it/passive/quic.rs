//! QUIC: each cipher and version, early data, Retry, key updates, holes.

use std::collections::BTreeMap;

use roundtrip_wire::key_log::KeyLog;
use roundtrip_wire::passive::{QuicPayload, QuicReader, SealedReason};
use roundtrip_wire::quic::{Frame, Frames, PacketKind, Side, Version};

use super::{keys, talk};

/// What was read of a connection.
#[derive(Debug, Default)]
struct Read {
    /// By side and stream.
    streams: BTreeMap<(bool, u64), Vec<u8>>,
    opened: Vec<(Side, PacketKind, u32)>,
    sealed: Vec<(PacketKind, SealedReason)>,
}

fn read(pieces: &[(Side, Vec<u8>)], keys: &KeyLog) -> (Read, QuicReader) {
    let (mut read, mut reader) = (Read::default(), QuicReader::new());
    for (side, datagram) in pieces {
        reader.push(*side, datagram, keys, |packet| match packet.payload {
            QuicPayload::Opened {
                frames,
                key_updates,
                ..
            } => {
                read.opened.push((packet.side, packet.kind, key_updates));
                for frame in Frames::new(frames) {
                    if let Frame::Stream { id, data, .. } = frame.unwrap() {
                        let key = (packet.side == Side::Server, id);
                        read.streams.entry(key).or_default().extend(data);
                    }
                }
            }
            QuicPayload::Sealed(reason) => read.sealed.push((packet.kind, reason)),
        });
    }
    (read, reader)
}

/// aioquic's client seals an Initial packet of version 2 with the keys of version 1, and its server
/// drops it.
const ODD: (PacketKind, SealedReason) = (PacketKind::Initial, SealedReason::WrongKeys);

fn version_changes(name: &str) -> bool {
    name.ends_with("v1-to-v2")
}

fn questions(read: &Read) {
    for n in 0..4 {
        let question = format!("question {n}");
        assert_eq!(read.streams[&(false, n * 4)], question.as_bytes());
        let answer = format!("answer to question {n}");
        assert_eq!(read.streams[&(true, n * 4)], answer.as_bytes());
    }
}

#[test]
fn each_cipher_and_version_is_opened_and_key_updates_are_followed() {
    for (name, version) in [
        ("quic-aes128-early", Version::V1),
        ("quic-aes256-v2", Version::V2),
        ("quic-chacha20-retry", Version::V1),
        ("quic-aes128-v1-to-v2", Version::V2),
    ] {
        let (mut read, reader) = read(&talk(name), &keys(name));
        if version_changes(name) {
            assert_eq!(read.sealed.pop(), Some(ODD));
        }
        assert_eq!(read.sealed, [], "{name}");
        questions(&read);
        assert_eq!(reader.version(), Some(version), "{name}");
        let updates = read.opened.iter().map(|(_, _, updates)| *updates).max();
        assert_eq!(updates, Some(2), "{name}");
        let early = read
            .opened
            .iter()
            .any(|(_, kind, _)| *kind == PacketKind::ZeroRtt);
        assert_eq!(early, name.ends_with("early"), "{name}");
    }
}

#[test]
fn without_keys_the_initial_packets_are_still_opened() {
    let (read, reader) = read(&talk("quic-aes256-v2"), &KeyLog::default());
    assert!(reader.client_random().is_some());
    assert!(
        read.opened
            .iter()
            .all(|(_, kind, _)| *kind == PacketKind::Initial)
    );
    assert!(
        read.sealed
            .iter()
            .all(|(_, reason)| *reason == SealedReason::NoKeys)
    );
    assert!(read.sealed.len() > 10);
}

#[test]
fn packets_that_the_capture_lacks_hide_nothing_else() {
    for name in [
        "quic-aes128-early",
        "quic-chacha20-retry",
        "quic-aes128-v1-to-v2",
    ] {
        let (pieces, keys) = (talk(name), keys(name));
        // The first datagrams hold the hello, without which the keys are unknown.
        for lacking in 4..pieces.len() {
            let mut pieces = pieces.clone();
            pieces.remove(lacking);
            let (mut read, _) = read(&pieces, &keys);
            read.sealed
                .retain(|sealed| !version_changes(name) || *sealed != ODD);
            assert_eq!(read.sealed, [], "{name} without {lacking}");
        }
        // In another order, and twice.
        let mut pieces = pieces;
        pieces[6..].chunks_mut(2).for_each(<[_]>::reverse);
        let last = pieces[pieces.len() - 4..].to_vec();
        pieces.extend(last);
        let (mut read, _) = read(&pieces, &keys);
        read.sealed
            .retain(|sealed| !version_changes(name) || *sealed != ODD);
        assert_eq!(read.sealed, [], "{name}");
    }
}

#[test]
fn a_connection_is_known_by_the_ids_that_its_receiver_chose() {
    for name in ["quic-aes128-early", "quic-chacha20-retry"] {
        let pieces = talk(name);
        let (_, reader) = read(&pieces, &keys(name));
        let (_, other) = read(&talk("quic-aes256-v2"), &keys("quic-aes256-v2"));
        let short = |piece: &&(Side, Vec<u8>)| piece.1[0] & 0x80 == 0;
        for (side, datagram) in pieces.iter().filter(short) {
            assert!(reader.is_addressed(*side, datagram), "{name}");
            assert!(!other.is_addressed(*side, datagram), "{name}");
        }
    }
}
