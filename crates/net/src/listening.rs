//! Listening sockets.

use std::io;
use std::net::{SocketAddr, TcpListener, UdpSocket};

use socket2::{Domain, Protocol, SockRef, Socket, Type};

use crate::sys;

/// The options of a listening TCP socket.
#[derive(Debug, Clone, Copy, Default)]
pub struct Listening {
    pub backlog: u32,
    /// The queue length of TCP fast open: how many connections can be pending with data from their
    /// SYN. 0 disables it.
    pub fast_open: u32,
    /// The key of fast-open cookies; `None` uses the kernel's key, which all sockets of the machine
    /// share.
    pub fast_open_key: Option<[u8; 16]>,
    /// Whether other sockets of the same user can listen at the same address, each for a share of
    /// the clients (`SO_REUSEPORT`).
    pub shared: bool,
}

/// Listens on a non-blocking TCP socket. An IPv6 address means IPv6 only.
pub fn listen(address: SocketAddr, how: &Listening) -> io::Result<TcpListener> {
    let socket = bind_listener(address, how)?;
    start_listening(&socket, how.backlog)?;
    Ok(socket)
}

/// Binds the socket without listening: no client can connect to it before [`start_listening`]. With
/// `shared`, the kernel gives clients to every socket that listens.
pub fn bind_listener(address: SocketAddr, how: &Listening) -> io::Result<TcpListener> {
    let socket = socket(address, Type::STREAM, Protocol::TCP)?;
    socket.set_reuse_address(true)?;
    bind(&socket, address, how.shared)?;
    let socket = socket.into();
    set_fast_open(&socket, how)?;
    Ok(socket)
}

/// Accepts data in SYNs, if the options say so.
pub fn set_fast_open(socket: &TcpListener, how: &Listening) -> io::Result<()> {
    if how.fast_open > 0 {
        sys::set_fast_open_queue(socket, how.fast_open)?;
        if let Some(key) = &how.fast_open_key {
            sys::set_fast_open_key(socket, key)?;
        }
    }
    Ok(())
}

pub fn start_listening(socket: &TcpListener, backlog: u32) -> io::Result<()> {
    SockRef::from(socket).listen(i32::try_from(backlog).unwrap_or(i32::MAX))
}

/// Accepts connections only once they have sent something, or a second after their handshake. This
/// is for protocols in which the client sends first. The server is woken once instead of twice, and
/// can read at once.
pub fn defer_accept(listener: &TcpListener) -> io::Result<()> {
    sys::set_defer_accept(listener, 1)
}

/// Binds a non-blocking UDP socket in the same way.
pub fn listen_udp(address: SocketAddr, shared: bool) -> io::Result<UdpSocket> {
    let socket = socket(address, Type::DGRAM, Protocol::UDP)?;
    bind(&socket, address, shared)?;
    Ok(socket.into())
}

fn socket(address: SocketAddr, kind: Type, protocol: Protocol) -> io::Result<Socket> {
    Socket::new(Domain::for_address(address), kind, Some(protocol))
}

fn bind(socket: &Socket, address: SocketAddr, shared: bool) -> io::Result<()> {
    if address.is_ipv6() {
        socket.set_only_v6(true)?;
    }
    if shared {
        socket.set_reuse_port(true)?;
    }
    socket.set_nonblocking(true)?;
    socket.bind(&address.into())
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::{Ipv4Addr, TcpStream};

    use super::*;
    use crate::TcpInfo;

    fn any() -> SocketAddr {
        SocketAddr::from((Ipv4Addr::LOCALHOST, 0))
    }

    #[test]
    fn listeners_listen_with_and_without_fast_open() {
        for (fast_open, fast_open_key) in [(0, None), (16, None), (16, Some([7; 16]))] {
            let how = Listening {
                backlog: 8,
                fast_open,
                fast_open_key,
                shared: false,
            };
            let listener = listen(any(), &how).unwrap();
            listener.set_nonblocking(false).unwrap();
            let mut client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
            let (mut server, _) = listener.accept().unwrap();
            client.write_all(b"x").unwrap();
            server.read_exact(&mut [0]).unwrap();
            let info = TcpInfo::from_socket(&server).unwrap();
            assert!(!info.took_syn_data(), "an ordinary SYN carries no data");
        }
    }

    /// A client that is silent for a second is accepted too, after later ones that have sent data.
    #[test]
    fn clients_that_send_data_are_accepted_before_silent_ones() {
        let how = Listening {
            backlog: 8,
            ..Listening::default()
        };
        let listener = listen(any(), &how).unwrap();
        defer_accept(&listener).unwrap();
        listener.set_nonblocking(false).unwrap();
        let address = listener.local_addr().unwrap();
        let silent = TcpStream::connect(address).unwrap();
        let mut speaking = TcpStream::connect(address).unwrap();
        speaking.write_all(b"x").unwrap();
        for client in [&speaking, &silent] {
            let (_, peer) = listener.accept().unwrap();
            assert_eq!(peer, client.local_addr().unwrap());
        }
    }

    #[test]
    fn only_shared_sockets_can_have_the_same_address() {
        for shared in [false, true] {
            let how = Listening {
                backlog: 8,
                shared,
                ..Listening::default()
            };
            let first = listen(any(), &how).unwrap().local_addr().unwrap();
            let one = listen(first, &how).unwrap();
            assert_eq!(listen(first, &how).is_ok(), shared);
            drop(one);
            let udp = listen_udp(any(), shared).unwrap();
            assert_eq!(
                listen_udp(udp.local_addr().unwrap(), shared).is_ok(),
                shared
            );
        }
    }
}
