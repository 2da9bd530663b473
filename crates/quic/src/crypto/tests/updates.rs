//! Keys updated from either side, while packets of the old phase are in flight. RFC 9001 §6.

use std::cell::Cell;
use std::time::Duration;

use roundtrip_wire::quic::Side;
use rustls::crypto::aws_lc_rs::cipher_suite::TLS13_AES_128_GCM_SHA256;
use rustls::crypto::cipher::{AeadKey, Iv};
use rustls::crypto::{CipherSuiteCommon, CryptoProvider};
use rustls::quic::{Algorithm, HeaderProtectionKey, PacketKey};
use rustls::{SupportedCipherSuite, Tls13CipherSuite};

use super::super::{Level, OpenError};
use super::{Configs, Ends, open, other, provider, seal, shaken};
use crate::Time;
use crate::error::Code;

const WAIT: Duration = Duration::from_nanos(100);

thread_local! {
    /// How many packet keys were made.
    static MADE: Cell<usize> = const { Cell::new(0) };
}

/// Counts the packet keys.
struct Counted(&'static dyn Algorithm);

impl Algorithm for Counted {
    fn packet_key(&self, key: AeadKey, iv: Iv) -> Box<dyn PacketKey> {
        MADE.set(MADE.get() + 1);
        self.0.packet_key(key, iv)
    }

    fn header_protection_key(&self, key: AeadKey) -> Box<dyn HeaderProtectionKey> {
        self.0.header_protection_key(key)
    }

    fn aead_key_len(&self) -> usize {
        self.0.aead_key_len()
    }
}

/// A provider whose only cipher suite is counted.
fn counted() -> CryptoProvider {
    let suite = TLS13_AES_128_GCM_SHA256.tls13().unwrap();
    let quic: &'static Counted = Box::leak(Box::new(Counted(suite.quic.unwrap())));
    let counted = Tls13CipherSuite {
        common: CipherSuiteCommon {
            suite: suite.common.suite,
            hash_provider: suite.common.hash_provider,
            confidentiality_limit: suite.common.confidentiality_limit,
        },
        hkdf_provider: suite.hkdf_provider,
        aead_alg: suite.aead_alg,
        quic: Some(quic),
    };
    CryptoProvider {
        cipher_suites: vec![SupportedCipherSuite::Tls13(Box::leak(Box::new(counted)))],
        ..provider()
    }
}

fn settled() -> Ends {
    settle(shaken())
}

/// Lets both ends confirm the handshake and send packet 1.
fn settle(mut ends: Ends) -> Ends {
    for side in [Side::Client, Side::Server] {
        ends.end(side).confirm();
        ends.pass(side, 1).unwrap();
    }
    ends
}

fn packet(ends: &mut Ends, from: Side, number: u64) -> Vec<u8> {
    seal(ends.end(from), Level::OneRtt, number, b"some frames").unwrap()
}

#[test]
fn keys_are_not_updated_too_early() {
    let mut ends = shaken();
    ends.pass(Side::Client, 5).unwrap();
    ends.client.on_acked_in_phase(5);
    assert!(!ends.client.update_keys(), "the handshake is not confirmed");
    ends.client.confirm();
    assert!(ends.client.update_keys());

    let mut ends = settled();
    assert!(!ends.client.update_keys(), "nothing is acknowledged");
    ends.client.on_acked_in_phase(2);
    assert!(!ends.client.update_keys(), "that packet was never sent");
    ends.client.on_acked_in_phase(1);
    assert!(ends.client.update_keys());
    assert!(
        !ends.client.update_keys(),
        "nothing is acknowledged in the new phase"
    );
    ends.pass(Side::Client, 2).unwrap();
    ends.client.on_acked_in_phase(1);
    assert!(!ends.client.update_keys(), "that was the old phase");
}

#[test]
fn either_end_updates_and_the_other_follows() {
    for initiator in [Side::Client, Side::Server] {
        let follower = other(initiator);
        let mut ends = settled();
        let mut late = [initiator, follower].map(|from| packet(&mut ends, from, 2));
        let mut lost = packet(&mut ends, initiator, 3);
        ends.end(initiator).on_acked_in_phase(1);
        assert!(ends.end(initiator).update_keys());
        assert!(ends.end(initiator).key_phase() && !ends.end(follower).key_phase());

        assert!(ends.pass(initiator, 4).unwrap().key_phase);
        assert!(ends.end(follower).key_phase());
        // Packets of the old phase are still opened, in both directions.
        let [to_follower, to_initiator] = &mut late;
        let opened = ends.open(follower, to_follower, 5).unwrap();
        assert_eq!((opened.number, opened.key_phase), (2, false));
        assert_eq!(ends.open(initiator, to_initiator, 3).unwrap().number, 2);
        assert!(ends.pass(follower, 4).unwrap().key_phase);
        assert_eq!(
            (ends.client.key_updates(), ends.server.key_updates()),
            (1, 1)
        );

        // Until their keys are forgotten.
        assert_eq!(ends.end(follower).deadline(Duration::ZERO), Some(Time(7)));
        ends.end(follower).on_timeout(Time(106), WAIT);
        assert!(ends.end(follower).deadline(Duration::ZERO).is_some());
        ends.end(follower).on_timeout(Time(107), WAIT);
        assert_eq!(ends.end(follower).deadline(Duration::ZERO), None);
        assert_eq!(
            ends.open(follower, &mut lost, 5),
            Err(OpenError::Undecryptable)
        );
    }
}

#[test]
fn who_goes_back_to_old_keys_is_found_out() {
    for number in [2, 5] {
        let mut ends = settled();
        let mut old = packet(&mut ends, Side::Client, number);
        ends.client.on_acked_in_phase(1);
        assert!(ends.client.update_keys());
        ends.pass(Side::Client, 3).unwrap();
        let opened = ends.open(Side::Server, &mut old, 4);
        match opened {
            Ok(opened) => assert_eq!((opened.number, number), (2, 2)),
            Err(OpenError::Transport(error)) => {
                assert_eq!((error.code, number), (Code::KEY_UPDATE_ERROR, 5));
            }
            Err(error) => panic!("{error:?}"),
        }
    }
}

#[test]
fn old_keys_are_kept_until_the_peer_has_answered() {
    let mut ends = settled();
    ends.client.on_acked_in_phase(1);
    assert!(ends.client.update_keys());
    assert_eq!(ends.client.deadline(Duration::ZERO), None);
    ends.client.on_timeout(Time(1 << 40), WAIT);
    assert!(!ends.pass(Side::Server, 2).unwrap().key_phase);
    ends.pass(Side::Client, 2).unwrap();
    assert!(ends.pass(Side::Server, 3).unwrap().key_phase);
    assert_eq!(ends.client.deadline(Duration::ZERO), Some(Time(7)));
}

#[test]
fn both_ends_may_update_at_once() {
    let mut ends = settled();
    for side in [Side::Client, Side::Server] {
        ends.end(side).on_acked_in_phase(1);
        assert!(ends.end(side).update_keys());
    }
    for side in [Side::Client, Side::Server] {
        assert!(ends.pass(side, 2).unwrap().key_phase);
    }
    assert_eq!(
        (ends.client.key_updates(), ends.server.key_updates()),
        (1, 1)
    );
}

#[test]
fn packets_of_a_new_phase_may_come_in_any_order() {
    let mut ends = settled();
    ends.client.on_acked_in_phase(1);
    let mut old = packet(&mut ends, Side::Client, 2);
    ends.client.update_keys();
    let mut new: Vec<_> = (3..6)
        .map(|number| packet(&mut ends, Side::Client, number))
        .collect();
    for (bytes, number) in new.iter_mut().zip([3, 4, 5]).rev() {
        assert_eq!(ends.open(Side::Server, bytes, 2).unwrap().number, number);
    }
    assert_eq!(ends.open(Side::Server, &mut old, 6).unwrap().number, 2);
    assert_eq!(ends.server.key_updates(), 1);
}

#[test]
fn keys_are_updated_again_and_again() {
    let mut ends = settled();
    for round in 1..=6 {
        let initiator = if round % 2 == 0 {
            Side::Client
        } else {
            Side::Server
        };
        let number = round * 10;
        for side in [Side::Client, Side::Server] {
            ends.pass(side, number).unwrap();
            ends.end(side).on_acked_in_phase(number);
        }
        assert!(ends.end(initiator).update_keys());
        ends.pass(initiator, number + 1).unwrap();
        ends.pass(other(initiator), number + 1).unwrap();
        assert_eq!(
            (ends.client.key_updates(), ends.server.key_updates()),
            (round, round)
        );
        ends.end(initiator).on_acked_in_phase(number + 1);
        assert!(
            !ends.end(initiator).update_keys(),
            "keys of the last phase are kept"
        );
        for side in [Side::Client, Side::Server] {
            ends.end(side).on_timeout(Time(1_000), WAIT);
        }
    }
}

#[test]
fn a_peer_that_updates_twice_without_an_answer_is_at_fault() {
    let mut ends = settled();
    ends.client.levels.one_rtt.as_mut().unwrap().advance();
    ends.pass(Side::Client, 2).unwrap();
    ends.client.levels.one_rtt.as_mut().unwrap().advance();
    let Err(OpenError::Transport(error)) = ends.pass(Side::Client, 3) else {
        panic!("it was opened");
    };
    assert_eq!(error.code, Code::KEY_UPDATE_ERROR);
}

#[test]
fn a_flipped_phase_bit_updates_nothing() {
    let mut ends = settled();
    for number in 2..5 {
        let mut forged = packet(&mut ends, Side::Client, number);
        forged[0] ^= 0x04;
        assert_eq!(
            ends.open(Side::Server, &mut forged, number),
            Err(OpenError::Undecryptable)
        );
    }
    assert_eq!(
        (ends.server.key_phase(), ends.server.key_updates()),
        (false, 0)
    );
    let mut good = packet(&mut ends, Side::Client, 5);
    assert!(open(&mut ends.server, Level::OneRtt, &mut good, 5).is_ok());
}

/// RFC 9001 §9.5: the time that a packet takes must not reveal the phase that it named.
#[test]
fn packets_that_only_name_the_next_phase_make_no_keys() {
    let mut ends = Configs::with(counted(), counted()).meet();
    ends.shake().unwrap();
    let mut ends = settle(ends);
    ends.client.on_acked_in_phase(1);
    assert!(ends.client.update_keys());
    let mut forged = packet(&mut ends, Side::Client, 2);
    *forged.last_mut().unwrap() ^= 1;
    let before = MADE.get();
    let opened = ends.open(Side::Server, &mut forged, 2);
    assert_eq!(opened, Err(OpenError::Undecryptable));
    assert_eq!(MADE.get(), before);
    ends.pass(Side::Client, 3).unwrap();
    assert!(MADE.get() > before, "those of the phase after the next");
}
