//! TLS whose secrets and random numbers are the same in each run, so that a fuzzer's findings can
//! be replayed. It authenticates nothing: the key exchange has one result, and each signature is
//! accepted.

use std::cell::Cell;
use std::sync::Arc;
use std::time::Duration;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::aws_lc_rs::{cipher_suite, default_provider};
use rustls::crypto::{
    ActiveKeyExchange, CryptoProvider, GetRandomFailed, SecureRandom, SharedSecret,
    SupportedKxGroup,
};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::sign::{CertifiedKey, Signer, SigningKey, SingleCertAndKey};
use rustls::time_provider::TimeProvider;
use rustls::{DigitallySignedStruct, Error, NamedGroup, SignatureAlgorithm, SignatureScheme};

const SCHEME: SignatureScheme = SignatureScheme::ED25519;

thread_local! {
    static STATE: Cell<u64> = const { Cell::new(0) };
}

#[derive(Debug)]
struct Replayable;

impl SecureRandom for Replayable {
    fn fill(&self, bytes: &mut [u8]) -> Result<(), GetRandomFailed> {
        for byte in bytes {
            let next = STATE.get().wrapping_add(0x9e37_79b9_7f4a_7c15);
            STATE.set(next);
            *byte = (next.wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 56) as u8;
        }
        Ok(())
    }
}

impl SupportedKxGroup for Replayable {
    fn start(&self) -> Result<Box<dyn ActiveKeyExchange>, Error> {
        Ok(Box::new(Self))
    }

    fn name(&self) -> NamedGroup {
        NamedGroup::X25519
    }
}

impl ActiveKeyExchange for Replayable {
    fn complete(self: Box<Self>, _peer: &[u8]) -> Result<SharedSecret, Error> {
        Ok(SharedSecret::from(&[7; 32][..]))
    }

    fn pub_key(&self) -> &[u8] {
        &[9; 32]
    }

    fn group(&self) -> NamedGroup {
        NamedGroup::X25519
    }
}

impl SigningKey for Replayable {
    fn choose_scheme(&self, _offered: &[SignatureScheme]) -> Option<Box<dyn Signer>> {
        Some(Box::new(Self))
    }

    fn algorithm(&self) -> SignatureAlgorithm {
        SignatureAlgorithm::ED25519
    }
}

impl Signer for Replayable {
    fn sign(&self, _message: &[u8]) -> Result<Vec<u8>, Error> {
        Ok(vec![5; 64])
    }

    fn scheme(&self) -> SignatureScheme {
        SCHEME
    }
}

impl ServerCertVerifier for Replayable {
    fn verify_server_cert(
        &self,
        _end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _message: &[u8],
        _certificate: &CertificateDer<'_>,
        _signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn verify_tls13_signature(
        &self,
        _message: &[u8],
        _certificate: &CertificateDer<'_>,
        _signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        vec![SCHEME]
    }
}

impl TimeProvider for Replayable {
    fn current_time(&self) -> Option<UnixTime> {
        Some(UnixTime::since_unix_epoch(Duration::from_secs(
            1_700_000_000,
        )))
    }
}

/// Both sides' configurations. Random numbers start again on this thread.
pub(crate) fn configs() -> (Arc<rustls::ClientConfig>, Arc<rustls::ServerConfig>) {
    STATE.set(1);
    let provider = Arc::new(CryptoProvider {
        cipher_suites: vec![cipher_suite::TLS13_AES_128_GCM_SHA256],
        kx_groups: vec![&Replayable],
        secure_random: &Replayable,
        ..default_provider()
    });
    let versions = &[&rustls::version::TLS13];
    let certified = CertifiedKey::new(
        vec![CertificateDer::from(vec![3; 600])],
        Arc::new(Replayable),
    );
    let mut server =
        rustls::ServerConfig::builder_with_details(provider.clone(), Arc::new(Replayable))
            .with_protocol_versions(versions)
            .unwrap()
            .with_no_client_auth()
            .with_cert_resolver(Arc::new(SingleCertAndKey::from(certified)));
    server.alpn_protocols = vec![b"test".to_vec()];
    let mut client = rustls::ClientConfig::builder_with_details(provider, Arc::new(Replayable))
        .with_protocol_versions(versions)
        .unwrap()
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(Replayable))
        .with_no_client_auth();
    client.alpn_protocols = vec![b"test".to_vec()];
    client.resumption = rustls::client::Resumption::disabled();
    (Arc::new(client), Arc::new(server))
}
