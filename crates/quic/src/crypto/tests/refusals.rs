//! Handshakes that fail, and the error that the peer gets.

use std::sync::Arc;

use rustls::RootCertStore;

use roundtrip_wire::quic::{Side, Version};

use super::super::{Crypto, Level};
use super::{Configs, NAME, id, shaken};
use crate::error::Code;

/// TLS alerts. RFC 8446 §6.2.
const UNEXPECTED_MESSAGE: u8 = 10;
const DECODE_ERROR: u8 = 50;
const UNKNOWN_CA: u8 = 48;
const MISSING_EXTENSION: u8 = 109;
const NO_APPLICATION_PROTOCOL: u8 = 120;

#[test]
fn a_certificate_that_nobody_trusts_ends_the_handshake() {
    let mut configs = Configs::new();
    configs.client = rustls::ClientConfig::builder_with_provider(super::provider().into())
        .with_protocol_versions(&[&rustls::version::TLS13])
        .unwrap()
        .with_root_certificates(RootCertStore::empty())
        .with_no_client_auth();
    configs.client.alpn_protocols = vec![b"test".to_vec()];
    let mut ends = configs.meet();
    let error = ends.shake().unwrap_err();
    assert_eq!(error.code, Code::alert(UNKNOWN_CA));
    let failure = ends.client.failure().unwrap().to_string();
    assert!(failure.contains("UnknownIssuer"), "{failure}");
    assert!(!ends.client.is_handshake_complete());
    assert!(!ends.client.awaits(Level::OneRtt));
    // Everything that comes later is ignored.
    ends.client.receive(Level::Handshake, 0, b"more").unwrap();
}

#[test]
fn no_protocol_in_common_ends_the_handshake() {
    let mut configs = Configs::new();
    configs.server.alpn_protocols = vec![b"other".to_vec()];
    let mut ends = configs.meet();
    let error = ends.shake().unwrap_err();
    assert_eq!(error.code, Code::alert(NO_APPLICATION_PROTOCOL));
    assert!(ends.server.failure().is_some());
}

/// A hello for TCP: with a session id, and without transport parameters.
fn hello_for_tcp(configs: &Configs) -> Vec<u8> {
    let name = NAME.try_into().unwrap();
    let mut tls = rustls::ClientConnection::new(configs.client.clone().into(), name).unwrap();
    let mut record = Vec::new();
    tls.write_tls(&mut record).unwrap();
    record.split_off(5)
}

/// RFC 9001 §8.2.
#[test]
fn a_client_without_transport_parameters_is_refused() {
    let configs = Configs::new();
    let mut hello = hello_for_tcp(&configs);
    assert_eq!(hello[38], 32);
    hello.drain(39..39 + 32);
    hello[38] = 0;
    let length = u32::try_from(hello.len() - 4).unwrap();
    hello[1..4].copy_from_slice(&length.to_be_bytes()[1..]);
    let mut ends = configs.meet();
    let error = ends.server.receive(Level::Initial, 0, &hello).unwrap_err();
    assert_eq!(error.code, Code::alert(MISSING_EXTENSION));
}

/// RFC 9001 §8.4.
#[test]
fn a_hello_for_the_compatibility_mode_is_refused() {
    let configs = Configs::new();
    let hello = hello_for_tcp(&configs);
    let mut ends = configs.meet();
    let error = ends.server.receive(Level::Initial, 0, &hello).unwrap_err();
    assert_eq!(error.code, Code::PROTOCOL_VIOLATION);
}

/// RFC 9001 §4.4 and §4.6.1.
#[test]
fn what_quic_forbids_a_server_after_the_handshake_is_a_violation() {
    // A ticket with 1000 bytes of early data; and a request for a certificate, signed with Ed25519.
    let ticket = [
        &[4, 0, 0, 23, 0, 0, 0, 9, 0, 0, 0, 0, 1, 7, 0, 1, 7][..],
        &[0, 8, 0, 42, 0, 4, 0, 0, 3, 0xe8],
    ];
    let request = [13, 0, 0, 11, 0, 0, 8, 0, 13, 0, 4, 0, 2, 8, 7];
    for message in [ticket.concat(), request.to_vec()] {
        let mut configs = Configs::new();
        configs.server.send_tls13_tickets = 0;
        let mut ends = configs.meet();
        ends.shake().unwrap();
        let error = ends.client.receive(Level::OneRtt, 0, &message).unwrap_err();
        assert_eq!(error.code, Code::PROTOCOL_VIOLATION, "{message:?}");
    }
}

#[test]
fn nonsense_ends_the_handshake() {
    let mut ends = Configs::new().meet();
    let error = ends
        .server
        .receive(Level::Initial, 0, &[1, 0, 0, 2, 9, 9])
        .unwrap_err();
    assert_eq!(error.code, Code::alert(DECODE_ERROR));
    // A ServerHello is sent to a server.
    let mut ends = Configs::new().meet();
    let error = ends
        .server
        .receive(Level::Initial, 0, &[20, 0, 0, 1, 9])
        .unwrap_err();
    assert_eq!(error.code, Code::alert(UNEXPECTED_MESSAGE));
}

#[test]
fn a_message_that_is_too_long_to_be_read_is_an_error_of_tls() {
    let mut ends = shaken();
    let begin = [4, 0xff, 0xff, 0xff];
    let error = ends.server.receive(Level::OneRtt, 0, &begin).unwrap_err();
    assert_eq!(error.code, Code::alert(DECODE_ERROR));
}

#[test]
fn early_packets_carry_no_handshake_bytes() {
    let mut ends = Configs::new().meet();
    let error = ends.server.receive(Level::Early, 0, b"x").unwrap_err();
    assert_eq!(error.code, Code::PROTOCOL_VIOLATION);
    assert!(ends.client.chunk(Level::Early, 1200).is_none());
    assert!(!ends.client.wants_to_send(Level::Early));
}

#[test]
fn nothing_is_added_to_a_level_that_is_over() {
    let mut ends = Configs::new().meet();
    let hello = ends.send(Side::Client, 60_000).remove(0);
    ends.deliver(&hello).unwrap();
    // Repeated bytes are ignored. RFC 9001 §4.1.3.
    ends.deliver(&hello).unwrap();
    let end = hello.length as u64;
    ends.server.receive(Level::Initial, end - 1, b"x").unwrap();
    let error = ends.server.receive(Level::Initial, end, b"x").unwrap_err();
    assert_eq!(error.code, Code::PROTOCOL_VIOLATION);
}

#[test]
fn nothing_may_lie_behind_a_hole_when_a_level_is_over() {
    let mut ends = Configs::new().meet();
    let hello = ends.send(Side::Client, 60_000).remove(0);
    let behind = hello.length as u64 + 1;
    ends.server.receive(Level::Initial, behind, b"x").unwrap();
    let error = ends.deliver(&hello).unwrap_err();
    assert_eq!(error.code, Code::PROTOCOL_VIOLATION);
}

#[test]
fn a_key_update_of_tls_is_refused() {
    // RFC 9001 §6: the message type 24. A server has received nothing else at this level before.
    let mut ends = shaken();
    let update = [24, 0, 0, 1, 0];
    let error = ends.server.receive(Level::OneRtt, 0, &update).unwrap_err();
    assert_eq!(error.code, Code::alert(UNEXPECTED_MESSAGE));
}

#[test]
fn a_version_that_is_not_spoken_is_refused() {
    let configs = Configs::new();
    let client = Arc::new(configs.client);
    let draft = Version(0xff00_001d);
    let refused = Crypto::client(
        client,
        NAME.try_into().unwrap(),
        Vec::new(),
        &id(b"1"),
        draft,
    );
    assert!(refused.err().unwrap().to_string().contains("0xff00001d"));
    let refused = Crypto::server(configs.server.into(), Vec::new(), &id(b"1"), draft);
    assert!(refused.is_err());
}
