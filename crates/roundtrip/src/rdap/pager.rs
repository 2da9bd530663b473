//! A pager between text and a terminal, as in git: text that fits the screen is shown as it is, and
//! longer text does not scroll away.

use std::ffi::OsString;
use std::process::Stdio;

use tokio::io::AsyncWriteExt;
use tokio::process::{Child, ChildStdin, Command};
use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;

use crate::output::OutputStream;

/// The options for `less` unless the user sets others: end if everything fits on the screen, pass
/// colours on, leave the text on the screen.
const LESS: &str = "FRX";

/// Runs the pager, or `cat` if there is none, so that no text is lost.
const SHELL: &str =
    r#"if command -v "${1%% *}" >/dev/null; then eval "exec $1"; else exec cat; fi"#;

pub(super) struct Pager {
    child: Child,
    texts: mpsc::UnboundedSender<Vec<u8>>,
    writing: JoinHandle<()>,
    backlog: Backlog,
}

/// The number of texts that the reader has not taken yet. Lookups wait for the reader, so that the
/// number stays small. Clones share it.
#[derive(Clone)]
pub(super) struct Backlog(watch::Sender<Reading>);

#[derive(Default)]
struct Reading {
    unread: usize,
    has_left: bool,
}

impl Pager {
    /// Starts `$PAGER`, or else `less`. `None` if text does not go to a terminal, or if no pager is
    /// wanted or installed.
    pub(super) fn start(backlog: &Backlog) -> Option<Self> {
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
        let mut child = command.spawn().ok()?;
        let stdin = child.stdin.take()?;
        let (texts, queue) = mpsc::unbounded_channel();
        Some(Self {
            child,
            texts,
            writing: tokio::spawn(write(stdin, queue, backlog.clone())),
            backlog: backlog.clone(),
        })
    }

    /// Text for a reader that has quit is dropped.
    pub(super) fn print(&self, text: Vec<u8>) {
        self.backlog.0.send_modify(|reading| reading.unread += 1);
        // It is closed once the reader has quit.
        let _ = self.texts.send(text);
    }

    /// Waits until the reader has finished.
    pub(super) async fn wait(mut self) {
        drop(self.texts);
        // Nothing can be done about a pager that failed.
        let _ = self.writing.await;
        let _ = self.child.wait().await;
    }
}

async fn write(
    mut stdin: ChildStdin,
    mut queue: mpsc::UnboundedReceiver<Vec<u8>>,
    backlog: Backlog,
) {
    while let Some(text) = queue.recv().await {
        if stdin.write_all(&text).await.is_err() {
            backlog.0.send_modify(|reading| reading.has_left = true);
            return;
        }
        backlog.0.send_modify(|reading| reading.unread -= 1);
    }
}

impl Backlog {
    pub(super) fn new() -> Self {
        Self(watch::Sender::new(Reading::default()))
    }

    /// Waits until the reader has taken everything; for ever, if the reader has quit.
    pub(super) async fn is_read(&self) {
        self.reaches(|reading| reading.unread == 0 && !reading.has_left)
            .await;
    }

    /// Waits until the reader quits.
    pub(super) async fn is_left(&self) {
        self.reaches(|reading| reading.has_left).await;
    }

    /// Whether the reader had not quit when text was last printed.
    pub(super) fn has_reader(&self) -> bool {
        !self.0.borrow().has_left
    }

    async fn reaches(&self, state: impl FnMut(&Reading) -> bool) {
        // The sender is here, so that the channel stays open.
        let _ = self.0.subscribe().wait_for(state).await;
    }
}
