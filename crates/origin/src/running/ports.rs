//! The sockets of an origin: the same port on each address, for TCP and UDP.

use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener, UdpSocket};

use roundtrip_net::{Listening, listen, listen_udp};

use crate::{Knobs, ListenKnobs, OriginError, Quic};

/// How often another port is tried: a port that is free on one address may be taken on another.
const ATTEMPTS: u32 = 32;

#[derive(Debug)]
pub(super) struct Ports {
    pub(super) http: Vec<TcpListener>,
    pub(super) https: Vec<TcpListener>,
    pub(super) echo: Vec<TcpListener>,
    pub(super) quic: Vec<UdpSocket>,
}

impl Ports {
    pub(super) fn bind(knobs: &ListenKnobs) -> Result<Self, OriginError> {
        if knobs.bind.is_empty() {
            return Err(OriginError::NoAddress);
        }
        let (http, _) = bind_all(knobs, knobs.http_port, false)?;
        let (https, quic) = bind_all(knobs, knobs.https_port, knobs.h3 != Quic::Off)?;
        let echo = match knobs.echo_port {
            Some(port) => bind_all(knobs, port, false)?.0,
            None => Vec::new(),
        };
        Ok(Self {
            http,
            https,
            echo,
            quic,
        })
    }

    pub(super) fn http_address(&self) -> SocketAddr {
        first(&self.http).unwrap_or_else(unbound)
    }

    pub(super) fn https_address(&self) -> SocketAddr {
        first(&self.https).unwrap_or_else(unbound)
    }

    pub(super) fn https_port(&self) -> u16 {
        self.https_address().port()
    }

    pub(super) fn echo_address(&self) -> Option<SocketAddr> {
        first(&self.echo)
    }
}

fn first(listeners: &[TcpListener]) -> Option<SocketAddr> {
    listeners.first()?.local_addr().ok()
}

fn unbound() -> SocketAddr {
    SocketAddr::from((Ipv4Addr::UNSPECIFIED, 0))
}

type Bound = (Vec<TcpListener>, Vec<UdpSocket>);

fn bind_all(knobs: &ListenKnobs, port: u16, with_udp: bool) -> Result<Bound, OriginError> {
    let mut attempt = 0;
    loop {
        attempt += 1;
        match try_all(knobs, port, with_udp) {
            Err(OriginError::Listen { source, .. })
                if port == 0 && attempt < ATTEMPTS && source.kind() == io::ErrorKind::AddrInUse => {
            }
            outcome => return outcome,
        }
    }
}

fn try_all(knobs: &ListenKnobs, mut port: u16, with_udp: bool) -> Result<Bound, OriginError> {
    let (mut tcp, mut udp) = (Vec::new(), Vec::new());
    let asked = port;
    let how = Listening {
        backlog: knobs.backlog,
        fast_open: knobs.fast_open,
        ..Listening::default()
    };
    for address in &knobs.bind {
        let failed = |source| OriginError::Listen {
            address: *address,
            port: asked,
            source,
        };
        let wanted = SocketAddr::new(*address, port);
        let listener = listen(wanted, &how).map_err(failed)?;
        port = listener.local_addr().map_err(failed)?.port();
        tcp.push(listener);
        if with_udp {
            udp.push(listen_udp(SocketAddr::new(*address, port), false).map_err(failed)?);
        }
    }
    Ok((tcp, udp))
}

/// The error for a socket that was bound and cannot be used.
pub(super) fn failed(knobs: &Knobs, source: io::Error) -> OriginError {
    let any = IpAddr::V4(Ipv4Addr::UNSPECIFIED);
    OriginError::Listen {
        address: knobs.listen.bind.first().copied().unwrap_or(any),
        port: 0,
        source,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_port_serves_all_addresses_and_both_transports() {
        let knobs = ListenKnobs {
            bind: vec![
                Ipv4Addr::LOCALHOST.into(),
                Ipv4Addr::new(127, 0, 0, 2).into(),
            ],
            ..ListenKnobs::default()
        };
        let ports = Ports::bind(&knobs).unwrap();
        let port = ports.https_port();
        assert_eq!((ports.https.len(), ports.quic.len()), (2, 2));
        assert!(
            ports
                .https
                .iter()
                .all(|l| l.local_addr().unwrap().port() == port)
        );
        assert!(
            ports
                .quic
                .iter()
                .all(|s| s.local_addr().unwrap().port() == port)
        );
    }

    #[test]
    fn a_port_that_is_taken_is_named() {
        let taken = TcpListener::bind("127.0.0.1:0").unwrap();
        let knobs = ListenKnobs {
            http_port: taken.local_addr().unwrap().port(),
            ..ListenKnobs::default()
        };
        let said = Ports::bind(&knobs).unwrap_err().to_string();
        assert!(said.contains(&knobs.http_port.to_string()), "{said}");
    }
}
