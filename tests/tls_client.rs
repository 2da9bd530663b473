//! The TLS configuration of clients in tests.

use std::sync::Arc;

use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{ClientConfig, RootCertStore, SupportedProtocolVersion};

/// A client that trusts this certificate (PEM) and offers these protocols (ALPN) and versions.
pub(crate) fn client_config(
    pem: Option<&str>,
    protocols: &[&[u8]],
    versions: &[&'static SupportedProtocolVersion],
) -> ClientConfig {
    let mut roots = RootCertStore::empty();
    if let Some(pem) = pem {
        let certificate = CertificateDer::from_pem_slice(pem.as_bytes()).unwrap();
        roots.add(certificate).unwrap();
    }
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let mut config = ClientConfig::builder_with_provider(provider)
        .with_protocol_versions(versions)
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = protocols.iter().map(|name| name.to_vec()).collect();
    config
}

/// As [`client_config`], for HTTP/3.
pub(crate) fn h3_config(pem: Option<&str>) -> ClientConfig {
    client_config(pem, &[b"h3"], &[&rustls::version::TLS13])
}
