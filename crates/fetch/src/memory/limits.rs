//! An origin's small file that all processes read and write in turn: the state of its bucket.
//! The file is never replaced, but written in place under its lock; the lock also protects the
//! origin's other file. [`crate::rate_limiter`] defines what the numbers mean.

use std::fmt;
use std::fs::{File, TryLockError};
use std::io;
use std::os::unix::fs::FileExt;
use std::sync::Arc;

use super::Authority;
use super::Memory;
use super::codec::{Form, Reader, Writer};
use super::directory::is_removed;

/// The number of values in the file.
pub const NUMBERS: usize = 20;
const FORM: Form = Form {
    name: *b"rtli",
    version: 1,
};
/// The size in bytes, including the header that every file has.
const SIZE: usize = 22 + 8 * NUMBERS;

/// The content of the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Limits {
    /// The file is new and empty.
    New,
    OriginFacts([u64; NUMBERS]),
    /// The content is invalid.
    Damaged,
}

/// The file. It is opened for each use, because there can be more origins than a process can have
/// open files.
pub(crate) struct LimitsFile {
    open: Box<dyn Fn() -> io::Result<File> + Send + Sync>,
}

/// The reason why the file could not be used.
#[derive(Debug)]
pub(crate) enum LimitsFileError<T> {
    /// Another process holds the lock, or has just removed the file; that does not last long.
    Busy,
    /// The file could not be read, so no decision was made.
    NotRead(io::Error),
    /// The decision is valid, but other processes do not know it.
    NotWritten(T, io::Error),
}

impl Memory {
    pub(crate) fn limits(self: &Arc<Self>, origin: &Authority) -> Option<LimitsFile> {
        let name = file_name(&origin.file_name()?);
        let memory = Arc::clone(self);
        let directory = self.origins()?;
        // Opens the file now, so that a failure is reported early.
        match directory.open_to_lock(&name) {
            Ok(file) => {
                if file.metadata().is_ok_and(|file| file.len() == 0) {
                    self.added_origin(directory);
                }
                Some(LimitsFile {
                    open: Box::new(move || match memory.origins() {
                        Some(directory) => directory.open_to_lock(&name),
                        None => Err(io::ErrorKind::NotFound.into()),
                    }),
                })
            }
            Err(error) => {
                self.cannot_lock(directory, origin, &error);
                None
            }
        }
    }
}

impl fmt::Debug for LimitsFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LimitsFile").finish_non_exhaustive()
    }
}

impl LimitsFile {
    #[cfg(test)]
    pub(crate) fn from_file(file: File) -> Self {
        let open = Box::new(move || file.try_clone());
        Self { open }
    }

    /// Reads, changes and writes the numbers under the lock. Does not wait for another process that
    /// holds it.
    pub(crate) fn change<T>(
        &self,
        change: impl FnOnce(Limits) -> (T, [u64; NUMBERS]),
    ) -> Result<T, LimitsFileError<T>> {
        let file = (self.open)().map_err(LimitsFileError::NotRead)?;
        match file.try_lock() {
            Ok(()) if is_removed(&file).map_err(LimitsFileError::NotRead)? => {
                return Err(LimitsFileError::Busy);
            }
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(LimitsFileError::Busy),
            Err(TryLockError::Error(error)) => return Err(LimitsFileError::NotRead(error)),
        }
        let result = change_locked(&file, change);
        // Closing the file would unlock it too, unless a child that was just forked still has it
        // open.
        let _ = file.unlock();
        result
    }
}

fn change_locked<T>(
    file: &File,
    change: impl FnOnce(Limits) -> (T, [u64; NUMBERS]),
) -> Result<T, LimitsFileError<T>> {
    // One byte more than the format has, so that a longer file is detected.
    let mut bytes = [0; SIZE + 1];
    let read = read_up_to(file, &mut bytes).map_err(LimitsFileError::NotRead)?;
    let limits = match bytes.get(..read) {
        None | Some([]) => Limits::New,
        Some(bytes) => decode(bytes).map_or(Limits::Damaged, Limits::OriginFacts),
    };
    if limits == Limits::Damaged {
        file.set_len(0).map_err(LimitsFileError::NotRead)?;
    }
    let (value, numbers) = change(limits);
    match file.write_all_at(&encode(&numbers), 0) {
        Ok(()) => Ok(value),
        Err(error) => Err(LimitsFileError::NotWritten(value, error)),
    }
}

pub(super) fn file_name(name: &str) -> String {
    format!("{name}.limits")
}

fn read_up_to(file: &File, bytes: &mut [u8]) -> io::Result<usize> {
    let mut read = 0;
    while let Some(rest) = bytes.get_mut(read..).filter(|rest| !rest.is_empty()) {
        match file.read_at(rest, read as u64) {
            Ok(0) => break,
            Ok(more) => read += more,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(read)
}

pub fn encode(numbers: &[u64; NUMBERS]) -> Vec<u8> {
    let mut writer = Writer::new(FORM);
    for number in numbers {
        writer.u64(*number);
    }
    writer.finish(&[])
}

pub fn decode(bytes: &[u8]) -> Option<[u64; NUMBERS]> {
    let mut reader = Reader::new(FORM, bytes)?;
    let mut numbers = [0; NUMBERS];
    for number in &mut numbers {
        *number = reader.u64()?;
    }
    reader.finish()?;
    Some(numbers)
}
