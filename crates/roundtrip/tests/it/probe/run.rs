//! Runs programs with a time limit and a clean environment, and collects their output.

use std::io::Read;
use std::process::{Command, Output, Stdio};
use std::thread::JoinHandle;

use crate::process::{Process, ROUNDTRIP, Said, await_some};

/// A running program, whose output is collected.
pub(crate) struct Job {
    child: Process,
    out: Option<JoinHandle<Vec<u8>>>,
    err: Option<JoinHandle<Vec<u8>>>,
}

/// A command that inherits only the search path for programs.
pub(crate) fn command(program: &str) -> Command {
    cleaned(Command::new(program))
}

pub(crate) fn cleaned(mut command: Command) -> Command {
    command.env_clear().stdin(Stdio::null());
    if let Some(path) = std::env::var_os("PATH") {
        // Servers are in sbin, which an ordinary user's path may lack.
        let mut path = path;
        path.push(":/usr/sbin:/sbin");
        command.env("PATH", path);
    }
    command
}

/// The binary under test, with arguments for `probe`.
pub(crate) fn probe<S: AsRef<std::ffi::OsStr>>(arguments: &[S]) -> Command {
    let mut command = command(ROUNDTRIP);
    command.arg("probe").args(arguments);
    command
}

pub(crate) fn said(command: Command) -> Said {
    Job::start(command).finish()
}

impl Job {
    pub(crate) fn start(mut command: Command) -> Self {
        let mut child = command
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap_or_else(|e| panic!("{command:?} must be installed: {e}"));
        let (out, err) = (child.stdout.take(), child.stderr.take());
        Self {
            child: Process(child),
            out: out.map(collect),
            err: err.map(collect),
        }
    }

    pub(crate) fn has_ended(&mut self) -> bool {
        self.child.0.try_wait().unwrap().is_some()
    }

    pub(crate) fn finish(mut self) -> Said {
        let status = await_some("its end", || self.child.0.try_wait().unwrap());
        let all = |from: Option<JoinHandle<Vec<u8>>>| {
            from.map(|thread| thread.join().unwrap())
                .unwrap_or_default()
        };
        Said::from(Output {
            status,
            stdout: all(self.out.take()),
            stderr: all(self.err.take()),
        })
    }

    pub(crate) fn interrupt(&self) {
        self.child.signal("INT");
    }
}

fn collect(mut from: impl Read + Send + 'static) -> JoinHandle<Vec<u8>> {
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        let _ = from.read_to_end(&mut bytes);
        bytes
    })
}
