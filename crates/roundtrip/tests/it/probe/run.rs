//! Runs programs with a deadline and a clean environment, and ends them when their handle is
//! dropped.

use std::io::Read;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Longer than anything here takes on a slow and busy machine.
const DEADLINE: Duration = Duration::from_secs(100);
const STEP: Duration = Duration::from_millis(5);

/// The output of a program that ended.
#[derive(Debug)]
pub(crate) struct Said {
    /// The exit code; -1 for a program that a signal ended.
    pub(crate) code: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

/// A running program; it is killed when this is dropped.
pub(crate) struct Job {
    child: Child,
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
    let mut command = command(env!("CARGO_BIN_EXE_roundtrip"));
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
            child,
            out: out.map(collect),
            err: err.map(collect),
        }
    }

    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    pub(crate) fn has_ended(&mut self) -> bool {
        self.child.try_wait().unwrap().is_some()
    }

    pub(crate) fn finish(mut self) -> Said {
        let status = self.wait();
        let text = |from: Option<JoinHandle<Vec<u8>>>| {
            let bytes = from.map(|t| t.join().unwrap()).unwrap_or_default();
            String::from_utf8_lossy(&bytes).into_owned()
        };
        Said {
            code: status.code().unwrap_or(-1),
            out: text(self.out.take()),
            err: text(self.err.take()),
        }
    }

    fn wait(&mut self) -> ExitStatus {
        let began = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status;
            }
            assert!(began.elapsed() < DEADLINE, "the program does not end");
            std::thread::sleep(STEP);
        }
    }

    /// Sends it a signal to end it.
    pub(crate) fn signal(&self, signal: i32) {
        let kill = Command::new("kill")
            .args([format!("-{signal}"), self.id().to_string()])
            .status();
        assert!(kill.unwrap().success());
    }
}

impl Drop for Job {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn collect(mut from: impl Read + Send + 'static) -> JoinHandle<Vec<u8>> {
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        let _ = from.read_to_end(&mut bytes);
        bytes
    })
}

/// Polls until `what` returns something.
pub(crate) fn await_some<T>(why: &str, mut what: impl FnMut() -> Option<T>) -> T {
    let began = Instant::now();
    loop {
        if let Some(found) = what() {
            return found;
        }
        assert!(began.elapsed() < DEADLINE, "waited in vain for {why}");
        std::thread::sleep(STEP);
    }
}
