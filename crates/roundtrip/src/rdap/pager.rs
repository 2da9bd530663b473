//! A pager between text and a terminal, as in git: text that fits the screen is shown as it is, and
//! longer text does not scroll away.

use std::ffi::OsString;
use std::io::Write;
use std::process::{Child, Command, Stdio};

use crate::output::OutputStream;

/// The options for `less` unless the user sets others: end if everything fits on the screen, pass
/// colours on, leave the text on the screen.
const LESS: &str = "FRX";

/// Runs the pager, or `cat` if there is none, so that no text is lost.
const SHELL: &str =
    r#"if command -v "${1%% *}" >/dev/null; then eval "exec $1"; else exec cat; fi"#;

pub(super) struct Pager(Child);

impl Pager {
    /// Starts `$PAGER`, or else `less`. `None` if text does not go to a terminal, or if no pager is
    /// wanted or installed.
    pub(super) fn start() -> Option<Self> {
        if !OutputStream::Out.is_terminal() || std::env::var_os("TERM").is_some_and(|t| t == "dumb")
        {
            return None;
        }
        let chosen = std::env::var_os("PAGER").unwrap_or_else(|| OsString::from("less"));
        if chosen.is_empty() || chosen == "cat" {
            return None;
        }
        let mut command = Command::new("sh");
        command
            .arg("-c")
            .arg(SHELL)
            .arg("sh")
            .arg(chosen)
            .stdin(Stdio::piped());
        if std::env::var_os("LESS").is_none() {
            command.env("LESS", LESS);
        }
        command.spawn().ok().map(Self)
    }

    /// Text for a reader that has quit is dropped.
    pub(super) fn print(&mut self, text: &[u8]) {
        if let Some(stdin) = &mut self.0.stdin {
            let written = stdin.write_all(text).and_then(|()| stdin.flush());
            if written.is_err() {
                self.0.stdin = None;
            }
        }
    }

    /// Whether the reader had not quit when text was last printed.
    pub(super) fn is_read(&self) -> bool {
        self.0.stdin.is_some()
    }

    /// Waits until the reader has finished.
    pub(super) fn wait(mut self) {
        self.0.stdin = None;
        // Nothing can be done about a pager that failed.
        let _ = self.0.wait();
    }
}
