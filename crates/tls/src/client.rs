//! A client's TLS, shaped by a strategy: versions, key shares, ALPN, stored sessions and trusted
//! certificates.

use std::sync::Arc;
use std::time::SystemTime;

use roundtrip_model::{Event, Recorder, Task, excerpt};
use rustls::client::Resumption;
use rustls::crypto::{CryptoProvider, SupportedKxGroup, aws_lc_rs};
use rustls::{ClientConfig, ClientConnection, KeyLogFile, SupportedProtocolVersion, version};
use tokio::io::{AsyncRead, AsyncWrite};

use crate::identity::{Identity, Resolver};
use crate::name::server_name;
use crate::ticket_clock::TicketClock;
use crate::trust_fingerprint::trust_fingerprint;
use crate::{
    RecordingVerifier, Roots, StoredSession, StoredSessionError, Stream, Tickets, TlsError,
    compression, revive, suites,
};

/// The contents of a ClientHello.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Offer {
    pub tls12: bool,
    pub tls13: bool,
    pub post_quantum: bool,
    pub early_data: bool,
    /// Whether to offer a ticket from an earlier connection.
    pub resume: bool,
    pub alpn: Vec<&'static str>,
    /// Whether this is for QUIC, whose tickets cannot be used over TCP.
    pub quic: bool,
}

/// The state that all TLS connections of one run share.
pub struct Client {
    provider: Arc<CryptoProvider>,
    classical: Arc<CryptoProvider>,
    verifier: Arc<RecordingVerifier>,
    tickets: Arc<Tickets>,
    quic_tickets: Arc<Tickets>,
    resolver: Arc<Resolver>,
    key_log: Arc<KeyLogFile>,
    /// The fingerprint of the trusted certificates; `None` if they cannot be identified.
    trust_fingerprint: Option<[u8; 32]>,
}

impl Client {
    pub fn new(roots: Roots, identity: Option<&Identity>) -> Result<Self, TlsError> {
        let provider = Arc::new(provider(true));
        let resolver = Resolver::new(identity, &provider)?;
        Ok(Self {
            // Computed before the certificates are read: if they change meanwhile, sessions are not
            // stored for the new ones.
            trust_fingerprint: trust_fingerprint(&roots, identity).ok(),
            verifier: RecordingVerifier::new(roots, provider.clone())?,
            classical: Arc::new(self::provider(false)),
            provider,
            tickets: Tickets::new(false),
            quic_tickets: Tickets::new(true),
            resolver,
            key_log: Arc::new(KeyLogFile::new()),
        })
    }

    /// Lets this client accept chains that the process verified a short time ago under the same
    /// roots. This helps processes that ask the same servers again and again.
    pub fn remember_chains(&self) {
        self.verifier.remember();
    }

    pub fn tickets(&self, quic: bool) -> &Arc<Tickets> {
        if quic {
            &self.quic_tickets
        } else {
            &self.tickets
        }
    }

    /// Takes out the sessions of a server that later processes can use, the oldest first. This
    /// client does not use them any more, because each is valid for one connection.
    pub fn take_sessions(&self, quic: bool, host: &str) -> Vec<StoredSession> {
        let (Ok(name), Some(fingerprint)) = (server_name(host), self.trust_fingerprint) else {
            return Vec::new();
        };
        let mut sessions = self.tickets(quic).take_stored(&name);
        for session in &mut sessions {
            session.trust_fingerprint = fingerprint;
        }
        sessions
    }

    /// Adds a stored session to this client, so that its next connection to this server
    /// resumes it.
    ///
    /// The session must be for this server, and for a client with the same trust and identity. The
    /// certificate was verified when the session was received; this only checks that it has not
    /// expired.
    pub fn revive(
        &self,
        quic: bool,
        host: &str,
        stored: &StoredSession,
        now: SystemTime,
    ) -> Result<(), StoredSessionError> {
        stored.check_form()?;
        let other = || StoredSessionError::OtherName {
            kept: stored.name().to_owned(),
            asked: excerpt(host, 80),
        };
        let name = server_name(host).map_err(|_| other())?;
        if server_name(stored.name()).ok().as_ref() != Some(&name) {
            return Err(other());
        }
        if stored.is_quic() != quic {
            return Err(StoredSessionError::OtherCarrier(stored.is_quic()));
        }
        stored.check_time(now)?;
        if self.trust_fingerprint != Some(stored.trust_fingerprint) {
            return Err(StoredSessionError::OtherTrust);
        }
        let session = revive::session(stored, self.verifier.clone(), self.resolver.clone())?;
        let tickets = self.tickets(quic);
        tickets.insert_revived(name, session, stored.clone());
        Ok(())
    }

    /// Whether the server has asked for a certificate since the last call.
    pub fn take_certificate_asked(&self) -> bool {
        self.resolver.take_asked()
    }

    pub fn verifier(&self) -> &Arc<RecordingVerifier> {
        &self.verifier
    }

    /// The configuration for an offer. Trust, tickets and identity are shared between all of them.
    pub fn config(&self, offer: &Offer) -> Result<ClientConfig, TlsError> {
        let versions: Vec<&'static SupportedProtocolVersion> = [
            (&version::TLS13, offer.tls13),
            (&version::TLS12, offer.tls12),
        ]
        .into_iter()
        .filter_map(|(version, on)| on.then_some(version))
        .collect();
        let provider = if offer.post_quantum {
            &self.provider
        } else {
            &self.classical
        };
        // Trust and identity must be the same objects each time: otherwise rustls does not resume
        // the session.
        let mut config = ClientConfig::builder_with_provider(provider.clone())
            .with_protocol_versions(&versions)?
            .dangerous()
            .with_custom_certificate_verifier(self.verifier.clone())
            .with_client_cert_resolver(self.resolver.clone());
        config.alpn_protocols = offer.alpn.iter().map(|p| p.as_bytes().to_vec()).collect();
        config.enable_early_data = offer.early_data;
        config.time_provider = Arc::new(TicketClock);
        // As in curl and browsers: with SSLKEYLOGFILE set, a capture of the same run can be
        // decrypted.
        config.key_log = self.key_log.clone();
        config.cert_decompressors = vec![&compression::BROTLI, &compression::ZLIB];
        config.resumption = if offer.resume {
            Resumption::store(self.tickets(offer.quic).clone())
        } else {
            Resumption::disabled()
        };
        Ok(config)
    }

    /// Begins a connection over `io`: generates the key shares, but sends nothing yet.
    pub fn connect<IO: AsyncRead + AsyncWrite + Unpin>(
        &self,
        io: IO,
        offer: &Offer,
        host: &str,
        recorder: &Recorder,
    ) -> Result<Stream<IO>, TlsError> {
        let name = server_name(host)?;
        recorder.record(Event::HandshakeStarted);
        let config = recorder.timed(Task::Configure, || self.config(offer))?;
        self.verifier.take_observation();
        let connection = recorder.timed(Task::GenerateKeys, || {
            ClientConnection::new(config.into(), name)
        })?;
        Ok(Stream::client(
            io,
            connection,
            recorder.clone(),
            Some(self.verifier.clone()),
        ))
    }
}

/// Begins a connection with an existing configuration, for callers that open many connections and
/// record nothing. Does not send early data, even if the configuration allows it.
pub fn join<IO: AsyncRead + AsyncWrite + Unpin>(
    io: IO,
    config: &Arc<ClientConfig>,
    host: &str,
) -> Result<Stream<IO>, TlsError> {
    let connection = ClientConnection::new(config.clone(), server_name(host)?)?;
    Ok(Stream::unobserved(io, connection))
}

fn provider(post_quantum: bool) -> CryptoProvider {
    let mut provider = aws_lc_rs::default_provider();
    provider.cipher_suites = suites::all();
    provider.kx_groups = key_exchanges(post_quantum);
    provider
}

/// The groups to offer, the preferred one first.
pub fn key_exchanges(post_quantum: bool) -> Vec<&'static dyn SupportedKxGroup> {
    use aws_lc_rs::kx_group::{SECP256R1, SECP384R1, X25519, X25519MLKEM768};
    let mut groups = vec![X25519MLKEM768, X25519, SECP256R1, SECP384R1];
    if !post_quantum {
        groups.remove(0);
    }
    groups
}
