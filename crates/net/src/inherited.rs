//! Sockets that the service manager opened and passed to this process: sd_listen_fds(3).

use std::env;
use std::io;
use std::net::{SocketAddr, TcpListener, UdpSocket};
use std::os::fd::{OwnedFd, RawFd};

use socket2::{SockRef, Type};

use crate::sys;

/// The first passed descriptor; the others follow it.
const FIRST: RawFd = 3;
/// The largest number of sockets; no service has more.
const MAX_SOCKETS: RawFd = 1024;

/// Sockets that nothing has taken yet to serve their addresses.
#[derive(Debug, Default)]
pub struct InheritedSockets {
    tcp: Vec<(SocketAddr, TcpListener)>,
    udp: Vec<(SocketAddr, UdpSocket)>,
}

#[derive(Debug, thiserror::Error)]
pub enum InheritError {
    #[error("LISTEN_FDS is not a number of sockets: {0}")]
    Count(String),
    #[error("descriptor {0}, which LISTEN_FDS includes, is not an open socket: {1}")]
    Socket(RawFd, io::Error),
    #[error("descriptor {0} is neither a listening TCP socket nor a UDP socket")]
    Kind(RawFd),
    #[error("{0} was passed for IPv6 and IPv4: set BindIPv6Only=ipv6-only for its socket unit")]
    BothFamilies(SocketAddr),
}

impl InheritedSockets {
    /// Returns the sockets that the environment names, if they are for this process.
    pub fn from_environment() -> Result<Self, InheritError> {
        let for_us = env::var("LISTEN_PID").is_ok_and(|id| id == std::process::id().to_string());
        let Some(count) = env::var_os("LISTEN_FDS").filter(|_| for_us) else {
            return Ok(Self::default());
        };
        let count = count.to_string_lossy();
        let parsed = count.parse().ok().filter(|n| (0..=MAX_SOCKETS).contains(n));
        let count: RawFd = parsed.ok_or_else(|| InheritError::Count(count.into_owned()))?;
        let mut sockets = Self::default();
        for number in FIRST..FIRST + count {
            let socket = sys::duplicate(number).map_err(|e| InheritError::Socket(number, e))?;
            sockets.add(number, socket)?;
        }
        Ok(sockets)
    }

    fn add(&mut self, number: RawFd, socket: OwnedFd) -> Result<(), InheritError> {
        let failed = |error| InheritError::Socket(number, error);
        let told = SockRef::from(&socket);
        let kind = told.r#type().map_err(failed)?;
        let address = told.local_addr().map_err(failed)?.as_socket();
        let address = address.ok_or(InheritError::Kind(number))?;
        if address.is_ipv6() && !told.only_v6().map_err(failed)? {
            return Err(InheritError::BothFamilies(address));
        }
        told.set_nonblocking(true).map_err(failed)?;
        if kind == Type::STREAM && told.is_listener().map_err(failed)? {
            self.tcp.push((address, socket.into()));
        } else if kind == Type::DGRAM {
            self.udp.push((address, socket.into()));
        } else {
            return Err(InheritError::Kind(number));
        }
        Ok(())
    }

    /// Takes all listening TCP sockets at an address.
    pub fn listeners(&mut self, address: SocketAddr) -> Vec<TcpListener> {
        take(&mut self.tcp, address)
    }

    /// Takes all UDP sockets at an address.
    pub fn datagrams(&mut self, address: SocketAddr) -> Vec<UdpSocket> {
        take(&mut self.udp, address)
    }

    /// The address of a socket that was not taken, and whether it is for UDP.
    pub fn unused(&self) -> Option<(SocketAddr, bool)> {
        let tcp = self.tcp.iter().map(|(address, _)| (*address, false));
        let udp = self.udp.iter().map(|(address, _)| (*address, true));
        tcp.chain(udp).next()
    }
}

fn take<T>(sockets: &mut Vec<(SocketAddr, T)>, address: SocketAddr) -> Vec<T> {
    let taken = sockets.extract_if(.., |(bound, _)| *bound == address);
    taken.map(|(_, socket)| socket).collect()
}

#[cfg(test)]
mod tests {
    use std::net::TcpStream;
    use std::os::unix::net::UnixStream;

    use super::*;

    #[test]
    fn sockets_are_found_by_their_addresses() {
        let tcp = TcpListener::bind("127.0.0.1:0").unwrap();
        let udp = UdpSocket::bind("127.0.0.1:0").unwrap();
        let (tcp_at, udp_at) = (tcp.local_addr().unwrap(), udp.local_addr().unwrap());
        let mut sockets = InheritedSockets::default();
        sockets.add(3, tcp.try_clone().unwrap().into()).unwrap();
        sockets.add(4, tcp.into()).unwrap();
        sockets.add(5, udp.into()).unwrap();
        assert!(sockets.listeners(udp_at).is_empty());
        assert_eq!(sockets.unused(), Some((tcp_at, false)));
        assert_eq!(sockets.listeners(tcp_at).len(), 2);
        assert_eq!(sockets.unused(), Some((udp_at, true)));
        assert_eq!(sockets.datagrams(udp_at).len(), 1);
        assert_eq!(sockets.unused(), None);
    }

    #[test]
    fn other_descriptors_are_refused() {
        let mut sockets = InheritedSockets::default();
        let (unix, _other) = UnixStream::pair().unwrap();
        let refused = sockets.add(3, unix.into()).unwrap_err();
        assert!(matches!(refused, InheritError::Kind(3)), "{refused}");
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let connected = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let refused = sockets.add(4, connected.into()).unwrap_err();
        assert!(matches!(refused, InheritError::Kind(4)), "{refused}");
        let file = std::fs::File::open("/dev/null").unwrap();
        let refused = sockets.add(5, file.into()).unwrap_err();
        assert!(matches!(refused, InheritError::Socket(5, _)), "{refused}");
        let both = TcpListener::bind("[::]:0").unwrap();
        let refused = sockets.add(6, both.into()).unwrap_err();
        assert!(refused.to_string().contains("BindIPv6Only"), "{refused}");
        assert!(sys::duplicate(1_000_000).is_err());
    }
}
