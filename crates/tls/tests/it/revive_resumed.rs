//! Revived sessions work like any others: they resume, carry early data, and bring new tickets.

use std::time::SystemTime;

use roundtrip_tls::StoredSession;
use rustls::CipherSuite;
use rustls::crypto::aws_lc_rs;

use crate::peers::{HOST, HOUR, Server, is_early, kept, visit};

#[tokio::test]
async fn a_session_of_each_suite_outlives_its_client() {
    for (suite, name) in [
        (
            CipherSuite::TLS13_AES_128_GCM_SHA256,
            "TLS_AES_128_GCM_SHA256",
        ),
        (
            CipherSuite::TLS13_AES_256_GCM_SHA384,
            "TLS_AES_256_GCM_SHA384",
        ),
        (
            CipherSuite::TLS13_CHACHA20_POLY1305_SHA256,
            "TLS_CHACHA20_POLY1305_SHA256",
        ),
    ] {
        let server = Server::of_suite(suite);
        let shared = server.shared();
        let first = server.client();
        let facts = visit(&first, &shared, HOST).await.unwrap();
        assert!(!facts.resumed && facts.chain.is_some());
        let kept = first.take_sessions(false, HOST);
        assert_eq!(kept.len(), 2, "the server sent two");
        assert!(kept.iter().all(|k| k.early_data() == 16 * 1024));
        for stored in kept {
            let read = StoredSession::decode(&stored.encode()).unwrap();
            assert_eq!((read.name(), read.is_quic()), (HOST, false));
            let later = server.client();
            let now = SystemTime::now();
            later.revive(false, HOST, &read, now).unwrap();
            assert_eq!(later.tickets(false).received(), 0);
            let again = visit(&later, &shared, HOST).await.unwrap();
            assert!(is_early(&again), "{name}: {again:?}");
            assert_eq!(again.cipher, name);
            assert_eq!(
                again.chain.unwrap().certificates,
                facts.chain.as_ref().unwrap().certificates
            );
        }
        // Sessions that were taken out are used elsewhere, and not here.
        assert!(!visit(&first, &shared, HOST).await.unwrap().resumed);
    }
}

#[tokio::test]
async fn a_resumed_connection_brings_sessions_to_keep() {
    let server = Server::new();
    let shared = server.shared();
    let mut last = kept(&server, &shared).await.pop().unwrap();
    for _ in 0..3 {
        let client = server.client();
        let now = SystemTime::now();
        client.revive(false, HOST, &last, now).unwrap();
        let facts = visit(&client, &shared, HOST).await.unwrap();
        assert!(is_early(&facts));
        let kept = client.take_sessions(false, HOST);
        assert_eq!(kept.len(), 2);
        last = kept.into_iter().next_back().unwrap();
    }
}

/// A hello with a key share for another group would cost a round trip, and the early data.
#[tokio::test]
async fn the_group_that_the_server_selects_is_remembered() {
    let mut provider = aws_lc_rs::default_provider();
    provider.kx_groups = vec![aws_lc_rs::kx_group::SECP384R1];
    let server = Server::with(provider);
    let shared = server.shared();
    let client = server.client();
    assert!(visit(&client, &shared, HOST).await.unwrap().hello_retry);
    let kept = client.take_sessions(false, HOST).pop().unwrap();
    let later = server.client();
    let now = SystemTime::now();
    later.revive(false, HOST, &kept, now).unwrap();
    let facts = visit(&later, &shared, HOST).await.unwrap();
    assert!(is_early(&facts) && !facts.hello_retry, "{facts:?}");
    assert_eq!(facts.group, "secp384r1");
}

#[tokio::test]
async fn a_session_is_used_once() {
    let server = Server::new();
    let shared = server.shared();
    let stored = kept(&server, &shared).await.pop().unwrap();
    let client = server.client();
    let now = SystemTime::now();
    for _ in 0..3 {
        client.revive(false, HOST, &stored, now).unwrap();
    }
    let unused = client.take_sessions(false, HOST);
    assert_eq!(unused.len(), 1, "it replaces itself");
    assert_eq!(unused[0].encode(), stored.encode());
    assert!(client.take_sessions(false, HOST).is_empty());
    client.revive(false, HOST, &stored, now).unwrap();
    assert!(visit(&client, &shared, HOST).await.unwrap().resumed);
    let fresh: Vec<_> = client.take_sessions(false, HOST);
    assert_eq!(fresh.len(), 2, "only the second visit's");
    assert!(fresh.iter().all(|f| f.encode() != stored.encode()));
    assert!(!visit(&client, &shared, HOST).await.unwrap().resumed);
}

#[tokio::test]
async fn addresses_have_sessions_too() {
    let server = Server::new();
    let shared = server.shared();
    let client = server.client();
    visit(&client, &shared, "::1").await.unwrap();
    assert!(client.take_sessions(false, HOST).is_empty());
    let kept = client.take_sessions(false, "::1").pop().unwrap();
    let later = server.client();
    later
        .revive(false, "::1", &kept, kept.received() + HOUR)
        .unwrap();
    assert!(is_early(&visit(&later, &shared, "::1").await.unwrap()));
}

/// The limits in the ticket are stored with it, and it expires with the server's certificate.
#[tokio::test]
async fn a_stored_session_knows_when_it_ends() {
    let server = Server::new();
    let stored = kept(&server, &server.shared()).await.pop().unwrap();
    let lasts = stored.expires().duration_since(stored.received());
    assert!((11 * HOUR..=12 * HOUR).contains(&lasts.unwrap()));
    let shown = format!("{stored:?}");
    assert_eq!(
        shown,
        "StoredSession { name: \"localhost\", quic: false, .. }"
    );
}
