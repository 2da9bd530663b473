//! Stored sessions that are not revived, and the reasons; hostile and damaged bytes.

use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use proptest::prelude::*;
use roundtrip_tls::{Client, Identity, Roots, StoredSession, StoredSessionError};

use crate::peers::{HOST, HOUR, Server, changed, kept, visit};

/// The offset of the secret: after magic, version, carrier, suite, group, time, trust fingerprint
/// and its own length.
const SECRET: usize = 4 + 1 + 1 + 2 + 2 + 8 + 32 + 1;

async fn one() -> (Server, StoredSession) {
    let server = Server::new();
    let stored = kept(&server, &server.shared()).await.pop().unwrap();
    (server, stored)
}

#[tokio::test]
async fn a_session_is_bound_to_its_server_transport_and_time() {
    let (server, stored) = one().await;
    let client = server.client();
    let now = SystemTime::now();
    let revive = |quic, host: &str, now| client.revive(quic, host, &stored, now).unwrap_err();
    for other in ["example.com", "localhost.example", "127.0.0.1", "::1", ""] {
        let error = revive(false, other, now);
        assert!(
            matches!(error, StoredSessionError::OtherName { .. }),
            "{other}"
        );
    }
    assert!(matches!(
        revive(true, HOST, now),
        StoredSessionError::OtherCarrier(false)
    ));
    let past = revive(false, HOST, now - HOUR);
    assert!(matches!(past, StoredSessionError::FromTheFuture));
    let tomorrow = revive(false, HOST, now + 13 * HOUR);
    assert!(matches!(tomorrow, StoredSessionError::CertificateExpired));
    for later in [25 * HOUR, 24 * 365 * HOUR] {
        let later = revive(false, HOST, now + later);
        assert!(matches!(later, StoredSessionError::TicketExpired));
    }
    assert!(client.take_sessions(false, HOST).is_empty());
    assert!(
        !visit(&client, &server.shared(), HOST)
            .await
            .unwrap()
            .resumed
    );
    client.revive(false, "LOCALHOST.", &stored, now).unwrap();
}

/// Above all, a session received without verification cannot be used by a client that verifies.
#[tokio::test]
async fn a_session_is_bound_to_trust_and_identity() {
    let (server, stored) = one().await;
    let pem = || Roots::Pem(server.pem.clone());
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("ca.pem");
    std::fs::write(&file, &server.pem).unwrap();
    let other = Server::new();
    let careless = Client::new(Roots::Anything, None).unwrap();
    visit(&careless, &server.shared(), HOST).await.unwrap();
    let unverified = careless.take_sessions(false, HOST).pop().unwrap();
    let refuses = |roots: Roots, identity: Option<&Identity>, stored: &StoredSession| {
        let client = Client::new(roots, identity).unwrap();
        let revived = client.revive(false, HOST, stored, SystemTime::now());
        matches!(revived, Err(StoredSessionError::OtherTrust))
    };
    assert!(refuses(pem(), None, &unverified));
    assert!(refuses(Roots::Anything, None, &stored));
    assert!(refuses(Roots::File(file.clone()), None, &stored));
    assert!(refuses(Roots::Pem(other.pem), None, &stored));
    let identity = identity(directory.path().join("me.pem"));
    assert!(refuses(pem(), Some(&identity), &stored));
    assert!(!refuses(pem(), None, &stored));
    assert!(!refuses(Roots::Anything, None, &unverified));
}

fn identity(certificate: PathBuf) -> Identity {
    let key = rcgen::generate_simple_self_signed(vec!["me".into()]).unwrap();
    let both = key.cert.pem() + &key.signing_key.serialize_pem();
    std::fs::write(&certificate, both).unwrap();
    Identity {
        certificate,
        key: None,
    }
}

/// When a file of trusted certificates is rewritten, sessions made under the old one end.
#[tokio::test]
async fn a_session_ends_when_its_file_of_certificates_changes() {
    let server = Server::new();
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("ca.pem");
    std::fs::write(&file, &server.pem).unwrap();
    let client = || Client::new(Roots::File(file.clone()), None).unwrap();
    let first = client();
    visit(&first, &server.shared(), HOST).await.unwrap();
    let stored = first.take_sessions(false, HOST).pop().unwrap();
    let revive = |client: &Client| client.revive(false, HOST, &stored, SystemTime::now());
    revive(&client()).unwrap();
    std::fs::write(&file, format!("{0}{0}", server.pem)).unwrap();
    assert!(matches!(
        revive(&client()),
        Err(StoredSessionError::OtherTrust)
    ));
}

/// A server that finds the secret wrong ends the handshake (RFC 8446 §4.2.11); the ticket is spent,
/// and the next connection works.
#[tokio::test]
async fn a_wrong_secret_fails_cleanly_and_once() {
    let (server, stored) = one().await;
    let bytes = changed(&stored.encode(), |content| content[SECRET] ^= 1);
    let wrong = StoredSession::decode(&bytes).unwrap();
    let client = server.client();
    client
        .revive(false, HOST, &wrong, SystemTime::now())
        .unwrap();
    let error = visit(&client, &server.shared(), HOST).await.unwrap_err();
    assert!(error.to_string().contains("DecryptError"), "{error}");
    assert!(visit(&client, &server.shared(), HOST).await.is_ok());
}

/// A server that has forgotten its tickets makes a full handshake.
#[tokio::test]
async fn a_ticket_that_the_server_does_not_know_costs_nothing() {
    let server = Server::new();
    let stored = kept(&server, &server.shared()).await.pop().unwrap();
    let mut forgetful = server.config.clone();
    forgetful.session_storage = rustls::server::ServerSessionMemoryCache::new(8);
    let client = server.client();
    client
        .revive(false, HOST, &stored, SystemTime::now())
        .unwrap();
    let facts = visit(&client, &forgetful.into(), HOST).await.unwrap();
    assert!(!facts.resumed);
    assert_eq!(facts.early_data, roundtrip_model::EarlyData::Refused);
}

#[tokio::test]
async fn damaged_bytes_are_reported_as_damaged() {
    let (_, stored) = one().await;
    let bytes = stored.encode();
    for place in 0..bytes.len() {
        let mut damaged = bytes.clone();
        damaged[place] ^= 0x40;
        let error = StoredSession::decode(&damaged).unwrap_err();
        let told = matches!(
            error,
            StoredSessionError::Damaged(_) | StoredSessionError::Version(_)
        );
        assert!(told, "{place}: {error}");
        assert!(StoredSession::decode(&bytes[..place]).is_err());
    }
    assert!(StoredSession::decode(&[&bytes[..], &[0]].concat()).is_err());
    assert!(StoredSession::decode(&vec![0; 1 << 20]).is_err());
    let later = changed(&bytes, |content| content[4] = 2);
    let error = StoredSession::decode(&later).unwrap_err();
    assert!(matches!(error, StoredSessionError::Version(2)));
}

/// A hostile file has a valid checksum: its content is checked with the same care, and reviving it
/// results in a session or in an error.
#[test]
fn forged_bytes_end_in_an_error_or_a_session() {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap();
    let (server, stored) = runtime.block_on(one());
    let bytes = stored.encode();
    let (client, now) = (server.client(), SystemTime::now());
    let strategy = (
        any::<proptest::sample::Index>(),
        proptest::collection::vec(any::<u8>(), 0..6),
        0_usize..4,
    );
    let config = ProptestConfig {
        failure_persistence: None,
        ..ProptestConfig::with_cases(2000)
    };
    proptest!(config, |((place, new, cut) in strategy)| {
        let forged = changed(&bytes, |content| {
            let from = place.index(content.len());
            let to = (from + cut).min(content.len());
            content.splice(from..to, new);
        });
        if let Ok(read) = StoredSession::decode(&forged) {
            prop_assert_eq!(&read.encode(), &forged);
            let _ = client.revive(false, HOST, &read, now);
            let _ = client.revive(read.is_quic(), read.name(), &read, read.received() + Duration::from_secs(1));
        }
    });
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_bytes_panic(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
        prop_assert!(StoredSession::decode(&bytes).is_err());
        let named = changed(&[&b"rtKS\x01"[..], &bytes, &[0; 32]].concat(), |_| {});
        prop_assert!(StoredSession::decode(&named).is_err());
    }
}
