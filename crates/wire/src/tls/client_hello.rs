//! A client's offers. RFC 8446 §4.1.2; each extension cites its section.

use std::fmt;

use super::extension::{self, read_extensions};
use super::{CipherSuite, Group, Version, is_grease};
use crate::Result;
use crate::cursor::Cursor;
use crate::text::printable;

/// The offers, in the client's order; GREASE values are always left out.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ClientHello {
    /// The length in bytes of the whole message, with its type and length.
    pub length: usize,
    pub versions: Vec<Version>,
    pub session_id: Vec<u8>,
    pub cipher_suites: Vec<CipherSuite>,
    pub groups: Vec<Group>,
    pub key_shares: Vec<KeyShare>,
    pub alpn: Vec<String>,
    pub server_name: Option<String>,
    /// The number of sessions offered for resumption with TLS 1.3.
    pub psk_identities: usize,
    /// The first identity, by which a server finds the session. Early data belongs to this one. RFC
    /// 8446 §4.2.10.
    pub first_identity: Option<Vec<u8>>,
    /// Whether the client says how it would resume a session. If it does not, a server of TLS 1.3
    /// sends no tickets. RFC 8446 §4.2.9.
    pub psk_modes: bool,
    pub early_data: bool,
    /// The size in bytes of the TLS 1.2 ticket; 0 asks for a first one. RFC 5077 §3.1.
    pub session_ticket: Option<usize>,
    pub certificate_compression: Vec<CertificateCompression>,
    /// Asks for a stapled OCSP response. RFC 6066 §8.
    pub status_request: bool,
    /// A cookie from a `HelloRetryRequest` is returned. RFC 8446 §4.2.2.
    pub cookie: bool,
    pub encrypted_client_hello: bool,
    /// The QUIC transport parameters, which only QUIC clients send. RFC 9001 §8.2.
    pub quic_parameters: Option<Vec<u8>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KeyShare {
    pub group: Group,
    /// The length of the key share itself, without group and length.
    pub bytes: usize,
}

/// RFC 8879 §7.3.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct CertificateCompression(pub u16);

impl CertificateCompression {
    pub fn name(self) -> Option<&'static str> {
        match self.0 {
            1 => Some("zlib"),
            2 => Some("brotli"),
            3 => Some("zstd"),
            _ => None,
        }
    }
}

impl fmt::Display for CertificateCompression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name() {
            Some(name) => f.write_str(name),
            None => write!(f, "{:#06x}", self.0),
        }
    }
}

impl ClientHello {
    /// Parses the body of a handshake message of type `CLIENT_HELLO`.
    pub fn parse(body: &[u8]) -> Result<Self> {
        let mut cursor = Cursor::new("ClientHello", body);
        let legacy_version = Version(cursor.u16()?);
        cursor.take(32)?; // random
        let session_id = cursor.vector8()?;
        if session_id.rest().len() > 32 {
            return Err(session_id.malformed("its session id is longer than 32 bytes"));
        }
        let suites = cursor.vector16()?.collect(Cursor::u16)?;
        cursor.vector8()?; // compression methods
        let mut hello = Self {
            length: body.len() + 4,
            session_id: session_id.rest().to_vec(),
            cipher_suites: without_grease(suites, CipherSuite),
            ..Self::default()
        };
        read_extensions(cursor, |kind, value| hello.read_extension(kind, value))?;
        if hello.versions.is_empty() {
            hello.versions.push(legacy_version);
        }
        Ok(hello)
    }

    pub fn offers_psk(&self) -> bool {
        self.psk_identities > 0
    }

    fn read_extension(&mut self, kind: u16, mut value: Cursor<'_>) -> Result<()> {
        match kind {
            extension::SERVER_NAME => self.server_name = read_server_name(value)?,
            extension::STATUS_REQUEST => self.status_request = true,
            // RFC 8446 §4.2.7.
            extension::SUPPORTED_GROUPS => {
                let groups = value.vector16()?.collect(Cursor::u16)?;
                self.groups = without_grease(groups, Group);
                value.finish()?;
            }
            // RFC 7301 §3.1.
            extension::ALPN => {
                let list = value.vector16()?;
                let protocols = list.collect(|item| Ok(item.vector8()?.rest()))?;
                self.alpn = protocols
                    .into_iter()
                    .filter(|name| !is_grease_protocol(name))
                    .map(printable)
                    .collect();
                value.finish()?;
            }
            // RFC 8879 §3.
            extension::COMPRESS_CERTIFICATE => {
                let algorithms = value.vector8()?.collect(Cursor::u16)?;
                self.certificate_compression = without_grease(algorithms, CertificateCompression);
                value.finish()?;
            }
            extension::SESSION_TICKET => self.session_ticket = Some(value.rest().len()),
            extension::PRE_SHARED_KEY => {
                let identities = read_identities(value)?;
                self.psk_identities = identities.len();
                self.first_identity = identities.first().map(|identity| identity.to_vec());
            }
            extension::PSK_KEY_EXCHANGE_MODES => self.psk_modes = true,
            extension::EARLY_DATA => self.early_data = true,
            // RFC 8446 §4.2.1.
            extension::SUPPORTED_VERSIONS => {
                let versions = value.vector8()?.collect(Cursor::u16)?;
                self.versions = without_grease(versions, Version);
                value.finish()?;
            }
            extension::COOKIE => self.cookie = true,
            extension::KEY_SHARE => self.key_shares = read_key_shares(value)?,
            extension::QUIC_TRANSPORT_PARAMETERS => {
                self.quic_parameters = Some(value.rest().to_vec());
            }
            extension::ENCRYPTED_CLIENT_HELLO => self.encrypted_client_hello = true,
            _ => {}
        }
        Ok(())
    }
}

fn without_grease<T>(values: Vec<u16>, wrap: fn(u16) -> T) -> Vec<T> {
    values
        .into_iter()
        .filter(|value| !is_grease(*value))
        .map(wrap)
        .collect()
}

/// Whether an ALPN protocol is GREASE: the same reserved values, as two bytes. RFC 8701 §2.
fn is_grease_protocol(name: &[u8]) -> bool {
    <[u8; 2]>::try_from(name).is_ok_and(|bytes| is_grease(u16::from_be_bytes(bytes)))
}

/// RFC 6066 §3: a list in which only host names (type 0) are defined.
fn read_server_name(mut value: Cursor<'_>) -> Result<Option<String>> {
    let mut list = value.vector16()?;
    value.finish()?;
    while !list.is_empty() {
        let kind = list.u8()?;
        let name = list.vector16()?;
        if kind == 0 {
            return Ok(Some(printable(name.rest())));
        }
    }
    Ok(None)
}

/// RFC 8446 §4.2.8.
fn read_key_shares(mut value: Cursor<'_>) -> Result<Vec<KeyShare>> {
    let shares = value.vector16()?.collect(|item| {
        Ok(KeyShare {
            group: Group(item.u16()?),
            bytes: item.vector16()?.rest().len(),
        })
    })?;
    value.finish()?;
    let honest = |share: &KeyShare| !is_grease(share.group.0);
    Ok(shares.into_iter().filter(honest).collect())
}

/// Reads the identities of RFC 8446 §4.2.11, each with its obfuscated age; then as many binders
/// follow.
fn read_identities(mut value: Cursor<'_>) -> Result<Vec<&[u8]>> {
    let identities = value.vector16()?.collect(|item| {
        let identity = item.vector16()?;
        item.u32()?;
        Ok(identity.rest())
    })?;
    let binders = value.vector16()?.collect(Cursor::vector8)?;
    if binders.len() != identities.len() {
        return Err(value.malformed("it does not have one binder for each identity"));
    }
    value.finish()?;
    Ok(identities)
}
