//! Early data: accepted, refused by TLS, refused by HTTP.

use roundtrip_origin::{EarlyData, Tickets};
use rustls::HandshakeKind;

use super::client::TlsClient;
use crate::peers::Peer;

fn second_visit(early_data: EarlyData, tickets: Tickets) -> (super::client::Report, Peer) {
    let peer = Peer::with(|knobs| {
        knobs.tls.early_data = early_data;
        knobs.tls.tickets = tickets;
    });
    let visit = TlsClient::new(&peer);
    assert_eq!(visit.get("/").early, None, "there is no ticket yet");
    (visit.get("/bytes/3"), peer)
}

#[test]
fn it_is_taken_and_answered_at_once() {
    let (report, peer) = second_visit(EarlyData::On, Tickets::Stateful);
    assert_eq!(report.early, Some(true));
    assert!(report.answer.ends_with("\r\n\r\n012"), "{}", report.answer);
    let stats = peer.origin.stats();
    assert_eq!((stats.early_requests, stats.requests), (1, 2));
    assert_eq!((stats.tls_resumed, stats.tls_handshakes), (1, 2));
    let request = "GET /bytes/3 HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
    assert_eq!(stats.early_data_bytes, request.len() as u64);
}

#[test]
fn it_is_answered_with_425_where_the_knob_says_so() {
    let (report, peer) = second_visit(EarlyData::TooEarly, Tickets::Stateful);
    assert_eq!(report.early, Some(true));
    assert!(
        report.answer.starts_with("HTTP/1.1 425 "),
        "{}",
        report.answer
    );
    assert_eq!(peer.origin.stats().early_requests, 1);
}

#[test]
fn tickets_may_promise_what_is_not_kept() {
    for (tickets, kind) in [
        (Tickets::Stateful, HandshakeKind::Resumed),
        (Tickets::Refused, HandshakeKind::Full),
    ] {
        let (report, peer) = second_visit(EarlyData::Refused, tickets);
        assert_eq!((report.early, report.kind), (Some(false), kind));
        assert!(report.answer.ends_with("\r\n\r\n012"), "{}", report.answer);
        let stats = peer.origin.stats();
        assert_eq!((stats.early_data_bytes, stats.early_requests), (0, 0));
    }
}

#[test]
fn without_it_tickets_do_not_offer_it() {
    let (report, _) = second_visit(EarlyData::Off, Tickets::Stateful);
    assert_eq!((report.early, report.kind), (None, HandshakeKind::Resumed));
}

#[test]
fn openssl_agrees() {
    let peer = Peer::with(|knobs| knobs.tls.early_data = EarlyData::On);
    let get = b"GET /bytes/1 HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
    let session = peer.file("session").display().to_string();
    let request = peer.file("request");
    std::fs::write(&request, get).unwrap();
    peer.s_client(&["-tls1_3", "-ign_eof", "-sess_out", &session], get);
    let request = request.display().to_string();
    let arguments = [
        "-tls1_3",
        "-ign_eof",
        "-sess_in",
        &session,
        "-early_data",
        &request,
    ];
    let said = peer.s_client(&arguments, b"").out;
    assert!(said.contains("Early data was accepted"), "{said}");
    assert!(said.contains("HTTP/1.1 200 OK"), "{said}");
    assert_eq!(peer.origin.stats().early_requests, 1);
}

#[test]
fn http_2_takes_it_too() {
    // An idle client that finished its handshake must be served like any other if early data may
    // come.
    let peer = Peer::with(|knobs| knobs.tls.early_data = EarlyData::On);
    for flag in ["--http2", "--http1.1"] {
        let said = peer.curl(&[flag, &peer.https("/bytes/1"), &peer.https("/bytes/1")]);
        assert_eq!(said.out, "00", "{}", said.err);
    }
}
