//! TLS over TCP: each cipher, each change of the keys, and holes.

use roundtrip_wire::key_log::KeyLog;
use roundtrip_wire::passive::{SealedReason, TlsContent, TlsEpoch, TlsReader, TlsRecord};
use roundtrip_wire::quic::Side;
use roundtrip_wire::tls::ContentKind;

use super::{keys, talk};

/// What a side sent, or that it could not be read.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Said {
    Text(Side, TlsEpoch, String),
    Sealed(Side, SealedReason, usize),
    Lost(Side),
}

/// Application data.
fn said(record: &TlsRecord<'_>) -> Option<Said> {
    match record.content {
        TlsContent::Opened { epoch, bytes } if record.kind == ContentKind::ApplicationData => {
            let text = String::from_utf8(bytes.to_vec()).unwrap();
            Some(Said::Text(record.side, epoch, text))
        }
        TlsContent::Sealed { reason, length } => Some(Said::Sealed(record.side, reason, length)),
        TlsContent::Lost => Some(Said::Lost(record.side)),
        _ => None,
    }
}

fn read(pieces: &[(Side, Vec<u8>)], keys: &KeyLog) -> Vec<Said> {
    let mut reader = TlsReader::new();
    let mut all = Vec::new();
    for (side, piece) in pieces {
        reader.push(*side, piece, keys, |record| all.extend(said(&record)));
    }
    all
}

fn text(side: Side, epoch: TlsEpoch, text: &str) -> Said {
    Said::Text(side, epoch, text.to_owned())
}

/// The same, split into pieces of this length.
fn in_pieces(talk: &[(Side, Vec<u8>)], length: usize) -> Vec<(Side, Vec<u8>)> {
    talk.iter()
        .flat_map(|(side, piece)| piece.chunks(length).map(|piece| (*side, piece.to_vec())))
        .collect()
}

#[test]
fn each_cipher_of_1_2_is_opened() {
    let application = TlsEpoch::Application(0);
    for cipher in ["aes128", "aes256", "chacha20"] {
        let name = format!("tls12-{cipher}");
        for length in [1, 100, 10_000] {
            assert_eq!(
                read(&in_pieces(&talk(&name), length), &keys(&name)),
                [
                    text(Side::Client, application, "one\n"),
                    text(Side::Server, application, "eno\n"),
                    text(Side::Client, application, "two\n"),
                    text(Side::Server, application, "owt\n"),
                ],
                "{name}"
            );
        }
    }
}

#[test]
fn a_cipher_that_is_not_read_is_named_as_the_reason() {
    let all = read(&talk("tls12-cbc"), &keys("tls12-cbc"));
    assert!(all.len() >= 6, "{all:?}");
    for one in all {
        assert!(
            matches!(one, Said::Sealed(_, SealedReason::Cipher, _)),
            "{one:?}"
        );
    }
}

#[test]
fn key_updates_are_followed() {
    let name = "tls13-chacha20-updates";
    let updated = TlsEpoch::Application;
    for length in [1, 100, 10_000] {
        assert_eq!(
            read(&in_pieces(&talk(name), length), &keys(name)),
            [
                text(Side::Client, updated(0), "one\n"),
                text(Side::Server, updated(0), "eno\n"),
                text(Side::Client, updated(1), "two\n"),
                text(Side::Server, updated(1), "owt\n"),
                text(Side::Client, updated(2), "three\n"),
                text(Side::Server, updated(2), "eerht\n"),
            ]
        );
    }
}

#[test]
fn a_second_hello_and_early_data_change_nothing() {
    let name = "tls13-aes256-retry";
    let application = TlsEpoch::Application(0);
    assert_eq!(
        read(&talk(name), &keys(name)),
        [
            text(Side::Client, application, "one\n"),
            text(Side::Server, application, "eno\n"),
            text(Side::Client, application, "two\n"),
            text(Side::Server, application, "owt\n"),
        ]
    );
    let name = "tls13-aes128-early";
    assert_eq!(
        read(&talk(name), &keys(name)),
        [
            text(Side::Client, TlsEpoch::Early, "early words\n"),
            text(Side::Client, application, "one\n"),
            text(Side::Client, application, "two\n"),
        ]
    );
}

#[test]
fn without_keys_or_a_beginning_the_lengths_are_still_there() {
    let name = "tls13-aes256-retry";
    let all = read(&talk(name), &KeyLog::default());
    let sealed = |length| Said::Sealed(Side::Client, SealedReason::NoKeys, length);
    assert!(all.contains(&sealed("one\n".len())), "{all:?}");
    let all = read(&talk(name)[5..], &keys(name));
    let first = all.first().unwrap();
    assert!(
        matches!(first, Said::Sealed(_, SealedReason::NoHello, _)),
        "{first:?}"
    );
}

#[test]
fn positions_are_those_of_the_stream() {
    let name = "tls13-aes256-retry";
    let mut reader = TlsReader::new();
    let mut ends = [0, 0];
    let pieces = talk(name);
    for (side, piece) in &pieces {
        reader.push(*side, piece, &keys(name), |record| {
            let end = &mut ends[usize::from(record.side == Side::Server)];
            assert_eq!(record.at.start, *end, "records follow each other");
            *end = record.at.end;
        });
    }
    let sent = |wanted| {
        let pieces = pieces.iter().filter(|(side, _)| *side == wanted);
        pieces.map(|(_, piece)| piece.len() as u64).sum::<u64>()
    };
    assert_eq!(ends, [sent(Side::Client), sent(Side::Server)]);
}

/// Reads a recording that lacks `hole` bytes of the server's stream from `from` on.
fn with_hole(name: &str, from: u64, hole: u64) -> Vec<Said> {
    let (keys, mut reader, mut all) = (keys(name), TlsReader::new(), Vec::new());
    let mut position = 0;
    for (side, piece) in in_pieces(&talk(name), 1) {
        let missing = side == Side::Server && (from..from + hole).contains(&position);
        position += u64::from(side == Side::Server);
        let each = |record: TlsRecord<'_>| all.extend(said(&record));
        if missing {
            reader.skip(side, 1, &keys, each);
        } else {
            reader.push(side, &piece, &keys, each);
        }
    }
    all
}

#[test]
fn behind_a_hole_everything_whole_is_opened_again() {
    for name in [
        "tls12-aes128",
        "tls12-chacha20",
        "tls13-chacha20-updates",
        "tls13-aes256-retry",
    ] {
        let pieces = talk(name);
        let whole = read(&pieces, &keys(name));
        let texts = |all: &[Said]| -> Vec<Said> {
            let texts = all
                .iter()
                .filter(|said| matches!(said, Said::Text(Side::Server, ..)));
            texts.cloned().collect()
        };
        let client = |all: &[Said]| {
            all.iter()
                .filter(|said| matches!(said, Said::Text(Side::Client, ..)))
                .count()
        };
        let sent: u64 = pieces
            .iter()
            .filter(|(side, _)| *side == Side::Server)
            .map(|(_, piece)| piece.len() as u64)
            .sum();
        let after_hello = 300;
        let last = texts(&whole).last().unwrap().clone();
        for hole in [1, 7, 60] {
            for from in (after_hello..sent - hole - 150).step_by(23) {
                let all = with_hole(name, from, hole);
                assert_eq!(
                    client(&all),
                    client(&whole),
                    "{name}: the other side is not affected"
                );
                let all = texts(&all);
                assert!(texts(&whole).ends_with(&all[all.len().saturating_sub(1)..]));
                assert_eq!(
                    all.last(),
                    Some(&last),
                    "{name}: {hole} bytes from {from} on"
                );
            }
        }
    }
}
