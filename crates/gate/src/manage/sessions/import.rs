//! Imports sessions, one JSON object per line; a bad line does not affect others.

use std::io::{BufRead, Read};
use std::time::{Duration, SystemTime};

use serde::Deserialize;
use serde::Serialize;
use zeroize::{Zeroize, Zeroizing};

use super::{SessionManager, check_name, ends_all};
use crate::GateError;
use crate::judge::credentials::Vault;

/// Names have up to 512 bytes, and credentials a few dozen.
const MAX_LINE_LENGTH: usize = 64 * 1024;

/// The number of lines by result.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Imported {
    pub stored: u64,
    /// They had already expired.
    pub expired: u64,
    pub failed: u64,
    /// The rest was not read, because the last error would have repeated for every line.
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
        let (mut imported, mut number) = (Imported::default(), 0);
        let mut line = Zeroizing::new(Vec::with_capacity(MAX_LINE_LENGTH + 2));
        loop {
            number += 1;
            let outcome = match read_line(&mut input, &mut line) {
                Ok(false) => return imported,
                Ok(true) if line.trim_ascii().is_empty() => continue,
                Ok(true) => self.take(&line).await,
                Err(error) => Err(error),
            };
            match outcome {
                Ok(()) => imported.stored += 1,
                Err(GateError::Past) => imported.expired += 1,
                Err(error) => {
                    told(number, &error);
                    imported.failed += 1;
                    if ends_all(&error) {
                        imported.stopped = true;
                        return imported;
                    }
                }
            }
        }
    }

    async fn take(&self, line: &[u8]) -> Result<(), GateError> {
        // Serde's message would repeat part of the line.
        let line: ImportLine = serde_json::from_slice(line)
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
        self.put(&line.sid, &login, expires).await.map(|_| ())
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
