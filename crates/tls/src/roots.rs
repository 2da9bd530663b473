//! The certificates a client trusts: from a file the user names, from memory, or the system's
//! bundle, read when first needed.

use std::path::{Path, PathBuf};

use rustls::RootCertStore;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;

use crate::TlsError;

/// The paths where common systems have their bundle.
const BUNDLES: [&str; 6] = [
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
    "/etc/ssl/ca-bundle.pem",
    "/etc/ssl/cert.pem",
    "/usr/share/ssl/certs/ca-bundle.crt",
];

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Roots {
    /// The file named by `SSL_CERT_FILE`, or the first bundle found.
    System,
    /// Only this file (`--cacert`).
    File(PathBuf),
    /// Only these certificates, in PEM format.
    Pem(String),
    /// No certificate is trusted: for a client that only speaks clear text.
    Empty,
    /// Nothing is verified (`--insecure`).
    Anything,
}

impl Roots {
    pub(crate) fn load(&self) -> Result<RootCertStore, TlsError> {
        match self {
            Self::Empty | Self::Anything => Ok(RootCertStore::empty()),
            Self::File(path) => read(path),
            Self::Pem(text) => parse(text.as_bytes()).ok_or_else(|| TlsError::Pem {
                path: "the given text".into(),
                what: "certificate",
            }),
            Self::System => read(&Self::system_bundle()?),
        }
    }

    /// Whether the user named this same certificate.
    pub(crate) fn names(&self, certificate: &CertificateDer<'_>) -> bool {
        let pem = match self {
            Self::File(path) => std::fs::read(path).unwrap_or_default(),
            Self::Pem(text) => text.clone().into_bytes(),
            Self::System | Self::Empty | Self::Anything => return false,
        };
        CertificateDer::pem_slice_iter(&pem).any(|named| named.is_ok_and(|c| c == *certificate))
    }

    pub(crate) fn system_bundle() -> Result<PathBuf, TlsError> {
        if let Some(path) = std::env::var_os("SSL_CERT_FILE") {
            return Ok(path.into());
        }
        BUNDLES
            .iter()
            .map(PathBuf::from)
            .find(|p| p.is_file())
            .ok_or_else(|| TlsError::NoRoots(BUNDLES.iter().map(ToString::to_string).collect()))
    }
}

fn read(path: &Path) -> Result<RootCertStore, TlsError> {
    let pem = std::fs::read(path).map_err(|source| TlsError::Unreadable {
        path: path.into(),
        source,
    })?;
    parse(&pem).ok_or_else(|| TlsError::Pem {
        path: path.into(),
        what: "certificate",
    })
}

/// `None` if there is no certificate.
fn parse(pem: &[u8]) -> Option<RootCertStore> {
    let mut store = RootCertStore::empty();
    let (added, _) =
        store.add_parsable_certificates(CertificateDer::pem_slice_iter(pem).filter_map(Result::ok));
    (added > 0).then_some(store)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_without_a_certificate_is_refused() {
        let load = |text: &str| Roots::Pem(text.into()).load();
        assert!(matches!(load(""), Err(TlsError::Pem { .. })));
        let broken = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
        assert!(matches!(load(broken), Err(TlsError::Pem { .. })));
    }
}
