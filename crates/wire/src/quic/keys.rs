//! The common parts of all packet keys: their labels by version, and the protection of the header.
//! RFC 9001 §5, RFC 9369 §3.3.2.

use aws_lc_rs::aead::quic::HeaderProtectionKey;

use super::Version;
use super::header::expand_number;
use crate::protection::{Cipher, PacketKey, expand_label};
use crate::{Error, Result};

const FORM_LONG: u8 = 0x80;
/// The distance in bytes from the start of the packet number to the sample. RFC 9001 §5.4.2.
const SAMPLE_OFFSET: usize = 4;
const SAMPLE: usize = 16;

/// The labels that keys are derived with.
pub(crate) struct Labels {
    key: &'static str,
    iv: &'static str,
    header: &'static str,
    update: &'static str,
}

/// Removes the protection of one side's headers; a key update does not change it. RFC 9001 §6.
pub(crate) struct HeaderKey(HeaderProtectionKey);

/// A header without its protection.
pub(crate) struct BareHeader {
    bytes: Vec<u8>,
    pub(crate) number: u64,
}

impl Labels {
    pub(crate) fn from_version(version: Version) -> &'static Self {
        match version {
            Version::V2 => &Self {
                key: "quicv2 key",
                iv: "quicv2 iv",
                header: "quicv2 hp",
                update: "quicv2 ku",
            },
            _ => &Self {
                key: "quic key",
                iv: "quic iv",
                header: "quic hp",
                update: "quic ku",
            },
        }
    }

    pub(crate) fn packet_key(&self, cipher: Cipher, secret: &[u8]) -> Result<PacketKey> {
        PacketKey::derive(cipher, secret, self.key, self.iv)
    }

    /// The secret after a key update. RFC 9001 §6.1.
    pub(crate) fn next_secret(&self, cipher: Cipher, secret: &[u8]) -> Result<Vec<u8>> {
        expand_label(&cipher.secret(secret), self.update, secret.len())
    }
}

impl HeaderKey {
    pub(crate) fn derive(cipher: Cipher, secret: &[u8], labels: &Labels) -> Result<Self> {
        cipher.header_key(secret, labels.header).map(Self)
    }

    /// `largest` is the highest packet number seen from that side; it is needed to restore the
    /// truncated number. RFC 9001 §5.4.1, RFC 9000 §A.3.
    pub(crate) fn remove(
        &self,
        packet: &[u8],
        number_at: usize,
        largest: Option<u64>,
    ) -> Result<BareHeader> {
        let short = || Error::malformed("QUIC packet", "it is too short for header protection");
        let (header, protected) = packet.split_at_checked(number_at).ok_or_else(short)?;
        let sample = protected
            .get(SAMPLE_OFFSET..SAMPLE_OFFSET + SAMPLE)
            .ok_or_else(short)?;
        let mask = self.0.new_mask(sample).map_err(|_| Error::Protected)?;
        let [first_mask, number_mask @ ..] = mask;

        let mut bytes = header.to_vec();
        let first = bytes.first_mut().ok_or_else(short)?;
        let bits = if *first & FORM_LONG == 0 { 0x1f } else { 0x0f };
        *first ^= first_mask & bits;
        let length = usize::from(*first & 0b11) + 1;
        let number = protected.iter().zip(number_mask).take(length);
        bytes.extend(number.map(|(byte, mask)| byte ^ mask));
        let truncated = bytes
            .iter()
            .skip(number_at)
            .fold(0, |number, byte| number << 8 | u64::from(*byte));
        let expected = largest.map_or(0, |number| number.saturating_add(1));
        let number = expand_number(truncated, length, expected);
        Ok(BareHeader { bytes, number })
    }
}

impl BareHeader {
    pub(crate) fn first_byte(&self) -> u8 {
        self.bytes.first().copied().unwrap_or_default()
    }

    /// The frames of the packet that has this header.
    pub(crate) fn open(&self, key: &PacketKey, packet: &[u8]) -> Result<Vec<u8>> {
        let sealed = packet.get(self.bytes.len()..).unwrap_or_default();
        let mut payload = sealed.to_vec();
        key.open(self.number, &self.bytes, &mut payload)?;
        Ok(payload)
    }
}
