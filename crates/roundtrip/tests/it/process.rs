//! Programs as child processes of the tests, and what tests wait for.

use std::fmt::Display;
use std::process::{Child, Command, Output};
use std::thread::sleep;
use std::time::{Duration, Instant};

pub(crate) const ROUNDTRIP: &str = env!("CARGO_BIN_EXE_roundtrip");
/// Longer than anything here takes on a slow and busy machine; passing tests do not wait for it.
pub(crate) const TIMEOUT: Duration = Duration::from_secs(100);
const STEP: Duration = Duration::from_millis(5);

/// The output of a program that has ended.
#[derive(Debug)]
pub(crate) struct Said {
    /// The exit code; -1 for a program that a signal ended.
    pub(crate) code: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl From<Output> for Said {
    fn from(output: Output) -> Self {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        Self {
            code: output.status.code().unwrap_or(-1),
            out: text(&output.stdout),
            err: text(&output.stderr),
        }
    }
}

/// A running program; it is killed when this is dropped.
#[derive(Debug)]
pub(crate) struct Process(pub(crate) Child);

impl Process {
    pub(crate) fn id(&self) -> u32 {
        self.0.id()
    }

    pub(crate) fn signal(&self, name: &str) {
        signal(self.id(), name);
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Sends a signal, such as `INT`, to a process or, if it is negative, to a process group.
pub(crate) fn signal(whom: impl Display, name: &str) {
    let script = "kill -s \"$1\" -- \"$2\"";
    let kill = Command::new("sh")
        .args(["-c", script, "sh", name, &whom.to_string()])
        .status();
    assert!(kill.unwrap().success());
}

/// Polls until `what` returns something; `None` if it never does.
pub(crate) fn eventually<T>(mut what: impl FnMut() -> Option<T>) -> Option<T> {
    let began = Instant::now();
    loop {
        let found = what();
        if found.is_some() || began.elapsed() > TIMEOUT {
            return found;
        }
        sleep(STEP);
    }
}

/// Polls until `what` returns something.
#[track_caller]
pub(crate) fn await_some<T>(why: &str, what: impl FnMut() -> Option<T>) -> T {
    eventually(what).unwrap_or_else(|| panic!("waited in vain for {why}"))
}

/// Polls until `is_so` is true.
#[track_caller]
pub(crate) fn wait_until(why: &str, mut is_so: impl FnMut() -> bool) {
    await_some(why, || is_so().then_some(()));
}
