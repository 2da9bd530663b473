//! Listening sockets as the knobs want them. System calls belong to `net`.

use std::io;
use std::net::SocketAddr;

use roundtrip_net::set_fast_open_queue;
use socket2::{Domain, Protocol, Socket, Type};

/// A listener with a fast-open queue of `fast_open` (0: none).
pub(crate) fn listen(
    address: SocketAddr,
    backlog: u32,
    fast_open: u32,
) -> io::Result<std::net::TcpListener> {
    let socket = Socket::new(
        Domain::for_address(address),
        Type::STREAM,
        Some(Protocol::TCP),
    )?;
    socket.set_reuse_address(true)?;
    prepare(&socket, address)?;
    if fast_open > 0 {
        set_fast_open_queue(&socket, fast_open)?;
    }
    socket.listen(i32::try_from(backlog).unwrap_or(i32::MAX))?;
    Ok(socket.into())
}

pub(crate) fn udp(address: SocketAddr) -> io::Result<std::net::UdpSocket> {
    let socket = Socket::new(
        Domain::for_address(address),
        Type::DGRAM,
        Some(Protocol::UDP),
    )?;
    prepare(&socket, address)?;
    Ok(socket.into())
}

fn prepare(socket: &Socket, address: SocketAddr) -> io::Result<()> {
    if address.is_ipv6() {
        socket.set_only_v6(true)?;
    }
    socket.set_nonblocking(true)?;
    socket.bind(&address.into())
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::{Ipv4Addr, TcpStream};

    use roundtrip_net::TcpInfo;

    use super::*;

    #[test]
    fn listeners_listen_with_and_without_fast_open() {
        for queue in [0, 16] {
            let any = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
            let listener = listen(any, 8, queue).unwrap();
            listener.set_nonblocking(false).unwrap();
            let mut client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
            let (mut server, _) = listener.accept().unwrap();
            client.write_all(b"x").unwrap();
            server.read_exact(&mut [0]).unwrap();
            let info = TcpInfo::of(&server).unwrap();
            assert!(!info.took_syn_data(), "an ordinary SYN carries no data");
        }
    }
}
