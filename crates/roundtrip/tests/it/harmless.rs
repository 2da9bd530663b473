//! Text from outside does nothing to the terminal that shows it, whichever verb shows it: controls,
//! direction marks, invisible characters and tags are escaped, in text, on pages and in error
//! messages.

#![allow(clippy::unwrap_used, clippy::panic)]

mod answers;
mod files;
mod records;
mod servers;
mod sessions;
mod typed;

use std::ffi::OsStr;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use roundtrip_report::terminal::{acts, clean};
use tempfile::TempDir;

use crate::skip;

/// A user, with a home.
struct User(TempDir);

impl User {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn home(&self) -> &Path {
        self.0.path()
    }

    fn write(&self, name: &str, text: impl AsRef<[u8]>) -> String {
        let path = self.home().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    }

    fn command(&self, arguments: &[impl AsRef<OsStr>]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_roundtrip"));
        command
            .args(arguments)
            .current_dir(self.home())
            .env_remove("XDG_STATE_HOME")
            .env("HOME", self.home())
            .env("LC_ALL", "C.UTF-8")
            .env("no_proxy", "*")
            .stdin(Stdio::null());
        command
    }

    fn run(&self, arguments: &[impl AsRef<OsStr>]) -> Output {
        self.command(arguments).output().unwrap()
    }

    /// The same on a terminal; `None` if there is no script(1).
    fn on_a_terminal(&self, test: &str, arguments: &[&str]) -> Option<String> {
        let quoted = |word: &&str| format!("'{}'", word.replace('\'', r"'\''"));
        let words: Vec<String> = arguments.iter().map(quoted).collect();
        let line = format!("'{}' {}", env!("CARGO_BIN_EXE_roundtrip"), words.join(" "));
        let said = Command::new("script")
            .args(["-qfc", &line, "/dev/null"])
            .current_dir(self.home())
            .env("HOME", self.home())
            .env("TERM", "dumb")
            .env("SHELL", "/bin/sh")
            .env("LC_ALL", "C.UTF-8")
            .env("no_proxy", "*")
            .env("COLUMNS", "200")
            .stdin(Stdio::null())
            .output();
        match said {
            Ok(said) => Some(text(&said.stdout).replace("\r\n", "\n")),
            Err(error) => {
                skip::lacking(test, format!("script(1): {error}"));
                None
            }
        }
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

/// Each character that acts on a terminal, between two that do not. `without` leaves out what
/// cannot occur: a zero byte in an argument, controls in an HTTP field.
fn hostile(without: impl Fn(char) -> bool) -> String {
    let every = (0..=0xe_007f).filter_map(char::from_u32);
    let acting = every.filter(|c| acts(*c) && !without(*c));
    std::iter::once('<').chain(acting).chain(['>']).collect()
}

fn typed() -> String {
    hostile(|c| c == '\0')
}

/// Hostile text as HTTP allows it in a field: without ASCII control characters.
fn sent() -> String {
    hostile(|c| c.is_ascii())
}

/// Asserts that none of it acts, and that some of it is present.
#[track_caller]
fn assert_harmless(said: &str) {
    assert_inert(said);
    assert!(said.contains("\\u"), "nothing hostile is in {said}");
}

#[track_caller]
fn assert_inert(said: &str) {
    let acting: String = said.chars().filter(|c| *c != '\n' && acts(*c)).collect();
    assert!(acting.is_empty(), "{} in {}", clean(&acting), clean(said));
}

#[test]
fn the_set_is_whole() {
    let set = hostile(|_| false);
    for c in "\0\u{1b}\r\n\u{7f}\u{80}\u{9b}\u{ad}\u{61c}\u{200b}\u{200e}\u{200f}\u{2028}\u{2029}\u{202a}\u{202e}\
              \u{2060}\u{2066}\u{2069}\u{feff}\u{e0000}\u{e0001}\u{e007f}"
        .chars()
    {
        assert!(set.contains(c), "{}", c.escape_unicode());
    }
}
