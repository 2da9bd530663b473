//! The pretended server: it shows a chain, and only appears to sign and to exchange keys. Its
//! handshake protects nothing, and none of its bytes leave the process.

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
    number: [u8; 32],
) -> Result<ServerConfig, Error> {
    let key = CertifiedKey::new(chain, Arc::new(Number(number)));
    let mut config = ServerConfig::builder_with_details(provider, time)
        .with_protocol_versions(&[&version::TLS13])?
        .with_no_client_auth()
        .with_cert_resolver(Arc::new(SingleCertAndKey::from(key)));
    config.send_tls13_tickets = 0;
    Ok(config)
}

/// A number in place of a signature.
#[derive(Clone)]
struct Number([u8; 32]);

impl std::fmt::Debug for Number {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Number").finish_non_exhaustive()
    }
}

impl SigningKey for Number {
    fn choose_scheme(&self, _: &[SignatureScheme]) -> Option<Box<dyn Signer>> {
        Some(Box::new(self.clone()))
    }

    fn algorithm(&self) -> SignatureAlgorithm {
        SignatureAlgorithm::ECDSA
    }
}

impl Signer for Number {
    fn sign(&self, _: &[u8]) -> Result<Vec<u8>, Error> {
        Ok(self.0.to_vec())
    }

    fn scheme(&self) -> SignatureScheme {
        SignatureScheme::ECDSA_NISTP256_SHA256
    }
}

/// A key exchange without cost or secrecy. No configuration for a network uses it.
#[derive(Debug)]
pub(super) struct NoKeyExchange;

impl SupportedKxGroup for NoKeyExchange {
    fn start(&self) -> Result<Box<dyn ActiveKeyExchange>, Error> {
        Ok(Box::new(Self))
    }

    fn name(&self) -> NamedGroup {
        NamedGroup::X25519
    }
}

impl ActiveKeyExchange for NoKeyExchange {
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
