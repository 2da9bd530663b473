//! The extensions of both hellos. RFC 8446 §4.2.

use std::collections::BTreeSet;

use crate::Result;
use crate::cursor::Cursor;

/// Extension numbers, as assigned by IANA.
pub(super) const SERVER_NAME: u16 = 0;
pub(super) const STATUS_REQUEST: u16 = 5;
pub(super) const SUPPORTED_GROUPS: u16 = 10;
pub(super) const ALPN: u16 = 16;
pub(super) const EXTENDED_MASTER_SECRET: u16 = 23;
pub(super) const COMPRESS_CERTIFICATE: u16 = 27;
pub(super) const SESSION_TICKET: u16 = 35;
pub(super) const PRE_SHARED_KEY: u16 = 41;
pub(super) const EARLY_DATA: u16 = 42;
pub(super) const SUPPORTED_VERSIONS: u16 = 43;
pub(super) const COOKIE: u16 = 44;
pub(super) const PSK_KEY_EXCHANGE_MODES: u16 = 45;
pub(super) const KEY_SHARE: u16 = 51;
pub(super) const QUIC_TRANSPORT_PARAMETERS: u16 = 57;
pub(super) const ENCRYPTED_CLIENT_HELLO: u16 = 0xfe0d;

/// Parses the extensions at the end of a hello and passes each to `read`.
pub(super) fn read_extensions<'a>(
    mut hello: Cursor<'a>,
    mut read: impl FnMut(u16, Cursor<'a>) -> Result<()>,
) -> Result<()> {
    // A hello without extensions may omit even their length. RFC 5246 §7.4.1.2.
    if hello.is_empty() {
        return Ok(());
    }
    let mut block = hello.vector16()?;
    hello.finish()?;
    let mut seen = BTreeSet::new();
    while !block.is_empty() {
        let kind = block.u16()?;
        if !seen.insert(kind) {
            return Err(block.malformed("an extension comes twice"));
        }
        read(kind, block.vector16()?)?;
    }
    Ok(())
}
