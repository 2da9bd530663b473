//! Reviving does not weaken verification: an untrusted server is refused before, while and after
//! sessions are revived, even if it shows a trusted server's certificate.

use std::sync::Arc;
use std::time::SystemTime;

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::{ResolvesServerCert, ServerSessionMemoryCache};
use rustls::sign::{CertifiedKey, Signer, SigningKey, SingleCertAndKey};
use rustls::{ServerConfig, SignatureAlgorithm, SignatureScheme};

use crate::peers::{HOST, Server, kept, visit};

/// Signs with a key that does not belong to the certificate, or with nothing at all.
#[derive(Debug)]
struct Impostor(Option<Arc<dyn SigningKey>>);

impl SigningKey for Impostor {
    fn choose_scheme(&self, offered: &[SignatureScheme]) -> Option<Box<dyn Signer>> {
        match &self.0 {
            Some(key) => key.choose_scheme(offered),
            None => Some(Box::new(Blank)),
        }
    }

    fn algorithm(&self) -> SignatureAlgorithm {
        SignatureAlgorithm::ECDSA
    }
}

#[derive(Debug)]
struct Blank;

impl Signer for Blank {
    fn sign(&self, _: &[u8]) -> Result<Vec<u8>, rustls::Error> {
        Ok(vec![0; 32])
    }

    fn scheme(&self) -> SignatureScheme {
        SignatureScheme::ECDSA_NISTP256_SHA256
    }
}

/// Servers that `server`'s clients must refuse.
fn impostors(server: &Server) -> Vec<Arc<ServerConfig>> {
    let provider = rustls::crypto::aws_lc_rs::default_provider();
    let key = rcgen::KeyPair::generate().unwrap().serialize_der();
    let key = PrivateKeyDer::try_from(key).unwrap();
    let own = provider.key_provider.load_private_key(key).unwrap();
    let chain = vec![CertificateDer::from_pem_slice(server.pem.as_bytes()).unwrap()];
    let with = |key: Option<Arc<dyn SigningKey>>| {
        let certified = CertifiedKey::new(chain.clone(), Arc::new(Impostor(key)));
        let resolver: Arc<dyn ResolvesServerCert> = Arc::new(SingleCertAndKey::from(certified));
        let mut config = server.config.clone();
        config.cert_resolver = resolver;
        // The impostor has stolen no tickets.
        config.session_storage = ServerSessionMemoryCache::new(8);
        Arc::new(config)
    };
    vec![Server::new().shared(), with(Some(own)), with(None)]
}

#[test]
fn untrusted_servers_are_refused_before_and_after_reviving() {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap();
    let server = Server::new();
    let kept = runtime.block_on(kept(&server, &server.shared()));
    let (client, now) = (server.client(), SystemTime::now());
    let impostors = impostors(&server);
    let all_refused = || {
        for (n, impostor) in impostors.iter().enumerate() {
            let outcome = runtime.block_on(visit(&client, impostor, HOST));
            let error = outcome.unwrap_err().to_string();
            assert!(error.contains("invalid peer certificate"), "{n}: {error}");
        }
    };
    let revive = || {
        client.revive(false, HOST, &kept[0], now).unwrap();
        // With these it would resume, but this test is about full handshakes.
        client.take_sessions(false, HOST).len()
    };
    all_refused();
    revive();
    all_refused();
    std::thread::scope(|scope| {
        let reviving = scope.spawn(|| (0..300).map(|_| revive()).sum::<usize>());
        while !reviving.is_finished() {
            all_refused();
        }
        assert!(reviving.join().unwrap() <= 300);
    });
    all_refused();
}
