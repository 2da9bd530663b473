//! A forked process that holds a second copy of the listener, so that a program never depends on
//! its supervisor: the last holder of the listener lets every call continue.
//!
//! Without a listener, the kernel fails each noticed call with ENOSYS. The standby takes over when
//! the supervisor ends first, because it was killed or because the program left a process behind.
//! It stays until the last process with the filter has ended. Everything in the child obeys
//! signal-safety(7): no allocation, no lock, no panic.

#![allow(unsafe_code)]

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, RawFd};
use std::os::unix::net::UnixStream;
use std::ptr::{NonNull, null_mut};
use std::sync::atomic::{AtomicU64, Ordering};

use super::{check, next_call, resume};

#[derive(Debug)]
pub(crate) struct Standby {
    process: libc::pid_t,
    line: UnixStream,
    /// The call that the supervisor is looking at, or 0.
    current: SharedId,
}

impl Standby {
    pub(crate) fn start(listener: BorrowedFd<'_>) -> io::Result<Self> {
        let current = SharedId::new()?;
        let (line, theirs) = UnixStream::pair()?;
        let former = block_signals()?;
        // SAFETY: the child runs `keep` alone, which obeys signal-safety(7), and never returns.
        let process = unsafe { libc::fork() };
        if process == 0 {
            keep(
                listener.as_raw_fd(),
                theirs.as_raw_fd(),
                line.as_raw_fd(),
                &current,
            );
            // SAFETY: ends the child at once, without the parent's exit handlers.
            unsafe { libc::_exit(0) }
        }
        let forked = check(process.into());
        // SAFETY: `former` came from `block_signals`; a null old set is allowed.
        unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &raw const former, null_mut()) };
        forked?;
        Ok(Self {
            process,
            line,
            current,
        })
    }

    /// Notes which call the supervisor has taken and not resumed yet; 0 for none.
    pub(crate) fn note(&self, id: u64) {
        self.current.get().store(id, Ordering::SeqCst);
    }

    /// Ends the standby: no process has the filter any longer.
    pub(crate) fn dismiss(self) {
        use std::io::Write;
        // It reads a byte, or the end of the file.
        let _ = (&self.line).write_all(&[1]);
        drop(self.line);
        // SAFETY: a null status is allowed; only our own child is waited for. Signals may
        // interrupt this; then init reaps it.
        unsafe { libc::waitpid(self.process, null_mut(), 0) };
    }
}

/// The child's life.
fn keep(listener: RawFd, line: RawFd, parents_end: RawFd, current: &SharedId) {
    detach(listener, line, parents_end);
    let mut byte = [0_u8; 1];
    loop {
        // SAFETY: pointer and length are those of one live array.
        match unsafe { libc::read(line, byte.as_mut_ptr().cast(), 1) } {
            0 => break,
            1.. => return,
            _ if io::Error::last_os_error().kind() == io::ErrorKind::Interrupted => {}
            _ => break,
        }
    }
    match current.get().load(Ordering::SeqCst) {
        0 => {}
        id => resume(listener, id),
    }
    let mut watched = libc::pollfd {
        fd: listener,
        events: libc::POLLIN,
        revents: 0,
    };
    loop {
        watched.revents = 0;
        // SAFETY: one live structure.
        let ready = unsafe { libc::poll(&raw mut watched, 1, -1) };
        let interrupted = ready < 0;
        if watched.revents & libc::POLLIN != 0 {
            // SAFETY: the child owns its copy of the descriptor until it exits.
            let listener = unsafe { BorrowedFd::borrow_raw(listener) };
            if let Ok(Some(call)) = next_call(listener) {
                resume(listener.as_raw_fd(), call.id);
            }
        } else if !interrupted {
            return;
        }
    }
}

/// Drops what it inherited from the parent: pipes, terminal, directory.
fn detach(listener: RawFd, line: RawFd, parents_end: RawFd) {
    let (listener, line) = (listener.unsigned_abs(), line.unsigned_abs());
    let (low, high) = (listener.min(line), listener.max(line));
    // SAFETY: these calls take integers and zero-terminated strings. The descriptors belong to
    // objects in the copied memory of the parent, which the child never touches again. Each call is
    // best effort: a failure costs tidiness only, except for the parent's end, which is closed
    // separately.
    unsafe {
        libc::close(parents_end);
        libc::setsid();
        libc::chdir(c"/".as_ptr());
        libc::prctl(libc::PR_SET_NAME, c"roundtrip-tap".as_ptr());
        if low > 0 {
            libc::syscall(libc::SYS_close_range, 0, low - 1, 0);
        }
        if high > low + 1 {
            libc::syscall(libc::SYS_close_range, low + 1, high - 1, 0);
        }
        libc::syscall(libc::SYS_close_range, high + 1, u32::MAX, 0);
    }
}

fn block_signals() -> io::Result<libc::sigset_t> {
    // SAFETY: `sigset_t` is integers, for which zeroes are valid; both sets live through the calls.
    unsafe {
        let mut all: libc::sigset_t = std::mem::zeroed();
        let mut former: libc::sigset_t = std::mem::zeroed();
        libc::sigfillset(&raw mut all);
        match libc::pthread_sigmask(libc::SIG_SETMASK, &raw const all, &raw mut former) {
            0 => Ok(former),
            code => Err(io::Error::from_raw_os_error(code)),
        }
    }
}

/// A number in memory that parent and child share.
#[derive(Debug)]
struct SharedId(NonNull<AtomicU64>);

// SAFETY: the number is atomic, and the mapping lives as long as the value.
unsafe impl Send for SharedId {}

impl SharedId {
    fn new() -> io::Result<Self> {
        // SAFETY: a new anonymous mapping, at an address that the kernel chooses.
        let page = unsafe {
            libc::mmap(
                null_mut(),
                size_of::<AtomicU64>(),
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_SHARED | libc::MAP_ANONYMOUS,
                -1,
                0,
            )
        };
        if page == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        NonNull::new(page.cast())
            .map(Self)
            .ok_or_else(|| io::ErrorKind::OutOfMemory.into())
    }

    fn get(&self) -> &AtomicU64 {
        // SAFETY: the mapping is aligned to a page, zeroed by the kernel, and unmapped only when
        // `self` is dropped.
        unsafe { self.0.as_ref() }
    }
}

impl Drop for SharedId {
    fn drop(&mut self) {
        // SAFETY: the mapping of `new`, with its length, which nothing refers to any longer.
        unsafe { libc::munmap(self.0.as_ptr().cast(), size_of::<AtomicU64>()) };
    }
}
