//! The kernel's door: system calls behind functions that are safe to call. What can only be promised by a caller (`fork`,
//! `pre_exec`, code before `main`) stays with that caller: `keeper`, `namespace` and `sandbox`.
//!
//! One file for each family of calls. What the calls are *for* is decided by the modules above; nothing here knows of paths.

pub(crate) mod child;
pub(crate) mod descriptor;
pub(crate) mod interface;
pub(crate) mod mount;
pub(crate) mod namespace;
pub(crate) mod packet;
pub(crate) mod processes;
pub(crate) mod time;
pub(crate) mod tun;

use std::io;

/// Turns the kernel's `-1` into the error it stands for.
fn check(returned: libc::c_int) -> io::Result<libc::c_int> {
    if returned < 0 {
        Err(io::Error::last_os_error())
    } else {
        Ok(returned)
    }
}

/// The same for calls that return a length.
fn check_length(returned: libc::ssize_t) -> io::Result<usize> {
    usize::try_from(returned).map_err(|_| io::Error::last_os_error())
}
