//! A certificate, and the TLS configurations of both sides.

use std::sync::Arc;

use rustls::crypto::CryptoProvider;
use rustls::crypto::aws_lc_rs::default_provider;

pub(crate) const NAME: &str = "server.test";

pub(crate) struct Identity {
    pub(crate) client: Arc<rustls::ClientConfig>,
    pub(crate) server: Arc<rustls::ServerConfig>,
}

impl Identity {
    pub(crate) fn new() -> Self {
        Self::speaking(b"test", b"test")
    }

    /// Each side with its application protocol.
    pub(crate) fn speaking(client_protocol: &[u8], server_protocol: &[u8]) -> Self {
        Self::named(vec![NAME.to_owned()], client_protocol, server_protocol)
    }

    /// A certificate larger than what a server may send before it has validated the client's
    /// address.
    pub(crate) fn large() -> Self {
        let others = (0..400).map(|n| format!("other-{n}.server.test"));
        let names = std::iter::once(NAME.to_owned()).chain(others).collect();
        Self::named(names, b"test", b"test")
    }

    fn named(names: Vec<String>, client_protocol: &[u8], server_protocol: &[u8]) -> Self {
        let protocols = [client_protocol, server_protocol];
        Self::made_of(names, protocols, [default_provider(), default_provider()])
    }

    /// Takes the client's cryptography, and the server's.
    pub(crate) fn between(client: CryptoProvider, server: CryptoProvider) -> Self {
        Self::made_of(vec![NAME.to_owned()], [b"test"; 2], [client, server])
    }

    fn made_of(names: Vec<String>, protocols: [&[u8]; 2], providers: [CryptoProvider; 2]) -> Self {
        let [client_protocol, server_protocol] = protocols;
        let [client_provider, server_provider] = providers.map(Arc::new);
        let made = rcgen::generate_simple_self_signed(names).unwrap();
        let certificate = made.cert.der().clone();
        let key = rustls::pki_types::PrivateKeyDer::try_from(made.signing_key.serialize_der());
        let mut server = rustls::ServerConfig::builder_with_provider(server_provider)
            .with_protocol_versions(&[&rustls::version::TLS13])
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![certificate.clone()], key.unwrap())
            .unwrap();
        server.alpn_protocols = vec![server_protocol.to_vec()];
        server.max_early_data_size = u32::MAX;
        let mut roots = rustls::RootCertStore::empty();
        roots.add(certificate).unwrap();
        let mut client = rustls::ClientConfig::builder_with_provider(client_provider)
            .with_protocol_versions(&[&rustls::version::TLS13])
            .unwrap()
            .with_root_certificates(roots)
            .with_no_client_auth();
        client.alpn_protocols = vec![client_protocol.to_vec()];
        client.enable_early_data = true;
        Self {
            client: Arc::new(client),
            server: Arc::new(server),
        }
    }

    /// The same server after it has lost its stored TLS sessions.
    pub(crate) fn forget_sessions(&mut self) {
        let mut server = (*self.server).clone();
        server.session_storage = rustls::server::ServerSessionMemoryCache::new(256);
        self.server = Arc::new(server);
    }
}
