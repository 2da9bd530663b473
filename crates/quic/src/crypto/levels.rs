//! The keys of all levels, and the count of failures that all openings share. RFC 9001 §4.9 and
//! §6.6.

use roundtrip_wire::quic::{ConnectionId, Side, Version};
use rustls::quic::Keys;

use super::phases::Phases;
use super::protection::{Opener, Sealer};
use super::session::{initial_keys, tls_version};
use super::{Level, OpenError, OpenedPacket};
use crate::Time;
use crate::error::{Code, TransportError};

#[derive(Default)]
pub(super) struct Levels {
    /// The keys for 1-RTT packets. They come first, because nearly all packets need them.
    pub(super) one_rtt: Option<Phases>,
    pub(super) initial: Option<KeyPair>,
    pub(super) handshake: Option<KeyPair>,
    /// Seals early data; only a client has this.
    pub(super) early_seal: Option<Sealer>,
    /// Opens early data; only a server has this.
    pub(super) early_open: Option<Opener>,
    /// How many packets were not authentic.
    failures: u64,
}

/// The keys of both directions.
pub(super) struct KeyPair {
    sealer: Sealer,
    opener: Opener,
}

impl KeyPair {
    pub(super) fn new(keys: Keys) -> Self {
        Self {
            sealer: Sealer::new(keys.local),
            opener: Opener::new(keys.remote),
        }
    }
}

/// The keys of Initial packets alone, to read or to refuse a first packet before a connection
/// exists.
pub(crate) struct InitialKeys(KeyPair);

impl InitialKeys {
    /// `id` is the destination of the client's Initial. Returns `None` if the version is not
    /// supported.
    pub(crate) fn new(id: &ConnectionId, version: Version, side: Side) -> Option<Self> {
        let keys = initial_keys(id, tls_version(version).ok()?, side)?;
        Some(Self(KeyPair::new(keys)))
    }

    /// See [`super::Crypto::seal`].
    pub(crate) fn seal(
        &mut self,
        number: u64,
        packet: &mut [u8],
        number_at: usize,
        number_length: usize,
    ) -> Result<(), TransportError> {
        let sealer = &mut self.0.sealer;
        sealer.seal(number, packet, number_at, number_length)
    }

    /// See [`super::Crypto::open`].
    #[cfg(test)]
    pub(crate) fn open(
        &self,
        packet: &mut [u8],
        number_at: usize,
        expected: u64,
    ) -> Result<OpenedPacket, OpenError> {
        self.0.opener.open(packet, number_at, expected)
    }
}

impl Levels {
    pub(super) fn seal(
        &mut self,
        level: Level,
        number: u64,
        packet: &mut [u8],
        number_at: usize,
        number_length: usize,
    ) -> Result<(), TransportError> {
        let sealer = match level {
            Level::Initial => self.initial.as_mut().map(|pair| &mut pair.sealer),
            Level::Early => self.early_seal.as_mut(),
            Level::Handshake => self.handshake.as_mut().map(|pair| &mut pair.sealer),
            Level::OneRtt => self.one_rtt.as_mut().map(|phases| &mut phases.sealer),
        };
        let missing =
            || TransportError::new(Code::INTERNAL_ERROR, "a packet was sealed without keys");
        sealer
            .ok_or_else(missing)?
            .seal(number, packet, number_at, number_length)
    }

    #[inline]
    pub(super) fn open(
        &mut self,
        level: Level,
        packet: &mut [u8],
        number_at: usize,
        expected: u64,
        now: Time,
    ) -> Result<OpenedPacket, OpenError> {
        let opened = match level {
            Level::OneRtt => match &mut self.one_rtt {
                Some(phases) => phases.open(packet, number_at, expected, now),
                None => Err(OpenError::NoKeys),
            },
            _ => self.open_early(level, packet, number_at, expected),
        };
        match opened {
            Err(OpenError::Undecryptable) => Err(self.on_failure(level)),
            other => other,
        }
    }

    /// Opens a packet of the handshake, or of 0-RTT.
    fn open_early(
        &mut self,
        level: Level,
        packet: &mut [u8],
        number_at: usize,
        expected: u64,
    ) -> Result<OpenedPacket, OpenError> {
        let opener = match level {
            Level::Initial => self.initial.as_ref().map(|pair| &pair.opener),
            Level::Early => self.early_open.as_ref(),
            Level::Handshake => self.handshake.as_ref().map(|pair| &pair.opener),
            Level::OneRtt => None,
        };
        let opener = opener.ok_or(OpenError::NoKeys)?;
        opener.open(packet, number_at, expected)
    }

    /// Counts a packet that was not authentic. Anybody can make Initial packets, valid or not, so
    /// those are not counted.
    #[cold]
    fn on_failure(&mut self, level: Level) -> OpenError {
        if level != Level::Initial {
            self.failures += 1;
        }
        let limit = self.one_rtt.as_ref().map(Phases::integrity_limit);
        if limit.is_some_and(|limit| self.failures > limit) {
            let why = "more forged packets came than the keys' integrity limit allows";
            return OpenError::Transport(TransportError::new(Code::AEAD_LIMIT_REACHED, why));
        }
        OpenError::Undecryptable
    }

    #[cfg(test)]
    pub(super) fn fail(&mut self, times: u64) {
        self.failures += times;
    }
}
