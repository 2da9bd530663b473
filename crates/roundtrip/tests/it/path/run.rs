//! Runs the binary under test, and lists the processes in a network.

use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// Longer than anything here takes on a slow and busy machine.
const TIMEOUT: Duration = Duration::from_mins(1);

pub(crate) const ROUNDTRIP: &str = env!("CARGO_BIN_EXE_roundtrip");

/// The output of a program that ended.
#[derive(Debug)]
pub(crate) struct Said {
    /// The exit code; -1 for a program that a signal ended.
    pub(crate) code: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

/// `roundtrip path` with these flags and this command.
pub(crate) fn path(flags: &[&str], command: &[&str]) -> Command {
    let mut line = Command::new(ROUNDTRIP);
    line.arg("path").args(flags).arg("--").args(command);
    line.stdin(Stdio::null());
    line
}

pub(crate) fn said(mut command: Command) -> Said {
    let output = command.output().unwrap();
    Said {
        code: output.status.code().unwrap_or(-1),
        out: String::from_utf8_lossy(&output.stdout).into_owned(),
        err: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}

/// The output of a shell at the near end; it must succeed.
pub(crate) fn inside(flags: &[&str], line: &str) -> String {
    let said = said(path(flags, &["sh", "-c", line]));
    assert_eq!(said.code, 0, "{flags:?} {line}: {said:?}");
    said.out
}

/// A program in a separate process group; it is killed when this is dropped.
pub(crate) struct Running {
    child: Child,
    lines: std::io::Lines<BufReader<std::process::ChildStdout>>,
}

impl Running {
    pub(crate) fn start(mut command: Command) -> Self {
        let mut child = command
            .process_group(0)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        Self { child, lines }
    }

    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    pub(crate) fn line(&mut self) -> String {
        self.lines.next().unwrap().unwrap()
    }

    /// Sends a signal to it alone or, as a terminal does, to its whole group.
    pub(crate) fn signal(&self, signal: &str, group: bool) {
        let whom = format!("{}{}", if group { "-" } else { "" }, self.id());
        let script = "kill -s \"$1\" -- \"$2\"";
        let kill = Command::new("sh")
            .args(["-c", script, "sh", signal, &whom])
            .status();
        assert!(kill.unwrap().success());
    }

    pub(crate) fn end(&mut self) -> i32 {
        let mut code = None;
        wait_until("it ends", || {
            code = self.child.try_wait().unwrap();
            code.is_some()
        });
        code.and_then(|status| status.code()).unwrap_or(-1)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub(crate) fn wait_until(what: &str, mut done: impl FnMut() -> bool) {
    let limit = Instant::now() + TIMEOUT;
    while !done() {
        assert!(Instant::now() < limit, "still not: {what}");
        sleep(Duration::from_millis(10));
    }
}

/// The processes in a network, as `/proc/PID/ns/net` names it.
pub(crate) fn inhabitants(network: &str) -> Vec<String> {
    let lives_there = |process: &String| {
        fs::read_link(format!("/proc/{process}/ns/net"))
            .is_ok_and(|its| its.to_str() == Some(network))
    };
    processes().into_iter().filter(lives_there).collect()
}

/// The reapers of paths that this process owns.
pub(crate) fn reapers_of(owner: u32) -> Vec<String> {
    let is_reaper = |process: &String| {
        fs::read_to_string(format!("/proc/{process}/stat"))
            .is_ok_and(|stat| stat.contains(&format!("(path-reaper) S {owner} ")))
    };
    processes().into_iter().filter(is_reaper).collect()
}

pub(crate) fn is_reaper(process: &str) -> bool {
    fs::read_to_string(format!("/proc/{process}/comm")).is_ok_and(|name| name == "path-reaper\n")
}

fn processes() -> Vec<String> {
    let entries = fs::read_dir("/proc").unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name());
    let names = names.filter_map(|name| name.into_string().ok());
    names.filter(|name| name.parse::<u32>().is_ok()).collect()
}
