//! How much keys may protect, and what a header must not contain. RFC 9001 §6.6.

use roundtrip_wire::quic::Side;

use super::super::{Level, OpenError};
use super::{Configs, open, seal, seal_with, shaken};
use crate::error::Code;

#[test]
fn keys_that_have_protected_too_much_protect_no_more() {
    let mut ends = shaken();
    ends.client.confirm();
    ends.pass(Side::Client, 1).unwrap();
    assert!(!ends.client.is_update_due());
    ends.client.levels.one_rtt.as_mut().unwrap().sealer.wear(2);
    assert!(ends.client.is_update_due());
    ends.pass(Side::Client, 2).unwrap();
    ends.pass(Side::Client, 3).unwrap();
    let error = seal(&mut ends.client, Level::OneRtt, 4, b"frames").unwrap_err();
    assert_eq!(error.code, Code::AEAD_LIMIT_REACHED);
    ends.client.on_acked_in_phase(3);
    assert!(ends.client.update_keys());
    assert!(!ends.client.is_update_due());
    ends.pass(Side::Client, 4).unwrap();
}

#[test]
fn an_update_is_due_at_half_the_limit_of_aes() {
    let mut ends = shaken();
    let half = 1 << 22;
    ends.pass(Side::Client, half - 2).unwrap();
    assert!(!ends.client.is_update_due());
    ends.pass(Side::Client, half - 1).unwrap();
    assert!(ends.client.is_update_due());
    let error = seal(&mut ends.client, Level::OneRtt, 2 * half, b"frames").unwrap_err();
    assert_eq!(error.code, Code::AEAD_LIMIT_REACHED);
}

#[test]
fn too_many_forged_packets_end_the_connection() {
    let mut ends = shaken();
    ends.server.levels.fail((1 << 52) - 1);
    let mut forged = seal(&mut ends.client, Level::OneRtt, 1, b"frames").unwrap();
    *forged.last_mut().unwrap() ^= 1;
    let closed = ends.open(Side::Server, &mut forged.clone(), 1);
    assert_eq!(closed, Err(OpenError::Undecryptable));
    let Err(OpenError::Transport(error)) = ends.open(Side::Server, &mut forged, 1) else {
        panic!("it was not counted");
    };
    assert_eq!(error.code, Code::AEAD_LIMIT_REACHED);
}

#[test]
fn reserved_bits_must_be_zero() {
    let mut ends = shaken();
    let mut initials = Configs::new().meet();
    for bit in [0x08, 0x10] {
        let first = 0x43 | bit;
        let mut packet = seal_with(&mut ends.client, Level::OneRtt, first, 1, b"frames").unwrap();
        let Err(OpenError::Transport(error)) = ends.open(Side::Server, &mut packet, 1) else {
            panic!("{first:#x} was opened");
        };
        assert_eq!(error.code, Code::PROTOCOL_VIOLATION);
    }
    for bit in [0x04, 0x08] {
        let first = 0xc3 | bit;
        let client = &mut initials.client;
        let mut packet = seal_with(client, Level::Initial, first, 1, b"frames").unwrap();
        let closed = open(&mut initials.server, Level::Initial, &mut packet, 1);
        assert!(matches!(closed, Err(OpenError::Transport(_))), "{closed:?}");
    }
}

#[test]
fn packets_too_short_for_a_sample_are_not_sealed() {
    let mut ends = shaken();
    let one_rtt = |end: &mut super::Crypto, length: usize, number_length: usize| {
        let mut packet = vec![0x40; 1 + number_length + length];
        end.seal(Level::OneRtt, 1, &mut packet, 1, number_length)
    };
    assert!(one_rtt(&mut ends.client, 16, 4).is_ok());
    assert!(one_rtt(&mut ends.client, 18, 2).is_ok());
    let error = one_rtt(&mut ends.client, 17, 2).unwrap_err();
    assert_eq!(error.code, Code::INTERNAL_ERROR);
    assert!(one_rtt(&mut ends.client, 3, 4).is_err());
}
