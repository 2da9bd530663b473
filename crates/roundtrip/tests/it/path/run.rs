//! Runs the binary under test, and lists the processes in a network.

use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

use crate::process::{Process, ROUNDTRIP, Said, await_some, signal};

/// `roundtrip path` with these flags and this command.
pub(crate) fn path(flags: &[&str], command: &[&str]) -> Command {
    let mut line = Command::new(ROUNDTRIP);
    line.arg("path").args(flags).arg("--").args(command);
    line.stdin(Stdio::null());
    line
}

pub(crate) fn said(mut command: Command) -> Said {
    Said::from(command.output().unwrap())
}

/// The output of a shell at the near end; it must succeed.
pub(crate) fn inside(flags: &[&str], line: &str) -> String {
    let said = said(path(flags, &["sh", "-c", line]));
    assert_eq!(said.code, 0, "{flags:?} {line}: {said:?}");
    said.out
}

/// A program in a separate process group; it is killed when this is dropped.
pub(crate) struct Running {
    child: Process,
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
        Self {
            child: Process(child),
            lines,
        }
    }

    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    pub(crate) fn line(&mut self) -> String {
        self.lines.next().unwrap().unwrap()
    }

    /// Sends a signal to it alone or, as a terminal does, to its whole group.
    pub(crate) fn signal(&self, name: &str, group: bool) {
        let sign = if group { "-" } else { "" };
        signal(format!("{sign}{}", self.id()), name);
    }

    pub(crate) fn end(&mut self) -> i32 {
        let status = await_some("its end", || self.child.0.try_wait().unwrap());
        status.code().unwrap_or(-1)
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
