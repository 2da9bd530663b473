//! QUIC's sessions and address tokens, written down by one client and used by another, as a later
//! process would.

mod aioquic;

use std::net::{SocketAddr, UdpSocket};
use std::time::{Duration, SystemTime};

use roundtrip_http::{Connection, Quic, Tokens};
use roundtrip_model::{EarlyData, TlsFacts};
use roundtrip_origin::{EarlyData as Takes, Knobs, Origin, QuicEngine, Running};
use roundtrip_tls::{Client, Offer, Roots, StoredSession, StoredSessionError};

use crate::requests::{ask, h3_offer, recorder};

const HOST: &str = "localhost";
/// Our own, and one that shares nothing with it.
const ENGINES: [QuicEngine; 2] = [QuicEngine::Own, QuicEngine::Quinn];

async fn origin(engine: QuicEngine, takes: Takes) -> Running {
    let mut knobs = Knobs::default();
    knobs.listen.quic_engine = engine;
    knobs.tls.early_data = takes;
    Origin::start(knobs).await.unwrap()
}

/// The chain that a server showed.
fn ders(facts: &TlsFacts) -> Vec<&[u8]> {
    let certificates = &facts.chain.as_ref().unwrap().certificates;
    certificates.iter().map(|c| c.der.as_slice()).collect()
}

/// The state that one process has.
struct Process {
    client: Client,
    tokens: Tokens,
}

impl Process {
    fn new(origin: &Running) -> Self {
        Self::trusting(Roots::Pem(origin.ca_pem.clone()))
    }

    fn trusting(roots: Roots) -> Self {
        Self {
            client: Client::new(roots, None).unwrap(),
            tokens: Tokens::default(),
        }
    }

    /// One request on a new connection, which ends when the server's tickets and tokens have come.
    async fn visit(&self, origin: &Running) -> (u16, TlsFacts) {
        self.visit_at(origin.h3.unwrap(), Some(2)).await
    }

    /// Visits as a client that may be recognised by that many tickets, or as one that may not.
    async fn visit_at(&self, peer: SocketAddr, tickets: Option<u32>) -> (u16, TlsFacts) {
        let offer = Offer {
            post_quantum: true,
            early_data: true,
            resume: tickets.is_some(),
            ..h3_offer()
        };
        let recorder = recorder();
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        let tokens = &self.tokens;
        let wanted = self.client.tickets(true).received() + tickets.unwrap_or(0);
        let begun = Quic::begin(peer, socket, HOST, &self.client, &offer, tokens, &recorder);
        let quic = begun.unwrap().opened().await.unwrap();
        let gauge = quic.gauge();
        let mut connection = Connection::H3(quic);
        let url = format!("https://{HOST}/bytes/3");
        let (outcome, facts, _) = ask(&mut connection, "GET", &url, &recorder).await;
        outcome.unwrap();
        let patience = async {
            while self.client.tickets(true).received() < wanted {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        let _ = tokio::time::timeout(Duration::from_secs(10), patience).await;
        let tls = gauge.tls_facts();
        connection.close().await;
        (facts.status, tls)
    }
}

#[tokio::test]
async fn a_later_process_asks_in_early_data_and_is_not_doubted() {
    for engine in ENGINES {
        let origin = origin(engine, Takes::On).await;
        let first = Process::new(&origin);
        let (status, facts) = first.visit(&origin).await;
        assert_eq!((status, facts.resumed), (200, false));
        let kept = first.client.take_sessions(true, HOST);
        let tokens = first.tokens.take(HOST);
        assert_eq!(kept.len(), 2, "as many as the server sent");
        assert!(!tokens.is_empty());
        assert!(first.client.take_sessions(false, HOST).is_empty());
        for (n, stored) in kept.iter().enumerate() {
            let read = StoredSession::decode(&stored.encode()).unwrap();
            assert!(read.is_quic() && read.early_data() == u32::MAX);
            let later = Process::new(&origin);
            let revive = |quic| later.client.revive(quic, HOST, &read, SystemTime::now());
            assert!(matches!(
                revive(false),
                Err(StoredSessionError::OtherCarrier(true))
            ));
            revive(true).unwrap();
            let token = tokens.get(n).cloned();
            assert!(token.is_none_or(|token| later.tokens.insert(HOST, token)));
            let (status, again) = later.visit(&origin).await;
            assert_eq!(status, 200);
            assert!(again.resumed, "{again:?}");
            assert_eq!(again.early_data, EarlyData::Accepted);
            assert_eq!(ders(&again), ders(&facts));
            assert!(!later.client.take_sessions(true, HOST).is_empty());
        }
        let seen = origin.stats();
        assert_eq!((seen.quic_resumed, seen.early_requests), (2, 2));
        assert_eq!(seen.quic_tokens_taken, tokens.len().min(2) as u64);
    }
}

#[tokio::test]
async fn early_data_that_is_refused_is_sent_again() {
    for engine in ENGINES {
        let origin = origin(engine, Takes::Refused).await;
        let first = Process::new(&origin);
        first.visit(&origin).await;
        let kept = first.client.take_sessions(true, HOST).pop().unwrap();
        let later = Process::new(&origin);
        later
            .client
            .revive(true, HOST, &kept, SystemTime::now())
            .unwrap();
        let (status, facts) = later.visit(&origin).await;
        assert_eq!((status, facts.resumed), (200, true));
        assert_eq!(facts.early_data, EarlyData::Refused);
    }
}

/// A hostile file's claims about the server's limits end the attempt with an error at worst.
#[tokio::test]
async fn transport_parameters_that_are_none_do_no_harm() {
    for engine in ENGINES {
        let origin = origin(engine, Takes::On).await;
        let first = Process::new(&origin);
        first.visit(&origin).await;
        let kept = first.client.take_sessions(true, HOST).pop().unwrap();
        let bytes = with_parameters(&kept.encode(), 0xff);
        let forged = StoredSession::decode(&bytes).unwrap();
        let later = Process::new(&origin);
        let now = SystemTime::now();
        later.client.revive(true, HOST, &forged, now).unwrap();
        let (status, facts) = later.visit(&origin).await;
        assert_eq!((status, facts.resumed), (200, true));
        assert_eq!(facts.early_data, EarlyData::NotOffered);
    }
}

/// The same session, whose transport parameters consist of this byte only. They follow the secret
/// (whose length is at 50), the name and the ticket.
fn with_parameters(bytes: &[u8], byte: u8) -> Vec<u8> {
    let mut content = bytes[..bytes.len() - 32].to_vec();
    let mut at = 51 + usize::from(content[50]);
    at += 1 + usize::from(content[at]);
    let length = |at: usize| usize::from(u16::from_be_bytes([content[at], content[at + 1]]));
    at += 2 + length(at);
    let end = at + 2 + length(at);
    content[at + 2..end].fill(byte);
    let suite = rustls::crypto::aws_lc_rs::cipher_suite::TLS13_AES_128_GCM_SHA256;
    let checksum = suite.tls13().unwrap().common.hash_provider.hash(&content);
    content.extend_from_slice(checksum.as_ref());
    content
}

/// If the server does not accept early data, a kept session still avoids sending the certificate.
#[tokio::test]
async fn a_session_without_early_data_resumes() {
    for engine in ENGINES {
        let origin = origin(engine, Takes::Off).await;
        let first = Process::new(&origin);
        first.visit(&origin).await;
        let kept = first.client.take_sessions(true, HOST).pop().unwrap();
        assert_eq!(kept.early_data(), 0);
        let later = Process::new(&origin);
        later
            .client
            .revive(true, HOST, &kept, SystemTime::now())
            .unwrap();
        let (status, facts) = later.visit(&origin).await;
        assert_eq!((status, facts.resumed), (200, true));
        assert_eq!(facts.early_data, EarlyData::NotOffered);
    }
}

/// A token of the server is kept, and only clients that may be recognised send it.
#[tokio::test]
async fn a_client_that_must_not_be_recognised_sends_no_token() {
    for engine in ENGINES {
        let origin = origin(engine, Takes::Off).await;
        let process = Process::new(&origin);
        for (resume, shown) in [(false, 0), (false, 0), (true, 1)] {
            let tickets = resume.then_some(2);
            let (status, _) = process.visit_at(origin.h3.unwrap(), tickets).await;
            assert_eq!(status, 200);
            assert_eq!(origin.stats().quic_tokens_taken, shown, "{engine:?}");
        }
    }
}
