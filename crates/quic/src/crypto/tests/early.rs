//! 0-RTT: accepted, refused, and not tried. RFC 9001 §4.6.

use std::sync::Arc;

use rustls::{ClientConfig, ServerConfig};

use roundtrip_wire::quic::{Side, Version};

use super::super::{Level, OpenError};
use super::{Configs, Ends, open, seal};

/// A client that has a ticket, and the server that issued it.
fn acquainted() -> (Arc<ClientConfig>, Arc<ServerConfig>) {
    let configs = Configs::new();
    let (client, server) = (Arc::new(configs.client), Arc::new(configs.server));
    let mut ends = Ends::new(&client, &server, Version::V1);
    assert!(!ends.client.has(Level::Early));
    assert_eq!(ends.client.remembered_parameters(), None);
    ends.shake().unwrap();
    (client, server)
}

#[test]
fn early_data_is_opened_by_the_server_that_gave_the_ticket() {
    let (client, server) = acquainted();
    let mut ends = Ends::new(&client, &server, Version::V1);
    assert!(ends.client.has(Level::Early) && !ends.client.can_open(Level::Early));
    assert_eq!(
        ends.client.remembered_parameters(),
        Some(&b"of the server"[..])
    );
    assert_eq!(ends.client.peer_parameters(), None);
    assert_eq!(ends.client.early_accepted(), None);
    let mut packet = seal(&mut ends.client, Level::Early, 3, b"early frames").unwrap();

    assert!(ends.server.awaits(Level::Early));
    let closed = open(&mut ends.server, Level::Early, &mut packet.clone(), 0);
    assert_eq!(closed, Err(OpenError::NoKeys));
    for hello in ends.send(Side::Client, 1200) {
        ends.deliver(&hello).unwrap();
    }
    assert!(ends.server.can_open(Level::Early) && !ends.server.has(Level::Early));
    assert!(!ends.server.awaits(Level::Early));
    let opened = open(&mut ends.server, Level::Early, &mut packet, 0).unwrap();
    assert_eq!(opened.number, 3);
    assert_eq!(&packet[opened.payload], b"early frames");

    ends.shake().unwrap();
    assert_eq!(ends.client.early_accepted(), Some(true));
    assert_eq!(ends.server.early_accepted(), Some(true));
    assert!(ends.client.is_resumed() && ends.server.is_resumed());
    // RFC 9001 §4.9.3.
    assert!(!ends.client.has(Level::Early));
    assert!(ends.server.can_open(Level::Early));
    ends.server.discard(Level::Early);
    assert!(!ends.server.can_open(Level::Early));
}

#[test]
fn early_data_is_refused_by_a_server_that_does_not_know_the_ticket() {
    let (client, server) = acquainted();
    let mut forgetful = ServerConfig::clone(&server);
    forgetful.session_storage = rustls::server::ServerSessionMemoryCache::new(8);
    let mut ends = Ends::new(&client, &Arc::new(forgetful), Version::V1);
    let mut packet = seal(&mut ends.client, Level::Early, 3, b"early frames").unwrap();
    for hello in ends.send(Side::Client, 1200) {
        ends.deliver(&hello).unwrap();
    }
    assert!(!ends.server.can_open(Level::Early) && !ends.server.awaits(Level::Early));
    let closed = open(&mut ends.server, Level::Early, &mut packet, 0);
    assert_eq!(closed, Err(OpenError::NoKeys));
    assert_eq!(ends.server.early_accepted(), Some(false));
    ends.shake().unwrap();
    assert_eq!(ends.client.early_accepted(), Some(false));
    assert!(!ends.client.is_resumed());
    assert!(ends.client.is_handshake_complete() && ends.server.is_handshake_complete());
}

#[test]
fn early_data_is_sealed_anew_after_a_retry_with_the_same_keys() {
    let (client, server) = acquainted();
    let mut ends = Ends::new(&client, &server, Version::V1);
    let chosen = super::id(b"chosen");
    ends.client.restart(&chosen);
    let said = b"of the server".to_vec();
    ends.server = super::Crypto::server(server, said, &chosen, Version::V1).unwrap();
    let mut packet = seal(&mut ends.client, Level::Early, 5, b"early frames").unwrap();
    for hello in ends.send(Side::Client, 1200) {
        ends.deliver(&hello).unwrap();
    }
    let opened = open(&mut ends.server, Level::Early, &mut packet, 0).unwrap();
    assert_eq!(opened.number, 5);
}
