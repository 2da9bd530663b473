//! A forked child of a process that may have many threads, and the calls that such a child can
//! make.
//!
//! Between `fork` and `_exit` only async-signal-safe calls are allowed (signal-safety(7)): no
//! allocation, no lock, no panic. The child runs a closure of the caller, which must obey that
//! rule.

#![allow(unsafe_code)]

use std::ffi::CStr;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};

use super::{check, check_length, descriptor};

/// A child process and the connection to it.
#[derive(Debug)]
pub(crate) struct Child {
    process: libc::pid_t,
    line: Option<OwnedFd>,
}

/// Forks a child that runs `body` with its end of the connection, with signals blocked, and then
/// exits.
///
/// # Safety
///
/// `body` and everything that it calls must be async-signal-safe: the child is a copy of one
/// thread, and any lock that another thread held at that moment (the allocator's, stdout's) stays
/// locked in it forever.
pub(crate) unsafe fn fork(body: impl FnOnce(BorrowedFd<'_>)) -> io::Result<Child> {
    use std::os::fd::AsFd;
    let (ours, theirs) = descriptor::pair()?;
    let former = block_signals()?;
    // SAFETY: the child's obligations are passed on to our caller.
    let process = unsafe { libc::fork() };
    if process == 0 {
        // The child's copy of our end must not keep the connection open when the parent is gone.
        drop(ours);
        body(theirs.as_fd());
        // SAFETY: ends the child at once, without the parent's exit handlers.
        unsafe { libc::_exit(0) }
    }
    // Signals stay blocked in the child, so that no handler of the parent ever runs there.
    let forked = check(process);
    restore_signals(&former)?;
    Ok(Child {
        process: forked?,
        line: Some(ours),
    })
}

impl Child {
    /// Waits for the child's message: returns its length in `bytes`, and the descriptors that came
    /// with it.
    pub(crate) fn receive(&self, bytes: &mut [u8]) -> io::Result<(usize, Vec<OwnedFd>)> {
        use std::os::fd::AsFd;
        match &self.line {
            Some(line) => descriptor::receive_descriptors(line.as_fd(), bytes),
            None => Ok((0, Vec::new())),
        }
    }
}

impl Drop for Child {
    /// Closes the connection, which tells the child to finish, and reaps it.
    fn drop(&mut self) {
        self.line = None;
        loop {
            // SAFETY: a null status is allowed; only our own child is waited for.
            let waited = unsafe { libc::waitpid(self.process, std::ptr::null_mut(), 0) };
            // ECHILD: the process ignores SIGCHLD, and the kernel has already reaped the child.
            if waited >= 0 || io::Error::last_os_error().kind() != io::ErrorKind::Interrupted {
                return;
            }
        }
    }
}

/// Detaches a child that keeps running: closes everything that it inherited except its connection,
/// so that it keeps no pipe, terminal or directory open, and sets the name that `ps` shows.
pub(crate) fn detach(line: BorrowedFd<'_>, name: &CStr) {
    let kept = line.as_raw_fd().unsigned_abs();
    // SAFETY: these calls take integers and zero-terminated strings. Descriptors closed here belong
    // to objects in the copied memory of the parent which the child never touches again. Each call
    // is best effort: a failure only leaves a descriptor open or a name unset.
    unsafe {
        libc::setsid();
        libc::chdir(c"/".as_ptr());
        libc::prctl(libc::PR_SET_NAME, name.as_ptr());
        if kept > 0 {
            libc::syscall(libc::SYS_close_range, 0, kept - 1, 0);
        }
        libc::syscall(libc::SYS_close_range, kept + 1, u32::MAX, 0);
    }
}

/// Blocks until the other end of the connection is closed. Called in a child.
pub(crate) fn await_hang_up(line: BorrowedFd<'_>) {
    let mut byte = [0_u8; 1];
    loop {
        // SAFETY: pointer and length are those of one live array.
        let read = unsafe { libc::read(line.as_raw_fd(), byte.as_mut_ptr().cast(), 1) };
        match check_length(read) {
            Ok(1..) => {}
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Ok(0) | Err(_) => return,
        }
    }
}

/// Kills a process with SIGKILL.
pub(crate) fn kill(process: libc::pid_t) {
    // SAFETY: takes integers only; a process that is already gone does no harm.
    unsafe { libc::kill(process, libc::SIGKILL) };
}

pub(crate) fn own_process() -> libc::pid_t {
    // SAFETY: always succeeds.
    unsafe { libc::getpid() }
}

/// Blocks all signals on this thread; also used by the relay's thread, so that the process's own
/// threads handle its signals.
pub(crate) fn block_signals() -> io::Result<libc::sigset_t> {
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

fn restore_signals(former: &libc::sigset_t) -> io::Result<()> {
    // SAFETY: `former` came from `block_signals`; a null old set is allowed.
    match unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, former, std::ptr::null_mut()) } {
        0 => Ok(()),
        code => Err(io::Error::from_raw_os_error(code)),
    }
}
