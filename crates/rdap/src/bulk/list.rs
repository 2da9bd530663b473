//! Lists of queries: arguments, files and standard input. They are read line by line during the
//! lookups, so that a list of a million takes no more memory than one of ten.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use tokio::sync::mpsc::{Receiver, Sender, channel};

/// The longest line in bytes. No query is longer: servers should accept URLs of 8,000 bytes (RFC
/// 9110 §4.1).
const MAX_LINE: u64 = 16 * 1024;
/// The largest number of lines that are passed on together.
const MAX_BATCH: usize = 256;
/// The number of batches that are read ahead of the lookups.
const MAX_BATCHES_AHEAD: usize = 4;

/// The lines of a list, in batches. Lines that are available together come together, so that their
/// queries can leave together: on a new connection, only the first ones travel in its first packet.
pub type Lines = Receiver<Result<Vec<Line>, ListError>>;

/// One query of the list, and its position.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    /// Counted from 0; lines without a query are not counted.
    pub place: u64,
    pub text: String,
}

#[derive(Debug, thiserror::Error)]
pub enum ListError {
    #[error("cannot read {0}: {1}")]
    Read(String, #[source] io::Error),
    #[error("{0}, line {1}: not UTF-8; convert the list first")]
    NotText(String, u64),
    #[error("{0}, line {1}: longer than {MAX_LINE} bytes; give one query per line")]
    TooLong(String, u64),
}

/// A part of the list.
#[derive(Debug, Clone)]
pub enum Part {
    Words(Vec<String>),
    File(PathBuf),
    Stdin,
}

impl Part {
    /// A file; `-` is standard input.
    pub fn file(path: &Path) -> Self {
        if path.as_os_str() == "-" {
            Self::Stdin
        } else {
            Self::File(path.to_owned())
        }
    }
}

/// Reads the parts one after another on a separate thread: reading from a pipe can block, and
/// connections must not wait for it. Words given first are available at once. Input that cannot be
/// read ends the list, after everything before it.
pub fn read(mut parts: Vec<Part>) -> Lines {
    let (send, receive) = channel(MAX_BATCHES_AHEAD);
    let mut batch = Batch::new(send);
    if let Some(Part::Words(words)) = parts.first_mut() {
        let here = words.len().min(MAX_BATCH);
        for word in words.drain(..here) {
            batch.take(&word);
        }
        batch.begin();
    }
    std::thread::spawn(move || {
        for part in parts {
            if let Err(error) = read_part(part, &mut batch) {
                batch.fail(error);
                return;
            }
        }
        batch.pass_on();
    });
    receive
}

/// Lines that are passed on together.
struct Batch {
    lines: Vec<Line>,
    place: u64,
    send: Sender<Result<Vec<Line>, ListError>>,
}

impl Batch {
    fn new(send: Sender<Result<Vec<Line>, ListError>>) -> Self {
        let (lines, place) = (Vec::new(), 0);
        Self { lines, place, send }
    }

    /// Adds the query in a text, if there is one.
    fn take(&mut self, text: &str) {
        self.lines.extend(line(text, &mut self.place));
    }

    fn is_full(&self) -> bool {
        self.lines.len() >= MAX_BATCH
    }

    /// Passes on the first lines, without waiting.
    fn begin(&mut self) {
        let lines = std::mem::take(&mut self.lines);
        // The channel has room for them.
        let _ = self.send.try_send(Ok(lines));
    }

    /// Returns `false` if the receiver has been dropped.
    fn pass_on(&mut self) -> bool {
        let lines = std::mem::take(&mut self.lines);
        lines.is_empty() || self.send.blocking_send(Ok(lines)).is_ok()
    }

    /// Ends the list after the lines before the error.
    fn fail(&mut self, error: ListError) {
        if self.pass_on() {
            // If the receiver has been dropped, nothing needs the error.
            let _ = self.send.blocking_send(Err(error));
        }
    }
}

fn read_part(part: Part, batch: &mut Batch) -> Result<(), ListError> {
    match part {
        Part::Words(words) => {
            for word in words {
                batch.take(&word);
                if batch.is_full() && !batch.pass_on() {
                    break;
                }
            }
            Ok(())
        }
        Part::File(path) => {
            let name = path.display().to_string();
            let file = File::open(&path).map_err(|e| ListError::Read(name.clone(), e))?;
            read_lines(BufReader::new(file), &name, batch)
        }
        Part::Stdin => read_lines(BufReader::new(io::stdin().lock()), "standard input", batch),
    }
}

fn read_lines(
    mut from: BufReader<impl Read>,
    name: &str,
    batch: &mut Batch,
) -> Result<(), ListError> {
    let mut bytes = Vec::new();
    for number in 1_u64.. {
        // The next line can be long in coming.
        let is_there = from.buffer().contains(&b'\n');
        if (!is_there || batch.is_full()) && !batch.pass_on() {
            break;
        }
        bytes.clear();
        let mut bounded = from.by_ref().take(MAX_LINE + 1);
        let read = bounded.read_until(b'\n', &mut bytes);
        let read = read.map_err(|e| ListError::Read(name.to_owned(), e))?;
        if read == 0 {
            break;
        }
        if read as u64 > MAX_LINE {
            return Err(ListError::TooLong(name.to_owned(), number));
        }
        let text = std::str::from_utf8(&bytes);
        let text = text.map_err(|_| ListError::NotText(name.to_owned(), number))?;
        batch.take(text.trim_start_matches('\u{feff}'));
    }
    Ok(())
}

/// Whether a text contains a query, and not only blanks or a comment.
pub fn holds_query(text: &str) -> bool {
    line(text, &mut 0).is_some()
}

/// The query in a line, if there is one.
fn line(text: &str, place: &mut u64) -> Option<Line> {
    // A `#` inside a word belongs to the word, as in a URL.
    let text = text.trim();
    let comment = text.find(" #").or_else(|| text.find("\t#"));
    let text = text.get(..comment.unwrap_or(text.len())).unwrap_or(text);
    let text = text.trim_end();
    if text.is_empty() || text.starts_with('#') {
        return None;
    }
    let line = Line {
        place: *place,
        text: text.to_owned(),
    };
    *place += 1;
    Some(line)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(parts: Vec<Part>) -> (Vec<(u64, String)>, Option<ListError>) {
        let mut lines = read(parts);
        let mut found = Vec::new();
        while let Some(line) = lines.blocking_recv() {
            match line {
                Ok(batch) => {
                    let lines = batch.into_iter();
                    found.extend(lines.map(|line| (line.place, line.text)));
                }
                Err(error) => return (found, Some(error)),
            }
        }
        (found, None)
    }

    fn file(bytes: &[u8]) -> tempfile::NamedTempFile {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), bytes).unwrap();
        file
    }

    #[test]
    fn comments_and_blank_lines_are_not_queries() {
        let file = file(
            "\u{feff}a.example\r\n\n# none\n  b.example # why\nhttps://x.example/#f".as_bytes(),
        );
        let words = Part::Words(vec!["first".into(), " ".into()]);
        let (found, error) = all(vec![words, Part::file(file.path())]);
        assert!(error.is_none());
        let texts: Vec<&str> = found.iter().map(|(_, text)| text.as_str()).collect();
        assert_eq!(
            texts,
            ["first", "a.example", "b.example", "https://x.example/#f"]
        );
        let places: Vec<u64> = found.iter().map(|(place, _)| *place).collect();
        assert_eq!(places, [0, 1, 2, 3]);
    }

    #[test]
    fn an_unreadable_line_is_reported_after_earlier_ones() {
        let bad = file(b"a.example\nb\xff\n");
        let (found, error) = all(vec![Part::file(bad.path())]);
        assert_eq!(found.len(), 1);
        assert!(matches!(error, Some(ListError::NotText(_, 2))));
        let long = file(&vec![b'a'; 20_000]);
        assert!(matches!(
            all(vec![Part::file(long.path())]).1,
            Some(ListError::TooLong(_, 1))
        ));
        let none = Part::File("/nonexistent/list".into());
        assert!(matches!(all(vec![none]).1, Some(ListError::Read(..))));
    }

    #[test]
    fn lines_that_are_there_together_come_together() {
        let lines: String = (0..600).map(|n| format!("n{n}.example\n")).collect();
        let file = file(lines.as_bytes());
        let mut lines = read(vec![Part::file(file.path())]);
        let mut sizes = Vec::new();
        while let Some(batch) = lines.blocking_recv() {
            sizes.push(batch.unwrap().len());
        }
        assert_eq!(sizes, [256, 256, 88]);
        let (read_end, mut write_end) = io::pipe().unwrap();
        let (send, mut receive) = channel(MAX_BATCHES_AHEAD);
        io::Write::write_all(&mut write_end, b"a\nb\nc\n").unwrap();
        let reading = std::thread::spawn(move || {
            let mut batch = Batch::new(send);
            read_lines(BufReader::new(read_end), "a pipe", &mut batch)
        });
        // Nothing waits for the end of the pipe.
        assert_eq!(receive.blocking_recv().unwrap().unwrap().len(), 3);
        drop(write_end);
        reading.join().unwrap().unwrap();
    }
}
