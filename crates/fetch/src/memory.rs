//! The data that is kept from run to run: tickets and limits of each origin, answers with their
//! validators, and documents.
//!
//! It is a directory of small files that only the user can access. Each file is parsed strictly,
//! written completely and put in place by one rename. A file that cannot be parsed is set aside and
//! reported; a failure to write is reported once; in both cases, lookups continue. Answers have a
//! largest total size, and data about origins a largest number, size and age. The caller provides
//! the time and decides when to ask the network: see [`answers::Decision`].

pub mod answers;
mod authority;
mod codec;
mod directory;
pub mod documents;
mod error;
pub mod limits;
pub mod origin;
mod stamp;

use std::ffi::OsString;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};

pub use authority::Authority;
pub use error::MemoryError;
pub use stamp::Stamp;

use directory::Directory;
use roundtrip_wire::hex;
use rustix::io::Errno;

/// The largest total size in bytes; the oldest answers are removed first.
pub const DEFAULT_SIZE: u64 = 256 << 20;

/// The directory, or nothing if no data is kept.
#[derive(Debug, Default)]
pub struct Memory {
    root: Option<Directory>,
    origins: OnceLock<Option<Directory>>,
    documents: OnceLock<Option<Directory>>,
    answers: OnceLock<Option<answers::AnswerFiles>>,
    /// The number of origins that this process has added.
    count_added: AtomicU64,
    /// The largest total size of answers in bytes.
    size: u64,
    /// Writing has failed, and the reason has been reported: nothing more is written.
    is_full: AtomicBool,
    notes: Mutex<Vec<String>>,
    /// What the caller trusts, if not what the system trusts.
    trust: Option<String>,
}

impl Memory {
    /// Opens `directory`, and creates it if necessary. A directory that other users can write to is
    /// refused, because its content would be trusted. A directory that cannot be created or written
    /// is not an error: less is stored, and a note says so.
    pub fn open(directory: &Path, size: u64) -> Result<Self, MemoryError> {
        let mut memory = Self {
            size,
            ..Self::default()
        };
        match Directory::open(directory) {
            Ok(directory) => memory.root = Some(directory),
            Err(MemoryError::Unusable { path, source }) => memory.note(format!(
                "nothing is stored for later runs: {} cannot be used ({source}); choose another directory, or none",
                path.display()
            )),
            Err(refused) => return Err(refused),
        }
        Ok(memory)
    }

    /// Keeps answers and documents apart from those that were received with another trust in
    /// certificates: anyone could have sent them.
    #[must_use]
    pub fn apart(self, trust: &[u8; 32]) -> Self {
        let (start, _) = trust.split_at(8);
        Self {
            trust: Some(hex(start)),
            ..self
        }
    }

    /// Makes a memory that stores nothing.
    pub fn nowhere() -> Self {
        Self::default()
    }

    /// The usual place for the caches of `user` (XDG Base Directory Specification), from the values
    /// of `XDG_CACHE_HOME` and `HOME`.
    pub fn default_directory(
        user: &str,
        cache: Option<OsString>,
        home: Option<OsString>,
    ) -> Option<PathBuf> {
        // The specification requires that a relative path is ignored.
        let absolute = |path: OsString| Some(PathBuf::from(path)).filter(|path| path.is_absolute());
        let cache = cache.and_then(absolute);
        let cache = cache.or_else(|| Some(home.and_then(absolute)?.join(".cache")))?;
        Some(cache.join("roundtrip").join(user))
    }

    pub fn is_somewhere(&self) -> bool {
        self.root.is_some()
    }

    /// Notes for the user, each returned once; to be shown on stderr.
    pub fn notes(&self) -> Vec<String> {
        std::mem::take(&mut *self.notes.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Adds a note for the user, unless it is there already.
    pub fn note(&self, note: String) {
        // Bounds the memory if notes are never collected.
        const MAX_NOTES: usize = 32;
        let mut notes = self.notes.lock().unwrap_or_else(PoisonError::into_inner);
        if notes.len() < MAX_NOTES && !notes.contains(&note) {
            notes.push(note);
        }
    }

    fn origins(&self) -> Option<&Directory> {
        self.below(&self.origins, "origins")
    }

    fn documents(&self) -> Option<&Directory> {
        self.below(&self.documents, "registries")
    }

    /// A subdirectory, opened when it is first needed.
    fn below<'a>(
        &'a self,
        cell: &'a OnceLock<Option<Directory>>,
        name: &str,
    ) -> Option<&'a Directory> {
        let root = self.root.as_ref()?;
        let opened = cell.get_or_init(|| match root.below(name) {
            Ok(directory) => Some(directory),
            Err(error) => {
                self.cannot_write(root, &error);
                None
            }
        });
        opened.as_ref()
    }

    /// Reads and parses a file. One that cannot be parsed, or is not a regular file, is set aside.
    fn read<T>(
        &self,
        directory: &Directory,
        name: &str,
        limit: u64,
        read: impl FnOnce(&[u8]) -> Option<T>,
    ) -> Option<T> {
        let broken = match directory.read(name, limit) {
            Ok(None) => return None,
            Ok(Some(bytes)) => match read(&bytes) {
                Some(value) => return Some(value),
                None => "it is damaged, or another version wrote it".to_owned(),
            },
            Err(error) if may_pass(&error) => {
                let path = directory.shown(name);
                self.note(format!("{path} cannot be read now: {error}"));
                return None;
            }
            Err(error) => error.to_string(),
        };
        let what_now = match directory.set_aside(name) {
            Ok(aside) => format!("set aside as {aside}"),
            Err(error) => format!("it cannot be set aside ({error})"),
        };
        let path = directory.shown(name);
        self.note(format!("{path} was not used: {broken}; {what_now}"));
        None
    }

    fn is_full(&self) -> bool {
        self.is_full.load(Ordering::Relaxed)
    }

    /// Writes a file, unless writing has failed before.
    fn write(&self, directory: &Directory, name: &str, parts: &[&[u8]]) -> bool {
        if self.is_full() {
            return false;
        }
        match directory.replace(name, parts) {
            Ok(()) => true,
            Err(error) => {
                self.cannot_write(directory, &error);
                false
            }
        }
    }

    /// Notes that an origin's file cannot be locked. The reason may affect all files or only this
    /// one.
    fn cannot_lock(&self, directory: &Directory, origin: &Authority, error: &io::Error) {
        if matches!(
            error.kind(),
            ErrorKind::ReadOnlyFilesystem
                | ErrorKind::PermissionDenied
                | ErrorKind::StorageFull
                | ErrorKind::QuotaExceeded
        ) {
            self.cannot_write(directory, error);
        } else {
            self.note(format!(
                "data about {origin} is not stored for later runs, and its rate limit is not shared with other processes ({error})"
            ));
        }
    }

    fn cannot_write(&self, directory: &Directory, error: &io::Error) {
        if !self.is_full.swap(true, Ordering::Relaxed) {
            let path = directory.shown("");
            self.note(format!(
                "nothing is stored for later runs, and rate limits are not shared with other processes: {path} cannot be written ({error})"
            ));
        }
    }
}

/// Whether the error may be temporary, so that the file may be good.
fn may_pass(error: &io::Error) -> bool {
    let errno = Errno::from_io_error(error);
    matches!(
        errno,
        Some(
            Errno::MFILE
                | Errno::NFILE
                | Errno::NOMEM
                | Errno::IO
                | Errno::ACCESS
                | Errno::PERM
                | Errno::INTR
                | Errno::STALE
        )
    )
}

#[cfg(test)]
mod tests;
