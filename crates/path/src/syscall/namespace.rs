//! Namespaces and capabilities: `unshare`, `setns`, `capget`, and the files under `/proc/self`.
//!
//! Nothing here allocates, so that a child forked from a multi-threaded process can call it
//! (signal-safety(7)).

#![allow(unsafe_code)]

use std::ffi::CStr;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

use super::{check, check_length};

/// The kinds of namespace that this crate uses.
#[derive(Clone, Copy, Debug)]
pub(crate) enum NamespaceKind {
    User,
    Network,
    Mount,
}

impl NamespaceKind {
    fn flag(self) -> libc::c_int {
        match self {
            Self::User => libc::CLONE_NEWUSER,
            Self::Network => libc::CLONE_NEWNET,
            Self::Mount => libc::CLONE_NEWNS,
        }
    }

    /// The `/proc` file of the calling process's own namespace of this kind.
    fn file(self) -> &'static CStr {
        match self {
            Self::User => c"/proc/self/ns/user",
            Self::Network => c"/proc/self/ns/net",
            Self::Mount => c"/proc/self/ns/mnt",
        }
    }
}

/// Moves the caller into a new namespace: the whole process for `User`, the calling thread for the
/// others.
pub(crate) fn unshare(kind: NamespaceKind) -> io::Result<()> {
    // SAFETY: takes flags only and touches no memory of this process.
    check(unsafe { libc::unshare(kind.flag()) }).map(drop)
}

/// Moves the caller into an existing namespace: the process for `User`, the calling thread for
/// `Network`.
pub(crate) fn join(kind: NamespaceKind, namespace: BorrowedFd<'_>) -> io::Result<()> {
    // SAFETY: the descriptor is borrowed, hence open; the kernel checks that it is a namespace of
    // this kind.
    check(unsafe { libc::setns(namespace.as_raw_fd(), kind.flag()) }).map(drop)
}

/// Opens the namespace that the calling process is in. The namespace lives as long as the
/// descriptor is open.
pub(crate) fn own(kind: NamespaceKind) -> io::Result<OwnedFd> {
    open(kind.file(), libc::O_RDONLY)
}

/// Writes `content` to an existing file in one call, as files in `/proc` require.
pub(crate) fn write_file(path: &CStr, content: &[u8]) -> io::Result<()> {
    let file = open(path, libc::O_WRONLY)?;
    // SAFETY: pointer and length are those of one live slice.
    let written = unsafe { libc::write(file.as_raw_fd(), content.as_ptr().cast(), content.len()) };
    if check_length(written)? == content.len() {
        Ok(())
    } else {
        Err(io::ErrorKind::WriteZero.into())
    }
}

/// The device and inode by which `/proc/PID/ns/net` identifies the namespace.
pub(crate) fn identity(namespace: BorrowedFd<'_>) -> io::Result<(u64, u64)> {
    // SAFETY: `stat` is plain integers, for which zeroes are valid; the kernel fills it.
    let mut stat: libc::stat = unsafe { std::mem::zeroed() };
    // SAFETY: the descriptor is open and `stat` lives through the call.
    check(unsafe { libc::fstat(namespace.as_raw_fd(), &raw mut stat) })?;
    Ok((stat.st_dev, stat.st_ino))
}

/// Capabilities by their bit number in linux/capability.h.
#[derive(Clone, Copy, Debug)]
#[repr(u32)]
pub(crate) enum Capability {
    NetAdmin = 12,
    NetRaw = 13,
    SysAdmin = 21,
    Setfcap = 31,
}

/// Whether the caller can create and wire network namespaces in its current user namespace.
pub(crate) fn is_privileged() -> bool {
    use Capability::{NetAdmin, NetRaw, SysAdmin};
    [NetAdmin, NetRaw, SysAdmin].into_iter().all(holds)
}

/// Whether a capability is effective for the caller in its user namespace.
pub(crate) fn holds(capability: Capability) -> bool {
    effective_capabilities().is_ok_and(|held| held & (1 << capability as u32) != 0)
}

/// Reads the low word of the effective set; all capabilities used here are below 32.
fn effective_capabilities() -> io::Result<u32> {
    /// `_LINUX_CAPABILITY_VERSION_3`: two words for each set.
    const VERSION: u32 = 0x2008_0522;
    let mut header = [VERSION, 0];
    let mut sets = [0_u32; 6]; // {effective, permitted, inheritable} twice
    // SAFETY: version 3 reads two words from `header` and writes six into `sets`; both live through
    // the call.
    let returned =
        unsafe { libc::syscall(libc::SYS_capget, header.as_mut_ptr(), sets.as_mut_ptr()) };
    check(returned as libc::c_int)?;
    Ok(sets[0])
}

fn open(path: &CStr, flags: libc::c_int) -> io::Result<OwnedFd> {
    // SAFETY: `path` ends with a zero byte, as its type guarantees.
    let descriptor = check(unsafe { libc::open(path.as_ptr(), flags | libc::O_CLOEXEC) })?;
    // SAFETY: just opened, and not owned elsewhere.
    Ok(unsafe { OwnedFd::from_raw_fd(descriptor) })
}

/// The effective user and group of the calling process.
pub(crate) fn effective_ids() -> (u32, u32) {
    // SAFETY: both always succeed.
    unsafe { (libc::geteuid(), libc::getegid()) }
}
