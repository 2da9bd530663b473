//! The server's side of TLS: the part that all threads share, and the configurations of each
//! thread.

use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;

use roundtrip_model::WallClock;
use roundtrip_store::{Memory, SharedStore};
use roundtrip_tls::{ServerStream, TlsError, certificate_compressor, key_exchanges};
use rustls::crypto::aws_lc_rs;
use rustls::server::NoServerSessionStorage;
use rustls::{ServerConfig, SupportedProtocolVersion, version};
use tokio::io::AsyncWriteExt;

use super::certificates::{ACME_PROTOCOL, Certificates};
use super::hello;
use super::session_prefetch::{SessionPrefetch, SingleUseCounts, TICKET_COUNT};
use super::session_quota::SessionQuota;
use super::tickets::Tickets;
use super::{ClientSocket, Secure, Seed};
use crate::GateError;
use crate::config::{Listen, Resumption, Tls};
use crate::judge::acme::ActiveAcme;

/// The largest number of bytes of early data over TCP: heads, and a small body. QUIC allows only
/// the largest possible value (RFC 9001 §4.6.1).
const MAX_EARLY_DATA: u32 = 16 * 1024;
/// A fatal alert: there is no certificate for the name (RFC 6066 §3, RFC 8446 §6.2).
const UNRECOGNIZED_NAME: [u8; 7] = [21, 3, 3, 0, 2, 2, 112];

/// Shared by all threads.
pub(crate) struct TlsSide {
    certificates: Arc<Certificates>,
    resumption: Resumption,
    tickets: Arc<Tickets>,
    early_data: bool,
    place: SharedStore,
    quota: Arc<SessionQuota>,
    /// Whether the CA's challenges come over TLS.
    answers_acme: bool,
}

/// One thread's configurations.
pub(crate) struct ThreadTls {
    /// One configuration for each number of tickets that a client may get.
    tcp: [Arc<ServerConfig>; TICKET_COUNT + 1],
    quic: Arc<ServerConfig>,
    certificates: Arc<Certificates>,
    early_data: bool,
    /// Fetches single-use sessions.
    prefetch: Option<SessionPrefetch>,
}

impl TlsSide {
    /// Single-use sessions are kept in `place`, or in memory; `acme` gives further certificates.
    pub(crate) fn new(
        settings: &Tls,
        listen: &Listen,
        seed: &Arc<Seed>,
        place: Option<SharedStore>,
        clock: Arc<dyn WallClock + Send + Sync>,
        acme: Option<Arc<ActiveAcme>>,
    ) -> Result<Self, GateError> {
        if settings.early_data && settings.resumption != Resumption::SingleUse {
            return Err(GateError::EarlyDataNeedsSingleUse);
        }
        let addresses: Vec<IpAddr> = listen.https.iter().map(SocketAddr::ip).collect();
        let provider = Arc::new(provider());
        let answers_acme = acme.as_ref().is_some_and(|acme| acme.uses_alpn());
        let certificates = Certificates::load(&settings.certificate, &addresses, provider, acme)?;
        Ok(Self {
            certificates: Arc::new(certificates),
            resumption: settings.resumption,
            tickets: Arc::new(Tickets::new(seed.clone(), settings.epoch.0, clock)),
            early_data: settings.early_data,
            place: place.unwrap_or_else(|| SharedStore::Memory(Memory::default())),
            quota: Arc::new(SessionQuota::new(settings.stored_sessions)),
            answers_acme,
        })
    }

    /// The self-signed certificate in PEM, if none was configured.
    pub(crate) fn self_made(&self) -> Option<&str> {
        self.certificates.self_made()
    }

    /// Must be called once a second. Loads replaced certificates, and returns which were loaded and
    /// which cannot be used.
    pub(crate) fn look(&self) -> Vec<Result<PathBuf, GateError>> {
        self.certificates.look()
    }

    /// Must be called on the thread's runtime.
    pub(crate) fn on_this_thread(&self) -> Result<ThreadTls, GateError> {
        let single = self.resumption == Resumption::SingleUse;
        let prefetch = single.then(|| {
            let store = self.place.on_this_thread();
            SessionPrefetch::open(store, self.tickets.clone(), self.quota.clone())
        });
        let mut tcp = self.config(&[&version::TLS13, &version::TLS12], prefetch.as_ref())?;
        tcp.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        if self.answers_acme {
            tcp.alpn_protocols.push(ACME_PROTOCOL.to_vec());
        }
        if self.early_data {
            tcp.max_early_data_size = MAX_EARLY_DATA;
        }
        // QUIC is TLS 1.3 (RFC 9001 §4.2).
        let mut quic = self.config(&[&version::TLS13], prefetch.as_ref())?;
        quic.alpn_protocols = vec![b"h3".to_vec()];
        if self.early_data {
            quic.max_early_data_size = u32::MAX;
        }
        Ok(ThreadTls {
            tcp: std::array::from_fn(|tickets| {
                let mut config = tcp.clone();
                config.send_tls13_tickets = tickets.min(config.send_tls13_tickets);
                Arc::new(config)
            }),
            quic: Arc::new(quic),
            certificates: self.certificates.clone(),
            early_data: self.early_data,
            prefetch,
        })
    }

    fn config(
        &self,
        versions: &[&'static SupportedProtocolVersion],
        prefetch: Option<&SessionPrefetch>,
    ) -> Result<ServerConfig, GateError> {
        let mut config = ServerConfig::builder_with_provider(Arc::new(provider()))
            .with_protocol_versions(versions)
            .map_err(|_| GateError::Cryptography)?
            .with_no_client_auth()
            .with_cert_resolver(self.certificates.clone());
        config.cert_compressors = vec![certificate_compressor()];
        // An answer to early data must not wait for the client's Finished, or early data would gain
        // nothing.
        config.send_half_rtt_data = self.early_data;
        config.session_storage = match prefetch {
            Some(prefetch) => prefetch.fetched(),
            None => Arc::new(NoServerSessionStorage {}),
        };
        config.send_tls13_tickets = TICKET_COUNT;
        match self.resumption {
            Resumption::Stateless => config.ticketer = self.tickets.clone(),
            Resumption::SingleUse => {}
            Resumption::Off => config.send_tls13_tickets = 0,
        }
        Ok(config)
    }
}

impl ThreadTls {
    pub(super) async fn accept(
        &self,
        mut stream: ClientSocket,
        client: IpAddr,
    ) -> Result<Secure, TlsError> {
        let [.., config] = &self.tcp;
        if self.prefetch.is_none() && !self.certificates.refuses() {
            let secure = Secure::accept(ServerStream::new(stream, config.clone())?).await?;
            return secure.unless_challenge();
        }
        let (first, hello) = hello::read(&mut stream).await?;
        let name = hello.server_name.as_deref();
        if hello.is_whole && self.certificates.must_refuse(name, &hello.alpn) {
            stream.write_all(&UNRECOGNIZED_NAME).await?;
            return Err(TlsError::ServerName(name.unwrap_or_default().to_owned()));
        }
        let fetched = match &self.prefetch {
            Some(prefetch) => prefetch.fetch(hello.identity).await,
            None => None,
        };
        let tickets = self.prefetch.as_ref();
        let tickets = tickets.map(|prefetch| prefetch.tickets(client, fetched.as_ref()));
        let config = tickets.and_then(|n| self.tcp.get(n)).unwrap_or(config);
        let secure = Secure::accept(ServerStream::after(stream, config.clone(), first)?).await;
        drop(fetched);
        secure?.unless_challenge()
    }

    pub(super) fn quic(&self) -> &Arc<ServerConfig> {
        &self.quic
    }

    pub(super) fn prefetch(&self) -> Option<&SessionPrefetch> {
        self.prefetch.as_ref()
    }

    pub(super) fn takes_early_data(&self) -> bool {
        self.early_data
    }

    /// The counts of single-use sessions.
    pub(crate) fn counts(&self) -> SingleUseCounts {
        self.prefetch
            .as_ref()
            .map(SessionPrefetch::counts)
            .unwrap_or_default()
    }
}

fn provider() -> rustls::crypto::CryptoProvider {
    let mut provider = aws_lc_rs::default_provider();
    provider.kx_groups = key_exchanges(true);
    provider
}
