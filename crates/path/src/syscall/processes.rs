//! Finds and kills the processes inside a network namespace, without allocating.
//!
//! Called only in a forked child, hence raw `getdents64` into a buffer on the stack instead of
//! `std::fs::read_dir`.

#![allow(unsafe_code)]

use std::ffi::CStr;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

use super::{check, check_length, child};

/// Offsets in a `linux_dirent64`: inode (8), offset (8), record length (2), type (1), name.
const RECORD_LENGTH: usize = 16;
const RECORD_NAME: usize = 19;

/// Directory entries of one `getdents64`, aligned as the kernel writes them.
#[repr(align(8))]
struct DirectoryEntries([u8; 4096]);

/// Kills every process except the caller whose network namespace is one of `namespaces` (device and
/// inode). Returns the number of such processes.
pub(crate) fn kill_inside(namespaces: &[(u64, u64)]) -> io::Result<usize> {
    // SAFETY: the path ends with a zero byte.
    let table = check(unsafe {
        libc::open(
            c"/proc".as_ptr(),
            libc::O_RDONLY | libc::O_DIRECTORY | libc::O_CLOEXEC,
        )
    })?;
    // SAFETY: just opened, and not owned elsewhere.
    let table = unsafe { OwnedFd::from_raw_fd(table) };
    let mut entries = DirectoryEntries([0; 4096]);
    let mut killed = 0;
    loop {
        // SAFETY: pointer and length are those of one live array.
        let returned = unsafe {
            libc::syscall(
                libc::SYS_getdents64,
                table.as_raw_fd(),
                entries.0.as_mut_ptr(),
                entries.0.len(),
            )
        };
        let filled = check_length(returned as libc::ssize_t)?;
        let Some(mut rest) = entries.0.get(..filled).filter(|rest| !rest.is_empty()) else {
            return Ok(killed);
        };
        while let Some((process, next)) = next_process(rest) {
            if process.is_some_and(|process| end_if_inside(process, namespaces)) {
                killed += 1;
            }
            rest = next;
        }
    }
}

/// The process of the first entry, if its name is a number, and the remaining entries.
fn next_process(entries: &[u8]) -> Option<(Option<libc::pid_t>, &[u8])> {
    let length = entries.get(RECORD_LENGTH..RECORD_LENGTH + 2)?;
    let length = usize::from(u16::from_ne_bytes(length.try_into().ok()?));
    let (entry, rest) = entries.split_at_checked(length)?;
    let name = CStr::from_bytes_until_nul(entry.get(RECORD_NAME..)?).ok()?;
    Some((parse(name.to_bytes()), rest))
}

fn parse(name: &[u8]) -> Option<libc::pid_t> {
    name.iter().try_fold(0, |number: libc::pid_t, &digit| {
        let digit = digit.is_ascii_digit().then(|| digit - b'0')?;
        number.checked_mul(10)?.checked_add(digit.into())
    })
}

fn end_if_inside(process: libc::pid_t, namespaces: &[(u64, u64)]) -> bool {
    let inside = process != child::own_process()
        && namespace_of(process).is_some_and(|its| namespaces.contains(&its));
    if inside {
        child::kill(process);
    }
    inside
}

/// The network namespace of a process; `None` if it is dying, or cannot be inspected.
fn namespace_of(process: libc::pid_t) -> Option<(u64, u64)> {
    let mut path = [0_u8; 32];
    let mut space: &mut [u8] = &mut path;
    // Writing integers into a slice allocates nothing.
    io::Write::write_fmt(&mut space, format_args!("/proc/{process}/ns/net\0")).ok()?;
    // SAFETY: `stat` is plain integers, for which zeroes are valid; the kernel fills it.
    let mut stat: libc::stat = unsafe { std::mem::zeroed() };
    // SAFETY: `path` ends with the zero byte written above; `stat` lives through the call.
    check(unsafe { libc::stat(path.as_ptr().cast(), &raw mut stat) }).ok()?;
    Some((stat.st_dev, stat.st_ino))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_numbers_are_processes() {
        assert_eq!(parse(b"4711"), Some(4711));
        assert_eq!(parse(b"self"), None);
        assert_eq!(parse(b"99999999999"), None);
    }

    #[test]
    fn a_cut_record_ends_the_listing() {
        assert!(next_process(&[0; 10]).is_none());
        let mut record = [0_u8; 24];
        record[RECORD_LENGTH] = 200;
        assert!(next_process(&record).is_none(), "longer than what is there");
    }
}
