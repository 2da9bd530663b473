//! The server's identity: a key and a certificate for one run, which only the client trusts; and
//! the TLS configurations of both sides. They use TLS 1.3 and one cipher suite, so that figures can
//! be compared by cipher.

use std::sync::Arc;

use rcgen::{CertifiedKey, generate_simple_self_signed};
#[cfg(feature = "packet-aead")]
use roundtrip_packet_aead as packet_aead;
use rustls::crypto::CryptoProvider;
use rustls::crypto::aws_lc_rs::{self, cipher_suite};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer, ServerName};
use rustls::{ClientConfig, RootCertStore, ServerConfig, SupportedCipherSuite};

use crate::error::PerfError;
use crate::plan::{ArmKnobs, Cipher};
use crate::protocol::{ALPN, NAME};

/// The server's key and certificate.
pub struct ServerIdentity {
    certificate: CertificateDer<'static>,
    key: PrivateKeyDer<'static>,
}

/// The certificate that the client trusts.
#[derive(Clone)]
pub struct Trust(CertificateDer<'static>);

impl ServerIdentity {
    pub fn make() -> Result<Self, PerfError> {
        let CertifiedKey { cert, signing_key } = generate_simple_self_signed([NAME.to_owned()])?;
        Ok(Self {
            certificate: cert.der().clone(),
            key: PrivatePkcs8KeyDer::from(signing_key.serialize_der()).into(),
        })
    }

    pub fn trust(&self) -> Trust {
        Trust(self.certificate.clone())
    }

    pub(crate) fn server(&self, suite: impl Into<Suite>) -> Result<ServerConfig, PerfError> {
        let mut config = ServerConfig::builder_with_provider(provider(suite.into()))
            .with_protocol_versions(&[&rustls::version::TLS13])?
            .with_no_client_auth()
            .with_single_cert(vec![self.certificate.clone()], self.key.clone_key())?;
        config.alpn_protocols = vec![ALPN.to_vec()];
        Ok(config)
    }
}

impl Trust {
    pub(crate) fn new(certificate: Vec<u8>) -> Self {
        Self(certificate.into())
    }

    pub(crate) fn certificate(&self) -> &[u8] {
        &self.0
    }

    pub(crate) fn client(&self, suite: impl Into<Suite>) -> Result<ClientConfig, PerfError> {
        let mut roots = RootCertStore::empty();
        roots.add(self.0.clone())?;
        let mut config = ClientConfig::builder_with_provider(provider(suite.into()))
            .with_protocol_versions(&[&rustls::version::TLS13])?
            .with_root_certificates(roots)
            .with_no_client_auth();
        config.alpn_protocols = vec![ALPN.to_vec()];
        Ok(config)
    }
}

pub(crate) fn server_name() -> Result<ServerName<'static>, PerfError> {
    ServerName::try_from(NAME)
        .map_err(|_| rustls::Error::General("the server has no name".into()).into())
}

/// The suite that QUIC's Initial packets need, whatever suite is used later (RFC 9001 §5.2).
#[cfg(feature = "peers")]
pub(crate) fn initial_suite() -> Option<rustls::quic::Suite> {
    cipher_suite::TLS13_AES_128_GCM_SHA256.tls13()?.quic_suite()
}

fn provider(suite: Suite) -> Arc<CryptoProvider> {
    Arc::new(CryptoProvider {
        cipher_suites: vec![suite.0],
        ..aws_lc_rs::default_provider()
    })
}

/// The only suite that both sides offer.
#[derive(Clone, Copy)]
pub(crate) struct Suite(SupportedCipherSuite);

/// The suite of aws-lc.
impl From<Cipher> for Suite {
    fn from(cipher: Cipher) -> Self {
        Self(match cipher {
            Cipher::Aes128 => cipher_suite::TLS13_AES_128_GCM_SHA256,
            Cipher::Aes256 => cipher_suite::TLS13_AES_256_GCM_SHA384,
            Cipher::Chacha => cipher_suite::TLS13_CHACHA20_POLY1305_SHA256,
        })
    }
}

impl Suite {
    /// The suite of the knobs' cipher; with QUIC keys of crate `packet-aead` if the knobs ask for
    /// them, which the plan's check has found possible.
    pub(crate) fn from_knobs(knobs: &ArmKnobs) -> Self {
        let Self(plain) = knobs.cipher.into();
        #[cfg(feature = "packet-aead")]
        if knobs.packet_aead {
            return Self(packet_aead::suite(plain));
        }
        Self(plain)
    }
}

/// Why crate `packet-aead` cannot make QUIC keys for this cipher, and what to do instead; none if
/// it can.
pub(crate) fn lacks_packet_aead(cipher: Cipher) -> Option<&'static str> {
    #[cfg(feature = "packet-aead")]
    let is_supported = packet_aead::is_supported();
    #[cfg(not(feature = "packet-aead"))]
    let is_supported = false;
    if cipher == Cipher::Chacha {
        Some("it is AES-GCM; omit chacha or packetaead")
    } else if cfg!(not(feature = "packet-aead")) {
        Some("this program was built without it; build with --features packet-aead")
    } else if !is_supported {
        Some("this processor has no AVX-512 with VAES and VPCLMULQDQ; omit packetaead")
    } else {
        None
    }
}
