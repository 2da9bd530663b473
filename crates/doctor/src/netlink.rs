//! Reading tables from the kernel over netlink: request a dump, walk its messages (RFC 3549).
//!
//! What the messages say is left to `routes`, `links` and `metrics`. Lengths in them are checked
//! all the same: this code must not care who wrote them.

pub(crate) mod links;
pub(crate) mod metrics;
pub(crate) mod routes;

use std::io::{self, Read};
use std::time::Duration;

use socket2::{Domain, Protocol, Socket, Type};

/// A router may hold a million routes; beyond this much the answer is cut.
const MOST_BYTES: usize = 64 << 20;
const PATIENCE: Duration = Duration::from_secs(2);
/// `struct nlmsghdr`: length u32, type u16, flags u16, sequence u32, port u32.
const HEADER: usize = 16;
const SEQUENCE: u32 = 1;

/// One message of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Message<'a> {
    kind: u16,
    payload: &'a [u8],
}

/// Sends one request with the dump flag and hands each message of the answer to `each`.
fn dump(protocol: i32, kind: u16, payload: &[u8], each: impl FnMut(&[u8])) -> io::Result<()> {
    let flags = libc::NLM_F_REQUEST | libc::NLM_F_DUMP;
    exchange(protocol, kind, flags, payload, each)
}

/// Sends one request and hands the payload of each answering message to `each`.
fn exchange(
    protocol: i32,
    kind: u16,
    flags: i32,
    payload: &[u8],
    mut each: impl FnMut(&[u8]),
) -> io::Result<()> {
    let domain = Domain::from(libc::AF_NETLINK);
    let socket = Socket::new(domain, Type::RAW, Some(Protocol::from(protocol)))?;
    socket.set_read_timeout(Some(PATIENCE))?;
    // Without an address a netlink socket speaks to the kernel.
    socket.send(&request(kind, flags, payload))?;
    let mut buffer = vec![0; 64 << 10];
    let mut total = 0;
    loop {
        let length = (&socket).read(&mut buffer)?;
        total += length;
        for message in messages(buffer.get(..length).unwrap_or_default()) {
            match i32::from(message.kind) {
                libc::NLMSG_DONE => return Ok(()),
                libc::NLMSG_ERROR => return outcome(message.payload),
                _ => each(message.payload),
            }
        }
        if total > MOST_BYTES {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        if length == 0 || flags & libc::NLM_F_DUMP == 0 {
            return Ok(());
        }
    }
}

/// A request with its header.
fn request(kind: u16, flags: i32, payload: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(HEADER + payload.len());
    bytes.extend(((HEADER + payload.len()) as u32).to_ne_bytes());
    bytes.extend(kind.to_ne_bytes());
    bytes.extend((flags as u16).to_ne_bytes());
    bytes.extend(SEQUENCE.to_ne_bytes());
    bytes.extend(0_u32.to_ne_bytes());
    bytes.extend(payload);
    bytes
}

/// The result in an `NLMSG_ERROR`: a negated errno, or zero for an acknowledgement.
fn outcome(payload: &[u8]) -> io::Result<()> {
    match u32_at(payload, 0).map(u32::cast_signed) {
        Some(0) => Ok(()),
        Some(errno) => Err(io::Error::from_raw_os_error(errno.saturating_neg())),
        None => Err(io::ErrorKind::InvalidData.into()),
    }
}

/// The answers to our request in one datagram; stops at the first that makes no sense.
fn messages(mut bytes: &[u8]) -> impl Iterator<Item = Message<'_>> {
    std::iter::from_fn(move || {
        loop {
            let length = u32_at(bytes, 0)? as usize;
            let kind = u16_at(bytes, 4)?;
            let sequence = u32_at(bytes, 8)?;
            let payload = bytes.get(HEADER..length)?;
            bytes = bytes.get(aligned(length)..).unwrap_or_default();
            if sequence == SEQUENCE {
                return Some(Message { kind, payload });
            }
        }
    })
}

/// The attributes in `bytes`: type without flag bits, value; stops at nonsense.
fn attributes(mut bytes: &[u8]) -> impl Iterator<Item = (u16, &[u8])> {
    const TYPE_MASK: u16 = 0x3fff;
    std::iter::from_fn(move || {
        let length = usize::from(u16_at(bytes, 0)?);
        let kind = u16_at(bytes, 2)? & TYPE_MASK;
        let value = bytes.get(4..length)?;
        bytes = bytes.get(aligned(length)..).unwrap_or_default();
        Some((kind, value))
    })
}

/// Messages and attributes begin at multiples of four.
fn aligned(length: usize) -> usize {
    length.next_multiple_of(4)
}

fn u16_at(bytes: &[u8], offset: usize) -> Option<u16> {
    let field = bytes.get(offset..)?.first_chunk()?;
    Some(u16::from_ne_bytes(*field))
}

fn u32_at(bytes: &[u8], offset: usize) -> Option<u32> {
    let field = bytes.get(offset..)?.first_chunk()?;
    Some(u32::from_ne_bytes(*field))
}

/// A text attribute without its terminating zero.
fn text(value: &[u8]) -> String {
    let end = value.iter().position(|&b| b == 0).unwrap_or(value.len());
    String::from_utf8_lossy(value.get(..end).unwrap_or_default()).into_owned()
}

#[cfg(test)]
fn attribute(kind: u16, value: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    bytes.extend((4 + value.len() as u16).to_ne_bytes());
    bytes.extend(kind.to_ne_bytes());
    bytes.extend(value);
    bytes.resize(aligned(bytes.len()), 0);
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_back() {
        let mut bytes = request(24, 0x301, b"four");
        bytes.extend(request(25, 0, b"eightbyt"));
        let read: Vec<_> = messages(&bytes).map(|m| (m.kind, m.payload)).collect();
        assert_eq!(read, [(24, &b"four"[..]), (25, &b"eightbyt"[..])]);
    }

    #[test]
    fn answers_to_somebody_else_are_passed_over() {
        let mut other = request(24, 0, b"");
        other[8..12].copy_from_slice(&7_u32.to_ne_bytes());
        other.extend(request(25, 0, b""));
        assert_eq!(messages(&other).map(|m| m.kind).collect::<Vec<_>>(), [25]);
    }

    #[test]
    fn absurd_lengths_end_the_walk() {
        let mut bytes = request(24, 0, b"four");
        for length in [0_u32, 1, 15, 21, u32::MAX] {
            bytes[..4].copy_from_slice(&length.to_ne_bytes());
            assert_eq!(messages(&bytes).count(), 0, "{length}");
        }
        for length in [0_u16, 3, 9, u16::MAX] {
            let mut bytes = attribute(1, b"four");
            bytes[..2].copy_from_slice(&length.to_ne_bytes());
            assert_eq!(attributes(&bytes).count(), 0, "{length}");
        }
    }

    #[test]
    fn an_error_carries_its_errno() {
        let refused = outcome(&(-libc::EPERM).to_ne_bytes()).unwrap_err();
        assert_eq!(refused.raw_os_error(), Some(libc::EPERM));
        assert!(outcome(&0_i32.to_ne_bytes()).is_ok());
        assert!(outcome(&i32::MIN.to_ne_bytes()).is_err());
        assert!(outcome(b"").is_err());
    }
}
