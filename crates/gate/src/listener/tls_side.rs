//! The server's side of TLS: what all threads share, and the configurations that each of them has.

use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;

use roundtrip_tls::{Stream, TlsError, certificate_compressor, key_exchanges};
use rustls::crypto::aws_lc_rs;
use rustls::server::NoServerSessionStorage;
use rustls::{ServerConfig, ServerConnection, SupportedProtocolVersion, version};
use tokio::net::TcpStream;

use super::certificates::Certificates;
use super::tickets::{Clock, Tickets};
use super::{Secure, Seed};
use crate::GateError;
use crate::config::{Listen, Resumption, Tls};

/// For each full or resumed handshake: a browser opens more than one connection.
const TICKETS: usize = 2;

/// Shared by all threads.
pub(crate) struct TlsSide {
    certificates: Arc<Certificates>,
    resumption: Resumption,
    tickets: Arc<Tickets>,
}

/// One thread's.
pub(crate) struct ThreadTls {
    tcp: Arc<ServerConfig>,
}

impl TlsSide {
    pub(crate) fn new(
        settings: &Tls,
        listen: &Listen,
        seed: &Arc<Seed>,
        clock: Clock,
    ) -> Result<Self, GateError> {
        if settings.early_data && settings.resumption != Resumption::SingleUse {
            return Err(GateError::EarlyDataNeedsSingleUse);
        }
        let addresses: Vec<IpAddr> = listen.https.iter().map(SocketAddr::ip).collect();
        let provider = Arc::new(provider());
        let certificates = Certificates::load(&settings.certificate, &addresses, provider)?;
        Ok(Self {
            certificates: Arc::new(certificates),
            resumption: settings.resumption,
            tickets: Arc::new(Tickets::new(seed.clone(), settings.epoch.0, clock)),
        })
    }

    /// The certificate that was made here, in PEM, if none was given.
    pub(crate) fn self_made(&self) -> Option<&str> {
        self.certificates.self_made()
    }

    /// To be called once a second: takes replaced certificates, and says which, and which of them cannot be used.
    pub(crate) fn look(&self) -> Vec<Result<PathBuf, GateError>> {
        self.certificates.look()
    }

    pub(crate) fn on_this_thread(&self) -> Result<ThreadTls, GateError> {
        let mut tcp = self.config(&[&version::TLS13, &version::TLS12])?;
        tcp.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        Ok(ThreadTls { tcp: Arc::new(tcp) })
    }

    fn config(
        &self,
        versions: &[&'static SupportedProtocolVersion],
    ) -> Result<ServerConfig, GateError> {
        let mut config = ServerConfig::builder_with_provider(Arc::new(provider()))
            .with_protocol_versions(versions)
            .map_err(|_| GateError::Cryptography)?
            .with_no_client_auth()
            .with_cert_resolver(self.certificates.clone());
        config.cert_compressors = vec![certificate_compressor()];
        config.session_storage = Arc::new(NoServerSessionStorage {});
        config.send_tls13_tickets = TICKETS;
        match self.resumption {
            Resumption::Stateless => config.ticketer = self.tickets.clone(),
            Resumption::SingleUse => {}
            Resumption::Off => config.send_tls13_tickets = 0,
        }
        Ok(config)
    }
}

impl ThreadTls {
    pub(super) async fn accept(&self, stream: TcpStream) -> Result<Secure, TlsError> {
        let connection = ServerConnection::new(self.tcp.clone())?;
        Secure::accept(Stream::server(stream, connection)).await
    }
}

fn provider() -> rustls::crypto::CryptoProvider {
    let mut provider = aws_lc_rs::default_provider();
    provider.kx_groups = key_exchanges(true);
    provider
}
