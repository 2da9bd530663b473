//! The TLS session: handshake bytes in and out, level by level, and the keys that result. RFC 9001
//! §4.

use std::sync::Arc;

use roundtrip_wire::quic::{ConnectionId, Side, Version};
use rustls::crypto::aws_lc_rs::cipher_suite::TLS13_AES_128_GCM_SHA256;
use rustls::pki_types::ServerName;
use rustls::quic::{
    ClientConnection, Connection, KeyChange, Keys, ServerConnection, Version as TlsVersion,
};
use rustls::{AlertDescription, ClientConfig, Error, HandshakeType, PeerMisbehaved, ServerConfig};

use super::inbound::Inbound;
use super::levels::{KeyPair, Levels};
use super::outbound::Outbound;
use super::phases::Phases;
use super::protection::{Opener, Sealer};
use super::{Level, violation};
use crate::error::{Code, TransportError};
use crate::observer::{HandshakeBytes, HandshakeObserver};

/// Where a ClientHello says how long its `legacy_session_id` is: after the message's type and
/// length, a version, and 32 random bytes. RFC 8446 §4.1.2.
const SESSION_ID_AT: usize = 4 + 2 + 32;

pub(super) struct TlsSession {
    tls: Connection,
    version: TlsVersion,
    /// On a client: the server name that it asked for.
    name: Option<String>,
    /// On a client: the remembered transport parameters.
    remembered: Option<Vec<u8>>,
    /// The received handshake bytes of each level, by [`Level::slot`].
    inbound: [Inbound; 3],
    outbound: [Outbound; 3],
    write_level: Level,
    is_complete: bool,
    /// Whether received bytes are withheld from TLS.
    is_held: bool,
    /// Whether keys for early data were made.
    had_early_keys: bool,
    failure: Option<Error>,
    observer: Option<Box<dyn HandshakeObserver>>,
}

impl TlsSession {
    pub(super) fn client(
        config: Arc<ClientConfig>,
        name: ServerName<'static>,
        parameters: Vec<u8>,
        version: Version,
    ) -> Result<Self, Error> {
        let version = tls_version(version)?;
        let asked = name.to_str().into_owned();
        let tls = ClientConnection::new(config, version, name, parameters)?;
        let remembered = tls.quic_transport_parameters().map(<[u8]>::to_vec);
        let mut session = Self::new(Connection::Client(tls), version);
        session.name = Some(asked);
        session.remembered = remembered;
        Ok(session)
    }

    pub(super) fn server(
        config: Arc<ServerConfig>,
        parameters: Vec<u8>,
        version: Version,
    ) -> Result<Self, Error> {
        let version = tls_version(version)?;
        let tls = ServerConnection::new(config, version, parameters)?;
        Ok(Self::new(Connection::Server(tls), version))
    }

    fn new(tls: Connection, version: TlsVersion) -> Self {
        Self {
            tls,
            version,
            name: None,
            remembered: None,
            inbound: Default::default(),
            outbound: Default::default(),
            write_level: Level::Initial,
            is_complete: false,
            is_held: false,
            had_early_keys: false,
            failure: None,
            observer: None,
        }
    }

    pub(super) fn initial_keys(&self, id: &ConnectionId) -> Option<Keys> {
        initial_keys(id, self.version, self.side())
    }

    /// Takes the bytes that TLS has to send, and the keys that it derived.
    pub(super) fn collect(&mut self, levels: &mut Levels) {
        loop {
            let mut said = Vec::new();
            let change = self.tls.write_hs(&mut said);
            if let Some(outbound) = self.outbound(self.write_level) {
                outbound.push(&said);
            }
            match change {
                None => break,
                Some(KeyChange::Handshake { keys }) => {
                    levels.handshake = Some(KeyPair::new(keys));
                    self.take_servers_early_keys(levels);
                    self.write_level = Level::Handshake;
                }
                Some(KeyChange::OneRtt { keys, next }) => {
                    levels.one_rtt = Some(Phases::new(keys, next));
                    // RFC 9001 §4.9.3: a client no longer needs the 0-RTT keys.
                    levels.early_seal = None;
                    self.write_level = Level::OneRtt;
                }
            }
        }
        self.take_clients_early_keys(levels);
        self.is_complete = !self.tls.is_handshaking();
    }

    fn take_clients_early_keys(&mut self, levels: &mut Levels) {
        if self.side() == Side::Server || self.write_level != Level::Initial || self.had_early_keys
        {
            return;
        }
        levels.early_seal = self.tls.zero_rtt_keys().map(Sealer::new);
        self.had_early_keys = levels.early_seal.is_some();
    }

    fn take_servers_early_keys(&mut self, levels: &mut Levels) {
        if self.side() == Side::Server {
            levels.early_open = self.tls.zero_rtt_keys().map(Opener::new);
            self.had_early_keys = levels.early_open.is_some();
        }
    }

    pub(super) fn receive(
        &mut self,
        levels: &mut Levels,
        level: Level,
        offset: u64,
        data: &[u8],
    ) -> Result<(), TransportError> {
        if self.has_failed() {
            return Ok(());
        }
        let no_place = || violation("handshake bytes came in a 0-RTT packet");
        let slot = level.slot().ok_or_else(no_place)?;
        let reading = self.read_slot();
        let Some(inbound) = self.inbound.get_mut(slot) else {
            return Ok(());
        };
        if slot < reading {
            // RFC 9001 §4.1.3: old bytes may be repeated, but nothing may be added.
            let end = offset.saturating_add(data.len() as u64);
            return if inbound.reaches(end) {
                Ok(())
            } else {
                Err(violation("handshake bytes came at a level that has ended"))
            };
        }
        inbound.push(offset, data)?;
        if self.is_held {
            return Ok(());
        }
        self.feed(levels)
    }

    pub(super) fn hold(&mut self) {
        self.is_held = true;
    }

    /// The peer's first handshake bytes, up to the first gap, while they are withheld from TLS.
    pub(super) fn held(&self) -> Option<&[u8]> {
        let first = self.inbound.first()?;
        self.is_held.then(|| first.ready())
    }

    pub(super) fn proceed(&mut self, levels: &mut Levels) -> Result<(), TransportError> {
        self.is_held = false;
        self.feed(levels)
    }

    /// Passes contiguous bytes of the current level to TLS, which may then move on to the next
    /// level.
    fn feed(&mut self, levels: &mut Levels) -> Result<(), TransportError> {
        loop {
            let slot = self.read_slot();
            let Some(inbound) = self.inbound.get_mut(slot) else {
                return Ok(());
            };
            let is_first = !inbound.reaches(1);
            let Some(bytes) = inbound.take() else {
                return Ok(());
            };
            if is_first && self.asks_for_compatibility(&bytes) {
                return Err(violation("its hello asks for TLS's compatibility mode"));
            }
            let read = self.read(&bytes);
            self.collect(levels);
            if let Err(error) = read {
                let code = self.code_of(&error);
                self.failure = Some(error);
                return Err(TransportError::new(code, "the TLS handshake failed"));
            }
            let is_over = slot < self.read_slot();
            if is_over && self.inbound.get(slot).is_some_and(Inbound::has_rest) {
                return Err(violation(
                    "handshake bytes were left unread at a level that has ended",
                ));
            }
        }
    }

    /// Whether a client's first bytes are a hello for TCP, if they reach that far. RFC 9001 §8.4.
    fn asks_for_compatibility(&self, bytes: &[u8]) -> bool {
        self.side() == Side::Server
            && bytes.first() == Some(&u8::from(HandshakeType::ClientHello))
            && bytes.get(SESSION_ID_AT).is_some_and(|length| *length > 0)
    }

    fn code_of(&self, error: &Error) -> Code {
        match error {
            // RFC 9001 §4.4 and §4.6.1: these rules are QUIC's.
            Error::PeerMisbehaved(PeerMisbehaved::InvalidMaxEarlyDataSize)
            | Error::InappropriateHandshakeMessage {
                got_type: HandshakeType::CertificateRequest,
                ..
            } if self.is_complete => Code::PROTOCOL_VIOLATION,
            // There is no alert for a message that is too long to be read.
            _ => {
                let alert = self.tls.alert().unwrap_or(AlertDescription::DecodeError);
                Code::alert(u8::from(alert))
            }
        }
    }

    /// Whether bytes have arrived while earlier ones are missing.
    pub(super) fn has_gap(&self) -> bool {
        self.inbound.iter().any(Inbound::has_rest)
    }

    pub(super) fn memory(&self) -> usize {
        let inbound: usize = self.inbound.iter().map(Inbound::memory).sum();
        let outbound: usize = self.outbound.iter().map(Outbound::memory).sum();
        inbound + outbound
    }

    fn read(&mut self, bytes: &[u8]) -> Result<(), Error> {
        let mut reading = HandshakeBytes::new(&mut self.tls, bytes);
        if let Some(observer) = &mut self.observer {
            observer.on_handshake_bytes(&mut reading);
        }
        reading.end()
    }

    pub(super) fn set_observer(&mut self, observer: Box<dyn HandshakeObserver>) {
        self.observer = Some(observer);
    }

    /// The level at which the peer's next handshake bytes come. A server has 1-RTT keys before it
    /// has read the client's Finished.
    fn read_slot(&self) -> usize {
        let level = match self.write_level {
            Level::OneRtt if !self.is_complete => Level::Handshake,
            level => level,
        };
        level.slot().unwrap_or_default()
    }

    pub(super) fn outbound(&mut self, level: Level) -> Option<&mut Outbound> {
        self.outbound.get_mut(level.slot()?)
    }

    pub(super) fn wants_to_send(&self, level: Level) -> bool {
        let outbound = level.slot().and_then(|slot| self.outbound.get(slot));
        outbound.is_some_and(Outbound::wants_to_send)
    }

    /// Sends all of the first level again.
    pub(super) fn rewind(&mut self) {
        if let Some(outbound) = self.outbound(Level::Initial) {
            outbound.rewind();
        }
    }

    /// Cancels all retransmissions at that level.
    pub(super) fn forget(&mut self, level: Level) {
        if let Some(outbound) = self.outbound(level) {
            outbound.forget();
        }
    }

    pub(super) fn peer_parameters(&self) -> Option<&[u8]> {
        if self.side() == Side::Client && !self.is_complete {
            return None;
        }
        self.tls.quic_transport_parameters()
    }

    pub(super) fn remembered_parameters(&self) -> Option<&[u8]> {
        self.remembered.as_deref()
    }

    pub(super) fn early_accepted(&self) -> Option<bool> {
        match &self.tls {
            Connection::Client(tls) => {
                (self.is_complete && self.had_early_keys).then(|| tls.is_early_data_accepted())
            }
            Connection::Server(_) => {
                (self.write_level != Level::Initial).then_some(self.had_early_keys)
            }
        }
    }

    pub(super) fn server_name(&self) -> Option<&str> {
        match &self.tls {
            Connection::Client(_) => self.name.as_deref(),
            Connection::Server(tls) => tls.server_name(),
        }
    }

    pub(super) fn side(&self) -> Side {
        match self.tls {
            Connection::Client(_) => Side::Client,
            Connection::Server(_) => Side::Server,
        }
    }

    /// Frees all handshake bytes.
    pub(super) fn end(&mut self) {
        self.inbound = Default::default();
        self.outbound = Default::default();
        self.is_held = false;
    }

    pub(super) fn tls(&self) -> &Connection {
        &self.tls
    }

    pub(super) fn write_level(&self) -> Level {
        self.write_level
    }

    #[inline]
    pub(super) fn is_complete(&self) -> bool {
        self.is_complete
    }

    pub(super) fn has_failed(&self) -> bool {
        self.failure.is_some()
    }

    pub(super) fn failure(&self) -> Option<&Error> {
        self.failure.as_ref()
    }
}

pub(super) fn tls_version(version: Version) -> Result<TlsVersion, Error> {
    match version {
        Version::V1 => Ok(TlsVersion::V1),
        Version::V2 => Ok(TlsVersion::V2),
        other => Err(Error::General(format!("{other} is not supported"))),
    }
}

/// The keys that protect Initial packets, whichever cipher the handshake agrees on. RFC 9001 §5.2.
pub(super) fn initial_keys(id: &ConnectionId, version: TlsVersion, side: Side) -> Option<Keys> {
    let side = match side {
        Side::Client => rustls::Side::Client,
        Side::Server => rustls::Side::Server,
    };
    let suite = TLS13_AES_128_GCM_SHA256.tls13()?.quic_suite()?;
    Some(suite.keys(id.as_slice(), side, version))
}
