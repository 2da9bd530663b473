//! qlog of QUIC connections: one file for each, as JSON text sequences.
//!
//! draft-ietf-quic-qlog-main-schema and draft-ietf-quic-qlog-quic-events. Files hold neither keys
//! nor contents of streams.

mod event;
mod frame;

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use roundtrip_quic::{ConnectionLog, LogEvent, LoggedConnection, Logger, Time};
use roundtrip_wire::calendar::rfc3339;
use roundtrip_wire::hex;
use roundtrip_wire::quic::Side;
use serde_json::{Value, json};

use event::Translator;

/// RFC 7464 §2.2.
const RECORD_SEPARATOR: u8 = 0x1e;
/// The longest time until an event is written to its file.
const FLUSH_INTERVAL: Duration = Duration::from_millis(100);
/// A client may repeat the id that names the file.
const MAX_SAME_NAME: usize = 100;

/// Writes the logs of all connections into one directory.
#[derive(Debug)]
pub struct QlogDirectory {
    path: PathBuf,
    failure: Arc<FirstFailure>,
}

type Report = dyn Fn(&Path, &io::Error) + Send + Sync;

/// Keeps the first error of a file, which is reported once.
struct FirstFailure {
    was_reported: AtomicBool,
    report: Box<Report>,
}

/// The log of one connection.
#[derive(Debug)]
struct QlogFile {
    path: PathBuf,
    /// The file; `None` after an error.
    out: Option<BufWriter<File>>,
    began: Time,
    flushed: Time,
    translator: Translator,
    failure: Arc<FirstFailure>,
}

impl QlogDirectory {
    /// Creates the directory if it is missing. If a file cannot be written later, `report` is
    /// called once, and the connection goes on without its log.
    pub fn new(
        path: &Path,
        report: impl Fn(&Path, &io::Error) + Send + Sync + 'static,
    ) -> io::Result<Self> {
        fs::create_dir_all(path)?;
        Ok(Self {
            path: path.to_owned(),
            failure: Arc::new(FirstFailure {
                was_reported: AtomicBool::new(false),
                report: Box::new(report),
            }),
        })
    }

    /// A new file, named for the connection as the main schema recommends.
    fn create(&self, connection: &LoggedConnection) -> (PathBuf, io::Result<File>) {
        let stem = format!(
            "{}_{}",
            hex(connection.original.as_slice()),
            side_name(connection.side)
        );
        let mut path = self.path.join(format!("{stem}.sqlog"));
        for again in 2..MAX_SAME_NAME {
            let file = OpenOptions::new().write(true).create_new(true).open(&path);
            if !matches!(&file, Err(error) if error.kind() == ErrorKind::AlreadyExists) {
                return (path, file);
            }
            path = self.path.join(format!("{stem}-{again}.sqlog"));
        }
        (path, Err(ErrorKind::AlreadyExists.into()))
    }
}

impl Logger for QlogDirectory {
    fn open(&self, at: Time, connection: &LoggedConnection) -> Option<Box<dyn ConnectionLog>> {
        let (path, file) = self.create(connection);
        let file = match file {
            Ok(file) => file,
            Err(error) => {
                self.failure.report(&path, &error);
                return None;
            }
        };
        let mut log = QlogFile {
            path,
            out: Some(BufWriter::new(file)),
            began: at,
            flushed: at,
            translator: Translator::new(connection.side),
            failure: self.failure.clone(),
        };
        log.record(&head(connection));
        for (name, data) in event::first(connection) {
            log.event(at, name, &data);
        }
        Some(Box::new(log))
    }
}

impl QlogFile {
    fn event(&mut self, at: Time, name: &str, data: &Value) {
        let time = at.since(self.began).as_micros() as f64 / 1e3;
        self.record(&json!({"time": time, "name": format!("quic:{name}"), "data": data}));
    }

    fn record(&mut self, value: &Value) {
        let Some(out) = &mut self.out else {
            return;
        };
        if let Err(error) = write_record(out, value) {
            self.fail(&error);
        }
    }

    fn flush(&mut self, at: Time) {
        self.flushed = at;
        if let Some(Err(error)) = self.out.as_mut().map(Write::flush) {
            self.fail(&error);
        }
    }

    fn fail(&mut self, error: &io::Error) {
        self.failure.report(&self.path, error);
        // The rest of the buffer would fail as well.
        if let Some(out) = self.out.take() {
            let _ = out.into_parts();
        }
    }
}

impl ConnectionLog for QlogFile {
    fn on_event(&mut self, at: Time, event: &LogEvent<'_>) {
        let (name, data) = self.translator.translate(event);
        self.event(at, name, &data);
        let is_over = matches!(event, LogEvent::Closed(_));
        if is_over || at.since(self.flushed) >= FLUSH_INTERVAL {
            self.flush(at);
        }
    }
}

impl Drop for QlogFile {
    fn drop(&mut self) {
        self.flush(self.flushed);
    }
}

impl FirstFailure {
    fn report(&self, path: &Path, error: &io::Error) {
        if !self.was_reported.swap(true, Ordering::Relaxed) {
            (self.report)(path, error);
        }
    }
}

impl std::fmt::Debug for FirstFailure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("FirstFailure")
            .field("was_reported", &self.was_reported)
            .finish_non_exhaustive()
    }
}

fn write_record(out: &mut impl Write, value: &Value) -> io::Result<()> {
    out.write_all(&[RECORD_SEPARATOR])?;
    serde_json::to_writer(&mut *out, value)?;
    out.write_all(b"\n")
}

fn head(connection: &LoggedConnection) -> Value {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    let now = u64::try_from(now.unwrap_or_default().as_millis()).unwrap_or(u64::MAX);
    json!({
        "file_schema": "urn:ietf:params:qlog:file:sequential",
        "serialization_format": "application/qlog+json-seq",
        "title": "roundtrip",
        "trace": {
            "vantage_point": {"type": side_name(connection.side)},
            "common_fields": {
                "group_id": hex(connection.original.as_slice()),
                "time_format": "relative_to_epoch",
                "reference_time": {
                    "clock_type": "monotonic",
                    "epoch": "unknown",
                    "wall_clock_time": rfc3339(now),
                },
            },
            "event_schemas": ["urn:ietf:params:qlog:events:quic-12"],
        },
    })
}

fn side_name(side: Side) -> &'static str {
    match side {
        Side::Client => "client",
        Side::Server => "server",
    }
}

#[cfg(test)]
mod tests;
