//! The access log's thread: lines come through a bounded channel. If the disk is slow, lines are
//! dropped and counted; no request ever waits. `line` writes the lines.

use std::fs::OpenOptions;
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::mpsc::{self, Receiver, SyncSender, TrySendError};
use std::thread;
use std::time::Duration;

use crate::GateError;
use crate::config::Access;

/// Lines that may wait to be written.
const MAX_WAITING: usize = 8192;
/// The largest number of bytes in one write.
const MAX_BATCH: usize = 256 * 1024;
/// The time between two writes: lines are written together, and a busy worker wakes the thread at
/// most a hundred times a second.
const WRITE_INTERVAL: Duration = Duration::from_millis(10);

type Open = Box<dyn FnMut() -> io::Result<Box<dyn Write + Send>> + Send>;

/// The access log, owned by the main thread.
pub(crate) struct AccessLog {
    sender: LogSender,
    /// Receives a message when everything is written.
    done: Receiver<()>,
}

/// Writes lines for one thread.
#[derive(Clone)]
pub(crate) struct LogSender {
    lines: SyncSender<LogMessage>,
    state: Arc<AccessLogState>,
}

enum LogMessage {
    Line(Vec<u8>),
    /// Wakes the thread without a line.
    Flush,
    End,
}

#[derive(Debug, Default)]
struct AccessLogState {
    written: AtomicU64,
    dropped: AtomicU64,
    lost: AtomicU64,
    stale: AtomicU64,
    reopen: AtomicBool,
}

/// What happened to the lines.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct LogCounts {
    pub(crate) written: u64,
    /// Lines that were dropped because writing was too slow.
    pub(crate) dropped: u64,
    /// Writing failed.
    pub(crate) lost: u64,
    /// Whether the file could not be reopened, so that the old one is still used.
    pub(crate) stale: u64,
}

impl LogCounts {
    pub(crate) fn fates(&self) -> [(&'static str, u64); 3] {
        [
            ("written", self.written),
            ("dropped", self.dropped),
            ("lost", self.lost),
        ]
    }
}

impl AccessLog {
    /// Starts the log; `None` if no log is configured.
    pub(crate) fn start(access: &Access) -> Result<Option<Self>, GateError> {
        let open: Open = match access {
            Access::Off => return Ok(None),
            Access::Stdout => Box::new(|| Ok(Box::new(io::stdout()))),
            Access::File(path) => {
                // An error is reported now; the thread opens the file again.
                append(path).map_err(|source| GateError::Unlogged {
                    path: path.clone(),
                    source,
                })?;
                let path = path.clone();
                Box::new(move || Ok(append(&path).map(Box::new)?))
            }
        };
        Self::with(open, MAX_WAITING).map(Some)
    }

    fn with(open: Open, room: usize) -> Result<Self, GateError> {
        let (lines, taken) = mpsc::sync_channel(room);
        let (ended, done) = mpsc::sync_channel(1);
        let state = Arc::new(AccessLogState::default());
        let mut writer = LogWriter {
            state: state.clone(),
            to: None,
            open,
        };
        let thread = thread::Builder::new().name("access-log".into());
        let run = move || {
            writer.run(&taken);
            drop(taken);
            let _ = ended.try_send(());
        };
        thread.spawn(run).map_err(GateError::NoThread)?;
        let sender = LogSender { lines, state };
        Ok(Self { sender, done })
    }

    pub(crate) fn sender(&self) -> LogSender {
        self.sender.clone()
    }

    /// Reopens the file before the next line, because the old one was moved.
    pub(crate) fn reopen(&self) {
        self.sender.state.reopen.store(true, Relaxed);
        // If the channel is full, the thread is awake.
        let _ = self.sender.lines.try_send(LogMessage::Flush);
    }

    /// Writes the waiting lines until the time runs out; returns whether all were written.
    pub(crate) fn finish(self, patience: Duration) -> bool {
        // If the channel is full because the disk is stuck, there is nothing to wait for.
        self.sender.lines.try_send(LogMessage::End).is_ok()
            && self.done.recv_timeout(patience).is_ok()
    }
}

impl LogSender {
    /// Writes a line, which ends in a newline. Never waits.
    pub(crate) fn write(&self, line: Vec<u8>) {
        match self.lines.try_send(LogMessage::Line(line)) {
            Ok(()) => {}
            Err(TrySendError::Full(_) | TrySendError::Disconnected(_)) => {
                self.state.dropped.fetch_add(1, Relaxed);
            }
        }
    }

    pub(crate) fn counts(&self) -> LogCounts {
        let state = &self.state;
        LogCounts {
            written: state.written.load(Relaxed),
            dropped: state.dropped.load(Relaxed),
            lost: state.lost.load(Relaxed),
            stale: state.stale.load(Relaxed),
        }
    }
}

/// The writer in the log's own thread.
struct LogWriter {
    state: Arc<AccessLogState>,
    to: Option<Box<dyn Write + Send>>,
    open: Open,
}

impl LogWriter {
    fn run(&mut self, messages: &Receiver<LogMessage>) {
        let mut batch = Vec::new();
        while let Ok(first) = messages.recv() {
            let mut ends = matches!(first, LogMessage::End);
            if !ends {
                thread::sleep(WRITE_INTERVAL);
            }
            let mut lines = 0;
            let mut next = Some(first);
            while let Some(message) = next.take() {
                match message {
                    LogMessage::Line(line) => {
                        batch.extend_from_slice(&line);
                        lines += 1;
                    }
                    LogMessage::Flush => {}
                    LogMessage::End => ends = true,
                }
                if batch.len() < MAX_BATCH {
                    next = messages.try_recv().ok();
                }
            }
            self.write(&batch, lines);
            batch.clear();
            if ends {
                return;
            }
        }
    }

    fn write(&mut self, batch: &[u8], lines: u64) {
        if self.to.is_none() || self.state.reopen.swap(false, Relaxed) {
            match (self.open)() {
                Ok(opened) => self.to = Some(opened),
                Err(_) => {
                    self.state.stale.fetch_add(1, Relaxed);
                }
            }
        }
        let written = self.to.as_mut().is_some_and(|to| {
            let written = to.write_all(batch).and_then(|()| to.flush());
            written.is_ok()
        });
        let fate = if written {
            &self.state.written
        } else {
            &self.state.lost
        };
        fate.fetch_add(lines, Relaxed);
    }
}

/// Opens the file for appending. The log shows which client requested what, so only its owner and
/// group may read it.
fn append(path: &Path) -> io::Result<std::fs::File> {
    let mut options = OpenOptions::new();
    options.append(true).create(true).mode(0o640).open(path)
}

#[cfg(test)]
mod tests;
