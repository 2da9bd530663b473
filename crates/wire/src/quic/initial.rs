//! Removes the protection of Initial packets, and verifies Retry tags. RFC 9001 §5, RFC 9369 §3.3.

use aws_lc_rs::aead::quic::{AES_128, HeaderProtectionKey};
use aws_lc_rs::aead::{AES_128_GCM, Aad, LessSafeKey, Nonce, UnboundKey};
use aws_lc_rs::hkdf::{HKDF_SHA256, KeyType, Prk, Salt};

use super::header::expand_number;
use super::{ConnectionId, LongKind, LongPacket, Retry, Version};
use crate::{Error, Result};

/// The distance in bytes from the start of the packet number to the sample. RFC 9001 §5.4.2.
const SAMPLE_OFFSET: usize = 4;
const SAMPLE: usize = 16;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Side {
    Client,
    Server,
}

/// The keys of both sides for Initial packets of one connection.
pub struct InitialKeys {
    version: Version,
    client: Keys,
    server: Keys,
}

/// A decrypted Initial packet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Opened {
    pub number: u64,
    /// The frames: see [`super::Frames`].
    pub payload: Vec<u8>,
}

/// The parameters that differ between QUIC versions.
struct Parameters {
    salt: [u8; 20],
    key_label: &'static str,
    iv_label: &'static str,
    hp_label: &'static str,
    retry_key: [u8; 16],
    retry_nonce: [u8; 12],
}

/// RFC 9001 §5.2, §5.1 and §5.8.
const V1: Parameters = Parameters {
    salt: [
        0x38, 0x76, 0x2c, 0xf7, 0xf5, 0x59, 0x34, 0xb3, 0x4d, 0x17, 0x9a, 0xe6, 0xa4, 0xc8, 0x0c,
        0xad, 0xcc, 0xbb, 0x7f, 0x0a,
    ],
    key_label: "quic key",
    iv_label: "quic iv",
    hp_label: "quic hp",
    retry_key: [
        0xbe, 0x0c, 0x69, 0x0b, 0x9f, 0x66, 0x57, 0x5a, 0x1d, 0x76, 0x6b, 0x54, 0xe3, 0x68, 0xc8,
        0x4e,
    ],
    retry_nonce: [
        0x46, 0x15, 0x99, 0xd3, 0x5d, 0x63, 0x2b, 0xf2, 0x23, 0x98, 0x25, 0xbb,
    ],
};

/// RFC 9369 §3.3.
const V2: Parameters = Parameters {
    salt: [
        0x0d, 0xed, 0xe3, 0xde, 0xf7, 0x00, 0xa6, 0xdb, 0x81, 0x93, 0x81, 0xbe, 0x6e, 0x26, 0x9d,
        0xcb, 0xf9, 0xbd, 0x2e, 0xd9,
    ],
    key_label: "quicv2 key",
    iv_label: "quicv2 iv",
    hp_label: "quicv2 hp",
    retry_key: [
        0x8f, 0xb4, 0xb0, 0x1b, 0x56, 0xac, 0x48, 0xe2, 0x60, 0xfb, 0xcb, 0xce, 0xad, 0x7c, 0xcc,
        0x92,
    ],
    retry_nonce: [
        0xd8, 0x69, 0x69, 0xbc, 0x2d, 0x7c, 0x6d, 0x99, 0x90, 0xef, 0xb0, 0x4a,
    ],
};

impl Parameters {
    fn of(version: Version) -> Result<&'static Self> {
        match version {
            Version::V1 => Ok(&V1),
            Version::V2 => Ok(&V2),
            Version(number) => Err(Error::QuicVersion(number)),
        }
    }
}

impl InitialKeys {
    /// `destination` is that of the client's first Initial packet, or of its first after a Retry.
    /// RFC 9001 §5.2.
    pub fn derive(version: Version, destination: &ConnectionId) -> Result<Self> {
        let parameters = Parameters::of(version)?;
        let initial = Salt::new(HKDF_SHA256, &parameters.salt).extract(destination.as_slice());
        let side = |label| Keys::derive(&expand(&initial, label)?, parameters);
        Ok(Self {
            version,
            client: side("client in")?,
            server: side("server in")?,
        })
    }

    /// Decrypts an Initial packet sent by `sender`. `largest` is the highest packet number seen
    /// from that side, from which the truncated number is restored. RFC 9000 §A.3.
    pub fn open(
        &self,
        sender: Side,
        packet: &LongPacket<'_>,
        largest: Option<u64>,
    ) -> Result<Opened> {
        if packet.kind != LongKind::Initial || packet.version != self.version {
            return Err(Error::malformed(
                "QUIC packet",
                "it is not an Initial of the version of these keys",
            ));
        }
        match sender {
            Side::Client => self.client.open(packet, largest),
            Side::Server => self.server.open(packet, largest),
        }
    }
}

/// The keys of one side.
struct Keys {
    packet: LessSafeKey,
    iv: [u8; 12],
    header: HeaderProtectionKey,
}

impl Keys {
    fn derive(secret: &[u8; 32], parameters: &Parameters) -> Result<Self> {
        let secret = Prk::new_less_safe(HKDF_SHA256, secret);
        let key: [u8; 16] = expand(&secret, parameters.key_label)?;
        let header: [u8; 16] = expand(&secret, parameters.hp_label)?;
        Ok(Self {
            packet: packet_key(&key)?,
            iv: expand(&secret, parameters.iv_label)?,
            header: HeaderProtectionKey::new(&AES_128, &header).map_err(|_| Error::Protected)?,
        })
    }

    fn open(&self, packet: &LongPacket<'_>, largest: Option<u64>) -> Result<Opened> {
        let short = || Error::malformed("QUIC packet", "it has no room for a header sample");
        let (header, protected) = packet
            .bytes
            .split_at_checked(packet.number_at)
            .ok_or_else(short)?;
        let sample = protected
            .get(SAMPLE_OFFSET..SAMPLE_OFFSET + SAMPLE)
            .ok_or_else(short)?;
        let mask = self.header.new_mask(sample).map_err(|_| Error::Protected)?;

        // RFC 9001 §5.4.1: the low four bits of the first byte, then the packet number.
        let mut header = header.to_vec();
        let [first_mask, number_mask @ ..] = mask;
        let first = header.first_mut().ok_or_else(short)?;
        *first ^= first_mask & 0x0f;
        let number_length = usize::from(*first & 0b11) + 1;
        let (number, sealed) = protected
            .split_at_checked(number_length)
            .ok_or_else(short)?;
        let unmasked = number
            .iter()
            .zip(number_mask)
            .map(|(byte, mask)| byte ^ mask);
        header.extend(unmasked);
        let truncated = header
            .iter()
            .skip(packet.number_at)
            .fold(0, |number, byte| number << 8 | u64::from(*byte));
        let expected = largest.map_or(0, |number| number.saturating_add(1));
        let number = expand_number(truncated, number_length, expected);

        let mut payload = sealed.to_vec();
        let opened = self
            .packet
            .open_in_place(self.nonce(number), Aad::from(&header), &mut payload)
            .map_err(|_| Error::Protected)?
            .len();
        payload.truncate(opened);
        Ok(Opened { number, payload })
    }

    /// RFC 9001 §5.3.
    fn nonce(&self, number: u64) -> Nonce {
        let mut nonce = self.iv;
        for (byte, bits) in nonce
            .iter_mut()
            .rev()
            .zip(number.to_be_bytes().iter().rev())
        {
            *byte ^= bits;
        }
        Nonce::assume_unique_for_key(nonce)
    }
}

/// Whether this Retry comes from the server that received the client's first Initial packet, sent
/// to `original`. RFC 9001 §5.8.
pub fn retry_is_authentic(retry: &Retry<'_>, original: &ConnectionId) -> Result<bool> {
    let Some((body, tag)) = retry.bytes.split_last_chunk::<16>() else {
        return Ok(false);
    };
    // The keys of the tag are public, so the time of the comparison reveals nothing.
    Ok(retry_tag(retry.version, original, body)? == *tag)
}

/// The tag at the end of the Retry that begins with `body`. RFC 9001 §5.8.
pub(super) fn retry_tag(
    version: Version,
    original: &ConnectionId,
    body: &[u8],
) -> Result<[u8; 16]> {
    let parameters = Parameters::of(version)?;
    let length = original.len() as u8;
    let pseudo = [&[length], original.as_slice(), body].concat();
    let key = packet_key(&parameters.retry_key)?;
    let nonce = Nonce::assume_unique_for_key(parameters.retry_nonce);
    // Nothing is encrypted, so the ciphertext consists of the tag only.
    let tag = key
        .seal_in_place_separate_tag(nonce, Aad::from(pseudo), &mut [])
        .map_err(|_| Error::Protected)?;
    <[u8; 16]>::try_from(tag.as_ref()).map_err(|_| Error::Protected)
}

fn packet_key(key: &[u8; 16]) -> Result<LessSafeKey> {
    let key = UnboundKey::new(&AES_128_GCM, key).map_err(|_| Error::Protected)?;
    Ok(LessSafeKey::new(key))
}

struct Length(usize);

impl KeyType for Length {
    fn len(&self) -> usize {
        self.0
    }
}

/// HKDF-Expand-Label without context. RFC 8446 §7.1.
fn expand<const N: usize>(secret: &Prk, label: &str) -> Result<[u8; N]> {
    let length = (N as u16).to_be_bytes();
    let label_length = [(6 + label.len()) as u8];
    let info = [
        &length,
        label_length.as_slice(),
        b"tls13 ",
        label.as_bytes(),
        &[0],
    ];
    let mut key = [0; N];
    secret
        .expand(&info, Length(N))
        .and_then(|expanded| expanded.fill(&mut key))
        .map_err(|_| Error::Protected)?;
    Ok(key)
}
