//! The system calls of the tap that no other crate offers: the filter in the new program, the
//! listener of its notifications, and the memory of a program that waits for one.
//!
//! `unsafe` is needed because seccomp(2) and process_vm_readv(2) have no safe wrapper, and because
//! code that runs between `fork` and `exec` must promise to be async-signal-safe.

#![allow(unsafe_code)]

pub(crate) mod standby;

use std::io;
use std::mem::{size_of, zeroed};
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, IntoRawFd, OwnedFd, RawFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::process::Command;

use libc::sock_filter;

/// Wakes the supervisor on the processor of the caller, which waits anyway. Since Linux 6.6;
/// `include/uapi/linux/seccomp.h`.
const SYNC_WAKE_UP: u64 = 1;

/// One call of the program, which waits until [`resume`] lets it continue.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Call {
    pub(crate) id: u64,
    /// The thread that makes the call.
    pub(crate) thread: i32,
    pub(crate) number: i64,
    pub(crate) arguments: [u64; 6],
}

/// The size of the first message, in bytes: the process id and the descriptor take 4 bytes each.
pub(crate) const HELLO_BYTES: usize = 8;

/// Makes the program that `command` starts install `filter` in itself, and so in everything that it
/// starts. It then writes its process id and the number of the listener to `line`, and waits for
/// one byte: 0 continues, anything else gives up. `ours` is the other end, which it must not keep
/// open.
pub(crate) fn arm(
    command: &mut Command,
    filter: Vec<sock_filter>,
    line: UnixStream,
    ours: &UnixStream,
) {
    let ours = ours.as_raw_fd();
    let line = OwnedFd::from(line).into_raw_fd();
    // SAFETY: again, nothing else owns the descriptor; the closure does, and closes it when it is
    // dropped with the command.
    let line = unsafe { OwnedFd::from_raw_fd(line) };
    let install = move || {
        // SAFETY: closes the child's copy of a descriptor that only the parent uses.
        unsafe { libc::close(ours) };
        let listener = install(&filter)?;
        hand_over(line.as_raw_fd(), listener)
    };
    // SAFETY: `install` and `hand_over` make system calls on memory that exists already: they
    // allocate nothing and take no lock.
    unsafe { command.pre_exec(install) };
}

/// Installs the filter in this process; returns the number of its listener.
fn install(filter: &[sock_filter]) -> io::Result<RawFd> {
    let program = libc::sock_fprog {
        len: filter.len() as u16,
        filter: filter.as_ptr().cast_mut(),
    };
    let seccomp = |flags: libc::c_ulong| {
        // SAFETY: `program` points at `filter`, which lives through the call.
        let outcome = unsafe {
            libc::syscall(
                libc::SYS_seccomp,
                libc::SECCOMP_SET_MODE_FILTER,
                flags,
                &raw const program,
            )
        };
        check(outcome)
    };
    // Signals that do not kill do not interrupt a noticed call. Since Linux 5.19.
    let patient =
        libc::SECCOMP_FILTER_FLAG_NEW_LISTENER | libc::SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV;
    let attempt = || match seccomp(patient) {
        Err(error) if error.raw_os_error() == Some(libc::EINVAL) => {
            seccomp(libc::SECCOMP_FILTER_FLAG_NEW_LISTENER)
        }
        other => other,
    };
    // A process with CAP_SYS_ADMIN keeps set-user-ID programs as they are.
    let listener = attempt().or_else(|error| {
        if error.raw_os_error() != Some(libc::EACCES) {
            return Err(error);
        }
        // SAFETY: takes integers only.
        check(unsafe { libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) }.into())?;
        attempt()
    })?;
    Ok(listener as RawFd)
}

/// Reports the listener to the supervisor, and waits until the supervisor has it. The filter is
/// already in force: it lets short writes pass.
fn hand_over(line: RawFd, listener: RawFd) -> io::Result<()> {
    let mut hello = [0; HELLO_BYTES];
    // SAFETY: `getpid` always succeeds.
    let process = unsafe { libc::getpid() };
    let (first, second) = hello.split_at_mut(size_of::<i32>());
    first.copy_from_slice(&process.to_ne_bytes());
    second.copy_from_slice(&listener.to_ne_bytes());
    // SAFETY: pointer and length are those of one live array.
    check(unsafe { libc::write(line, hello.as_ptr().cast(), hello.len()) } as i64)?;
    let mut answer = [1_u8];
    loop {
        // SAFETY: pointer and length are those of one live array.
        let read = check(unsafe { libc::read(line, answer.as_mut_ptr().cast(), 1) } as i64);
        match read {
            Ok(1) if answer == [0] => return Ok(()),
            Ok(_) => return Err(io::Error::from_raw_os_error(libc::ECANCELED)),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

/// Makes notifications cheaper, if the kernel can.
pub(crate) fn wake_in_step(listener: BorrowedFd<'_>) {
    // SAFETY: this request takes an integer. Without it everything works, but more slowly.
    unsafe {
        libc::ioctl(
            listener.as_raw_fd(),
            libc::SECCOMP_IOCTL_NOTIF_SET_FLAGS,
            SYNC_WAKE_UP,
        )
    };
}

/// Takes the next call that waits. `None` if it was given up in the meantime.
pub(crate) fn next_call(listener: BorrowedFd<'_>) -> io::Result<Option<Call>> {
    // SAFETY: integers, for which zeroes are valid; the kernel demands zeroes.
    let mut told: libc::seccomp_notif = unsafe { zeroed() };
    // SAFETY: `told` is the structure of this request, and lives through the call.
    let outcome = unsafe {
        libc::ioctl(
            listener.as_raw_fd(),
            libc::SECCOMP_IOCTL_NOTIF_RECV,
            &raw mut told,
        )
    };
    match check(outcome.into()) {
        Ok(_) => Ok(Some(Call {
            id: told.id,
            thread: told.pid.cast_signed(),
            number: told.data.nr.into(),
            arguments: told.data.args,
        })),
        // Its thread was killed, or a signal came.
        Err(error) => match error.raw_os_error() {
            Some(libc::ENOENT | libc::EINTR) => Ok(None),
            _ => Err(error),
        },
    }
}

/// Whether the call still waits, which proves that the memory that was read belongs to its thread.
pub(crate) fn still_waits(listener: BorrowedFd<'_>, id: u64) -> bool {
    // SAFETY: `id` lives through the call.
    let outcome = unsafe {
        libc::ioctl(
            listener.as_raw_fd(),
            libc::SECCOMP_IOCTL_NOTIF_ID_VALID,
            &raw const id,
        )
    };
    outcome == 0
}

/// Lets a call continue, exactly as the program made it. A call that was given up is not an error.
pub(crate) fn resume(listener: RawFd, id: u64) {
    let answer = libc::seccomp_notif_resp {
        id,
        val: 0,
        error: 0,
        flags: libc::SECCOMP_USER_NOTIF_FLAG_CONTINUE as u32,
    };
    // SAFETY: `answer` is the structure of this request, and lives through the call.
    unsafe { libc::ioctl(listener, libc::SECCOMP_IOCTL_NOTIF_SEND, &raw const answer) };
}

/// Copies memory of a thread that waits; returns how much could be read.
pub(crate) fn read_memory(thread: i32, address: u64, bytes: &mut [u8]) -> io::Result<usize> {
    let here = libc::iovec {
        iov_base: bytes.as_mut_ptr().cast(),
        iov_len: bytes.len(),
    };
    let there = libc::iovec {
        iov_base: address as *mut libc::c_void,
        iov_len: bytes.len(),
    };
    // SAFETY: `here` describes `bytes`; the kernel checks `there`, which is memory of another
    // process.
    let read =
        unsafe { libc::process_vm_readv(thread, &raw const here, 1, &raw const there, 1, 0) };
    check(read as i64).map(|read| read as usize)
}

/// Looks at bytes that wait to be read, without waiting for any; they stay there.
pub(crate) fn peek(socket: BorrowedFd<'_>, bytes: &mut [u8]) -> io::Result<usize> {
    let flags = libc::MSG_PEEK | libc::MSG_DONTWAIT;
    // SAFETY: pointer and length are those of one live slice.
    let read = unsafe {
        libc::recv(
            socket.as_raw_fd(),
            bytes.as_mut_ptr().cast(),
            bytes.len(),
            flags,
        )
    };
    check(read as i64).map(|read| read as usize)
}

/// A negative result of a C function is an error in `errno`.
fn check(outcome: i64) -> io::Result<i64> {
    if outcome < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(outcome)
}
