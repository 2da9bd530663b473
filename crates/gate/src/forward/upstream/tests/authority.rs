//! A test's certificate authority, and what servers and upstreams need to use it.

use std::path::PathBuf;
use std::sync::Arc;

use rcgen::{CertificateParams, KeyPair};
use rustls::ServerConfig;
use rustls::crypto::aws_lc_rs;
use rustls::pki_types::PrivateKeyDer;
use tempfile::TempDir;

pub(super) struct Authority {
    folder: TempDir,
    pub(super) server: Arc<ServerConfig>,
}

impl Authority {
    /// Makes a certificate and a server on loopback that offers these protocols.
    pub(super) fn new(alpn: &[&str]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let key = KeyPair::generate().unwrap();
        let params = CertificateParams::new(vec!["127.0.0.1".into()]).unwrap();
        let certificate = params.self_signed(&key).unwrap();
        std::fs::write(folder.path().join("ca.pem"), certificate.pem()).unwrap();
        let provider = Arc::new(aws_lc_rs::default_provider());
        let key = PrivateKeyDer::try_from(key.serialize_der()).unwrap();
        let mut server = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![certificate.der().clone()], key)
            .unwrap();
        server.alpn_protocols = alpn.iter().map(|p| p.as_bytes().to_vec()).collect();
        let server = Arc::new(server);
        Self { folder, server }
    }

    pub(super) fn ca(&self) -> PathBuf {
        self.folder.path().join("ca.pem")
    }
}
