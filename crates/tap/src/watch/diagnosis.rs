//! The kernel's list of TCP sockets, with `TCP_INFO` for each: `inet_diag_req_v2` and
//! `inet_diag_msg` of `include/uapi/linux/inet_diag.h`.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use roundtrip_net::{TcpInfo, ask_kernel};
use roundtrip_wire::netlink::{NetlinkRequest, attributes, u32_at};

const SOCK_DIAG_BY_FAMILY: u16 = 20;
const INET_DIAG_INFO: u16 = 2;
/// The states in which connections can carry data: all but LISTEN, TIME_WAIT, CLOSE and
/// NEW_SYN_RECV, which have no counters.
const STATES: u32 = 1 << 1 | 1 << 2 | 1 << 3 | 1 << 4 | 1 << 5 | 1 << 8 | 1 << 9 | 1 << 11;
/// The states after the peer's FIN.
const AFTER_FIN: [u8; 3] = [8, 9, 11];
/// The length of the message before its attributes, in bytes.
const HEAD: usize = 72;

#[derive(Debug)]
pub(super) struct DiagnosedSocket {
    pub(super) local: SocketAddr,
    pub(super) peer: SocketAddr,
    pub(super) state: &'static str,
    pub(super) cookie: u64,
    pub(super) inode: u32,
    /// Data that arrived and was not read; data that was written and not acknowledged. In bytes.
    pub(super) unread: u32,
    pub(super) unsent: u32,
    pub(super) info: Option<TcpInfo>,
}

/// All TCP connections of this network namespace.
pub(super) fn sockets() -> io::Result<Vec<DiagnosedSocket>> {
    let mut all = Vec::new();
    for family in [libc::AF_INET, libc::AF_INET6] {
        let asked = ask_kernel(libc::NETLINK_SOCK_DIAG, request(family as u8), |message| {
            all.extend(read(message));
        });
        match asked {
            // A kernel without IPv6.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            other => other?,
        }
    }
    Ok(all)
}

/// `inet_diag_req_v2`: family, protocol, extensions, padding, states (4), then a socket, which is
/// left empty.
fn request(family: u8) -> NetlinkRequest {
    let extensions = 1 << (INET_DIAG_INFO - 1);
    let mut head = vec![family, libc::IPPROTO_TCP as u8, extensions, 0];
    head.extend(STATES.to_ne_bytes());
    head.resize(56, 0);
    NetlinkRequest::dump(SOCK_DIAG_BY_FAMILY).with(&head)
}

/// `inet_diag_msg`: family, state, timer, retransmits; ports (2 and 2), addresses (16 and 16),
/// interface, cookie (8); expiry, queues (4 and 4), user, inode.
fn read(message: &[u8]) -> Option<DiagnosedSocket> {
    let family = i32::from(*message.first()?);
    let port =
        |at: usize| -> Option<u16> { Some(u16::from_be_bytes(*message.get(at..)?.first_chunk()?)) };
    let address = |at: usize| -> Option<IpAddr> {
        let bytes: [u8; 16] = *message.get(at..)?.first_chunk()?;
        Some(if family == libc::AF_INET {
            Ipv4Addr::from(*bytes.first_chunk::<4>()?).into()
        } else {
            Ipv6Addr::from(bytes).to_canonical()
        })
    };
    let cookie = u64::from(u32_at(message, 44)?) | u64::from(u32_at(message, 48)?) << 32;
    let info = attributes(message.get(HEAD..)?).find(|(kind, _)| *kind == INET_DIAG_INFO);
    let state = *message.get(1)?;
    // The peer's FIN has a place in the sequence, which no program reads.
    let fin = u32::from(AFTER_FIN.contains(&state));
    Some(DiagnosedSocket {
        local: (address(8)?, port(4)?).into(),
        peer: (address(24)?, port(6)?).into(),
        state: name_of(state),
        cookie,
        unread: u32_at(message, 56)?.saturating_sub(fin),
        unsent: u32_at(message, 60)?,
        inode: u32_at(message, 68)?,
        info: info.map(|(_, value)| TcpInfo::parse(value)),
    })
}

/// RFC 9293 §3.3.2.
fn name_of(state: u8) -> &'static str {
    match state {
        1 => "ESTABLISHED",
        2 => "SYN-SENT",
        3 => "SYN-RECEIVED",
        4 => "FIN-WAIT-1",
        5 => "FIN-WAIT-2",
        8 => "CLOSE-WAIT",
        9 => "LAST-ACK",
        11 => "CLOSING",
        _ => "other",
    }
}

#[cfg(test)]
mod tests {
    use std::net::{TcpListener, TcpStream};

    use super::*;

    #[test]
    fn a_connection_of_ours_is_in_the_list() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let ours = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let all = sockets().unwrap();
        let local = ours.local_addr().unwrap();
        let found = all.iter().find(|socket| socket.local == local).unwrap();
        assert_eq!(found.peer, listener.local_addr().unwrap());
        assert_eq!(found.state, "ESTABLISHED");
        let cookie = socket2::SockRef::from(&ours).cookie().unwrap();
        assert_eq!(found.cookie, cookie);
        assert!(found.info.is_some_and(|info| info.is_established()));
    }

    #[test]
    fn the_peers_end_is_not_unread_data() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let ours = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let local = ours.local_addr().unwrap();
        drop(listener.accept().unwrap());
        let ended = || {
            let all = sockets().unwrap();
            let found = all.into_iter().find(|socket| socket.local == local);
            found.filter(|socket| socket.state == "CLOSE-WAIT")
        };
        let found = loop {
            match ended() {
                Some(found) => break found,
                None => std::thread::yield_now(),
            }
        };
        assert_eq!(found.unread, 0);
    }

    #[test]
    fn a_short_message_is_not_a_socket() {
        for length in 0..HEAD {
            assert!(read(&vec![2; length]).is_none(), "{length}");
        }
        assert!(read(&[2; HEAD]).is_some_and(|socket| socket.info.is_none()));
    }
}
