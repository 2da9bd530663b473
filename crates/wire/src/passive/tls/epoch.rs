//! The keys of one side, one after the other. Each record is tried with the current keys, then with
//! the next ones, so neither messages nor alerts need to be understood.

use aws_lc_rs::tls_prf::{P_SHA256, P_SHA384, Secret};

use super::framing::RECORD_HEAD;
use super::{SealedReason, TlsEpoch};
use crate::key_log::{KeyLabel, KeyLog};
use crate::protection::{Cipher, PacketKey, TAG, expand_label};
use crate::quic::Side;
use crate::tls::{CipherSuite, ContentKind};

/// The number of sequence numbers that are tried for a record after a gap.
const MAX_TRIES: u64 = 4096;
/// The size in bytes of the explicit nonce in each record of TLS 1.2 with AES-GCM. RFC 5288 §3.
const EXPLICIT_NONCE: usize = 8;

/// Sealed records since the last one that was opened.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Unseen {
    /// The number of incomplete records among the unseen ones.
    cut: u64,
    /// The number of further records that may have been missed.
    lost: u64,
}

/// TLS 1.3.
#[derive(Default)]
pub(super) struct Secrets {
    current: Option<Current>,
}

struct Current {
    label: KeyLabel,
    updates: u32,
    cipher: Cipher,
    secret: Vec<u8>,
    key: PacketKey,
    /// The number of the next record.
    next: u64,
}

/// TLS 1.2.
pub(super) struct Older {
    cipher: Cipher,
    key: PacketKey,
    next: u64,
}

impl Unseen {
    pub(super) fn cut(&mut self) {
        self.cut += 1;
    }

    pub(super) fn lose(&mut self, most: u64) {
        self.lost = self.lost.saturating_add(most);
    }

    /// The numbers that the next record may have, if the number after the last known one is `next`.
    fn numbers(self, next: u64) -> impl Iterator<Item = u64> {
        let first = next.saturating_add(self.cut);
        first..=first.saturating_add(self.lost.min(MAX_TRIES))
    }

    /// The numbers that the first record under new keys may have: some of the unseen records had
    /// the previous keys.
    fn first_numbers(self) -> impl Iterator<Item = u64> {
        0..=self.cut.saturating_add(self.lost).min(MAX_TRIES)
    }
}

impl Secrets {
    /// Opens a record into `out`.
    pub(super) fn open<'k>(
        &mut self,
        side: Side,
        secret: impl Fn(KeyLabel) -> Option<&'k [u8]>,
        head: &[u8],
        body: &[u8],
        unseen: Unseen,
        out: &mut Vec<u8>,
    ) -> Result<(ContentKind, TlsEpoch), SealedReason> {
        if let Some(current) = &mut self.current
            && current.try_numbers(unseen.numbers(current.next), head, body, out)
        {
            return self.inner(out);
        }
        let order: &[KeyLabel] = match side {
            Side::Client => &[
                KeyLabel::ClientEarly,
                KeyLabel::ClientHandshake,
                KeyLabel::ClientTraffic,
            ],
            Side::Server => &[KeyLabel::ServerHandshake, KeyLabel::ServerTraffic],
        };
        let current = self.current.as_ref().map(|current| current.label);
        let behind = order
            .iter()
            .position(|label| Some(*label) == current)
            .map_or(0, |at| at + 1);
        let mut any = current.is_some();
        for label in order.iter().skip(behind) {
            let Some(secret) = secret(*label) else {
                continue;
            };
            any = true;
            for cipher in Cipher::with_secret_length(secret.len()) {
                let next = Current::derive(*label, 0, *cipher, secret.to_vec());
                if let Some(mut next) = next
                    && next.try_numbers(unseen.first_numbers(), head, body, out)
                {
                    self.current = Some(next);
                    return self.inner(out);
                }
            }
        }
        if let Some(current) = &self.current
            && let Some(mut next) = current.updated()
            && next.try_numbers(unseen.first_numbers(), head, body, out)
        {
            self.current = Some(next);
            return self.inner(out);
        }
        out.clear();
        Err(if any {
            SealedReason::WrongKeys
        } else {
            SealedReason::NoKeys
        })
    }

    /// Removes padding and type from the end. RFC 8446 §5.4.
    fn inner(&self, out: &mut Vec<u8>) -> Result<(ContentKind, TlsEpoch), SealedReason> {
        let end = out.iter().rposition(|byte| *byte != 0).unwrap_or(0);
        let kind = out.get(end).copied().unwrap_or_default();
        out.truncate(end);
        let kind = match kind {
            21 => ContentKind::Alert,
            22 => ContentKind::Handshake,
            24 => ContentKind::Heartbeat,
            _ => ContentKind::ApplicationData,
        };
        let current = self.current.as_ref().ok_or(SealedReason::NoKeys)?;
        let epoch = match current.label {
            KeyLabel::ClientEarly => TlsEpoch::Early,
            KeyLabel::ClientHandshake | KeyLabel::ServerHandshake => TlsEpoch::Handshake,
            _ => TlsEpoch::Application(current.updates),
        };
        Ok((kind, epoch))
    }
}

impl Current {
    fn derive(label: KeyLabel, updates: u32, cipher: Cipher, secret: Vec<u8>) -> Option<Self> {
        let key = PacketKey::derive(cipher, &secret, "key", "iv").ok()?;
        Some(Self {
            label,
            updates,
            cipher,
            secret,
            key,
            next: 0,
        })
    }

    /// RFC 8446 §7.2.
    fn updated(&self) -> Option<Self> {
        if !matches!(
            self.label,
            KeyLabel::ClientTraffic | KeyLabel::ServerTraffic
        ) {
            return None;
        }
        let secret = self.cipher.secret(&self.secret);
        let secret = expand_label(&secret, "traffic upd", self.secret.len()).ok()?;
        Self::derive(self.label, self.updates + 1, self.cipher, secret)
    }

    fn try_numbers(
        &mut self,
        numbers: impl Iterator<Item = u64>,
        head: &[u8],
        body: &[u8],
        out: &mut Vec<u8>,
    ) -> bool {
        let mut numbers = numbers;
        let opened = numbers.find(|number| {
            out.clear();
            out.extend_from_slice(body);
            self.key.open(*number, head, out).is_ok()
        });
        if let Some(number) = opened {
            self.next = number.saturating_add(1);
        }
        opened.is_some()
    }
}

impl Older {
    /// RFC 5246 §6.3.
    pub(super) fn derive(
        side: Side,
        suite: CipherSuite,
        client: &[u8; 32],
        server: &[u8; 32],
        keys: &KeyLog,
    ) -> Result<Self, SealedReason> {
        let cipher = older_cipher(suite).ok_or(SealedReason::Cipher)?;
        let master = keys.get(client, KeyLabel::Master);
        let master = master.ok_or(SealedReason::NoKeys)?;
        let hash = match cipher {
            Cipher::Aes256 => &P_SHA384,
            Cipher::Aes128 | Cipher::ChaCha20 => &P_SHA256,
        };
        let (key, iv) = (cipher.key_length(), older_iv(cipher));
        let seed = [server.as_slice(), client].concat();
        let block = Secret::new(hash, master)
            .and_then(|secret| secret.derive(b"key expansion", &seed, 2 * (key + iv)))
            .map_err(|_| SealedReason::WrongKeys)?;
        let (keys, ivs) = block.as_ref().split_at(2 * key);
        let (keys, ivs) = (keys.split_at(key), ivs.split_at(iv));
        let (key, start) = match side {
            Side::Client => (keys.0, ivs.0),
            Side::Server => (keys.1, ivs.1),
        };
        let mut iv = [0; 12];
        for (byte, known) in iv.iter_mut().zip(start) {
            *byte = *known;
        }
        let key = PacketKey::new(cipher, key, iv).map_err(|_| SealedReason::WrongKeys)?;
        Ok(Self {
            cipher,
            key,
            next: 0,
        })
    }

    pub(super) fn open(
        &mut self,
        head: [u8; RECORD_HEAD],
        body: &[u8],
        unseen: Unseen,
        out: &mut Vec<u8>,
    ) -> Result<(ContentKind, TlsEpoch), SealedReason> {
        let explicit = older_explicit(self.cipher);
        let length = body.len().saturating_sub(explicit + TAG) as u16;
        let [kind, high, low, ..] = head;
        let nonce = body.first_chunk::<EXPLICIT_NONCE>();
        let nonce = *nonce.ok_or(SealedReason::WrongKeys)?;
        for number in unseen.numbers(self.next) {
            out.clear();
            out.extend_from_slice(body.get(explicit..).unwrap_or_default());
            // RFC 5246 §6.2.3.3.
            let [n0, n1, n2, n3, n4, n5, n6, n7] = number.to_be_bytes();
            let [l0, l1] = length.to_be_bytes();
            let covered = [n0, n1, n2, n3, n4, n5, n6, n7, kind, high, low, l0, l1];
            let opened = match self.cipher {
                Cipher::ChaCha20 => self.key.open(number, &covered, out),
                _ => self.key.open_explicit(nonce, &covered, out),
            };
            if opened.is_ok() {
                self.next = number.saturating_add(1);
                let kind = match kind {
                    20 => ContentKind::ChangeCipherSpec,
                    21 => ContentKind::Alert,
                    22 => ContentKind::Handshake,
                    24 => ContentKind::Heartbeat,
                    _ => ContentKind::ApplicationData,
                };
                let epoch = match kind {
                    ContentKind::Handshake => TlsEpoch::Handshake,
                    _ => TlsEpoch::Application(0),
                };
                return Ok((kind, epoch));
            }
        }
        out.clear();
        Err(SealedReason::WrongKeys)
    }
}

fn older_cipher(suite: CipherSuite) -> Option<Cipher> {
    let name = suite.name()?;
    if name.contains("AES_128_GCM") {
        Some(Cipher::Aes128)
    } else if name.contains("AES_256_GCM") {
        Some(Cipher::Aes256)
    } else {
        name.contains("CHACHA20").then_some(Cipher::ChaCha20)
    }
}

/// The size in bytes of the part of the nonce that both sides derive. RFC 5288 §3, RFC 7905 §2.
fn older_iv(cipher: Cipher) -> usize {
    12 - older_explicit(cipher)
}

fn older_explicit(cipher: Cipher) -> usize {
    match cipher {
        Cipher::ChaCha20 => 0,
        Cipher::Aes128 | Cipher::Aes256 => EXPLICIT_NONCE,
    }
}

/// The number of bytes that a record has in addition to its content.
pub(super) fn older_overhead(suite: CipherSuite) -> usize {
    TAG + older_cipher(suite).map_or(0, older_explicit)
}
