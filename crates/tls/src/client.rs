//! A client's TLS, shaped by a strategy: versions, key shares, ALPN, what is remembered and what is trusted.

use std::sync::Arc;
use std::time::SystemTime;

use roundtrip_model::{Event, Recorder, Task};
use rustls::client::Resumption;
use rustls::crypto::{CryptoProvider, SupportedKxGroup, aws_lc_rs};
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection, KeyLogFile, SupportedProtocolVersion, version};
use tokio::io::{AsyncRead, AsyncWrite};

use crate::identity::{Identity, Resolver};
use crate::verifier::Verifier;
use crate::{
    Keepsake, KeepsakeError, Roots, Stream, Tickets, TlsError, Witness, bond, compression,
    planting, suites,
};

/// What a ClientHello offers.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Offer {
    pub tls12: bool,
    pub tls13: bool,
    pub post_quantum: bool,
    pub early_data: bool,
    /// Whether a ticket from an earlier connection may be shown.
    pub resume: bool,
    pub alpn: Vec<&'static str>,
    /// For QUIC, whose tickets are of no use over TCP.
    pub quic: bool,
}

/// Everything that TLS connections of one run share.
pub struct Client {
    provider: Arc<CryptoProvider>,
    classical: Arc<CryptoProvider>,
    verifier: Arc<Verifier>,
    tickets: Arc<Tickets>,
    quic_tickets: Arc<Tickets>,
    resolver: Arc<Resolver>,
    key_log: Arc<KeyLogFile>,
    /// `None` where the trusted certificates cannot be told from others.
    bond: Option<[u8; 32]>,
}

impl Client {
    pub fn new(roots: Roots, identity: Option<&Identity>) -> Result<Self, TlsError> {
        let provider = Arc::new(provider(true));
        let resolver = Resolver::new(identity, &provider)?;
        Ok(Self {
            // Before they are read: if they change meanwhile, sessions are not kept for the new ones.
            bond: bond::bond(&roots, identity).ok(),
            verifier: Verifier::new(roots, provider.clone())?,
            classical: Arc::new(self::provider(false)),
            provider,
            tickets: Tickets::new(false),
            quic_tickets: Tickets::new(true),
            resolver,
            key_log: Arc::new(KeyLogFile::new()),
        })
    }

    pub fn tickets(&self, quic: bool) -> &Arc<Tickets> {
        if quic {
            &self.quic_tickets
        } else {
            &self.tickets
        }
    }

    /// Takes out the sessions of a server that later processes can use, the oldest first. This client uses them no more:
    /// each is good for one connection.
    pub fn keepsakes(&self, quic: bool, host: &str) -> Vec<Keepsake> {
        let (Ok(name), Some(bond)) = (server_name(host), self.bond) else {
            return Vec::new();
        };
        let mut keepsakes = self.tickets(quic).take_keepsakes(&name);
        for keepsake in &mut keepsakes {
            keepsake.bond = bond;
        }
        keepsakes
    }

    /// Puts a kept session in, so that the next connection to this server resumes it, if it is for this server and for
    /// a client like this one. The certificate was verified when it was received; its end is looked at again.
    pub fn plant(
        &self,
        quic: bool,
        host: &str,
        keepsake: &Keepsake,
        now: SystemTime,
    ) -> Result<(), KeepsakeError> {
        keepsake.check_form()?;
        let other = || KeepsakeError::OtherName {
            kept: keepsake.name().to_owned(),
            asked: host.chars().take(80).collect(),
        };
        let name = server_name(host).map_err(|_| other())?;
        if server_name(keepsake.name()).ok().as_ref() != Some(&name) {
            return Err(other());
        }
        if keepsake.is_quic() != quic {
            return Err(KeepsakeError::OtherCarrier(keepsake.is_quic()));
        }
        keepsake.check_time(now)?;
        if self.bond != Some(keepsake.bond) {
            return Err(KeepsakeError::OtherTrust);
        }
        let session = planting::session(keepsake, self.verifier.clone(), self.resolver.clone())?;
        let tickets = self.tickets(quic);
        tickets.plant(name, session, keepsake.clone());
        Ok(())
    }

    /// Did the server ask for a certificate since the last call?
    pub fn take_certificate_asked(&self) -> bool {
        self.resolver.take_asked()
    }

    pub fn witness(&self) -> Witness {
        Witness::new(self.verifier.clone())
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
        // Trust and identity must be the same objects each time: rustls resumes no session under others.
        let mut config = ClientConfig::builder_with_provider(provider.clone())
            .with_protocol_versions(&versions)?
            .dangerous()
            .with_custom_certificate_verifier(self.verifier.clone())
            .with_client_cert_resolver(self.resolver.clone());
        config.alpn_protocols = offer.alpn.iter().map(|p| p.as_bytes().to_vec()).collect();
        config.enable_early_data = offer.early_data;
        // As curl and browsers do: with SSLKEYLOGFILE set, a capture of the same run can be read.
        config.key_log = self.key_log.clone();
        config.cert_decompressors = vec![&compression::BROTLI, &compression::ZLIB];
        config.resumption = if offer.resume {
            Resumption::store(self.tickets(offer.quic).clone())
        } else {
            Resumption::disabled()
        };
        Ok(config)
    }

    /// Begins a connection over `io`: generates the key shares, sends nothing yet.
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
        self.witness().take();
        let connection = recorder.timed(Task::GenerateKeys, || {
            ClientConnection::new(config.into(), name)
        })?;
        Ok(Stream::client(
            io,
            connection,
            recorder.clone(),
            Some(self.witness()),
        ))
    }
}

/// A connection with a configuration that was made before: for who opens many, and writes nothing down. Early data is not
/// sent, whatever the configuration says.
pub fn join<IO: AsyncRead + AsyncWrite + Unpin>(
    io: IO,
    config: &Arc<ClientConfig>,
    host: &str,
) -> Result<Stream<IO>, TlsError> {
    let connection = ClientConnection::new(config.clone(), server_name(host)?)?;
    Ok(Stream::unobserved(io, connection))
}

/// A host as TLS knows it. An IPv6 address comes without brackets.
pub(crate) fn server_name(host: &str) -> Result<ServerName<'static>, TlsError> {
    // A trailing dot makes a name absolute for resolvers; certificates do not know it. RFC 6066 §3.
    let bare = host.strip_suffix('.').unwrap_or(host);
    ServerName::try_from(bare.to_owned())
        .map_err(|_| TlsError::ServerName(host.chars().take(80).collect()))
}

fn provider(post_quantum: bool) -> CryptoProvider {
    let mut provider = aws_lc_rs::default_provider();
    provider.cipher_suites = suites::all();
    provider.kx_groups = key_exchanges(post_quantum);
    provider
}

/// The groups that either side prefers, the first one most.
pub fn key_exchanges(post_quantum: bool) -> Vec<&'static dyn SupportedKxGroup> {
    use aws_lc_rs::kx_group::{SECP256R1, SECP384R1, X25519, X25519MLKEM768};
    let mut groups = vec![X25519MLKEM768, X25519, SECP256R1, SECP384R1];
    if !post_quantum {
        groups.remove(0);
    }
    groups
}
