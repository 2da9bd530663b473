//! Mounts: a private view of the file system, a file system in memory, a file mounted over another.
//!
//! Nothing here allocates, so that a child forked from a multi-threaded process can call it
//! (signal-safety(7)).

#![allow(unsafe_code)]

use std::ffi::CStr;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::ptr;

use super::{check, check_length};

/// Keeps all further mounts private to this mount namespace.
pub(crate) fn make_private() -> io::Result<()> {
    mount(None, c"/", None, libc::MS_REC | libc::MS_PRIVATE)
}

/// Mounts an empty file system in memory over a directory.
pub(crate) fn cover(directory: &CStr) -> io::Result<()> {
    let flags = libc::MS_NOSUID | libc::MS_NODEV | libc::MS_NOEXEC;
    mount(Some(c"names"), directory, Some(c"tmpfs"), flags)
}

/// Mounts one file over another.
pub(crate) fn show(file: &CStr, place: &CStr) -> io::Result<()> {
    mount(Some(file), place, None, libc::MS_BIND)
}

/// Unmounts a directory lazily: files of it that are mounted elsewhere stay.
pub(crate) fn uncover(directory: &CStr) -> io::Result<()> {
    // SAFETY: the path ends with a zero byte.
    check(unsafe { libc::umount2(directory.as_ptr(), libc::MNT_DETACH) }).map(drop)
}

/// Creates a file that every user can read.
pub(crate) fn create_file(path: &CStr, content: &[u8]) -> io::Result<()> {
    let flags = libc::O_WRONLY | libc::O_CREAT | libc::O_EXCL | libc::O_CLOEXEC;
    // SAFETY: the path ends with a zero byte.
    let descriptor = check(unsafe { libc::open(path.as_ptr(), flags, 0o644) })?;
    // SAFETY: just opened, and not owned elsewhere.
    let file = unsafe { OwnedFd::from_raw_fd(descriptor) };
    // Regardless of the caller's umask.
    // SAFETY: takes integers only.
    check(unsafe { libc::fchmod(file.as_raw_fd(), 0o644) })?;
    let mut rest = content;
    while !rest.is_empty() {
        // SAFETY: pointer and length are those of one live slice.
        let written = unsafe { libc::write(file.as_raw_fd(), rest.as_ptr().cast(), rest.len()) };
        let written = check_length(written)?;
        if written == 0 {
            return Err(io::ErrorKind::WriteZero.into());
        }
        rest = rest.get(written..).unwrap_or_default();
    }
    Ok(())
}

fn mount(
    source: Option<&CStr>,
    target: &CStr,
    kind: Option<&CStr>,
    flags: libc::c_ulong,
) -> io::Result<()> {
    let pointer = |text: Option<&CStr>| text.map_or(ptr::null(), CStr::as_ptr);
    // SAFETY: each string ends with a zero byte or is null, as mount(2) allows; no data is passed.
    check(unsafe {
        libc::mount(
            pointer(source),
            target.as_ptr(),
            pointer(kind),
            flags,
            ptr::null(),
        )
    })
    .map(drop)
}
