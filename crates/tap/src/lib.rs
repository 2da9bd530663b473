//! Live taps: the exchanges of any unmodified program, without privileges and without a capture.
//!
//! [`Tap`] starts a program under a seccomp filter that notices calls which open connections and
//! send on them (seccomp_unotify(2)). At each call, and whenever the kernel reports that something
//! arrived, it briefly duplicates the socket (pidfd_getfd(2)), reads `TCP_INFO` and looks at the
//! unencrypted bytes. Every call then continues unchanged. The result is the same [`Exchange`] that
//! a probe writes, without anything that encryption hides.
//!
//! `filter` selects the calls, `sys` makes system calls, `memory` reads the arguments of a call,
//! `supervisor` is the loop, `flow` and `turn` turn what it saw into exchanges, `client_bytes` and
//! `server_bytes` read the unencrypted part of both directions, `lookup` follows name lookups.
//! [`watch`] samples connections of processes that are already running.

mod client_bytes;
mod filter;
mod flow;
mod lookup;
mod memory;
mod process;
mod server_bytes;
mod supervisor;
mod sys;
mod turn;
pub mod watch;

use std::io;
use std::os::unix::net::UnixStream;
use std::process::Command;
use std::thread::JoinHandle;

use roundtrip_model::Exchange;

/// A tap failed before the program began.
#[derive(Debug, thiserror::Error)]
pub enum TapError {
    #[error("no connection to the supervisor: {0}")]
    Line(#[source] io::Error),
    #[error(
        "the program's system calls cannot be followed: {0}; a container's profile may forbid pidfd_getfd without CAP_SYS_PTRACE"
    )]
    Denied(#[source] io::Error),
    #[error("the supervisor failed: {0}")]
    Supervisor(#[source] io::Error),
}

/// Counts of what the tap saw and what it could not see.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Sight {
    /// Calls that were noticed, and how many of them concerned an IP socket.
    pub calls: u64,
    pub socket_calls: u64,
    /// Connections that the program opened.
    pub connections: u64,
    /// Connections that it inherited, or accepted and sent on: their exchanges are not explained.
    pub not_opened: u64,
    /// Calls of processes that the tap may not look into.
    pub denied: u64,
    /// Whether the program has used io_uring, whose operations are not system calls.
    pub io_uring: bool,
    /// Datagrams of QUIC, whose exchanges are not explained.
    pub quic_datagrams: u64,
    /// Processes with the filter were left when the program ended.
    pub left_behind: bool,
}

impl Sight {
    /// Remarks for the reader of the report, as sentences.
    pub fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        if self.io_uring {
            notes.push(
                "the program has used io_uring: what it sends that way is not seen here".to_owned(),
            );
        }
        if self.denied > 0 {
            notes.push(format!(
                "{} calls came from processes that the tap may not inspect",
                self.denied
            ));
        }
        if self.not_opened > 0 {
            notes.push(format!(
                "{} accepted or inherited, not opened by the program, and not explained here; a capture shows them",
                match self.not_opened {
                    1 => "1 connection was".to_owned(),
                    many => format!("{many} connections were"),
                }
            ));
        }
        if self.quic_datagrams > 0 {
            notes.push(format!(
                "{} datagrams of QUIC were sent: exchanges over QUIC are not explained here",
                self.quic_datagrams
            ));
        }
        if self.left_behind {
            notes.push(
                "processes that the program started are still running, and are no longer followed"
                    .into(),
            );
        }
        notes
    }
}

/// Follows the program that a command starts.
#[derive(Debug)]
pub struct Tap {
    thread: JoinHandle<Result<Sight, TapError>>,
    stop: supervisor::StopSignal,
}

impl Tap {
    /// Prepares `command`, which must be started once and then dropped. `sink` is called for each
    /// finished exchange, on the tap's own thread.
    pub fn arm(
        command: &mut Command,
        sink: impl FnMut(Exchange) + Send + 'static,
    ) -> Result<Self, TapError> {
        let (ours, theirs) = UnixStream::pair().map_err(TapError::Line)?;
        let stop = supervisor::StopSignal::new().map_err(TapError::Line)?;
        sys::arm(command, filter::program(), theirs, &ours);
        let stopped = stop.try_clone().map_err(TapError::Line)?;
        let thread = std::thread::Builder::new()
            .name("tap".into())
            .spawn(move || supervisor::run(&ours, &stopped, sink))
            .map_err(TapError::Line)?;
        Ok(Self { thread, stop })
    }

    /// Ends the tap, after the program has ended: exchanges that are under way are passed to the
    /// sink as they are.
    pub fn finish(self) -> Result<Sight, TapError> {
        self.stop.raise();
        match self.thread.join() {
            Ok(outcome) => outcome,
            Err(_) => Err(TapError::Supervisor(io::Error::other(
                "its thread panicked",
            ))),
        }
    }
}
