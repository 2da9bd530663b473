//! The keys of 1-RTT packets, and how they are updated from either side. RFC 9001 §6.

use std::time::Duration;

use rustls::quic::{HeaderProtectionKey, Keys, PacketKey, PacketKeySet, Secrets};

use super::protection::{Sealer, Unmasked, unmask};
use super::{OpenError, OpenedPacket};
use crate::Time;
use crate::error::{Code, TransportError};

/// RFC 9000 §17.3.1.
const KEY_PHASE: u8 = 0x04;

pub(super) struct Phases {
    pub(super) sealer: Sealer,
    header: Box<dyn HeaderProtectionKey>,
    current: Box<dyn PacketKey>,
    /// Decrypts late packets that were sent before the last key update.
    previous: Option<Box<dyn PacketKey>>,
    /// Made in advance, so that an update takes no longer than any other packet. RFC 9001 §9.5.
    next: PacketKeySet,
    secrets: Secrets,
    phase: bool,
    /// The lowest number that the current key has opened; the maximum if it has opened none.
    opened_from: u64,
    /// When the current key opened its first packet.
    since: Option<Time>,
    is_confirmed: bool,
    /// The peer has acknowledged a packet of the current phase.
    is_acked: bool,
    updates: u64,
}

impl Phases {
    pub(super) fn new(keys: Keys, mut secrets: Secrets) -> Self {
        Self {
            sealer: Sealer::new(keys.local),
            header: keys.remote.header,
            current: keys.remote.packet,
            previous: None,
            next: secrets.next_packet_keys(),
            secrets,
            phase: false,
            opened_from: u64::MAX,
            since: None,
            is_confirmed: false,
            is_acked: false,
            updates: 0,
        }
    }

    #[inline]
    pub(super) fn open(
        &mut self,
        packet: &mut [u8],
        number_at: usize,
        expected: u64,
        now: Time,
    ) -> Result<OpenedPacket, OpenError> {
        let unmasked =
            unmask(&*self.header, packet, number_at, expected).ok_or(OpenError::Undecryptable)?;
        let key_phase = unmasked.first & KEY_PHASE != 0;
        let payload = if key_phase == self.phase {
            let payload = unmasked.open(&*self.current, packet);
            let payload = payload.ok_or(OpenError::Undecryptable)?;
            if unmasked.number < self.opened_from {
                self.opened_from = unmasked.number;
                self.since.get_or_insert(now);
            }
            payload
        } else {
            self.open_in_other_phase(&unmasked, packet, now)?
        };
        unmasked
            .check_reserved_bits()
            .map_err(OpenError::Transport)?;
        Ok(OpenedPacket {
            number: unmasked.number,
            payload,
            key_phase,
        })
    }

    /// Opens a packet that was sent before the last key update, or that begins the next key phase.
    /// RFC 9001 §6.3 and §6.5.
    #[cold]
    fn open_in_other_phase(
        &mut self,
        unmasked: &Unmasked,
        packet: &mut [u8],
        now: Time,
    ) -> Result<std::ops::Range<usize>, OpenError> {
        if unmasked.number < self.opened_from {
            let previous = self.previous.as_deref().ok_or(OpenError::Undecryptable)?;
            let payload = unmasked.open(previous, packet);
            return payload.ok_or(OpenError::Undecryptable);
        }
        // A failed attempt destroys the packet.
        let kept = self.previous.is_some().then(|| packet.to_vec());
        let Some(payload) = unmasked.open(&*self.next.remote, packet) else {
            return Err(self.judge_unopened(unmasked, kept));
        };
        if self.sealer.is_fresh() {
            // The peer cannot have received an acknowledgement in the phase that it leaves. RFC
            // 9001 §6.2.
            let why = "it updated keys twice without waiting for an acknowledgement";
            return Err(OpenError::Transport(TransportError::new(
                Code::KEY_UPDATE_ERROR,
                why,
            )));
        }
        self.advance();
        self.opened_from = unmasked.number;
        self.since = Some(now);
        Ok(payload)
    }

    /// Called if the next key cannot open the packet. If an old key can, the peer went back to it,
    /// for a higher number than one for which it used the current key. RFC 9001 §6.4.
    fn judge_unopened(&self, unmasked: &Unmasked, packet: Option<Vec<u8>>) -> OpenError {
        if let (Some(previous), Some(mut packet)) = (self.previous.as_deref(), packet)
            && unmasked.open(previous, &mut packet).is_some()
        {
            return OpenError::Transport(TransportError::new(
                Code::KEY_UPDATE_ERROR,
                "it went back to keys that it had updated",
            ));
        }
        OpenError::Undecryptable
    }

    /// Updates the keys. RFC 9001 §6.1: not before the handshake is confirmed, nor before a packet
    /// of this phase is acknowledged, nor while the keys of the last phase are kept (§6.5).
    pub(super) fn update(&mut self) -> bool {
        let permitted = self.is_confirmed && self.is_acked && self.previous.is_none();
        if permitted {
            self.advance();
        }
        permitted
    }

    pub(super) fn advance(&mut self) {
        let following = self.secrets.next_packet_keys();
        let next = std::mem::replace(&mut self.next, following);
        self.sealer.replace(next.local);
        self.previous = Some(std::mem::replace(&mut self.current, next.remote));
        self.phase = !self.phase;
        self.opened_from = u64::MAX;
        self.since = None;
        self.is_acked = false;
        self.updates += 1;
    }

    pub(super) fn confirm(&mut self) {
        self.is_confirmed = true;
    }

    pub(super) fn on_acked(&mut self, number: u64) {
        self.is_acked |= self.sealer.has_sealed(number);
    }

    /// When the peer first used the new keys; `None` if no old keys are kept.
    pub(super) fn old_keys_since(&self) -> Option<Time> {
        self.previous.as_ref().and(self.since)
    }

    pub(super) fn forget_old_keys(&mut self, now: Time, after: Duration) {
        if self
            .old_keys_since()
            .is_some_and(|since| now >= since.after(after))
        {
            self.previous = None;
        }
    }

    pub(super) fn phase(&self) -> bool {
        self.phase
    }

    pub(super) fn updates(&self) -> u64 {
        self.updates
    }

    /// The number of packets that may fail authentication before the connection has to end. RFC
    /// 9001 §6.6.
    pub(super) fn integrity_limit(&self) -> u64 {
        self.current.integrity_limit()
    }
}
