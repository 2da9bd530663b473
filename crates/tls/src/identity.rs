//! The client's certificate, for servers that ask for one.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rustls::SignatureScheme;
use rustls::client::ResolvesClientCert;
use rustls::crypto::CryptoProvider;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::sign::CertifiedKey;

use crate::TlsError;

/// The client's own certificate (`--cert`, `--key`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity {
    pub certificate: PathBuf,
    /// The file with the key. If absent, the key is in the certificate's file, as with curl.
    pub key: Option<PathBuf>,
}

/// Answers a CertificateRequest, and remembers that there was one.
#[derive(Debug)]
pub(crate) struct Resolver {
    key: Option<Arc<CertifiedKey>>,
    asked: AtomicBool,
}

impl Resolver {
    pub(crate) fn new(
        identity: Option<&Identity>,
        provider: &CryptoProvider,
    ) -> Result<Arc<Self>, TlsError> {
        let key = identity.map(|i| certified_key(i, provider)).transpose()?;
        Ok(Arc::new(Self {
            key,
            asked: AtomicBool::new(false),
        }))
    }

    pub(crate) fn take_asked(&self) -> bool {
        self.asked.swap(false, Ordering::Relaxed)
    }
}

impl ResolvesClientCert for Resolver {
    /// Rustls calls this only when a CertificateRequest has arrived.
    fn resolve(
        &self,
        _root_hint_subjects: &[&[u8]],
        _schemes: &[SignatureScheme],
    ) -> Option<Arc<CertifiedKey>> {
        // Only a CertificateRequest leads here. RFC 8446 §4.3.2.
        self.asked.store(true, Ordering::Relaxed);
        self.key.clone()
    }

    fn has_certs(&self) -> bool {
        self.key.is_some()
    }
}

fn certified_key(
    identity: &Identity,
    provider: &CryptoProvider,
) -> Result<Arc<rustls::sign::CertifiedKey>, TlsError> {
    let read = |path: &Path| {
        std::fs::read(path).map_err(|source| TlsError::Unreadable {
            path: path.into(),
            source,
        })
    };
    let key_path = identity.key.as_ref().unwrap_or(&identity.certificate);
    let chain: Vec<CertificateDer<'static>> =
        CertificateDer::pem_slice_iter(&read(&identity.certificate)?)
            .filter_map(Result::ok)
            .collect();
    if chain.is_empty() {
        return Err(TlsError::Pem {
            path: identity.certificate.clone(),
            what: "certificate",
        });
    }
    let key = PrivateKeyDer::from_pem_slice(&read(key_path)?).map_err(|_| TlsError::Pem {
        path: key_path.clone(),
        what: "private key",
    })?;
    rustls::sign::CertifiedKey::from_der(chain, key, provider)
        .map(Arc::new)
        .map_err(TlsError::Identity)
}
