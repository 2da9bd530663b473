//! Files with the secrets of TLS sessions. While a live capture is read, programs still add to
//! them.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::mem::replace;
use std::path::PathBuf;

use roundtrip_trace::Trace;

/// The number of bytes that are read at once.
const PIECE: u64 = 1 << 20;

pub(super) struct KeyFiles {
    files: Vec<KeyFile>,
    /// Whether the capture is live, so that a file may not exist yet, and may grow.
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

    /// Adds all secrets that the files contain. May be called again.
    pub(super) fn add_all(&mut self, trace: &mut Trace) -> Result<(), (PathBuf, io::Error)> {
        for file in &mut self.files {
            file.read = 0;
            match file.rest(self.is_live, trace) {
                Ok(()) => {}
                Err(error) if self.is_live && error.kind() == io::ErrorKind::NotFound => {
                    trace.add_keys(&[]);
                }
                Err(error) => return Err((file.path.clone(), error)),
            }
        }
        Ok(())
    }

    /// Adds the secrets that were written since the last call, if the capture is live. A file that
    /// cannot be read any more adds nothing.
    pub(super) fn add_new(&mut self, trace: &mut Trace) {
        for file in self.files.iter_mut().filter(|_| self.is_live) {
            let _ = file.rest(true, trace);
        }
    }
}

impl KeyFile {
    /// Adds what follows the bytes that were read. In a file that may grow, a last line without an
    /// end waits until it has not changed since.
    fn rest(&mut self, may_grow: bool, trace: &mut Trace) -> io::Result<()> {
        let mut file = File::open(&self.path)?;
        file.seek(SeekFrom::Start(self.read))?;
        let mut lines = Vec::new();
        loop {
            let room = PIECE - lines.len() as u64;
            let is_over = file.by_ref().take(room).read_to_end(&mut lines)? == 0;
            let mut end = end_of_lines(&lines);
            let begun = lines.len() - end;
            // No line is as long as a piece.
            let is_too_long = lines.len() as u64 == PIECE && end == 0;
            let is_last = is_over && !(may_grow && replace(&mut self.begun, begun) != begun);
            if is_too_long || is_last {
                end = lines.len();
            }
            if end > 0 || is_over {
                trace.add_keys(lines.get(..end).unwrap_or_default());
            }
            self.read += end as u64;
            lines.drain(..end);
            if is_over {
                return Ok(());
            }
        }
    }
}

/// The position behind the last line feed.
fn end_of_lines(lines: &[u8]) -> usize {
    let last = lines.iter().rposition(|byte| *byte == b'\n');
    last.map_or(0, |last| last + 1)
}
