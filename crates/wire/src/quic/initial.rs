//! Removes the protection of Initial packets, and verifies Retry tags. RFC 9001 §5, RFC 9369 §3.3.

use aws_lc_rs::aead::{AES_128_GCM, Aad, LessSafeKey, Nonce, UnboundKey};
use aws_lc_rs::hkdf::{HKDF_SHA256, Salt};

use super::keys::{HeaderKey, Labels};
use super::{ConnectionId, LongKind, LongPacket, Retry, Version};
use crate::protection::{Cipher, PacketKey, expand_label};
use crate::{Error, Result};

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
pub struct OpenedInitial {
    pub number: u64,
    /// The frames: see [`super::Frames`].
    pub payload: Vec<u8>,
}

/// The parameters that differ between QUIC versions.
struct Parameters {
    salt: [u8; 20],
    retry_key: [u8; 16],
    retry_nonce: [u8; 12],
}

/// RFC 9001 §5.2, §5.1 and §5.8.
const V1: Parameters = Parameters {
    salt: [
        0x38, 0x76, 0x2c, 0xf7, 0xf5, 0x59, 0x34, 0xb3, 0x4d, 0x17, 0x9a, 0xe6, 0xa4, 0xc8, 0x0c,
        0xad, 0xcc, 0xbb, 0x7f, 0x0a,
    ],
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
    retry_key: [
        0x8f, 0xb4, 0xb0, 0x1b, 0x56, 0xac, 0x48, 0xe2, 0x60, 0xfb, 0xcb, 0xce, 0xad, 0x7c, 0xcc,
        0x92,
    ],
    retry_nonce: [
        0xd8, 0x69, 0x69, 0xbc, 0x2d, 0x7c, 0x6d, 0x99, 0x90, 0xef, 0xb0, 0x4a,
    ],
};

impl Parameters {
    fn from_version(version: Version) -> Result<&'static Self> {
        match version {
            Version::V1 => Ok(&V1),
            Version::V2 => Ok(&V2),
            Version(number) => Err(Error::QuicVersion(number)),
        }
    }
}

impl InitialKeys {
    /// `destination` is the destination id of the client's first Initial packet, or of its first
    /// one after a Retry. RFC 9001 §5.2.
    pub fn derive(version: Version, destination: &ConnectionId) -> Result<Self> {
        let parameters = Parameters::from_version(version)?;
        let initial = Salt::new(HKDF_SHA256, &parameters.salt).extract(destination.as_slice());
        let labels = Labels::from_version(version);
        let side = |label| {
            let secret = expand_label(&initial, label, 32)?;
            Keys::derive(&secret, labels)
        };
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
    ) -> Result<OpenedInitial> {
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
    packet: PacketKey,
    header: HeaderKey,
}

impl Keys {
    fn derive(secret: &[u8], labels: &Labels) -> Result<Self> {
        Ok(Self {
            packet: labels.packet_key(Cipher::Aes128, secret)?,
            header: HeaderKey::derive(Cipher::Aes128, secret, labels)?,
        })
    }

    fn open(&self, packet: &LongPacket<'_>, largest: Option<u64>) -> Result<OpenedInitial> {
        let header = self
            .header
            .remove(packet.bytes, packet.number_at, largest)?;
        let payload = header.open(&self.packet, packet.bytes)?;
        Ok(OpenedInitial {
            number: header.number,
            payload,
        })
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
    let parameters = Parameters::from_version(version)?;
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
