//! Imports sessions, one JSON object per line; a bad line does not affect others. Many lines are
//! stored at once, because a store may wait for its disk each time.

use std::io::{BufRead, Read};
use std::time::{Duration, SystemTime};

use roundtrip_store::{Record, Store};
use serde::Deserialize;
use serde::Serialize;
use zeroize::{Zeroize, Zeroizing};

use super::{SessionManager, check_name, ends_all};
use crate::GateError;
use crate::judge::credentials::Vault;

/// Names have up to 512 bytes, and credentials a few dozen.
const MAX_LINE_LENGTH: usize = 64 * 1024;
/// The largest number of lines that are stored at once, and the largest length in bytes of all of
/// them but the last.
const MAX_BATCH: usize = 500;
const MAX_BATCH_LENGTH: usize = 1024 * 1024;

/// The number of lines by result.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Imported {
    pub stored: u64,
    /// Sessions that had already expired.
    pub expired: u64,
    pub failed: u64,
    /// The rest was not read or does not count, because the last error would have repeated for
    /// every line.
    pub stopped: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ImportLine {
    sid: String,
    credentials: String,
    /// Seconds since 1970.
    expires: Option<u64>,
}

/// The session of a line, or what is wrong with it.
type ReadLine = Result<(String, Record), GateError>;

/// Lines that were read, in order, with their numbers.
#[derive(Default)]
struct Batch {
    lines: Vec<(u64, ReadLine)>,
    length: usize,
}

impl Batch {
    fn is_full(&self) -> bool {
        let ends_all = |line: &ReadLine| line.as_ref().is_err_and(ends_all);
        self.lines.len() >= MAX_BATCH
            || self.length >= MAX_BATCH_LENGTH
            || self.lines.last().is_some_and(|(_, last)| ends_all(last))
    }
}

impl Drop for ImportLine {
    fn drop(&mut self) {
        self.credentials.zeroize();
    }
}

impl SessionManager {
    /// `told` gets each line that failed, by its number from 1. Empty lines are skipped. An
    /// existing session is replaced.
    pub async fn import(
        &self,
        mut input: impl BufRead,
        mut told: impl FnMut(u64, &GateError),
    ) -> Imported {
        let (mut imported, mut batch) = (Imported::default(), Batch::default());
        let mut line = Zeroizing::new(Vec::with_capacity(MAX_LINE_LENGTH + 2));
        for number in 1.. {
            let outcome = match read_line(&mut input, &mut line) {
                Ok(false) => break,
                Ok(true) if line.trim_ascii().is_empty() => continue,
                Ok(true) => self.session(&line),
                Err(error) => Err(error),
            };
            batch.length += line.len();
            batch.lines.push((number, outcome));
            if batch.is_full() {
                let full = std::mem::take(&mut batch);
                self.store_batch(full, &mut imported, &mut told).await;
                if imported.stopped {
                    return imported;
                }
            }
        }
        self.store_batch(batch, &mut imported, &mut told).await;
        imported
    }

    /// Stores all records at once. If that fails, stores them one by one, to find the line that
    /// cannot be stored.
    async fn store_batch(
        &self,
        batch: Batch,
        imported: &mut Imported,
        told: &mut impl FnMut(u64, &GateError),
    ) {
        let good = batch
            .lines
            .iter()
            .filter_map(|(_, line)| line.as_ref().ok());
        let good: Vec<_> = good.map(|(sid, record)| (sid.as_str(), record)).collect();
        let is_stored = self.store.put_all(&good).await.is_ok();
        for (number, outcome) in batch.lines {
            let outcome = match outcome {
                Ok((sid, record)) if !is_stored => {
                    self.store.put(&sid, &record).await.map_err(GateError::from)
                }
                outcome => outcome.map(drop),
            };
            match outcome {
                Ok(()) => imported.stored += 1,
                Err(GateError::Past) => imported.expired += 1,
                Err(error) => {
                    told(number, &error);
                    imported.failed += 1;
                    if ends_all(&error) {
                        imported.stopped = true;
                        return;
                    }
                }
            }
        }
    }

    fn session(&self, line: &[u8]) -> ReadLine {
        // Serde's message would repeat part of the line.
        let mut line: ImportLine = serde_json::from_slice(line)
            .map_err(|error| GateError::Line(format!("at its byte {}", error.column())))?;
        check_name(&line.sid)?;
        let expires =
            match line.expires {
                None => None,
                Some(seconds) => {
                    let end = SystemTime::UNIX_EPOCH.checked_add(Duration::from_secs(seconds));
                    Some(end.ok_or_else(|| {
                        GateError::Line("the expiry is too far in the future".into())
                    })?)
                }
            };
        let login = Vault::default().open(&line.sid, line.credentials.as_bytes())?;
        let (record, _) = self.record(&line.sid, &login, expires)?;
        Ok((std::mem::take(&mut line.sid), record))
    }
}

/// Returns `false` at the end. A line that is too long is skipped.
fn read_line(input: &mut impl BufRead, line: &mut Vec<u8>) -> Result<bool, GateError> {
    line.zeroize();
    let limit = MAX_LINE_LENGTH as u64 + 1;
    let read = input.take(limit).read_until(b'\n', line);
    let read = read.map_err(GateError::Input)?;
    if read <= MAX_LINE_LENGTH || line.ends_with(b"\n") {
        return Ok(read > 0);
    }
    while !line.ends_with(b"\n") {
        line.zeroize();
        if input
            .take(limit)
            .read_until(b'\n', line)
            .map_err(GateError::Input)?
            == 0
        {
            break;
        }
    }
    Err(GateError::LongLine(MAX_LINE_LENGTH))
}
