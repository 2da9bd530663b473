//! The keys and numbers of one side's packets of one kind. The cipher is found by trial.

use crate::protection::{Cipher, PacketKey};
use crate::quic::{HeaderKey, Labels, Version};

/// A bit of a short header without protection. RFC 9000 §17.3.1.
const KEY_PHASE: u8 = 0x04;
/// After this number of consecutive packets that do not open, no more are tried.
const MAX_FAILURES: u32 = 64;
/// The largest number of updates between two packets, if the capture lacks those in between.
const MAX_UPDATES: u32 = 4;

/// Packets with long headers.
#[derive(Default)]
pub(super) struct Space {
    keys: Option<(Version, HeaderKey, PacketKey)>,
    largest: Option<u64>,
    failures: u32,
}

/// Packets with short headers.
#[derive(Default)]
pub(super) struct OneRtt {
    header: Option<HeaderKey>,
    current: Option<KeyPhase>,
    /// The keys before the last update: packets may come late. RFC 9001 §6.1.
    previous: Option<KeyPhase>,
    largest: Option<u64>,
    failures: u32,
}

struct KeyPhase {
    cipher: Cipher,
    secret: Vec<u8>,
    key: PacketKey,
    updates: u32,
}

impl Space {
    pub(super) fn open(
        &mut self,
        version: Version,
        secret: &[u8],
        packet: &[u8],
        number_at: usize,
    ) -> Option<(u64, Vec<u8>)> {
        if self.failures >= MAX_FAILURES {
            return None;
        }
        if let Some((known, header, key)) = &self.keys
            && *known == version
        {
            let opened = open(header, key, packet, number_at, self.largest);
            return self.note(opened);
        }
        let labels = Labels::from_version(version);
        for cipher in Cipher::with_secret_length(secret.len()) {
            let header = HeaderKey::derive(*cipher, secret, labels).ok()?;
            let key = labels.packet_key(*cipher, secret).ok()?;
            let opened = open(&header, &key, packet, number_at, self.largest);
            if opened.is_some() {
                self.keys = Some((version, header, key));
                return self.note(opened);
            }
        }
        self.note(None)
    }

    fn note(&mut self, opened: Option<(u64, Vec<u8>)>) -> Option<(u64, Vec<u8>)> {
        match &opened {
            Some((number, _)) => {
                self.failures = 0;
                self.largest = self.largest.max(Some(*number));
            }
            None => self.failures += 1,
        }
        opened
    }
}

impl OneRtt {
    /// Notes a packet number that another kind of packet has used.
    pub(super) fn note(&mut self, number: u64) {
        self.largest = self.largest.max(Some(number));
    }

    /// Returns the number, the frames, and how many updates the keys had had.
    pub(super) fn open(
        &mut self,
        version: Version,
        secret: &[u8],
        packet: &[u8],
        number_at: usize,
    ) -> Option<(u64, Vec<u8>, u32)> {
        if self.failures >= MAX_FAILURES {
            return None;
        }
        let labels = Labels::from_version(version);
        let opened = if self.current.is_none() {
            self.begin(labels, secret, packet, number_at)
        } else {
            self.go_on(labels, packet, number_at)
        };
        match &opened {
            Some((number, _, _)) => {
                self.failures = 0;
                self.note(*number);
            }
            None => self.failures += 1,
        }
        opened
    }

    fn begin(
        &mut self,
        labels: &Labels,
        secret: &[u8],
        packet: &[u8],
        number_at: usize,
    ) -> Option<(u64, Vec<u8>, u32)> {
        for cipher in Cipher::with_secret_length(secret.len()) {
            self.header = HeaderKey::derive(*cipher, secret, labels).ok();
            let mut phase = KeyPhase::derive(labels, *cipher, secret.to_vec(), 0)?;
            for _ in 0..=MAX_UPDATES {
                if let Some(opened) = self.try_phase(&phase, packet, number_at) {
                    self.current = Some(phase);
                    return Some(opened);
                }
                phase = phase.next(labels)?;
            }
        }
        None
    }

    fn go_on(
        &mut self,
        labels: &Labels,
        packet: &[u8],
        number_at: usize,
    ) -> Option<(u64, Vec<u8>, u32)> {
        for phase in [&self.current, &self.previous].into_iter().flatten() {
            let opened = self.try_phase(phase, packet, number_at);
            if opened.is_some() {
                return opened;
            }
        }
        let mut phase = self.current.as_ref()?.next(labels)?;
        for _ in 0..MAX_UPDATES {
            if let Some(opened) = self.try_phase(&phase, packet, number_at) {
                self.previous = self.current.replace(phase);
                return Some(opened);
            }
            phase = phase.next(labels)?;
        }
        None
    }

    fn try_phase(
        &self,
        phase: &KeyPhase,
        packet: &[u8],
        number_at: usize,
    ) -> Option<(u64, Vec<u8>, u32)> {
        let header = self.header.as_ref()?;
        let header = header.remove(packet, number_at, self.largest).ok()?;
        let odd = header.first_byte() & KEY_PHASE != 0;
        if odd != (phase.updates % 2 == 1) {
            return None;
        }
        let frames = header.open(&phase.key, packet).ok()?;
        Some((header.number, frames, phase.updates))
    }
}

impl KeyPhase {
    fn derive(labels: &Labels, cipher: Cipher, secret: Vec<u8>, updates: u32) -> Option<Self> {
        let key = labels.packet_key(cipher, &secret).ok()?;
        Some(Self {
            cipher,
            secret,
            key,
            updates,
        })
    }

    fn next(&self, labels: &Labels) -> Option<Self> {
        let secret = labels.next_secret(self.cipher, &self.secret).ok()?;
        Self::derive(labels, self.cipher, secret, self.updates + 1)
    }
}

fn open(
    header: &HeaderKey,
    key: &PacketKey,
    packet: &[u8],
    number_at: usize,
    largest: Option<u64>,
) -> Option<(u64, Vec<u8>)> {
    let header = header.remove(packet, number_at, largest).ok()?;
    let frames = header.open(key, packet).ok()?;
    Some((header.number, frames))
}
