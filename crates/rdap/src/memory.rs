//! What is remembered from run to run: tickets and limits of each origin, answers and their validators, registries.
//!
//! One directory, the user's alone, of small files: each is read strictly, written whole and put in place by one rename.
//! What cannot be read is set aside and told, what cannot be written is told once; neither stops a lookup. Which clock
//! the times come from is the caller's business, and so is when to ask the network: see [`answers::Decision`].

pub mod answers;
mod authority;
mod codec;
mod error;
pub mod limits;
pub mod origin;
mod place;
pub mod registries;
mod stamp;

use std::ffi::OsString;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};

pub use authority::Authority;
pub use error::MemoryError;
pub use stamp::Stamp;

use place::Place;

/// Everything together, in bytes; the oldest answers go first.
pub const DEFAULT_SIZE: u64 = 256 << 20;

/// The remembered, or nowhere to remember.
#[derive(Debug, Default)]
pub struct Memory {
    root: Option<Place>,
    origins: OnceLock<Option<Place>>,
    registries: OnceLock<Option<Place>>,
    answers: OnceLock<Option<answers::Shelf>>,
    /// Bytes of answers.
    size: u64,
    /// Nothing is written any more, and why was told.
    is_full: AtomicBool,
    notes: Mutex<Vec<String>>,
}

impl Memory {
    /// Opens `directory`, and makes it if it is not there. One that others may write to is refused: what they put there
    /// would be believed. One that cannot be made or written is no error: then less is remembered, and a note says so.
    pub fn open(directory: &Path, size: u64) -> Result<Self, MemoryError> {
        let mut memory = Self {
            size,
            ..Self::default()
        };
        match Place::open(directory) {
            Ok(place) => memory.root = Some(place),
            Err(MemoryError::Unusable { path, source }) => memory.note(format!(
                "nothing is remembered: {} cannot be used ({source}); name another directory, or none",
                path.display()
            )),
            Err(refused) => return Err(refused),
        }
        Ok(memory)
    }

    /// Remembers nothing.
    pub fn nowhere() -> Self {
        Self::default()
    }

    /// Where caches of programs go (XDG Base Directory Specification), from the values of `XDG_CACHE_HOME` and `HOME`.
    pub fn default_directory(cache: Option<OsString>, home: Option<OsString>) -> Option<PathBuf> {
        // A relative path is to be ignored, says the specification.
        let absolute = |path: OsString| Some(PathBuf::from(path)).filter(|path| path.is_absolute());
        let cache = cache.and_then(absolute);
        let cache = cache.or_else(|| Some(home.and_then(absolute)?.join(".cache")))?;
        Some(cache.join("roundtrip").join("rdap"))
    }

    pub fn is_somewhere(&self) -> bool {
        self.root.is_some()
    }

    /// What people should know, each thing once; to be shown on stderr.
    pub fn notes(&self) -> Vec<String> {
        std::mem::take(&mut *self.notes.lock().unwrap_or_else(PoisonError::into_inner))
    }

    pub(crate) fn note(&self, note: String) {
        // Who never asks for notes must not pay for them.
        const MOST: usize = 32;
        let mut notes = self.notes.lock().unwrap_or_else(PoisonError::into_inner);
        if notes.len() < MOST && !notes.contains(&note) {
            notes.push(note);
        }
    }

    fn origins(&self) -> Option<&Place> {
        self.below(&self.origins, "origins")
    }

    fn registries(&self) -> Option<&Place> {
        self.below(&self.registries, "registries")
    }

    /// A directory of ours, opened when it is first needed.
    fn below<'a>(&'a self, cell: &'a OnceLock<Option<Place>>, name: &str) -> Option<&'a Place> {
        let root = self.root.as_ref()?;
        let opened = cell.get_or_init(|| match root.below(name) {
            Ok(place) => Some(place),
            Err(error) => {
                self.cannot_write(root, &error);
                None
            }
        });
        opened.as_ref()
    }

    /// Reads a file and makes sense of it. One that makes none is set aside.
    fn read<T>(
        &self,
        place: &Place,
        name: &str,
        limit: u64,
        read: impl FnOnce(&[u8]) -> Option<T>,
    ) -> Option<T> {
        let broken = match place.read(name, limit) {
            Ok(None) => return None,
            Ok(Some(bytes)) => match read(&bytes) {
                Some(value) => return Some(value),
                None => "it is damaged, or another version wrote it".to_owned(),
            },
            Err(error) => error.to_string(),
        };
        let what_now = match place.set_aside(name) {
            Ok(aside) => format!("set aside as {aside}"),
            Err(error) => format!("and it cannot be set aside ({error})"),
        };
        let path = place.shown(name);
        self.note(format!("{path} was not used: {broken}; {what_now}"));
        None
    }

    fn is_full(&self) -> bool {
        self.is_full.load(Ordering::Relaxed)
    }

    /// Puts a file in place, unless writing has failed before.
    fn write(&self, place: &Place, name: &str, parts: &[&[u8]]) -> bool {
        if self.is_full() {
            return false;
        }
        match place.replace(name, parts) {
            Ok(()) => true,
            Err(error) => {
                self.cannot_write(place, &error);
                false
            }
        }
    }

    /// A file of an origin cannot be had: for a reason that all files share, or for its own.
    fn cannot_lock(&self, place: &Place, origin: &Authority, error: &io::Error) {
        if matches!(
            error.kind(),
            ErrorKind::ReadOnlyFilesystem
                | ErrorKind::PermissionDenied
                | ErrorKind::StorageFull
                | ErrorKind::QuotaExceeded
        ) {
            self.cannot_write(place, error);
        } else {
            self.note(format!(
                "what is learnt of {origin} is not remembered, and how often it is asked is not shared ({error})"
            ));
        }
    }

    fn cannot_write(&self, place: &Place, error: &io::Error) {
        if !self.is_full.swap(true, Ordering::Relaxed) {
            let path = place.shown("");
            self.note(format!(
                "what this run learns is not remembered, and how often servers are asked is not shared: {path} cannot be written ({error})"
            ));
        }
    }
}

#[cfg(test)]
mod tests;
