//! The TLS session of a connection, its keys, and the protection of packets. RFC 9001.
//!
//! Which frames carry handshake bytes, and when packets leave, is decided in `connection`. The
//! content of tokens belongs to `endpoint`.

mod inbound;
mod levels;
mod outbound;
mod phases;
mod protection;
mod resumption;
mod session;
#[cfg(test)]
mod tests;
mod token_sealer;

use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use roundtrip_wire::quic::{ConnectionId, PacketKind, Side, Version};
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{CipherSuite, ClientConfig, HandshakeKind, NamedGroup, ServerConfig};

use crate::Time;
use crate::error::{Code, TransportError};
use crate::observer::HandshakeObserver;
use crate::space::Space;
use levels::{KeyPair, Levels};
use session::TlsSession;

pub(crate) use levels::InitialKeys;
pub(crate) use resumption::{LIMITS, bind_sessions};
pub(crate) use token_sealer::{TokenKind, TokenSealer};

/// The authentication tag behind each packet's payload. RFC 9001 §5.3.
pub(crate) const TAG: usize = 16;

/// Which keys protect a packet. RFC 9001 §4.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Level {
    Initial,
    /// 0-RTT: it carries no handshake bytes, and shares its packet numbers with `OneRtt`.
    Early,
    Handshake,
    OneRtt,
}

impl Level {
    /// Returns the level at which this side acknowledges and resends in `space`.
    pub(crate) fn from_space(space: Space) -> Self {
        match space {
            Space::Initial => Self::Initial,
            Space::Handshake => Self::Handshake,
            Space::Data => Self::OneRtt,
        }
    }

    #[inline]
    pub(crate) fn space(self) -> Space {
        match self {
            Self::Initial => Space::Initial,
            Self::Handshake => Space::Handshake,
            Self::Early | Self::OneRtt => Space::Data,
        }
    }

    pub(crate) fn kind(self) -> PacketKind {
        match self {
            Self::Initial => PacketKind::Initial,
            Self::Early => PacketKind::ZeroRtt,
            Self::Handshake => PacketKind::Handshake,
            Self::OneRtt => PacketKind::OneRtt,
        }
    }
}

/// A packet whose protection was removed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct OpenedPacket {
    pub(crate) number: u64,
    /// The position of the packet's frames.
    pub(crate) payload: Range<usize>,
    /// Always false except for 1-RTT packets.
    pub(crate) key_phase: bool,
}

/// Why a packet could not be opened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum OpenError {
    /// The packet is not of this connection, or damaged, or too old. It is to be ignored (RFC 9001
    /// §5.5), or may be a stateless reset.
    Undecryptable,
    /// See [`Crypto::awaits`].
    NoKeys,
    Transport(TransportError),
}

/// The cryptographic half of one connection.
pub(crate) struct Crypto {
    levels: Levels,
    session: TlsSession,
    /// The time at which a server forgets its 0-RTT keys.
    early_until: Option<Time>,
}

impl Crypto {
    /// `id` is the destination of the first Initial.
    pub(crate) fn client(
        config: Arc<ClientConfig>,
        name: ServerName<'static>,
        parameters: Vec<u8>,
        id: &ConnectionId,
        version: Version,
    ) -> Result<Self, rustls::Error> {
        let session = TlsSession::client(config, name, parameters, version)?;
        Ok(Self::new(session, id))
    }

    /// `id` is the destination of the client's Initial, or of its last one if a Retry was sent.
    pub(crate) fn server(
        config: Arc<ServerConfig>,
        parameters: Vec<u8>,
        id: &ConnectionId,
        version: Version,
    ) -> Result<Self, rustls::Error> {
        let session = TlsSession::server(config, parameters, version)?;
        Ok(Self::new(session, id))
    }

    fn new(session: TlsSession, id: &ConnectionId) -> Self {
        let mut levels = Levels::default();
        levels.initial = session.initial_keys(id).map(KeyPair::new);
        let mut crypto = Self {
            levels,
            session,
            early_until: None,
        };
        crypto.session.collect(&mut crypto.levels);
        crypto
    }

    /// Sets the observer of the handshake, before the first byte.
    pub(crate) fn set_observer(&mut self, observer: Box<dyn HandshakeObserver>) {
        self.session.set_observer(observer);
    }

    /// Handles a Retry: there are new Initial keys, and all Initial handshake bytes are sent again.
    pub(crate) fn restart(&mut self, id: &ConnectionId) {
        self.levels.initial = self.session.initial_keys(id).map(KeyPair::new);
        self.session.rewind();
    }

    pub(crate) fn side(&self) -> Side {
        self.session.side()
    }

    /// Whether packets can be sealed at that level.
    pub(crate) fn has(&self, level: Level) -> bool {
        match level {
            Level::Initial => self.levels.initial.is_some(),
            Level::Early => self.levels.early_seal.is_some(),
            Level::Handshake => self.levels.handshake.is_some(),
            Level::OneRtt => self.levels.one_rtt.is_some(),
        }
    }

    /// Whether packets can be opened at that level. A server opens no 1-RTT packet before the
    /// handshake is complete. RFC 9001 §5.7.
    pub(crate) fn can_open(&self, level: Level) -> bool {
        match level {
            Level::Initial => self.levels.initial.is_some(),
            Level::Early => self.levels.early_open.is_some(),
            Level::Handshake => self.levels.handshake.is_some(),
            Level::OneRtt => self.levels.one_rtt.is_some() && self.is_handshake_complete(),
        }
    }

    /// Whether handshake bytes have arrived while earlier ones are missing.
    pub(crate) fn has_gap(&self) -> bool {
        self.session.has_gap()
    }

    /// The number of handshake bytes that are stored, from both sides.
    pub(crate) fn memory(&self) -> usize {
        self.session.memory()
    }

    /// Whether keys for packets of that level may still become available, so that such packets are
    /// worth keeping.
    pub(crate) fn awaits(&self, level: Level) -> bool {
        let before = match level {
            Level::Initial => false,
            Level::Early => {
                self.side() == Side::Server && self.session.write_level() == Level::Initial
            }
            Level::Handshake => self.session.write_level() == Level::Initial,
            Level::OneRtt => !self.is_handshake_complete(),
        };
        before && !self.session.has_failed()
    }

    /// Protects `packet`: header, payload and room for the [`TAG`]. The number's bytes (1 to 4,
    /// from `number_at`) and, in 1-RTT packets, the key phase are already written. Number and
    /// payload have at least 4 bytes together.
    #[inline]
    pub(crate) fn seal(
        &mut self,
        level: Level,
        number: u64,
        packet: &mut [u8],
        number_at: usize,
        number_length: usize,
    ) -> Result<(), TransportError> {
        match &mut self.levels.one_rtt {
            Some(phases) if level == Level::OneRtt => {
                phases.sealer.seal(number, packet, number_at, number_length)
            }
            _ => self
                .levels
                .seal(level, number, packet, number_at, number_length),
        }
    }

    /// Removes a packet's protection in place; `expected` is the next number of its space. A
    /// failure destroys the payload, so look for a stateless reset token first.
    #[inline]
    pub(crate) fn open(
        &mut self,
        level: Level,
        packet: &mut [u8],
        number_at: usize,
        expected: u64,
        now: Time,
    ) -> Result<OpenedPacket, OpenError> {
        if level == Level::OneRtt && !self.session.is_complete() {
            return Err(OpenError::NoKeys);
        }
        self.levels.open(level, packet, number_at, expected, now)
    }

    /// Takes the handshake bytes of a CRYPTO frame.
    pub(crate) fn receive(
        &mut self,
        level: Level,
        offset: u64,
        data: &[u8],
    ) -> Result<(), TransportError> {
        self.session.receive(&mut self.levels, level, offset, data)
    }

    /// Begins to withhold handshake bytes from TLS.
    pub(crate) fn hold(&mut self) {
        self.session.hold();
    }

    /// The peer's first handshake bytes, up to the first gap, while they are withheld from TLS.
    pub(crate) fn held(&self) -> Option<&[u8]> {
        self.session.held()
    }

    /// Passes the withheld bytes to TLS.
    pub(crate) fn proceed(&mut self) -> Result<(), TransportError> {
        self.session.proceed(&mut self.levels)
    }

    /// The next handshake bytes to send at that level, at most `room`, and their offset; they count
    /// as sent. Also `None` while there are no keys for them.
    pub(crate) fn chunk(&mut self, level: Level, room: usize) -> Option<(u64, &[u8])> {
        if !self.has(level) {
            return None;
        }
        self.session.outbound(level)?.chunk(room)
    }

    /// Sends again what has not been acknowledged at that level, unless something else waits to be
    /// sent.
    pub(crate) fn repeat(&mut self, level: Level) {
        if !self.wants_to_send(level)
            && let Some(outbound) = self.session.outbound(level)
        {
            outbound.rewind();
        }
    }

    pub(crate) fn wants_to_send(&self, level: Level) -> bool {
        self.has(level) && self.session.wants_to_send(level)
    }

    pub(crate) fn on_acked(&mut self, level: Level, offset: u64, length: u64) {
        if let Some(outbound) = self.session.outbound(level) {
            outbound.on_acked(offset..offset.saturating_add(length));
        }
    }

    pub(crate) fn on_lost(&mut self, level: Level, offset: u64, length: u64) {
        if let Some(outbound) = self.session.outbound(level) {
            outbound.on_lost(offset..offset.saturating_add(length));
        }
    }

    /// Discards the keys of that level, and the handshake bytes that were sent with them. RFC 9001
    /// §4.9.
    pub(crate) fn discard(&mut self, level: Level) {
        match level {
            Level::Initial => self.levels.initial = None,
            Level::Early => {
                self.levels.early_seal = None;
                self.levels.early_open = None;
            }
            Level::Handshake => self.levels.handshake = None,
            // The 1-RTT keys live as long as the connection.
            Level::OneRtt => return,
        }
        self.session.forget(level);
    }

    /// Handles the end of the connection: handshake bytes are neither sent nor received any more.
    pub(crate) fn end(&mut self) {
        self.session.end();
    }

    /// RFC 9001 §4.1.1.
    pub(crate) fn is_handshake_complete(&self) -> bool {
        self.session.is_complete()
    }

    /// The handshake is confirmed: from now on keys may be updated. RFC 9001 §4.1.2.
    pub(crate) fn confirm(&mut self) {
        if let Some(phases) = &mut self.levels.one_rtt {
            phases.confirm();
        }
    }

    /// The peer's transport parameters. A server has them once the ClientHello has come,
    /// unauthenticated until the handshake is complete; a client has them once it is.
    pub(crate) fn peer_parameters(&self) -> Option<&[u8]> {
        self.session.peer_parameters()
    }

    /// The parameters that a server gave with the current ticket: they apply to early data. RFC
    /// 9000 §7.4.1.
    pub(crate) fn remembered_parameters(&self) -> Option<&[u8]> {
        self.session.remembered_parameters()
    }

    /// Whether early data was accepted; `None` if that is not known yet, or a client had no keys
    /// for early data.
    pub(crate) fn early_accepted(&self) -> Option<bool> {
        self.session.early_accepted()
    }

    /// Begins a new key phase; returns false if that is not permitted now. RFC 9001 §6.1.
    pub(crate) fn update_keys(&mut self) -> bool {
        self.levels
            .one_rtt
            .as_mut()
            .is_some_and(phases::Phases::update)
    }

    /// Whether the current keys have protected so many packets that they should be updated. Call it
    /// regularly. RFC 9001 §6.6.
    pub(crate) fn is_update_due(&self) -> bool {
        let phases = self.levels.one_rtt.as_ref();
        phases.is_some_and(|phases| phases.sealer.is_worn())
    }

    /// The peer acknowledged the 1-RTT packet with this number: the largest one of an ACK frame is
    /// enough.
    pub(crate) fn on_acked_in_phase(&mut self, number: u64) {
        if let Some(phases) = &mut self.levels.one_rtt {
            phases.on_acked(number);
        }
    }

    /// The key phase of the next 1-RTT packets to be sealed.
    #[inline]
    pub(crate) fn key_phase(&self) -> bool {
        let phases = self.levels.one_rtt.as_ref();
        phases.is_some_and(phases::Phases::phase)
    }

    /// Lets a server open 0-RTT packets until this time. RFC 9001 §4.9.3.
    pub(crate) fn keep_early_keys_until(&mut self, until: Time) {
        self.early_until = Some(until);
    }

    /// The next time at which keys must be discarded. The keys of the last phase are kept for
    /// `after` (three PTOs) once the peer uses the new ones. RFC 9001 §6.5.
    pub(crate) fn deadline(&self, after: Duration) -> Option<Time> {
        let phases = self.levels.one_rtt.as_ref();
        let since = phases.and_then(phases::Phases::old_keys_since);
        let old = since.map(|since| since.after(after));
        self.early_until.into_iter().chain(old).min()
    }

    /// Forgets the keys that have expired; `after` as for [`Self::deadline`].
    pub(crate) fn on_timeout(&mut self, now: Time, after: Duration) {
        if self.early_until.is_some_and(|until| until <= now) {
            self.early_until = None;
            self.discard(Level::Early);
        }
        if let Some(phases) = &mut self.levels.one_rtt {
            phases.forget_old_keys(now, after);
        }
    }

    /// The number of key updates, by both sides together.
    pub(crate) fn key_updates(&self) -> u64 {
        let phases = self.levels.one_rtt.as_ref();
        phases.map_or(0, phases::Phases::updates)
    }

    pub(crate) fn alpn(&self) -> Option<&[u8]> {
        self.session.tls().alpn_protocol()
    }

    /// The server name that the client asked for.
    pub(crate) fn server_name(&self) -> Option<&str> {
        self.session.server_name()
    }

    pub(crate) fn peer_certificates(&self) -> Option<&[CertificateDer<'static>]> {
        self.session.tls().peer_certificates()
    }

    pub(crate) fn cipher(&self) -> Option<CipherSuite> {
        let suite = self.session.tls().negotiated_cipher_suite();
        suite.map(|suite| suite.suite())
    }

    pub(crate) fn group(&self) -> Option<NamedGroup> {
        let group = self.session.tls().negotiated_key_exchange_group();
        group.map(rustls::crypto::SupportedKxGroup::name)
    }

    pub(crate) fn handshake_kind(&self) -> Option<HandshakeKind> {
        self.session.tls().handshake_kind()
    }

    #[cfg(test)]
    pub(crate) fn is_resumed(&self) -> bool {
        self.handshake_kind() == Some(HandshakeKind::Resumed)
    }

    /// Lets the 1-RTT key protect only this many packets more.
    #[cfg(test)]
    pub(crate) fn wear(&mut self, left: u64) {
        if let Some(keys) = &mut self.levels.one_rtt {
            keys.sealer.wear(left);
        }
    }

    /// The rustls error behind the [`TransportError`] that [`Self::receive`] returned.
    pub(crate) fn failure(&self) -> Option<&rustls::Error> {
        self.session.failure()
    }
}

impl Level {
    /// The index of this level among the three that carry handshake bytes.
    fn slot(self) -> Option<usize> {
        match self {
            Self::Initial => Some(0),
            Self::Early => None,
            Self::Handshake => Some(1),
            Self::OneRtt => Some(2),
        }
    }
}

#[cold]
fn violation(why: &'static str) -> TransportError {
    TransportError::new(Code::PROTOCOL_VIOLATION, why)
}
