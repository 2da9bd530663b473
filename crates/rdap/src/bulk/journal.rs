//! Records which queries of a list are finished, so that an interrupted run can continue.
//!
//! A journal is a file beside the output. A result is first written to the output and then recorded
//! in the journal, with the length of the output after it. If a run is killed, the bytes after the
//! last recorded length are an incomplete result: they are cut off, and the query is repeated. No
//! recorded query is repeated, and none is lost. Queries are positions here, and results are bytes;
//! the caller decides what they mean.

mod finished;
mod record;

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, BufReader, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use aws_lc_rs::digest::{Context, SHA256, digest};

use finished::Finished;
use record::{HEADER, Header, RECORD, Record};

/// The number of bytes that are buffered before they are written; [`Journal::flush`] writes them at
/// once.
const HELD_BACK: usize = 64 << 10;

/// The list and options that a journal belongs to: resuming another list would lose queries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Identity {
    /// The length of the list in bytes.
    length: u64,
    list: [u8; 32],
    settings: [u8; 32],
}

/// An output, and the journal of its results.
#[derive(Debug)]
pub struct Journal {
    /// The journal's file.
    log: Place,
    output: Place,
    finished: Finished,
    header: Header,
    /// The number of records, including buffered ones.
    count: u64,
    /// The end of the output, including buffered bytes.
    end: u64,
    results: Vec<u8>,
    records: Vec<u8>,
    /// A write failed: the content of the files is unknown until they are opened again.
    is_broken: bool,
}

#[derive(Debug)]
struct Place {
    file: File,
    path: PathBuf,
}

#[derive(Debug, thiserror::Error)]
pub enum JournalError {
    #[error("{what} {path} cannot be {done}", path = path.display())]
    File {
        what: &'static str,
        done: &'static str,
        path: PathBuf,
        source: io::Error,
    },
    #[error(
        "{path} is not a regular file, and cannot be truncated to the finished results\nchoose one file for the output and another for the journal",
        path = .0.display()
    )]
    NotAFile(PathBuf),
    #[error("{path} is both the output and the journal\nchoose two files", path = .0.display())]
    OneFile(PathBuf),
    #[error("another process uses {path}\nwait for it to end, or choose another journal", path = .0.display())]
    Busy(PathBuf),
    #[error("{path} is not a journal, and is left unchanged\nchoose another file", path = .0.display())]
    NotAJournal(PathBuf),
    #[error(
        "the journal {path} is damaged at record {record}, but valid records follow: it is not certain which results the output has\nremove it and the output to start again",
        path = path.display()
    )]
    Damaged { path: PathBuf, record: u64 },
    #[error(
        "the journal {path} is for another list\ngive the list that it was started with, or choose another journal and output",
        path = .0.display()
    )]
    OtherList(PathBuf),
    #[error(
        "the journal {path} was begun with other options, and its results have another format\ngive the same options, or choose another journal and output",
        path = .0.display()
    )]
    OtherSettings(PathBuf),
    #[error(
        "{path} has {length} bytes that the journal does not know, and is left unchanged\nremove it, or choose another output",
        path = path.display()
    )]
    OutputNotEmpty { path: PathBuf, length: u64 },
    #[error("query {0} is not in the list that the journal is about")]
    NotInTheList(u64),
}

impl Identity {
    /// Reads a list to its end. `settings` are the options that determine the format of results.
    pub fn from_list(list: &mut impl Read, settings: &str) -> io::Result<Self> {
        let mut context = Context::new(&SHA256);
        let mut length = 0;
        let mut buffer = vec![0; 64 << 10];
        loop {
            let read = match list.read(&mut buffer) {
                Ok(0) => break,
                Ok(read) => read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            context.update(buffer.get(..read).unwrap_or_default());
            length += read as u64;
        }
        let hash = |digest: &[u8]| digest.first_chunk().copied().unwrap_or_default();
        Ok(Self {
            length,
            list: hash(context.finish().as_ref()),
            settings: hash(digest(&SHA256, settings.as_bytes()).as_ref()),
        })
    }
}

impl Journal {
    /// Opens both files and continues where they end, or begins if both are empty.
    pub fn open(journal: &Path, output: &Path, identity: &Identity) -> Result<Self, JournalError> {
        let journal = Place::open("the journal", journal)?;
        let output = Place::open("the output", output)?;
        if journal.is_same(&output)? {
            return Err(JournalError::OneFile(output.path));
        }
        match journal.file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(JournalError::Busy(journal.path)),
            Err(TryLockError::Error(source)) => {
                return Err(journal.failed("the journal", "locked", source));
            }
        }
        let mut this = Self {
            log: journal,
            output,
            finished: Finished::default(),
            header: Header::new(identity),
            count: 0,
            end: 0,
            results: Vec::new(),
            records: Vec::new(),
            is_broken: false,
        };
        if this.has_begun()? {
            this.resume()?;
        } else {
            this.begin()?;
        }
        Ok(this)
    }

    /// Whether the result of the query at this position has been recorded.
    pub fn is_finished(&self, position: u64) -> bool {
        self.finished.has(position)
    }

    /// The number of finished queries.
    pub fn finished(&self) -> u64 {
        self.finished.count()
    }

    /// Adds a result. Once it is flushed, which also happens automatically, it can be neither lost
    /// nor repeated.
    pub fn finish(&mut self, position: u64, result: &[u8]) -> Result<(), JournalError> {
        if position >= self.header.most() {
            return Err(JournalError::NotInTheList(position));
        }
        if !self.finished.add(position) {
            return Ok(());
        }
        self.results.extend_from_slice(result);
        self.end += result.len() as u64;
        let record = Record {
            position,
            end: self.end,
        };
        self.records
            .extend_from_slice(&record.encode(&self.header, self.count));
        self.count += 1;
        if self.results.len() + self.records.len() >= HELD_BACK {
            self.flush()?;
        }
        Ok(())
    }

    /// Writes the buffers: first the results, then their records.
    pub fn flush(&mut self) -> Result<(), JournalError> {
        if self.records.is_empty() {
            return Ok(());
        }
        if self.is_broken {
            let source = io::Error::other("an earlier write failed");
            return Err(self.output.failed("the output", "written", source));
        }
        self.is_broken = true;
        let written = self.output.file.write_all(&self.results);
        written.map_err(|source| self.output.failed("the output", "written", source))?;
        let written = self.log.file.write_all(&self.records);
        written.map_err(|source| self.log.failed("the journal", "written", source))?;
        self.is_broken = false;
        self.results.clear();
        self.records.clear();
        Ok(())
    }

    /// Whether the journal has a complete header. A run that was killed while it wrote the header
    /// has not begun.
    fn has_begun(&mut self) -> Result<bool, JournalError> {
        let mut found = Vec::with_capacity(HEADER);
        let file = (&self.log.file).take(HEADER as u64);
        let read = BufReader::new(file).read_to_end(&mut found);
        read.map_err(|source| self.log.failed("the journal", "read", source))?;
        let path = || self.log.path.clone();
        if found.len() < HEADER {
            let is_ours = self.header.encode().starts_with(&found);
            return if is_ours {
                Ok(false)
            } else {
                Err(self.header.difference(&found, path()))
            };
        }
        if *found == self.header.encode() {
            Ok(true)
        } else {
            Err(self.header.difference(&found, path()))
        }
    }

    fn begin(&mut self) -> Result<(), JournalError> {
        let length = self.output.length()?;
        if length > 0 {
            let path = self.output.path.clone();
            return Err(JournalError::OutputNotEmpty { path, length });
        }
        self.log.cut(0)?;
        let written = self.log.file.write_all(&self.header.encode());
        written.map_err(|source| self.log.failed("the journal", "written", source))
    }

    fn resume(&mut self) -> Result<(), JournalError> {
        let length = self.output.length()?;
        let mut reader = BufReader::with_capacity(HELD_BACK, &self.log.file);
        let told = reader
            .seek(SeekFrom::Start(HEADER as u64))
            .and_then(|_| record::replay(&mut reader, &self.header, length));
        let told = told.map_err(|source| self.log.failed("the journal", "read", source))?;
        if told.is_damaged {
            return Err(JournalError::Damaged {
                path: self.log.path.clone(),
                record: told.count + 1,
            });
        }
        (self.finished, self.count, self.end) = (told.finished, told.count, told.end);
        self.log.cut(HEADER as u64 + self.count * RECORD as u64)?;
        self.output.cut(self.end)
    }
}

/// The number of queries that the records after a journal's header mark as finished, and the end of
/// the output at that point; `None` if they are damaged.
pub fn survey(records: &[u8], identity: &Identity, output: u64) -> Option<(u64, u64)> {
    let told = record::replay(&mut &*records, &Header::new(identity), output).ok()?;
    (!told.is_damaged).then(|| (told.finished.count(), told.end))
}

impl Drop for Journal {
    fn drop(&mut self) {
        // Errors are ignored; a caller that needs them calls `flush`.
        let _ = self.flush();
        // Closing the file would unlock it too, unless a child that was just forked still has it
        // open.
        let _ = self.log.file.unlock();
    }
}

impl Place {
    fn open(what: &'static str, path: &Path) -> Result<Self, JournalError> {
        // A pipe would block, and cannot be truncated.
        if std::fs::metadata(path).is_ok_and(|metadata| !metadata.is_file()) {
            return Err(JournalError::NotAFile(path.to_path_buf()));
        }
        let options = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(path);
        let file = options.map_err(|source| JournalError::File {
            what,
            done: "opened",
            path: path.to_path_buf(),
            source,
        })?;
        Ok(Self {
            file,
            path: path.to_path_buf(),
        })
    }

    fn is_same(&self, other: &Self) -> Result<bool, JournalError> {
        let identity = |place: &Self| {
            let metadata = place.file.metadata();
            metadata
                .map(|found| (found.dev(), found.ino()))
                .map_err(|source| place.failed("the file", "read", source))
        };
        Ok(identity(self)? == identity(other)?)
    }

    fn length(&self) -> Result<u64, JournalError> {
        let metadata = self.file.metadata();
        let metadata = metadata.map_err(|source| self.failed("the output", "read", source))?;
        Ok(metadata.len())
    }

    /// Truncates the file to `end`, and seeks there.
    fn cut(&mut self, end: u64) -> Result<(), JournalError> {
        let cut = self.file.set_len(end);
        let there = cut.and_then(|()| self.file.seek(SeekFrom::Start(end)));
        there
            .map(drop)
            .map_err(|source| self.failed("the file", "cut back", source))
    }

    fn failed(&self, what: &'static str, done: &'static str, source: io::Error) -> JournalError {
        JournalError::File {
            what,
            done,
            path: self.path.clone(),
            source,
        }
    }
}

#[cfg(test)]
mod tests;
