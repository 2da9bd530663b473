#![allow(unsafe_code)]
//! Listening sockets as the knobs want them, and the one fact about an accepted socket that only `TCP_INFO` tells.

use std::io;
use std::mem::size_of_val;
use std::net::SocketAddr;
use std::os::fd::{AsFd, AsRawFd};

use socket2::{Domain, Protocol, Socket, Type};

/// Index of `tcpi_options` in `struct tcp_info`, and its bit «data in the SYN was acknowledged» (linux/tcp.h).
const TCPI_OPTIONS: usize = 5;
const TCPI_OPT_SYN_DATA: u8 = 32;

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
        enable_fast_open(&socket, fast_open)?;
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

fn enable_fast_open(socket: &Socket, queue: u32) -> io::Result<()> {
    let queue = libc::c_int::try_from(queue).unwrap_or(libc::c_int::MAX);
    // SAFETY: the descriptor is open for as long as `socket` lives, and the pointer and length are those of a local.
    let code = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            libc::IPPROTO_TCP,
            libc::TCP_FASTOPEN,
            (&raw const queue).cast(),
            size_of_val(&queue) as libc::socklen_t,
        )
    };
    if code == 0 {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}

/// Did the SYN of this accepted connection bring data that the kernel took?
pub(crate) fn took_syn_data(socket: &impl AsFd) -> bool {
    let mut info = [0_u8; 8];
    let mut length = size_of_val(&info) as libc::socklen_t;
    // SAFETY: the borrowed descriptor is open, and the kernel writes at most `length` bytes, which `info` holds.
    let code = unsafe {
        libc::getsockopt(
            socket.as_fd().as_raw_fd(),
            libc::IPPROTO_TCP,
            libc::TCP_INFO,
            (&raw mut info).cast(),
            &raw mut length,
        )
    };
    code == 0 && info[TCPI_OPTIONS] & TCPI_OPT_SYN_DATA != 0
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::{Ipv4Addr, TcpStream};

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
            assert!(!took_syn_data(&server), "an ordinary SYN carries no data");
        }
    }
}
