//! The assumptions that `revive` makes about rustls, by their number there. If one of these tests
//! fails after an update of rustls, that behaviour has changed.

use std::fmt;
use std::sync::{Arc, Mutex};
use std::time::SystemTime;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{
    ClientSessionStore, Resumption, Tls12ClientSessionValue, Tls13ClientSessionValue,
};
use rustls::crypto::tls13::OkmBlock;
use rustls::crypto::{CryptoProvider, aws_lc_rs};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::{
    ClientConfig, ClientConnection, Connection, DigitallySignedStruct, Error, NamedGroup,
    ServerConfig, ServerConnection, SignatureScheme, version,
};

use crate::identity::Resolver;
use crate::stored_session::{StoredSession, Ticket, seconds};
use crate::{intercept, seal, suites};

const EARLY_DATA: u32 = 1234;

/// The state at the moment when rustls hands over a session.
struct HandedOver {
    has_secret: bool,
    tickets: usize,
    taken: Option<(Ticket, OkmBlock)>,
    early_data: u32,
    suite: u16,
}

#[derive(Default)]
struct Store(Mutex<Vec<HandedOver>>);

impl fmt::Debug for Store {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Store").finish_non_exhaustive()
    }
}

impl ClientSessionStore for Store {
    fn set_kx_hint(&self, _: ServerName<'static>, _: NamedGroup) {}

    fn kx_hint(&self, _: &ServerName<'_>) -> Option<NamedGroup> {
        None
    }

    fn set_tls12_session(&self, _: ServerName<'static>, _: Tls12ClientSessionValue) {}

    fn tls12_session(&self, _: &ServerName<'_>) -> Option<Tls12ClientSessionValue> {
        None
    }

    fn remove_tls12_session(&self, _: &ServerName<'static>) {}

    fn insert_tls13_ticket(&self, _: ServerName<'static>, value: Tls13ClientSessionValue) {
        let (tickets, has_secret) = intercept::seen();
        self.0.lock().unwrap().push(HandedOver {
            has_secret,
            tickets,
            taken: intercept::take_session(),
            early_data: value.max_early_data_size(),
            suite: value.suite().common.suite.into(),
        });
    }

    fn take_tls13_ticket(&self, _: &ServerName<'static>) -> Option<Tls13ClientSessionValue> {
        None
    }
}

/// Trusts every server, and records the calls: for certificates, then for signatures, and whether
/// the seal would have answered them.
#[derive(Debug, Default)]
struct Verifier(Mutex<Vec<(&'static str, bool)>>);

impl Verifier {
    fn note(&self, what: &'static str, by_seal: bool) {
        self.0.lock().unwrap().push((what, by_seal));
    }
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        leaf: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        self.note("certificate", seal::is_shown(leaf));
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Err(Error::General("this is TLS 1.3".into()))
    }

    fn verify_tls13_signature(
        &self,
        _: &[u8],
        leaf: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.note("signature", seal::is_sealed(leaf, signed.signature()));
        Ok(HandshakeSignatureValid::assertion())
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        let provider = aws_lc_rs::default_provider();
        provider
            .signature_verification_algorithms
            .supported_schemes()
    }
}

fn server() -> ServerConnection {
    let made = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap();
    let key = PrivateKeyDer::try_from(made.signing_key.serialize_der()).unwrap();
    let provider = Arc::new(aws_lc_rs::default_provider());
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&version::TLS13])
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![made.cert.der().clone()], key)
        .unwrap();
    config.max_early_data_size = EARLY_DATA;
    ServerConnection::new(Arc::new(config)).unwrap()
}

fn client(verifier: Arc<Verifier>, store: Arc<Store>) -> Connection {
    let provider = CryptoProvider {
        cipher_suites: suites::all(),
        ..aws_lc_rs::default_provider()
    };
    let mut config = ClientConfig::builder_with_provider(Arc::new(provider))
        .with_protocol_versions(&[&version::TLS13])
        .unwrap()
        .dangerous()
        .with_custom_certificate_verifier(verifier)
        .with_no_client_auth();
    config.resumption = Resumption::store(store);
    let name = "localhost".try_into().unwrap();
    ClientConnection::new(Arc::new(config), name)
        .unwrap()
        .into()
}

/// A full handshake in memory, with the tickets that follow it. Returns the server's chain.
fn shake_hands(verifier: Arc<Verifier>, store: Arc<Store>) -> Vec<CertificateDer<'static>> {
    let (mut client, mut server) = (client(verifier, store), server());
    for _ in 0..4 {
        let mut flight = Vec::new();
        while client.wants_write() {
            client.write_tls(&mut flight).unwrap();
        }
        let mut rest = flight.as_slice();
        while !rest.is_empty() {
            server.read_tls(&mut rest).unwrap();
            server.process_new_packets().unwrap();
        }
        flight.clear();
        while server.wants_write() {
            server.write_tls(&mut flight).unwrap();
        }
        let mut rest = flight.as_slice();
        while !rest.is_empty() {
            client.read_tls(&mut rest).unwrap();
            intercept::process(&mut client).unwrap();
        }
    }
    let chain = client.peer_certificates().unwrap();
    chain.iter().map(|c| c.clone().into_owned()).collect()
}

#[test]
fn rustls_still_does_what_reviving_a_session_relies_on() {
    const SEE: &str = "see 'What it relies on' in tls/src/revive.rs";
    let (verifier, store) = (Arc::<Verifier>::default(), Arc::<Store>::default());
    let chain = shake_hands(verifier, store.clone());
    let handed_over = std::mem::take(&mut *store.0.lock().unwrap());
    assert_eq!(handed_over.len(), 2, "the server's tickets; {SEE}");
    for session in handed_over {
        assert!(session.has_secret, "1: no secret was derived by us; {SEE}");
        assert!(
            session.tickets > 0,
            "2: no ticket was decrypted by us; {SEE}"
        );
        let (ticket, secret) = session.taken.expect(SEE);
        assert_eq!(session.early_data, EARLY_DATA, "3: limits; {SEE}");
        assert_eq!(ticket.early_data(), EARLY_DATA, "3: another ticket; {SEE}");
        let stored = StoredSession {
            quic: false,
            name: "localhost".into(),
            suite: session.suite,
            group: 0,
            received: seconds(SystemTime::now()),
            trust_fingerprint: [0; 32],
            secret,
            ticket,
            quic_parameters: Vec::new(),
            chain: chain.clone().into(),
        };
        let verifier = Arc::<Verifier>::default();
        let resolver = Resolver::new(None, &aws_lc_rs::default_provider()).unwrap();
        let revived = super::session(&stored, verifier.clone(), resolver);
        let revived = revived.unwrap_or_else(|error| panic!("4: {error}; {SEE}"));
        assert_eq!(revived.max_early_data_size(), EARLY_DATA, "4: {SEE}");
        assert_eq!(u16::from(revived.suite().common.suite), stored.suite);
        let asked = verifier.0.lock().unwrap().clone();
        assert_eq!(
            asked,
            [("certificate", true), ("signature", true)],
            "5: {SEE}"
        );
    }
}
