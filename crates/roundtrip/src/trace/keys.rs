//! Files with the secrets of TLS sessions. While a live capture is read, programs still add to
//! them.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::PathBuf;

use roundtrip_trace::Trace;

pub(super) struct KeyFiles {
    files: Vec<KeyFile>,
    /// A file may not exist yet, and may grow.
    is_live: bool,
}

struct KeyFile {
    path: PathBuf,
    /// The number of bytes that were read.
    read: u64,
    /// The length of a last line without an end, when the file was last looked at.
    begun: usize,
}

impl KeyFiles {
    pub(super) fn new(paths: &[PathBuf], is_live: bool) -> Self {
        let files = paths.iter().map(|path| KeyFile {
            path: path.clone(),
            read: 0,
            begun: 0,
        });
        Self {
            files: files.collect(),
            is_live,
        }
    }

    /// Adds all secrets that are there, for the first time or once more.
    pub(super) fn add_all(&mut self, trace: &mut Trace) -> Result<(), (PathBuf, io::Error)> {
        for file in &mut self.files {
            file.read = 0;
            match file.rest(self.is_live) {
                Ok(lines) => trace.add_keys(&lines),
                Err(error) if self.is_live && error.kind() == io::ErrorKind::NotFound => {
                    trace.add_keys(&[]);
                }
                Err(error) => return Err((file.path.clone(), error)),
            }
        }
        Ok(())
    }

    /// Adds what was written since, if a live capture is read. A file that cannot be read any more
    /// adds nothing.
    pub(super) fn add_new(&mut self, trace: &mut Trace) {
        for file in self.files.iter_mut().filter(|_| self.is_live) {
            if let Ok(lines) = file.rest(true)
                && !lines.is_empty()
            {
                trace.add_keys(&lines);
            }
        }
    }
}

impl KeyFile {
    /// What follows the bytes that were read. In a file that may grow, a last line without an end
    /// waits until it has not changed since.
    fn rest(&mut self, may_grow: bool) -> io::Result<Vec<u8>> {
        let mut file = File::open(&self.path)?;
        file.seek(SeekFrom::Start(self.read))?;
        let mut lines = Vec::new();
        file.read_to_end(&mut lines)?;
        let end = end_of_lines(&lines);
        let begun = lines.len() - end;
        if may_grow && std::mem::replace(&mut self.begun, begun) != begun {
            lines.truncate(end);
        }
        self.read += lines.len() as u64;
        Ok(lines)
    }
}

/// The position behind the last line feed.
fn end_of_lines(lines: &[u8]) -> usize {
    let last = lines.iter().rposition(|byte| *byte == b'\n');
    last.map_or(0, |last| last + 1)
}
