//! Resumption: accepted, refused, absent.

use roundtrip_origin::Tickets;
use rustls::{HandshakeKind, version};

use super::client::TlsClient;
use crate::peers::Peer;

#[test]
fn sessions_are_resumed_as_the_knob_says() {
    for (tickets, resumed) in [
        (Tickets::Stateful, true),
        (Tickets::Stateless, true),
        (Tickets::Refused, false),
        (Tickets::Off, false),
    ] {
        for version in [&version::TLS12, &version::TLS13] {
            let peer = Peer::with(|knobs| knobs.tls.tickets = tickets);
            let visit = TlsClient::of_version(&peer, version);
            assert_eq!(visit.get("/").kind, HandshakeKind::Full);
            let again = visit.get("/bytes/3");
            assert!(again.answer.ends_with("\r\n\r\n012"));
            let is_resumed = again.kind == HandshakeKind::Resumed;
            assert_eq!(is_resumed, resumed, "{tickets:?} {version:?}");
            assert_eq!(peer.origin.stats().tls_resumed, u64::from(resumed));
        }
    }
}

#[test]
fn tickets_are_as_many_as_asked_for() {
    for (tickets, count) in [
        (Tickets::Stateful, 5),
        (Tickets::Refused, 5),
        (Tickets::Off, 0),
    ] {
        let peer = Peer::with(|knobs| {
            knobs.tls.tickets = tickets;
            knobs.tls.ticket_count = 5;
        });
        let get = b"GET /bytes/1 HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
        let said = peer.s_client(&["-tls1_3", "-ign_eof"], get).out;
        let seen = said
            .matches("Post-Handshake New Session Ticket arrived")
            .count();
        assert_eq!(seen, count, "{tickets:?}: {said}");
    }
}
