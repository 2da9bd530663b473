//! The small file of an origin that all processes read and write in turn: how far its bucket is filled.
//!
//! It is never replaced, only written in place under its lock, and so it is also what the origin's other file is locked
//! by. What the bytes mean is said by [`crate::manners`].

use std::fmt;
use std::fs::{File, TryLockError};
use std::io;
use std::os::unix::fs::FileExt;
use std::sync::Arc;

use super::Authority;
use super::Memory;
use super::codec::{Form, Reader, Writer};

/// Numbers in the file.
pub const NUMBERS: usize = 20;
const FORM: Form = Form {
    name: *b"rtli",
    version: 1,
};
/// With the head of every file of ours.
const SIZE: usize = 22 + 8 * NUMBERS;

/// What the file said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Limits {
    /// Nothing yet.
    New,
    Known([u64; NUMBERS]),
    /// Something that nobody wrote.
    Damaged,
}

/// The file, opened each time anew: there may be more origins than a process may have files open.
pub(crate) struct LimitsFile {
    open: Box<dyn Fn() -> io::Result<File> + Send + Sync>,
}

/// Why the file did not do.
#[derive(Debug)]
pub(crate) enum Lack<T> {
    /// Another process is at it; it will not take long.
    Busy,
    /// Nothing was decided.
    NotRead(io::Error),
    /// This was decided, and no other process knows.
    NotWritten(T, io::Error),
}

impl Memory {
    pub(crate) fn limits(self: &Arc<Self>, origin: &Authority) -> Option<LimitsFile> {
        let name = file_name(&origin.file_name()?);
        let memory = Arc::clone(self);
        let place = self.origins()?;
        // Whether it can be had is found out now, and told.
        match place.open_to_lock(&name) {
            Ok(_) => Some(LimitsFile {
                open: Box::new(move || match memory.origins() {
                    Some(place) => place.open_to_lock(&name),
                    None => Err(io::ErrorKind::NotFound.into()),
                }),
            }),
            Err(error) => {
                self.cannot_lock(place, origin, &error);
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
    pub(crate) fn of(file: File) -> Self {
        let open = Box::new(move || file.try_clone());
        Self { open }
    }

    /// Reads, changes and writes the numbers while no other process does, without waiting for one that is at it.
    pub(crate) fn change<T>(
        &self,
        change: impl FnOnce(Limits) -> (T, [u64; NUMBERS]),
    ) -> Result<T, Lack<T>> {
        let file = (self.open)().map_err(Lack::NotRead)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(Lack::Busy),
            Err(TryLockError::Error(error)) => return Err(Lack::NotRead(error)),
        }
        let result = change_locked(&file, change);
        // Closing would do, were there no child that was just forked and has the file open too.
        let _ = file.unlock();
        result
    }
}

fn change_locked<T>(
    file: &File,
    change: impl FnOnce(Limits) -> (T, [u64; NUMBERS]),
) -> Result<T, Lack<T>> {
    // One byte more than there may be: a longer file is none of ours.
    let mut bytes = [0; SIZE + 1];
    let read = read_up_to(file, &mut bytes).map_err(Lack::NotRead)?;
    let limits = match bytes.get(..read) {
        None | Some([]) => Limits::New,
        Some(bytes) => decode(bytes).map_or(Limits::Damaged, Limits::Known),
    };
    if limits == Limits::Damaged {
        file.set_len(0).map_err(Lack::NotRead)?;
    }
    let (value, numbers) = change(limits);
    match file.write_all_at(&encode(&numbers), 0) {
        Ok(()) => Ok(value),
        Err(error) => Err(Lack::NotWritten(value, error)),
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
