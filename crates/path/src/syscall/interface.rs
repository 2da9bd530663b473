//! Reads and sets properties of an interface by `ioctl`: its offloads (ethtool) and its flags.

#![allow(unsafe_code)]

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};

use super::check;

/// `ETHTOOL_GSTRINGS`, `ETHTOOL_GSSET_INFO`, `ETHTOOL_SFEATURES`, and the set of strings
/// `ETH_SS_FEATURES`.
const GET_STRINGS: u32 = 0x1b;
const GET_COUNTS: u32 = 0x37;
const SET_FEATURES: u32 = 0x3b;
const FEATURES: u32 = 4;
/// `ETH_GSTRING_LEN`.
const NAME: usize = 32;
/// The largest number of features of an interface; Linux 6.18 has 64.
const MAX_FEATURES: usize = 128;

/// Work that an interface can do for the stack.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Offload {
    /// Cutting TCP super-segments.
    TcpSegmentation,
    /// Cutting super-segments just above the interface.
    Segmentation,
    /// Joining arriving segments.
    Receive,
}

impl Offload {
    /// The `ETHTOOL_S…` command that sets this work (linux/ethtool.h).
    fn command(self) -> u32 {
        match self {
            Self::TcpSegmentation => 0x1f,
            Self::Segmentation => 0x24,
            Self::Receive => 0x2c,
        }
    }
}

/// Switches an offload of the interface `name` off, in the namespace of `socket`.
pub(crate) fn switch_off(socket: BorrowedFd<'_>, name: &str, offload: Offload) -> io::Result<()> {
    let mut command = [offload.command(), 0]; // ethtool_value { cmd, data }
    ask(socket, name, &mut command)
}

/// Switches off a feature of the interface `name` that has no `ETHTOOL_S…` command. Does
/// nothing on kernels without that feature.
pub(crate) fn switch_off_feature(
    socket: BorrowedFd<'_>,
    name: &str,
    feature: &str,
) -> io::Result<()> {
    let known = features(socket, name)?;
    let Some(bit) = known.iter().position(|known| known == feature) else {
        return Ok(());
    };
    // ethtool_sfeatures { cmd, size, [ { valid, requested } ] }
    let blocks = known.len().div_ceil(32);
    let mut command = vec![0; 2 + 2 * blocks];
    if let Some(head) = command.first_chunk_mut::<2>() {
        *head = [SET_FEATURES, blocks as u32];
    }
    if let Some(valid) = command.get_mut(2 + bit / 32 * 2) {
        *valid = 1 << (bit % 32);
    }
    ask(socket, name, &mut command)
}

/// The names of an interface's features, by bit.
fn features(socket: BorrowedFd<'_>, name: &str) -> io::Result<Vec<String>> {
    // ethtool_gstrings { cmd, set, count, [ [u8; 32] ] }
    const WORDS: usize = NAME / 4;
    let mut command = vec![0_u32; 3 + MAX_FEATURES * WORDS];
    let count = count_features(socket, name)?;
    if count > MAX_FEATURES {
        return Err(io::ErrorKind::Unsupported.into());
    }
    if let Some(head) = command.first_chunk_mut::<3>() {
        *head = [GET_STRINGS, FEATURES, count as u32];
    }
    ask(socket, name, &mut command)?;
    let names = command.get(3..).unwrap_or_default().chunks_exact(WORDS);
    let spell = |words: &[u32]| -> String {
        let bytes = words.iter().flat_map(|word| word.to_ne_bytes());
        bytes
            .take_while(|byte| *byte != 0)
            .map(char::from)
            .collect()
    };
    Ok(names.take(count).map(spell).collect())
}

fn count_features(socket: BorrowedFd<'_>, name: &str) -> io::Result<usize> {
    // ethtool_sset_info { cmd, reserved, mask: u64, [ u32 ] }
    let mut command = [GET_COUNTS, 0, 1 << FEATURES, 0, 0];
    if cfg!(target_endian = "big") {
        command.swap(2, 3);
    }
    ask(socket, name, &mut command)?;
    Ok(command[4] as usize)
}

fn ask(socket: BorrowedFd<'_>, name: &str, command: &mut [u32]) -> io::Result<()> {
    let mut request = request(name)?;
    request.ifr_ifru.ifru_data = command.as_mut_ptr().cast();
    // SAFETY: `request` names the interface and points at a command with room for its answer, both
    // alive through the call.
    check(unsafe { libc::ioctl(socket.as_raw_fd(), libc::SIOCETHTOOL as _, &raw mut request) })
        .map(drop)
}

/// Whether the interface `name` is up and its carrier is on, seen from the namespace of `socket`.
pub(crate) fn is_running(socket: BorrowedFd<'_>, name: &str) -> io::Result<bool> {
    let mut request = request(name)?;
    // SAFETY: `request` names the interface and lives through the call.
    check(unsafe {
        libc::ioctl(
            socket.as_raw_fd(),
            libc::SIOCGIFFLAGS as _,
            &raw mut request,
        )
    })?;
    // SAFETY: the kernel has just filled the flags.
    let flags = unsafe { request.ifr_ifru.ifru_flags };
    Ok(libc::c_int::from(flags) & libc::IFF_RUNNING != 0)
}

/// The index of the interface `name` in the namespace of `socket`.
pub(crate) fn index(socket: BorrowedFd<'_>, name: &str) -> io::Result<u32> {
    let mut request = request(name)?;
    // SAFETY: `request` names the interface and lives through the call.
    check(unsafe {
        libc::ioctl(
            socket.as_raw_fd(),
            libc::SIOCGIFINDEX as _,
            &raw mut request,
        )
    })?;
    // SAFETY: the kernel has just filled the index.
    let index = unsafe { request.ifr_ifru.ifru_ifindex };
    u32::try_from(index).map_err(|_| io::ErrorKind::InvalidData.into())
}

pub(super) fn request(name: &str) -> io::Result<libc::ifreq> {
    // SAFETY: `ifreq` is integers and pointers, for which zeroes (null) are valid.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    if name.len() >= request.ifr_name.len() {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    for (to, from) in request.ifr_name.iter_mut().zip(name.bytes()) {
        *to = libc::c_char::from_ne_bytes([from]);
    }
    Ok(request)
}

/// Gives a new TAP device its hardware address and its MTU.
pub(crate) fn name_device(
    socket: BorrowedFd<'_>,
    name: &str,
    mac: [u8; 6],
    mtu: u16,
) -> io::Result<()> {
    let mut address = request(name)?;
    // SAFETY: `sockaddr` is integers, for which zeroes are valid.
    let mut hardware: libc::sockaddr = unsafe { std::mem::zeroed() };
    hardware.sa_family = libc::ARPHRD_ETHER;
    for (to, from) in hardware.sa_data.iter_mut().zip(mac) {
        *to = libc::c_char::from_ne_bytes([from]);
    }
    address.ifr_ifru.ifru_hwaddr = hardware;
    // SAFETY: `address` names the interface and lives through the call.
    check(unsafe {
        libc::ioctl(
            socket.as_raw_fd(),
            libc::SIOCSIFHWADDR as _,
            &raw mut address,
        )
    })?;
    let mut length = request(name)?;
    length.ifr_ifru.ifru_mtu = mtu.into();
    // SAFETY: `length` names the interface and lives through the call.
    check(unsafe { libc::ioctl(socket.as_raw_fd(), libc::SIOCSIFMTU as _, &raw mut length) })
        .map(drop)
}
