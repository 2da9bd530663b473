//! The encoding of a stored session. All numbers are big-endian, all lengths precede their data,
//! and a checksum at the end detects damage: a wrong secret would end the next handshake (RFC 8446
//! §4.2.11), not just make it a full one. The checksum does not protect against forgery: a user who
//! can write the file is trusted with it.

use std::sync::Arc;

use rustls::crypto::tls13::OkmBlock;
use rustls::pki_types::CertificateDer;

use super::{StoredSession, Ticket};
use crate::{StoredSessionError, digest};

const MAGIC: &[u8] = b"rtKS";
const VERSION: u8 = 1;
const CHECKSUM_SIZE: usize = 32;
/// The largest size of all parts together, in bytes.
const MAX_SIZE: usize = 128 * 1024;
const MAX_CERTIFICATES: u8 = 16;

pub(super) fn encode(stored: &StoredSession) -> Vec<u8> {
    let certificates: usize = stored.chain.iter().map(|c| c.len() + 3).sum();
    // Enough from the start, so that growing leaves no copy of the secret behind.
    let mut out = Vec::with_capacity(1024 + stored.ticket.body().len() + certificates);
    out.extend_from_slice(MAGIC);
    out.extend([VERSION, u8::from(stored.quic)]);
    out.extend(stored.suite.to_be_bytes());
    out.extend(stored.group.to_be_bytes());
    out.extend(stored.received.to_be_bytes());
    out.extend(stored.trust_fingerprint);
    push(&mut out, 1, stored.secret.as_ref());
    push(&mut out, 1, stored.name.as_bytes());
    push(&mut out, 2, stored.ticket.body());
    push(&mut out, 2, &stored.quic_parameters);
    out.push(stored.chain.len() as u8);
    for certificate in stored.chain.iter() {
        push(&mut out, 3, certificate);
    }
    let checksum = digest::sha256(&out);
    out.extend_from_slice(checksum.as_ref());
    out
}

/// Writes the length of the bytes in `width` bytes, then the bytes. Each length fits: see
/// `StoredSession::check_form`.
fn push(out: &mut Vec<u8>, width: usize, bytes: &[u8]) {
    let length = (bytes.len() as u32).to_be_bytes();
    out.extend(length.iter().skip(length.len() - width));
    out.extend_from_slice(bytes);
}

pub(super) fn decode(bytes: &[u8]) -> Result<StoredSession, StoredSessionError> {
    let damaged = |what| move || StoredSessionError::Damaged(what);
    if bytes.len() > MAX_SIZE {
        return Err(StoredSessionError::Damaged("length"));
    }
    let mut reader = SessionDecoder(bytes);
    let known = reader.bytes(MAGIC.len()) == Some(MAGIC);
    match reader.u8().filter(|_| known) {
        Some(VERSION) => {}
        Some(other) => return Err(StoredSessionError::Version(other)),
        None => return Err(StoredSessionError::Damaged("beginning")),
    }
    let content = bytes.len().saturating_sub(CHECKSUM_SIZE);
    let (content, checksum) = bytes.split_at(content);
    if digest::sha256(content).as_ref() != checksum {
        return Err(StoredSessionError::Damaged("checksum"));
    }
    let head = content.get(MAGIC.len() + 1..).unwrap_or_default();
    let stored = fields(&mut SessionDecoder(head)).ok_or_else(damaged("content"))?;
    stored.check_form()?;
    Ok(stored)
}

fn fields(reader: &mut SessionDecoder<'_>) -> Option<StoredSession> {
    let stored = StoredSession {
        quic: match reader.u8()? {
            0 => false,
            1 => true,
            _ => return None,
        },
        suite: reader.u16()?,
        group: reader.u16()?,
        received: reader.u64()?,
        trust_fingerprint: reader.bytes(32)?.try_into().ok()?,
        secret: secret(reader.vector8()?)?,
        name: String::from_utf8(reader.vector8()?.to_vec()).ok()?,
        ticket: Ticket::parse(reader.vector16()?.to_vec())?,
        quic_parameters: reader.vector16()?.to_vec(),
        chain: chain(reader)?,
    };
    reader.0.is_empty().then_some(stored)
}

fn secret(bytes: &[u8]) -> Option<OkmBlock> {
    (bytes.len() <= OkmBlock::MAX_LEN).then(|| OkmBlock::new(bytes))
}

fn chain(reader: &mut SessionDecoder<'_>) -> Option<Arc<[CertificateDer<'static>]>> {
    let count = reader.u8().filter(|n| *n <= MAX_CERTIFICATES)?;
    let one = |_| Some(CertificateDer::from(reader.vector24()?.to_vec()));
    (0..count).map(one).collect()
}

/// The bytes that have not been read yet. A read returns `None` if there are too few.
pub(super) struct SessionDecoder<'a>(pub(super) &'a [u8]);

impl<'a> SessionDecoder<'a> {
    fn bytes(&mut self, n: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(n)?;
        self.0 = rest;
        Some(taken)
    }

    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        self.bytes(N)?.try_into().ok()
    }

    fn u8(&mut self) -> Option<u8> {
        self.array().map(u8::from_be_bytes)
    }

    pub(super) fn u16(&mut self) -> Option<u16> {
        self.array().map(u16::from_be_bytes)
    }

    pub(super) fn u32(&mut self) -> Option<u32> {
        self.array().map(u32::from_be_bytes)
    }

    fn u64(&mut self) -> Option<u64> {
        self.array().map(u64::from_be_bytes)
    }

    pub(super) fn vector8(&mut self) -> Option<&'a [u8]> {
        let length = self.u8()?;
        self.bytes(length.into())
    }

    pub(super) fn vector16(&mut self) -> Option<&'a [u8]> {
        let length = self.u16()?;
        self.bytes(length.into())
    }

    fn vector24(&mut self) -> Option<&'a [u8]> {
        let [a, b, c] = self.array()?;
        self.bytes(u32::from_be_bytes([0, a, b, c]) as usize)
    }
}
