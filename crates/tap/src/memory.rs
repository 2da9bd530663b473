//! The arguments of a call that waits: addresses and the first bytes, copied from the program's
//! memory.
//!
//! Offsets are those of the kernel's structures on 64-bit systems. Another thread may change the
//! memory in the meantime, so the copy only describes the call and decides nothing about it.

use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV6};

use crate::sys::{self, Call};

/// The largest number of bytes that are copied from one call; the next constants limit its parts
/// and messages.
pub(crate) const MAX_COPIED: usize = 16 * 1024;
const MAX_PARTS: usize = 64;
const MAX_MESSAGES: usize = 16;

/// The size of `sockaddr_in6`, of `iovec`, of `msghdr` and of `mmsghdr` in bytes.
const ADDRESS: usize = 28;
const PART: usize = 16;
const MESSAGE: usize = 56;
const COUNTED_MESSAGE: u64 = 64;

/// A message that is about to be sent.
#[derive(Debug, Default)]
pub(crate) struct Outgoing {
    /// The destination, if the call names one.
    pub(crate) to: Option<SocketAddr>,
    /// The first bytes.
    pub(crate) bytes: Vec<u8>,
    /// The size of the whole message, in bytes.
    pub(crate) length: u64,
}

/// The address of `connect`, if it is an IP address.
pub(crate) fn address(call: &Call) -> Option<SocketAddr> {
    let [_, address, length, ..] = call.arguments;
    address_at(call.thread, address, length)
}

/// The messages of a sending call; at most `most` bytes of it are copied.
pub(crate) fn outgoing(call: &Call, most: usize) -> Vec<Outgoing> {
    let [_, first, second, ..] = call.arguments;
    let reader = ProcessMemory {
        thread: call.thread,
        most: most.min(MAX_COPIED),
    };
    match call.number {
        libc::SYS_write => vec![reader.flat(first, second)],
        libc::SYS_writev => vec![reader.parts(first, second)],
        libc::SYS_sendto => {
            let [.., to, length] = call.arguments;
            let mut sent = reader.flat(first, second);
            sent.to = address_at(call.thread, to, length);
            vec![sent]
        }
        libc::SYS_sendmsg => reader.message(first).into_iter().collect(),
        libc::SYS_sendmmsg => (0..second.min(MAX_MESSAGES as u64))
            .map_while(|n| reader.message(first.wrapping_add(n * COUNTED_MESSAGE)))
            .collect(),
        _ => Vec::new(),
    }
}

/// The flags of a sending call.
pub(crate) fn flags(call: &Call) -> u64 {
    let [_, _, second, third, ..] = call.arguments;
    match call.number {
        libc::SYS_sendto | libc::SYS_sendmmsg => third,
        libc::SYS_sendmsg => second,
        _ => 0,
    }
}

struct ProcessMemory {
    thread: i32,
    most: usize,
}

impl ProcessMemory {
    fn flat(&self, address: u64, length: u64) -> Outgoing {
        let wanted = usize::try_from(length).unwrap_or(usize::MAX).min(self.most);
        Outgoing {
            to: None,
            bytes: copy(self.thread, address, wanted),
            length,
        }
    }

    fn parts(&self, list: u64, count: u64) -> Outgoing {
        let count = usize::try_from(count).unwrap_or(usize::MAX).min(MAX_PARTS);
        let list = copy(self.thread, list, count * PART);
        let mut sent = Outgoing::default();
        for part in list.as_chunks::<PART>().0 {
            let (address, length) = (u64_at(part, 0), u64_at(part, 8));
            let room = self.most.saturating_sub(sent.bytes.len());
            let wanted = usize::try_from(length).unwrap_or(usize::MAX).min(room);
            sent.bytes.extend(copy(self.thread, address, wanted));
            sent.length = sent.length.saturating_add(length);
        }
        sent
    }

    fn message(&self, address: u64) -> Option<Outgoing> {
        let head = copy(self.thread, address, MESSAGE);
        let head = head.first_chunk::<MESSAGE>()?;
        let mut sent = self.parts(u64_at(head, 16), u64_at(head, 24));
        let length = u64_at(head, 8) & u64::from(u32::MAX);
        sent.to = address_at(self.thread, u64_at(head, 0), length);
        Some(sent)
    }
}

fn copy(thread: i32, address: u64, length: usize) -> Vec<u8> {
    let mut bytes = vec![0; length];
    if length > 0 {
        let read = sys::read_memory(thread, address, &mut bytes);
        bytes.truncate(read.unwrap_or_default());
    }
    bytes
}

fn address_at(thread: i32, address: u64, length: u64) -> Option<SocketAddr> {
    let length = usize::try_from(length).ok()?.min(ADDRESS);
    (address != 0).then(|| read_address(&copy(thread, address, length)))?
}

/// Reads `sockaddr_in` or `sockaddr_in6`.
fn read_address(bytes: &[u8]) -> Option<SocketAddr> {
    let family = i32::from(u16::from_ne_bytes(*bytes.first_chunk()?));
    let port = u16::from_be_bytes(*bytes.get(2..)?.first_chunk()?);
    match family {
        libc::AF_INET => {
            let address: [u8; 4] = *bytes.get(4..)?.first_chunk()?;
            Some((Ipv4Addr::from(address), port).into())
        }
        libc::AF_INET6 => {
            let address: [u8; 16] = *bytes.get(8..)?.first_chunk()?;
            let scope = u32::from_ne_bytes(*bytes.get(24..)?.first_chunk()?);
            let address = Ipv6Addr::from(address);
            Some(match address.to_ipv4_mapped() {
                Some(mapped) => (mapped, port).into(),
                None => SocketAddrV6::new(address, port, 0, scope).into(),
            })
        }
        _ => None,
    }
}

fn u64_at(bytes: &[u8], offset: usize) -> u64 {
    let field = bytes.get(offset..).and_then(<[u8]>::first_chunk);
    field.copied().map_or(0, u64::from_ne_bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A call of this process itself.
    fn call(number: i64, arguments: [u64; 6]) -> Call {
        Call {
            id: 0,
            thread: std::process::id().cast_signed(),
            number,
            arguments,
        }
    }

    #[test]
    fn all_forms_of_sending_are_read() {
        let (first, second) = (b"GET / HT".as_slice(), b"TP/1.1\r\n".as_slice());
        let mut list = Vec::new();
        for part in [first, second] {
            list.extend((part.as_ptr() as u64).to_ne_bytes());
            list.extend((part.len() as u64).to_ne_bytes());
        }
        let mut address = (libc::AF_INET as u16).to_ne_bytes().to_vec();
        address.extend([0, 53, 127, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0]);
        let mut head = Vec::new();
        for word in [
            address.as_ptr() as u64,
            16,
            list.as_ptr() as u64,
            2,
            0,
            0,
            0,
        ] {
            head.extend(word.to_ne_bytes());
        }
        let both = head.iter().copied().chain([0; 8]).cycle();
        let both: Vec<u8> = both.take(128).collect();
        let text = |sent: &Outgoing| String::from_utf8(sent.bytes.clone()).unwrap();
        let at = |bytes: &[u8]| bytes.as_ptr() as u64;

        let flat = outgoing(&call(libc::SYS_write, [3, at(first), 8, 0, 0, 0]), 4);
        assert_eq!((text(&flat[0]), flat[0].length), ("GET ".into(), 8));
        let parts = outgoing(&call(libc::SYS_writev, [3, at(&list), 2, 0, 0, 0]), 100);
        assert_eq!(text(&parts[0]), "GET / HTTP/1.1\r\n");
        let to = Some("127.0.0.1:53".parse().unwrap());
        let arguments = [3, at(first), 8, 0, at(&address), 16];
        let sent = outgoing(&call(libc::SYS_sendto, arguments), 100);
        assert_eq!((text(&sent[0]), sent[0].to), ("GET / HT".into(), to));
        let sent = outgoing(&call(libc::SYS_sendmsg, [3, at(&head), 0, 0, 0, 0]), 100);
        assert_eq!((sent[0].length, sent[0].to), (16, to));
        let sent = outgoing(&call(libc::SYS_sendmmsg, [3, at(&both), 2, 0, 0, 0]), 100);
        assert_eq!(sent.len(), 2);
        assert_eq!(text(&sent[1]), "GET / HTTP/1.1\r\n");
        assert_eq!(
            super::address(&call(libc::SYS_connect, [3, at(&address), 16, 0, 0, 0])),
            to
        );
    }

    #[test]
    fn unreadable_memory_is_empty() {
        for number in [libc::SYS_write, libc::SYS_writev, libc::SYS_sendmsg] {
            let sent = outgoing(&call(number, [3, 1, u64::MAX, 0, 0, 0]), 100);
            assert!(sent.iter().all(|sent| sent.bytes.is_empty()));
        }
        assert_eq!(
            address(&call(libc::SYS_connect, [3, 1, u64::MAX, 0, 0, 0])),
            None
        );
        for length in 0..28 {
            let mut bytes = vec![0; length];
            if let Some(family) = bytes.first_mut() {
                *family = libc::AF_INET6 as u8;
            }
            assert_eq!(read_address(&bytes), None);
        }
    }
}
