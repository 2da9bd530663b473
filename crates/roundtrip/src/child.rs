//! A command that is run for the user: its signals, its end, and errors when it cannot run.

use std::ffi::OsStr;
use std::io::{self, IsTerminal};
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, ExitStatus};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use tokio::process::Child;
use tokio::runtime::Builder;
use tokio::signal::unix::{SignalKind, signal};

/// How long a command may take to end after the signal.
const GRACE: Duration = Duration::from_secs(5);
const TICK: Duration = Duration::from_secs(1);

/// Why a command did not end by itself.
pub(crate) enum ChildError {
    Failed(String),
    /// The exit code is that of a shell: 127 if the command was not found, 126 if it could not run.
    NotRun {
        code: u8,
        why: String,
    },
}

/// Runs the command until it ends, and returns its exit code as a shell reports it. `tick` is
/// called every second.
pub(crate) fn run(
    command: Command,
    program: &OsStr,
    tick: Option<&mut dyn FnMut()>,
) -> Result<u8, ChildError> {
    let failed = |error: io::Error| ChildError::Failed(error.to_string());
    let runtime = Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| ChildError::Failed(format!("no event loop: {error}")))?;
    runtime.block_on(async {
        // Handlers come first: a signal to the group must not end this process before the command.
        let signals = Signals::catch().map_err(failed)?;
        let child = tokio::process::Command::from(command)
            .spawn()
            .map_err(|error| not_run(program, &error))?;
        let status = see_through(child, signals, tick).await.map_err(failed)?;
        Ok(code(status))
    })
}

struct Signals {
    interrupt: tokio::signal::unix::Signal,
    quit: tokio::signal::unix::Signal,
    terminate: tokio::signal::unix::Signal,
    hang_up: tokio::signal::unix::Signal,
}

impl Signals {
    fn catch() -> io::Result<Self> {
        Ok(Self {
            interrupt: signal(SignalKind::interrupt())?,
            quit: signal(SignalKind::quit())?,
            terminate: signal(SignalKind::terminate())?,
            hang_up: signal(SignalKind::hangup())?,
        })
    }

    /// Waits for the next signal that has to be passed on.
    async fn next(&mut self) -> Signal {
        // A terminal sends these two to the command as well, which may ignore them: a shell, for
        // example.
        let by_terminal = io::stdin().is_terminal() || io::stderr().is_terminal();
        loop {
            tokio::select! {
                _ = self.interrupt.recv() => if !by_terminal { return Signal::INT },
                _ = self.quit.recv() => if !by_terminal { return Signal::QUIT },
                _ = self.terminate.recv() => return Signal::TERM,
                _ = self.hang_up.recv() => return Signal::HUP,
            }
        }
    }
}

/// Waits until the command ends. A signal that ends this process ends the command first; after a
/// grace period the command is killed.
async fn see_through(
    mut child: Child,
    mut signals: Signals,
    mut tick: Option<&mut dyn FnMut()>,
) -> io::Result<ExitStatus> {
    let mut ticks = tokio::time::interval(TICK);
    let mut limit: Option<tokio::time::Instant> = None;
    loop {
        let patience = limit.unwrap_or_else(|| tokio::time::Instant::now() + 60 * GRACE);
        tokio::select! {
            status = child.wait() => return status,
            signal = signals.next() => {
                pass_on(&child, signal);
                if matches!(signal, Signal::TERM | Signal::HUP) {
                    limit = limit.or(Some(tokio::time::Instant::now() + GRACE));
                }
            }
            _ = ticks.tick(), if tick.is_some() => {
                if let Some(tick) = &mut tick {
                    tick();
                }
            }
            () = tokio::time::sleep_until(patience), if limit.is_some() => child.start_kill()?,
        }
    }
}

fn pass_on(child: &Child, signal: Signal) {
    let process = child.id().and_then(|id| i32::try_from(id).ok());
    if let Some(process) = process.and_then(Pid::from_raw) {
        // It may have ended just now.
        let _ = kill_process(process, signal);
    }
}

fn code(status: ExitStatus) -> u8 {
    let code = status
        .code()
        .or_else(|| status.signal().map(|signal| 128 + signal));
    code.and_then(|code| u8::try_from(code).ok()).unwrap_or(1)
}

fn not_run(program: &OsStr, error: &io::Error) -> ChildError {
    // If a directory of PATH is closed to the user, the kernel reports a command that it did not
    // find as denied (exec(3)).
    let found = match error.kind() {
        io::ErrorKind::NotFound => false,
        io::ErrorKind::PermissionDenied => can_be_seen(program),
        _ => true,
    };
    let program = program.display();
    let (code, why) = if found {
        (126, format!("{program} cannot be run: {error}"))
    } else {
        (127, format!("{program}: command not found"))
    };
    ChildError::NotRun { code, why }
}

fn can_be_seen(program: &OsStr) -> bool {
    let is_path = program.as_encoded_bytes().contains(&b'/');
    let places = std::env::var_os("PATH").unwrap_or_default();
    is_path || std::env::split_paths(&places).any(|place| place.join(program).exists())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ends_are_told_as_a_shell_tells_them() {
        assert_eq!(code(ExitStatus::from_raw(3 << 8)), 3);
        assert_eq!(code(ExitStatus::from_raw(9)), 137);
    }
}
