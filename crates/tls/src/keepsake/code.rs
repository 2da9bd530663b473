//! A keepsake as bytes. All numbers are big-endian, all lengths stand before what they measure, and a checksum at the
//! end tells what was damaged from what was written: a wrong secret would end the next handshake (RFC 8446 §4.2.11),
//! not just make it a full one. It does not tell forgers: who can write the file is trusted with it.

use std::sync::Arc;

use rustls::crypto::tls13::OkmBlock;
use rustls::pki_types::CertificateDer;

use super::{Keepsake, Ticket};
use crate::{KeepsakeError, suites};

const MAGIC: &[u8] = b"rtKS";
const VERSION: u8 = 1;
const CHECKSUM: usize = 32;
/// More than all parts at their largest.
const MOST: usize = 128 * 1024;
const MOST_CERTIFICATES: u8 = 16;

pub(super) fn encode(keepsake: &Keepsake) -> Vec<u8> {
    let certificates: usize = keepsake.chain.iter().map(|c| c.len() + 3).sum();
    // Enough from the start, so that no copy of the secret is left behind.
    let mut out = Vec::with_capacity(1024 + keepsake.ticket.body().len() + certificates);
    out.extend_from_slice(MAGIC);
    out.extend([VERSION, u8::from(keepsake.quic)]);
    out.extend(keepsake.suite.to_be_bytes());
    out.extend(keepsake.group.to_be_bytes());
    out.extend(keepsake.received.to_be_bytes());
    out.extend(keepsake.bond);
    push(&mut out, 1, keepsake.secret.as_ref());
    push(&mut out, 1, keepsake.name.as_bytes());
    push(&mut out, 2, keepsake.ticket.body());
    push(&mut out, 2, &keepsake.quic_parameters);
    out.push(keepsake.chain.len() as u8);
    for certificate in keepsake.chain.iter() {
        push(&mut out, 3, certificate);
    }
    let checksum = suites::sha256(&out);
    out.extend_from_slice(checksum.as_ref());
    out
}

/// With its length before it, in so many bytes. Each fits: see `Keepsake::check_form`.
fn push(out: &mut Vec<u8>, width: usize, bytes: &[u8]) {
    let length = (bytes.len() as u32).to_be_bytes();
    out.extend(length.iter().skip(length.len() - width));
    out.extend_from_slice(bytes);
}

pub(super) fn decode(bytes: &[u8]) -> Result<Keepsake, KeepsakeError> {
    let damaged = |what| move || KeepsakeError::Damaged(what);
    if bytes.len() > MOST {
        return Err(KeepsakeError::Damaged("length"));
    }
    let mut reader = Reader(bytes);
    let known = reader.bytes(MAGIC.len()) == Some(MAGIC);
    match reader.u8().filter(|_| known) {
        Some(VERSION) => {}
        Some(other) => return Err(KeepsakeError::Version(other)),
        None => return Err(KeepsakeError::Damaged("beginning")),
    }
    let content = bytes.len().saturating_sub(CHECKSUM);
    let (content, checksum) = bytes.split_at(content);
    if suites::sha256(content).as_ref() != checksum {
        return Err(KeepsakeError::Damaged("checksum"));
    }
    let head = content.get(MAGIC.len() + 1..).unwrap_or_default();
    let keepsake = fields(&mut Reader(head)).ok_or_else(damaged("content"))?;
    keepsake.check_form()?;
    Ok(keepsake)
}

fn fields(reader: &mut Reader<'_>) -> Option<Keepsake> {
    let keepsake = Keepsake {
        quic: match reader.u8()? {
            0 => false,
            1 => true,
            _ => return None,
        },
        suite: reader.u16()?,
        group: reader.u16()?,
        received: reader.u64()?,
        bond: reader.bytes(32)?.try_into().ok()?,
        secret: secret(reader.vector8()?)?,
        name: String::from_utf8(reader.vector8()?.to_vec()).ok()?,
        ticket: Ticket::parse(reader.vector16()?.to_vec())?,
        quic_parameters: reader.vector16()?.to_vec(),
        chain: chain(reader)?,
    };
    reader.0.is_empty().then_some(keepsake)
}

fn secret(bytes: &[u8]) -> Option<OkmBlock> {
    (bytes.len() <= OkmBlock::MAX_LEN).then(|| OkmBlock::new(bytes))
}

fn chain(reader: &mut Reader<'_>) -> Option<Arc<[CertificateDer<'static>]>> {
    let count = reader.u8().filter(|n| *n <= MOST_CERTIFICATES)?;
    let one = |_| Some(CertificateDer::from(reader.vector24()?.to_vec()));
    (0..count).map(one).collect()
}

/// What is left to read; `None` where that is too short.
pub(super) struct Reader<'a>(pub(super) &'a [u8]);

impl<'a> Reader<'a> {
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
