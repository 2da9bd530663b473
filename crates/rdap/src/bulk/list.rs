//! Lists of queries: arguments, files and standard input. They are read line by line during the
//! lookups, so that a list of a million takes no more memory than one of ten.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use tokio::sync::mpsc::{Receiver, Sender, channel};

/// The longest line in bytes. No query is longer: servers should accept URLs of 8,000 bytes (RFC
/// 9110 §4.1).
const MAX_LINE: u64 = 16 * 1024;
/// The number of lines that are read ahead of the lookups.
const MAX_LINES_AHEAD: usize = 1024;

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
pub fn read(mut parts: Vec<Part>) -> Receiver<Result<Line, ListError>> {
    let (send, receive) = channel(MAX_LINES_AHEAD);
    let mut place = 0;
    if let Some(Part::Words(words)) = parts.first_mut() {
        let here = words.len().min(MAX_LINES_AHEAD);
        for line in words
            .drain(..here)
            .filter_map(|word| line(&word, &mut place))
        {
            // The channel has room for these.
            let _ = send.try_send(Ok(line));
        }
    }
    std::thread::spawn(move || {
        for part in parts {
            if let Err(error) = read_part(part, &mut place, &send) {
                // If the receiver is gone, the error is of no interest.
                let _ = send.blocking_send(Err(error));
                return;
            }
        }
    });
    receive
}

type Lines = Sender<Result<Line, ListError>>;

fn read_part(part: Part, place: &mut u64, send: &Lines) -> Result<(), ListError> {
    match part {
        Part::Words(words) => {
            for word in words {
                tell(&word, place, send);
            }
            Ok(())
        }
        Part::File(path) => {
            let name = path.display().to_string();
            let file = File::open(&path).map_err(|e| ListError::Read(name.clone(), e))?;
            read_lines(BufReader::new(file), &name, place, send)
        }
        Part::Stdin => read_lines(io::stdin().lock(), "standard input", place, send),
    }
}

fn read_lines(
    mut from: impl BufRead,
    name: &str,
    place: &mut u64,
    send: &Lines,
) -> Result<(), ListError> {
    let mut bytes = Vec::new();
    for number in 1_u64.. {
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
        if !tell(text.trim_start_matches('\u{feff}'), place, send) {
            break;
        }
    }
    Ok(())
}

/// Sends a line if it contains a query; `false` if the receiver is gone.
fn tell(text: &str, place: &mut u64, send: &Lines) -> bool {
    line(text, place).is_none_or(|line| send.blocking_send(Ok(line)).is_ok())
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
                Ok(line) => found.push((line.place, line.text)),
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
}
