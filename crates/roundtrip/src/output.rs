//! The destination of results, and the end of a verb.

use std::fmt::Display;
use std::fs::{self, OpenOptions};
use std::io::{self, IsTerminal, Write};
use std::path::Path;

use roundtrip_report::terminal::{Style, clean_json, clean_lines};

use crate::cli::Color;

/// How a verb ended. The exit codes are part of the contract.
pub(crate) enum Outcome {
    Done,
    /// The target or a check failed; the reason was already printed.
    Failed,
    Usage(String),
    LimitMissed,
    /// The exit code of a command that was run for the user, or the code for why it did not run.
    Of(u8),
}

impl Outcome {
    /// The exit code.
    pub(crate) fn code(&self) -> u8 {
        match self {
            Self::Done => 0,
            Self::Failed => 1,
            Self::Usage(_) => 2,
            Self::LimitMissed => 3,
            Self::Of(code) => *code,
        }
    }
}

/// Prints the reason, and returns that the verb failed.
pub(crate) fn failed(why: &dyn Display) -> Outcome {
    say(why);
    Outcome::Failed
}

/// Prints a message on standard error.
pub(crate) fn say(what: &dyn Display) {
    note("roundtrip", what);
}

/// Prints a message on standard error under the name of a verb. It may quote text from outside, so
/// it is scrubbed.
pub(crate) fn note(who: &str, what: &dyn Display) {
    let what = clean_lines(&what.to_string());
    OutputStream::Err.print(format!("{who}: {what}\n"));
}

/// Writes a report to its destination: a file, or standard output unless `quiet`. `-` means
/// standard output.
pub(crate) fn deliver(
    report: &str,
    is_json: bool,
    file: Option<&Path>,
    quiet: bool,
) -> Result<(), Outcome> {
    match file {
        Some(file) if file != Path::new("-") => fs::write(file, report).map_err(|error| {
            let file = file.display();
            failed(&format!("cannot write the report to {file}: {error}"))
        })?,
        _ if quiet => {}
        _ if is_json => OutputStream::Out.print_json(report),
        _ => OutputStream::Out.print(report),
    }
    Ok(())
}

/// Whether a file can be written there. This is checked before a long measurement; a pipe or a
/// device is not tried.
pub(crate) fn can_be_written(path: &Path) -> io::Result<()> {
    if fs::metadata(path).is_ok_and(|known| !known.is_file() && !known.is_dir()) {
        return Ok(());
    }
    let opened = OpenOptions::new().create(true).append(true).open(path);
    opened.map(drop)
}

/// Completes at Ctrl-C.
pub(crate) async fn interrupted() {
    if tokio::signal::ctrl_c().await.is_err() {
        std::future::pending::<()>().await;
    }
}

/// One of the two streams that a report may go to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OutputStream {
    Out,
    Err,
}

impl OutputStream {
    /// Writes and flushes. A reader of standard output that went away is not an error, because
    /// `| head` is a legitimate use. If output is lost otherwise, as on a full disk, the process
    /// ends: a pipeline must not take it for complete. Nothing depends on standard error: servers
    /// go on without it, and the exit code stays what it is.
    pub(crate) fn print(self, bytes: impl AsRef<[u8]>) {
        let bytes = bytes.as_ref();
        let written = match self {
            Self::Out => io::stdout()
                .write_all(bytes)
                .and_then(|()| io::stdout().flush()),
            Self::Err => io::stderr()
                .write_all(bytes)
                .and_then(|()| io::stderr().flush()),
        };
        match written {
            Ok(()) => {}
            Err(_) if self == Self::Err => {}
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => std::process::exit(0),
            Err(error) => {
                // Nothing can be reported if standard error fails too.
                let _ = writeln!(io::stderr(), "roundtrip: cannot write the output: {error}");
                std::process::exit(1);
            }
        }
    }

    /// Prints JSON. On a terminal, characters that act there are escaped, which is the same JSON to
    /// programs.
    pub(crate) fn print_json(self, json: &str) {
        if self.is_terminal() {
            self.print(clean_json(json));
        } else {
            self.print(json);
        }
    }

    pub(crate) fn is_terminal(self) -> bool {
        match self {
            Self::Out => io::stdout().is_terminal(),
            Self::Err => io::stderr().is_terminal(),
        }
    }

    /// The style for the reader of this stream.
    pub(crate) fn style(self, when: Color) -> Style {
        let plain = std::env::var_os("NO_COLOR").is_some_and(|v| !v.is_empty())
            || std::env::var("TERM").is_ok_and(|t| t == "dumb");
        let colour = match when {
            Color::Always => true,
            Color::Never => false,
            Color::Auto => self.is_terminal() && !plain,
        };
        Style {
            width: self.width(),
            colour,
            unicode: speaks_unicode(),
        }
    }

    /// Columns to write for.
    pub(crate) fn width(self) -> usize {
        let told = std::env::var("COLUMNS").ok().and_then(|c| c.parse().ok());
        let asked = || self.columns();
        told.or_else(asked).unwrap_or(100).clamp(40, 200)
    }

    /// The width of a line that is overwritten: at most that of the terminal.
    pub(crate) fn line_width(self) -> usize {
        let width = self.width();
        self.columns().map_or(width, |columns| columns.min(width))
    }

    /// The width of the terminal itself.
    fn columns(self) -> Option<usize> {
        match self {
            Self::Out => roundtrip_net::terminal_width(&io::stdout()),
            Self::Err => roundtrip_net::terminal_width(&io::stderr()),
        }
    }

    /// How many lines the terminal shows; 0 if that is unknown.
    pub(crate) fn rows(self) -> usize {
        let rows = match self {
            Self::Out => roundtrip_net::terminal_height(&io::stdout()),
            Self::Err => roundtrip_net::terminal_height(&io::stderr()),
        };
        rows.unwrap_or_default()
    }

    /// Whether lines can be redrawn: the terminal can move its cursor, and none of our lines is
    /// wider than it.
    pub(crate) fn draws(self) -> bool {
        let moves = std::env::var("TERM").is_ok_and(|term| !term.is_empty() && term != "dumb");
        moves
            && self
                .columns()
                .is_some_and(|columns| self.width() <= columns)
    }
}

/// The locale's character set, by the rules of setlocale(3).
fn speaks_unicode() -> bool {
    let locale = ["LC_ALL", "LC_CTYPE", "LANG"]
        .iter()
        .filter_map(|name| std::env::var(name).ok())
        .find(|value| !value.is_empty());
    // If no locale is set, whatever reads the output most likely understands UTF-8.
    locale.is_none_or(|l| {
        let l = l.to_ascii_lowercase();
        l.contains("utf-8") || l.contains("utf8") || (l != "c" && l != "posix" && !l.contains('.'))
    })
}

/// The output that replaces the last frame line by line, so that nothing flickers.
pub(crate) fn over(last: &str, frame: &str) -> String {
    let mut text = match last.lines().count() {
        0 => String::new(),
        n => format!("\r\x1b[{n}A"),
    };
    for line in frame.lines() {
        text.push_str(line);
        text.push_str("\x1b[K\n");
    }
    text.push_str("\x1b[J");
    text
}

#[cfg(test)]
mod tests {
    use super::over;

    #[test]
    fn a_frame_replaces_the_one_before() {
        assert_eq!(over("", "a\nb\n"), "a\x1b[K\nb\x1b[K\n\x1b[J");
        assert_eq!(over("a\nb\n", "c\n"), "\r\x1b[2Ac\x1b[K\n\x1b[J");
    }
}
