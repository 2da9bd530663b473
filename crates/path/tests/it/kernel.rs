//! Kernel interfaces that these tests need beyond `std`: `TCP_INFO`, fast open, `UDP_SEGMENT`,
//! protocol counters.

#![allow(unsafe_code)]

use std::io;
use std::net::{SocketAddr, SocketAddrV4, TcpListener, TcpStream, UdpSocket};
use std::os::fd::{AsRawFd, FromRawFd};

pub(crate) fn tcp_info(stream: &TcpStream) -> libc::tcp_info {
    // SAFETY: `tcp_info` is integers; the kernel writes at most `length` bytes of it.
    unsafe {
        let mut info: libc::tcp_info = std::mem::zeroed();
        let mut length = size_of::<libc::tcp_info>() as libc::socklen_t;
        let returned = libc::getsockopt(
            stream.as_raw_fd(),
            libc::IPPROTO_TCP,
            libc::TCP_INFO,
            (&raw mut info).cast(),
            &raw mut length,
        );
        assert_eq!(returned, 0, "{}", io::Error::last_os_error());
        info
    }
}

/// `TCPI_OPT_SYN_DATA`: the SYN-ACK acknowledged data that the SYN carried.
pub(crate) fn was_syn_data_acknowledged(stream: &TcpStream) -> bool {
    tcp_info(stream).tcpi_options & 32 != 0
}

/// `TCPI_OPT_ECN`: both ends agreed on ECN.
pub(crate) fn agreed_on_ecn(stream: &TcpStream) -> bool {
    tcp_info(stream).tcpi_options & 8 != 0
}

/// `TCPI_OPT_ECN_SEEN`: a packet has come whose IP header says that its connection supports ECN.
pub(crate) fn has_seen_ecn(stream: &TcpStream) -> bool {
    tcp_info(stream).tcpi_options & 16 != 0
}

/// Sends without "don't fragment".
pub(crate) fn allow_fragments(socket: &UdpSocket) {
    set(
        socket,
        libc::IPPROTO_IP,
        libc::IP_MTU_DISCOVER,
        libc::IP_PMTUDISC_DONT,
    );
}

pub(crate) fn accept_fast_open(listener: &TcpListener) {
    set(listener, libc::IPPROTO_TCP, libc::TCP_FASTOPEN, 16);
}

/// Opens a connection with `data` in the SYN, if there is a cookie.
pub(crate) fn connect_with(data: &[u8], to: SocketAddr) -> TcpStream {
    let SocketAddr::V4(to) = to else {
        panic!("IPv4 here")
    };
    let address = sockaddr(to);
    // SAFETY: the socket is new and ours; pointers and lengths are those of live objects.
    unsafe {
        let socket = libc::socket(libc::AF_INET, libc::SOCK_STREAM | libc::SOCK_CLOEXEC, 0);
        assert!(socket >= 0, "{}", io::Error::last_os_error());
        let stream = TcpStream::from_raw_fd(socket);
        let sent = libc::sendto(
            socket,
            data.as_ptr().cast(),
            data.len(),
            libc::MSG_FASTOPEN,
            (&raw const address).cast(),
            size_of_val(&address) as libc::socklen_t,
        );
        assert_eq!(
            sent,
            data.len().cast_signed(),
            "{}",
            io::Error::last_os_error()
        );
        stream
    }
}

/// Makes the kernel cut each send into datagrams of `size`.
pub(crate) fn segment(socket: &UdpSocket, size: u16) {
    set(socket, libc::IPPROTO_UDP, libc::UDP_SEGMENT, size.into());
}

/// Whether this thread's `eth0` has the feature that the `ETHTOOL_G…` command queries
/// (linux/ethtool.h).
pub(crate) fn does(command: u32) -> bool {
    let socket = UdpSocket::bind("0.0.0.0:0").unwrap();
    let mut value = [command, 0];
    // SAFETY: `ifreq` is integers and pointers, for which zeroes (null) are valid.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    for (to, from) in request.ifr_name.iter_mut().zip(b"eth0") {
        *to = libc::c_char::from_ne_bytes([*from]);
    }
    request.ifr_ifru.ifru_data = value.as_mut_ptr().cast();
    // SAFETY: `request` names the interface and points at an `ethtool_value`, both alive through
    // the call.
    let returned =
        unsafe { libc::ioctl(socket.as_raw_fd(), libc::SIOCETHTOOL as _, &raw mut request) };
    assert_eq!(returned, 0, "{}", io::Error::last_os_error());
    value[1] != 0
}

/// The congestion control of this connection.
pub(crate) fn congestion_control(stream: &TcpStream) -> String {
    let mut name = [0_u8; 16];
    let mut length = name.len() as libc::socklen_t;
    // SAFETY: pointer and length are those of `name`; the kernel writes at most `length` bytes.
    let returned = unsafe {
        let name = name.as_mut_ptr().cast();
        libc::getsockopt(
            stream.as_raw_fd(),
            libc::IPPROTO_TCP,
            libc::TCP_CONGESTION,
            name,
            &raw mut length,
        )
    };
    assert_eq!(returned, 0, "{}", io::Error::last_os_error());
    let text = name.into_iter().take_while(|byte| *byte != 0);
    text.map(char::from).collect()
}

/// Receives several datagrams with one read, if the kernel has joined them.
pub(crate) fn join(socket: &UdpSocket) {
    set(socket, libc::IPPROTO_UDP, libc::UDP_GRO, 1);
}

/// A counter of this thread's network, such as `Tcp` `InCsumErrors`.
pub(crate) fn counter(protocol: &str, name: &str) -> u64 {
    let table = std::fs::read_to_string("/proc/thread-self/net/snmp").unwrap();
    let mut lines = table
        .lines()
        .filter(|line| line.starts_with(&format!("{protocol}: ")));
    let (names, values) = (lines.next().unwrap(), lines.next().unwrap());
    let column = names.split(' ').position(|column| column == name).unwrap();
    values.split(' ').nth(column).unwrap().parse().unwrap()
}

/// Makes the connection end with RST when it is closed, without any state left.
pub(crate) fn reset_on_close(stream: &TcpStream) {
    let linger = libc::linger {
        l_onoff: 1,
        l_linger: 0,
    };
    // SAFETY: pointer and length are those of one live structure.
    let returned = unsafe {
        libc::setsockopt(
            stream.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_LINGER,
            (&raw const linger).cast(),
            size_of_val(&linger) as libc::socklen_t,
        )
    };
    assert_eq!(returned, 0, "{}", io::Error::last_os_error());
}

fn set(socket: &impl AsRawFd, level: i32, name: i32, value: i32) {
    // SAFETY: pointer and length are those of one live integer.
    let returned = unsafe {
        let length = size_of::<i32>() as libc::socklen_t;
        libc::setsockopt(
            socket.as_raw_fd(),
            level,
            name,
            (&raw const value).cast(),
            length,
        )
    };
    assert_eq!(returned, 0, "{}", io::Error::last_os_error());
}

fn sockaddr(address: SocketAddrV4) -> libc::sockaddr_in {
    libc::sockaddr_in {
        sin_family: libc::AF_INET as u16,
        sin_port: address.port().to_be(),
        sin_addr: libc::in_addr {
            s_addr: u32::from_ne_bytes(address.ip().octets()),
        },
        sin_zero: [0; 8],
    }
}
