//! The server of a handshake in memory: it shows a chain, and signs and agrees upon keys in appearance only. Nothing is
//! protected by that handshake, and nothing of it leaves the process.

use std::sync::Arc;

use rustls::crypto::{ActiveKeyExchange, CryptoProvider, SharedSecret, SupportedKxGroup};
use rustls::pki_types::CertificateDer;
use rustls::sign::{CertifiedKey, Signer, SigningKey, SingleCertAndKey};
use rustls::time_provider::TimeProvider;
use rustls::{Error, NamedGroup, ServerConfig, SignatureAlgorithm, SignatureScheme, version};

pub(super) fn config(
    provider: Arc<CryptoProvider>,
    time: Arc<dyn TimeProvider>,
    chain: Vec<CertificateDer<'static>>,
    seal: [u8; 32],
) -> Result<ServerConfig, Error> {
    let key = CertifiedKey::new(chain, Arc::new(Seal(seal)));
    let mut config = ServerConfig::builder_with_details(provider, time)
        .with_protocol_versions(&[&version::TLS13])?
        .with_no_client_auth()
        .with_cert_resolver(Arc::new(SingleCertAndKey::from(key)));
    config.send_tls13_tickets = 0;
    Ok(config)
}

/// What stands for a signature.
#[derive(Clone)]
struct Seal([u8; 32]);

impl std::fmt::Debug for Seal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Seal").finish_non_exhaustive()
    }
}

impl SigningKey for Seal {
    fn choose_scheme(&self, _: &[SignatureScheme]) -> Option<Box<dyn Signer>> {
        Some(Box::new(self.clone()))
    }

    fn algorithm(&self) -> SignatureAlgorithm {
        SignatureAlgorithm::ECDSA
    }
}

impl Signer for Seal {
    fn sign(&self, _: &[u8]) -> Result<Vec<u8>, Error> {
        Ok(self.0.to_vec())
    }

    fn scheme(&self) -> SignatureScheme {
        SignatureScheme::ECDSA_NISTP256_SHA256
    }
}

/// A key exchange that costs nothing and hides nothing. It is in no configuration that meets a network.
#[derive(Debug)]
pub(super) struct Pretence;

impl SupportedKxGroup for Pretence {
    fn start(&self) -> Result<Box<dyn ActiveKeyExchange>, Error> {
        Ok(Box::new(Self))
    }

    fn name(&self) -> NamedGroup {
        NamedGroup::X25519
    }
}

impl ActiveKeyExchange for Pretence {
    fn complete(self: Box<Self>, _: &[u8]) -> Result<SharedSecret, Error> {
        Ok(SharedSecret::from(&[1; 32][..]))
    }

    fn pub_key(&self) -> &[u8] {
        &[2; 32]
    }

    fn group(&self) -> NamedGroup {
        NamedGroup::X25519
    }
}
