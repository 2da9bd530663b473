//! System calls behind functions that are safe to call. Calls whose safety only the caller can
//! guarantee (`fork`, `pre_exec`, code before `main`) stay with that caller: `reaper`, `namespace`
//! and `sandbox`.
//!
//! One file for each family of calls. The modules above decide what the calls are for; nothing here
//! knows about paths.

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

/// Converts a return value of `-1` into the error in `errno`.
fn check(returned: libc::c_int) -> io::Result<libc::c_int> {
    if returned < 0 {
        Err(io::Error::last_os_error())
    } else {
        Ok(returned)
    }
}

/// Like [`check`], for calls that return a length.
fn check_length(returned: libc::ssize_t) -> io::Result<usize> {
    usize::try_from(returned).map_err(|_| io::Error::last_os_error())
}
