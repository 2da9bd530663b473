//! Continues in a background process: a child that keeps the connections, while the process itself
//! ends. A program that waits for the process sees nothing of the child: no pipe, no terminal.

#![allow(unsafe_code)]

use std::fs::{self, File};
use std::io::{self, Read};
use std::os::fd::{AsRawFd, RawFd};

/// The longest life of the child in seconds, whatever happens in it.
const MAX_LIFE: u32 = 5;

/// One of the two processes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Half {
    /// This half must end without touching the connections: dropping a socket would unregister it
    /// from the poll that both processes share.
    Foreground,
    /// This half has its own session, writes nowhere, and is killed after five seconds.
    Background,
}

/// Returns twice: in the child, which is a copy of this process, and in this process, once the
/// child holds nothing of its caller.
///
/// # Errors
///
/// If another thread is running, whose locks would stay locked in the child; or if the kernel
/// refuses.
pub fn split() -> io::Result<Half> {
    if fs::read_dir("/proc/self/task")?.count() != 1 {
        return Err(io::ErrorKind::WouldBlock.into());
    }
    let inherited = inherited()?;
    let nowhere = File::options().read(true).write(true).open("/dev/null")?;
    let (mut until_detached, detaching) = io::pipe()?;
    // SAFETY: this is the only thread, so the child is a whole copy of the process, and no lock in
    // it belongs to a thread that is missing there.
    match unsafe { libc::fork() } {
        0 => {
            detach(&inherited, nowhere.as_raw_fd());
            Ok(Half::Background)
        }
        child if child > 0 => {
            drop(detaching);
            // It ends when the child has closed its copy, or has died.
            let _ = until_detached.read(&mut [0]);
            Ok(Half::Foreground)
        }
        _ => Err(io::Error::last_os_error()),
    }
}

/// The descriptors that the parent process passed on, such as pipes and locks. Our own ones are all
/// closed on exec.
fn inherited() -> io::Result<Vec<RawFd>> {
    let mut found = Vec::new();
    for entry in fs::read_dir("/proc/self/fd")? {
        let Some(descriptor) = entry?.file_name().to_str().and_then(|n| n.parse().ok()) else {
            continue;
        };
        // SAFETY: takes integers only; a descriptor that is closed already fails.
        let flags = unsafe { libc::fcntl(descriptor, libc::F_GETFD) };
        if descriptor > libc::STDERR_FILENO && flags >= 0 && flags & libc::FD_CLOEXEC == 0 {
            found.push(descriptor);
        }
    }
    Ok(found)
}

/// Leaves the caller's session and closes its descriptors. Each step is best effort: a failure only
/// leaves something open.
fn detach(inherited: &[RawFd], nowhere: RawFd) {
    // SAFETY: these calls take integers and a zero-terminated string. What is closed was opened by
    // another program, and no object of this one owns it.
    unsafe {
        libc::setsid();
        libc::alarm(MAX_LIFE);
        libc::chdir(c"/".as_ptr());
        for standard in [libc::STDIN_FILENO, libc::STDOUT_FILENO, libc::STDERR_FILENO] {
            libc::dup2(nowhere, standard);
        }
        for descriptor in inherited {
            libc::close(*descriptor);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_with_other_threads_is_not_split() {
        let (release, wait) = std::sync::mpsc::channel::<()>();
        let other = std::thread::spawn(move || wait.recv().is_err());
        assert_eq!(split().unwrap_err().kind(), io::ErrorKind::WouldBlock);
        drop(release);
        assert!(other.join().unwrap());
    }
}
