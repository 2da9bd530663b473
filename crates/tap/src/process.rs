//! The processes of the program: which thread belongs to which, and access to their descriptors.

use std::collections::HashMap;
use std::fs;
use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};

use rustix::process::{Pid, PidfdFlags, PidfdGetfdFlags, pidfd_getfd, pidfd_open};

/// How many sockets of a process are looked at when one has to be found.
const MAX_SOCKETS: usize = 4096;

/// The running processes, by the id of their first thread.
#[derive(Debug, Default)]
pub(crate) struct Processes {
    known: HashMap<i32, OwnedFd>,
    threads: HashMap<i32, i32>,
}

impl Processes {
    /// The process of a thread. `new` is called with a descriptor of each new process, which
    /// becomes readable when the process ends.
    pub(crate) fn of_thread(
        &mut self,
        thread: i32,
        new: impl FnOnce(i32, BorrowedFd<'_>) -> io::Result<()>,
    ) -> io::Result<i32> {
        if let Some(process) = self.threads.get(&thread) {
            return Ok(*process);
        }
        let process = group_of(thread)?;
        if let std::collections::hash_map::Entry::Vacant(place) = self.known.entry(process) {
            use std::os::fd::AsFd;
            let descriptor = open(process)?;
            new(process, descriptor.as_fd())?;
            place.insert(descriptor);
        }
        self.threads.insert(thread, process);
        Ok(process)
    }

    /// A copy of a descriptor of the process, to be closed at once: the file stays open as long as
    /// the copy does.
    pub(crate) fn descriptor(&self, process: i32, number: i32) -> io::Result<OwnedFd> {
        let known = self.known.get(&process).ok_or(io::ErrorKind::NotFound)?;
        Ok(pidfd_getfd(known, number, PidfdGetfdFlags::empty())?)
    }

    /// The numbers of all descriptors of sockets, and the processes that have them.
    pub(crate) fn sockets(&self) -> Vec<(i32, i32)> {
        let all = self.known.keys().flat_map(|process| {
            let numbers = sockets_of(*process);
            numbers.into_iter().map(|number| (*process, number))
        });
        all.collect()
    }

    /// Forgets a process that has ended: its ids may be reused.
    pub(crate) fn ended(&mut self, process: i32) {
        self.known.remove(&process);
        self.threads.retain(|_, of| *of != process);
    }
}

pub(crate) fn open(process: i32) -> io::Result<OwnedFd> {
    let id = Pid::from_raw(process).ok_or(io::ErrorKind::NotFound)?;
    Ok(pidfd_open(id, PidfdFlags::empty())?)
}

/// The descriptors of a process that refer to sockets, as far as that can be read.
fn sockets_of(process: i32) -> Vec<i32> {
    let Ok(listed) = fs::read_dir(format!("/proc/{process}/fd")) else {
        return Vec::new();
    };
    let is_socket = |entry: &fs::DirEntry| {
        let link = fs::read_link(entry.path());
        link.is_ok_and(|link| link.to_string_lossy().starts_with("socket:"))
    };
    let sockets = listed.flatten().filter(is_socket);
    let numbers = sockets.map(|entry| entry.file_name().to_string_lossy().parse());
    numbers.flatten().take(MAX_SOCKETS).collect()
}

/// Whether a descriptor will be closed when its process executes a program (proc_pid_fdinfo(5)).
pub(crate) fn is_closed_on_exec(process: i32, number: i32) -> bool {
    let info = fs::read_to_string(format!("/proc/{process}/fdinfo/{number}"));
    let info = info.unwrap_or_default();
    let flags = info.lines().find_map(|line| line.strip_prefix("flags:"));
    let flags = flags.and_then(|flags| i32::from_str_radix(flags.trim(), 8).ok());
    flags.is_some_and(|flags| flags & libc::O_CLOEXEC != 0)
}

fn group_of(thread: i32) -> io::Result<i32> {
    let status = fs::read_to_string(format!("/proc/{thread}/status"))?;
    let line = status.lines().find_map(|line| line.strip_prefix("Tgid:"));
    let number = line.and_then(|line| line.trim().parse().ok());
    number.ok_or_else(|| io::ErrorKind::InvalidData.into())
}
