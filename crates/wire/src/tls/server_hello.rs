//! A server's choices. RFC 8446 §4.1.3; for TLS 1.2 RFC 5246 §7.4.1.3.

use super::extension::{self, read_extensions};
use super::{CipherSuite, ClientHello, Group, Version};
use crate::Result;
use crate::cursor::Cursor;
use crate::text::printable;

/// The random that makes a `ServerHello` a `HelloRetryRequest`: the SHA-256 of that name. RFC 8446
/// §4.1.3.
const RETRY_RANDOM: [u8; 32] = [
    0xcf, 0x21, 0xad, 0x74, 0xe5, 0x9a, 0x61, 0x11, 0xbe, 0x1d, 0x8c, 0x02, 0x1e, 0x65, 0xb8, 0x91,
    0xc2, 0xa2, 0x11, 0x16, 0x7a, 0xbb, 0x8c, 0x5e, 0x07, 0x9e, 0x09, 0xe2, 0xc8, 0xa8, 0x33, 0x9c,
];

/// A named curve. RFC 8422 §5.4.
const NAMED_CURVE: u8 = 3;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerHello {
    /// The length in bytes of the whole message, with its type and length.
    pub length: usize,
    pub version: Version,
    pub cipher_suite: CipherSuite,
    /// The group of the key share, or the one that a `HelloRetryRequest` asks for. TLS 1.2 names it
    /// later: see [`server_key_exchange_group`].
    pub group: Option<Group>,
    pub is_retry: bool,
    /// The index of the client's identity that is resumed.
    pub psk: Option<u16>,
    pub session_id: Vec<u8>,
    /// The protocol; only in TLS 1.2, because TLS 1.3 encrypts it.
    pub alpn: Option<String>,
    /// TLS 1.2: a ticket will follow. RFC 5077 §3.2.
    pub session_ticket: bool,
    pub extended_master_secret: bool,
    /// A cookie in a `HelloRetryRequest`, which the client must return. RFC 8446 §4.2.2.
    pub cookie: bool,
}

impl ServerHello {
    /// Parses the body of a handshake message of type `SERVER_HELLO`.
    pub fn parse(body: &[u8]) -> Result<Self> {
        let mut cursor = Cursor::new("ServerHello", body);
        let version = Version(cursor.u16()?);
        let random = cursor.array::<32>()?;
        let session_id = cursor.vector8()?;
        if session_id.rest().len() > 32 {
            return Err(session_id.malformed("its session id is longer than 32 bytes"));
        }
        let mut hello = Self {
            length: body.len() + 4,
            version,
            cipher_suite: CipherSuite(cursor.u16()?),
            group: None,
            is_retry: random == RETRY_RANDOM,
            psk: None,
            session_id: session_id.rest().to_vec(),
            alpn: None,
            session_ticket: false,
            extended_master_secret: false,
            cookie: false,
        };
        cursor.u8()?; // compression method
        read_extensions(cursor, |kind, value| hello.read_extension(kind, value))?;
        Ok(hello)
    }

    /// Whether the server echoes the client's session id. In TLS 1.2 that means resumption; in TLS
    /// 1.3 it has no meaning. RFC 5246 §7.4.1.3.
    pub fn echoes_session_id(&self, client: &ClientHello) -> bool {
        !self.session_id.is_empty() && self.session_id == client.session_id
    }

    pub fn resumes(&self, client: &ClientHello) -> bool {
        if self.version >= Version::TLS13 {
            self.psk.is_some()
        } else {
            self.echoes_session_id(client)
        }
    }

    fn read_extension(&mut self, kind: u16, mut value: Cursor<'_>) -> Result<()> {
        match kind {
            extension::ALPN => {
                let name = value.vector16()?.vector8()?;
                self.alpn = Some(printable(name.rest()));
            }
            extension::EXTENDED_MASTER_SECRET => self.extended_master_secret = true,
            extension::SESSION_TICKET => self.session_ticket = true,
            extension::PRE_SHARED_KEY => self.psk = Some(value.u16()?),
            extension::SUPPORTED_VERSIONS => self.version = Version(value.u16()?),
            extension::COOKIE => self.cookie = true,
            // The share itself follows, except in a HelloRetryRequest.
            extension::KEY_SHARE => self.group = Some(Group(value.u16()?)),
            _ => {}
        }
        Ok(())
    }
}

/// The group of a TLS 1.2 `ServerKeyExchange`, if it is a named curve. RFC 8422 §5.4.
pub fn server_key_exchange_group(body: &[u8]) -> Option<Group> {
    let mut cursor = Cursor::new("ServerKeyExchange", body);
    if cursor.u8().ok()? != NAMED_CURVE {
        return None;
    }
    // With finite-field Diffie-Hellman there is no type byte: the length of the prime is in its
    // place, and what follows is not the number of a group.
    Some(Group(cursor.u16().ok()?)).filter(|group| group.name().is_some())
}
