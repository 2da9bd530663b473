//! Netlink messages and their attributes, in host byte order: netlink(7), rtnetlink(7), RFC 3549.
//!
//! [`NetlinkRequest`] writes one message to the kernel; [`messages`] and [`attributes`] parse the
//! answer. Callers own the sockets and interpret the answers. Lengths are checked, although only
//! the kernel should have written them.

mod request;
#[cfg(test)]
mod tests;

use std::io;

pub use request::NetlinkRequest;

/// The length of `nlmsghdr` in bytes: length u32, type u16, flags u16, sequence u32, port u32.
const HEADER: usize = 16;
/// The number of each request. They can all have the same one, because each socket has one request
/// at a time.
const SEQUENCE: u32 = 1;

const NLMSG_ERROR: u16 = 2;
const NLMSG_DONE: u16 = 3;
const RTM_NEWROUTE: u16 = 24;
const RTN_LOCAL: u8 = 2;

/// One message of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NetlinkMessage<'a> {
    pub kind: u16,
    pub payload: &'a [u8],
}

impl NetlinkMessage<'_> {
    /// Whether this ends a dump.
    pub fn is_done(&self) -> bool {
        self.kind == NLMSG_DONE
    }

    /// The outcome of the request, if this is an `NLMSG_ERROR`: a negated errno, or zero for an
    /// acknowledgement.
    pub fn outcome(&self) -> Option<io::Result<()>> {
        (self.kind == NLMSG_ERROR).then(|| match u32_at(self.payload, 0).map(u32::cast_signed) {
            Some(0) => Ok(()),
            Some(errno) => Err(io::Error::from_raw_os_error(errno.saturating_neg())),
            None => Err(io::ErrorKind::InvalidData.into()),
        })
    }

    /// Whether this is a route to the machine itself.
    pub fn is_local_route(&self) -> bool {
        // The type follows seven other bytes of `rtmsg`.
        self.kind == RTM_NEWROUTE && self.payload.get(7) == Some(&RTN_LOCAL)
    }
}

/// Reads an acknowledgement; an error if the kernel refused or answered something else.
pub fn acknowledged(answer: &[u8]) -> io::Result<()> {
    let outcome = messages(answer)
        .next()
        .and_then(|message| message.outcome());
    outcome.unwrap_or_else(|| Err(io::ErrorKind::InvalidData.into()))
}

/// The messages of one datagram that answer a [`NetlinkRequest`]. Messages that answer other
/// requests are skipped; a malformed message ends the iteration.
pub fn messages(mut bytes: &[u8]) -> impl Iterator<Item = NetlinkMessage<'_>> {
    std::iter::from_fn(move || {
        loop {
            let length = u32_at(bytes, 0)? as usize;
            let kind = u16_at(bytes, 4)?;
            let sequence = u32_at(bytes, 8)?;
            let payload = bytes.get(HEADER..length)?;
            bytes = bytes.get(length.next_multiple_of(4)..).unwrap_or_default();
            if sequence == SEQUENCE {
                return Some(NetlinkMessage { kind, payload });
            }
        }
    })
}

/// The attributes in `bytes`: type without flag bits, and value. A malformed one ends the
/// iteration.
pub fn attributes(mut bytes: &[u8]) -> impl Iterator<Item = (u16, &[u8])> {
    const TYPE_MASK: u16 = 0x3fff;
    std::iter::from_fn(move || {
        let length = usize::from(u16_at(bytes, 0)?);
        let kind = u16_at(bytes, 2)? & TYPE_MASK;
        let value = bytes.get(4..length)?;
        bytes = bytes.get(length.next_multiple_of(4)..).unwrap_or_default();
        Some((kind, value))
    })
}

pub fn u16_at(bytes: &[u8], offset: usize) -> Option<u16> {
    let field = bytes.get(offset..)?.first_chunk()?;
    Some(u16::from_ne_bytes(*field))
}

pub fn u32_at(bytes: &[u8], offset: usize) -> Option<u32> {
    let field = bytes.get(offset..)?.first_chunk()?;
    Some(u32::from_ne_bytes(*field))
}

/// The value of a text attribute, without its terminating zero.
pub fn text(value: &[u8]) -> String {
    let end = value.iter().position(|&b| b == 0).unwrap_or(value.len());
    String::from_utf8_lossy(value.get(..end).unwrap_or_default()).into_owned()
}
