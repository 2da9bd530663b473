//! Where a capture comes from: a file or a pipe, plain or compressed.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::os::unix::fs::FileTypeExt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

use flate2::bufread::MultiGzDecoder;
use roundtrip_wire::capture::{CaptureItem, CaptureReader};

/// The number of bytes that are read at once.
const PIECE: usize = 1 << 20;
/// How many pieces of a pipe are read ahead.
const PIECES: usize = 4;
/// How often a wait for a pipe is interrupted to check whether it should stop.
const STOP_INTERVAL: Duration = Duration::from_millis(50);
/// The number of bytes that suffice to distinguish a capture from a log.
const FRONT: usize = 64;
const GZIP: [u8; 2] = [0x1f, 0x8b];

/// Whether this is standard input or another pipe, which can be read only once.
pub(super) fn is_pipe(path: &Path) -> bool {
    let is_fifo = || {
        path.metadata()
            .is_ok_and(|known| known.file_type().is_fifo())
    };
    path == Path::new("-") || is_fifo()
}

pub(super) struct CaptureSource {
    from: BufReader<Box<dyn Read>>,
    reader: CaptureReader,
    /// The number of bytes read, and the length of the file if it has one.
    read: Arc<AtomicU64>,
    length: Option<u64>,
    /// When something last arrived.
    heard: Instant,
    has_packets: bool,
    /// Secrets came after the first packet.
    has_late_secrets: bool,
}

impl CaptureSource {
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        let file = File::open(path)?;
        let known = file.metadata()?;
        let length = known.is_file().then_some(known.len());
        Self::from_reader(Box::new(file), length)
    }

    /// A pipe, which ends as soon as `stop` is set.
    pub(super) fn pipe(path: &Path, stop: &Arc<AtomicBool>) -> io::Result<Self> {
        let from: Box<dyn Read + Send> = if path == Path::new("-") {
            Box::new(io::stdin())
        } else {
            Box::new(File::open(path)?)
        };
        Self::from_reader(Box::new(Piped::new(from, stop.clone())), None)
    }

    fn from_reader(file: Box<dyn Read>, length: Option<u64>) -> io::Result<Self> {
        let read = Arc::new(AtomicU64::new(0));
        let counting = CountingReader {
            from: file,
            read: read.clone(),
        };
        let mut front = BufReader::with_capacity(PIECE, counting);
        let is_gzip = front_of(&mut front)?.starts_with(&GZIP);
        let from: Box<dyn Read> = if is_gzip {
            Box::new(MultiGzDecoder::new(front))
        } else {
            Box::new(front)
        };
        Ok(Self {
            // Large reads bypass this buffer.
            from: BufReader::with_capacity(FRONT, from),
            reader: CaptureReader::new(),
            read,
            length,
            heard: Instant::now(),
            has_packets: false,
            has_late_secrets: false,
        })
    }

    /// Whether the source begins like a capture, or like no known format: in any case not like a
    /// log.
    pub(super) fn is_capture(&mut self) -> io::Result<bool> {
        let front = front_of(&mut self.from)?;
        Ok(CaptureReader::recognises(front) || !begins_like_text(front))
    }

    /// The whole content, up to a limit.
    pub(super) fn whole(mut self, limit: u64) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        self.from.by_ref().take(limit + 1).read_to_end(&mut bytes)?;
        if bytes.len() as u64 > limit {
            let error = format!("it has more than {} MiB", limit >> 20);
            return Err(io::Error::new(io::ErrorKind::FileTooLarge, error));
        }
        Ok(bytes)
    }

    /// Reads one piece, and passes its packets and secrets on in order. Returns whether there may
    /// be more.
    pub(super) fn read(&mut self, take: &mut dyn FnMut(CaptureItem<'_>)) -> io::Result<bool> {
        let more = self.fill()?;
        self.items(take)?;
        Ok(more)
    }

    /// Reads one piece. Returns whether there may be more.
    pub(super) fn fill(&mut self) -> io::Result<bool> {
        let count = match self.from.read(self.reader.room(PIECE)) {
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => return Ok(true),
            Err(error) => return Err(error),
        };
        self.reader.filled(count);
        if count > 0 {
            self.heard = Instant::now();
        }
        Ok(count > 0)
    }

    /// Passes on the items in what was read.
    pub(super) fn items(&mut self, take: &mut dyn FnMut(CaptureItem<'_>)) -> io::Result<()> {
        loop {
            match self.reader.item() {
                Ok(Some(item)) => {
                    match &item {
                        CaptureItem::Packet(_) => self.has_packets = true,
                        CaptureItem::Secrets(_) => self.has_late_secrets |= self.has_packets,
                        CaptureItem::Interface(_) => {}
                    }
                    take(item);
                }
                Ok(None) => return Ok(()),
                Err(error) => return Err(io::Error::new(io::ErrorKind::InvalidData, error)),
            }
        }
    }

    /// How long nothing has arrived.
    pub(super) fn silence(&self) -> Duration {
        self.heard.elapsed()
    }

    /// Whether secrets came after packets, so that connections before them were not opened.
    pub(super) fn has_late_secrets(&self) -> bool {
        self.has_late_secrets
    }

    pub(super) fn damaged(&self) -> u64 {
        self.reader.damaged()
    }

    pub(super) fn left_over(&self) -> usize {
        self.reader.left_over()
    }

    /// Describes how much has been read, and how long the rest may take.
    pub(super) fn progress(&self, packets: u64, took: Duration) -> String {
        let read = self.read.load(Ordering::Relaxed);
        let Some(length) = self.length.filter(|length| *length > 0) else {
            return format!("… {packets} packets; Ctrl-C shows what is known");
        };
        let share = read as f64 / length as f64;
        let left = took.as_secs_f64() * (1.0 / share.max(0.001) - 1.0);
        format!(
            "… {:.0} %, {packets} packets, about {left:.0} s to go",
            100.0 * share
        )
    }
}

/// The character before each record of a JSON text sequence. RFC 7464 §2.2.
const RECORD: u8 = 0x1e;

fn begins_like_text(front: &[u8]) -> bool {
    let is_text =
        |byte: &u8| matches!(*byte, RECORD | b'\t' | b'\n' | b'\r' | b' '..=b'~' | 0x80..);
    !front.is_empty() && front.iter().all(is_text)
}

/// The beginning of what will be read, however long it takes to come.
fn front_of(from: &mut impl BufRead) -> io::Result<&[u8]> {
    while let Err(error) = from.fill_buf() {
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
    from.fill_buf()
}

/// A pipe that another thread reads: a signal does not interrupt the read of a pipe.
struct Piped {
    pieces: Receiver<io::Result<Vec<u8>>>,
    /// The present piece, and how much of it was read.
    piece: Vec<u8>,
    at: usize,
    stop: Arc<AtomicBool>,
}

impl Piped {
    fn new(mut from: Box<dyn Read + Send>, stop: Arc<AtomicBool>) -> Self {
        let (sender, pieces) = sync_channel(PIECES);
        // The thread ends with the process, or when its receiver is dropped.
        thread::spawn(move || {
            loop {
                let mut piece = vec![0; PIECE];
                let read = match from.read(&mut piece) {
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                    Ok(0) => return,
                    read => read,
                };
                let read = read.map(|count| {
                    piece.truncate(count);
                    piece
                });
                let is_over = read.is_err();
                if sender.send(read).is_err() || is_over {
                    return;
                }
            }
        });
        Self {
            pieces,
            piece: Vec::new(),
            at: 0,
            stop,
        }
    }
}

impl Read for Piped {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.at == self.piece.len() {
            if self.stop.load(Ordering::Relaxed) {
                return Ok(0);
            }
            match self.pieces.recv_timeout(STOP_INTERVAL) {
                Ok(piece) => (self.piece, self.at) = (piece?, 0),
                Err(RecvTimeoutError::Timeout) => {
                    return Err(io::ErrorKind::Interrupted.into());
                }
                Err(RecvTimeoutError::Disconnected) => return Ok(0),
            }
        }
        let mut left = self.piece.get(self.at..).unwrap_or_default();
        let count = left.read(buffer)?;
        self.at += count;
        Ok(count)
    }
}

/// Counts the bytes that were read from the file itself.
struct CountingReader {
    from: Box<dyn Read>,
    read: Arc<AtomicU64>,
}

impl Read for CountingReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.from.read(buffer)?;
        self.read.fetch_add(count as u64, Ordering::Relaxed);
        Ok(count)
    }
}
