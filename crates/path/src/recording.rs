//! Records both ends of the path as pcapng: each packet where it entered and where it left, with
//! nanosecond times and comments that describe the path's effects. The result is a trace with
//! ground truth.
//!
//! The relay reports events as they happen; a writer thread sorts them and writes them.

mod order;
mod writer;

use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::mpsc::{self, Sender};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use crate::direction::Direction;
use crate::packet::{Packet, PacketHistory};
use crate::syscall::time;

use writer::RecordingWriter;

/// An end of the path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PathEnd {
    Client,
    Server,
}

impl PathEnd {
    fn entrance(way: Direction) -> Self {
        match way {
            Direction::Up => Self::Client,
            Direction::Down => Self::Server,
        }
    }

    fn exit(way: Direction) -> Self {
        Self::entrance(way.opposite())
    }
}

/// A packet seen at one end, on the path's clock.
#[derive(Debug)]
struct PacketSight {
    at: Duration,
    end: PathEnd,
    /// Whether the packet left the path at this end.
    leaves: bool,
    packet: Vec<u8>,
    comments: Vec<String>,
}

/// The reports of the relay.
#[derive(Debug)]
enum RecordingEvent {
    /// A packet entered. Nothing later than `at` can be written until the fate of this packet is
    /// known.
    Entered { number: u64, at: Duration },
    Fate {
        number: Option<u64>,
        sights: Vec<PacketSight>,
    },
}

#[derive(Debug)]
pub(crate) struct Recording {
    /// The channel to the writer; `None` once the recording is closed.
    line: Option<Sender<RecordingEvent>>,
    thread: Option<JoinHandle<io::Result<()>>>,
    entered: u64,
}

impl Recording {
    /// Creates the file; an existing one is overwritten.
    pub(crate) fn create(file: &Path) -> io::Result<Self> {
        let file = File::create(file)?;
        let writer = RecordingWriter::begin(file, time::epoch())?;
        let (line, notes) = mpsc::channel();
        let thread = thread::Builder::new()
            .name("path-recording".into())
            .spawn(move || writer.write_all(&notes))?;
        Ok(Self {
            line: Some(line),
            thread: Some(thread),
            entered: 0,
        })
    }

    /// Records that a packet has entered. Its fate will be reported under the returned number.
    pub(crate) fn entered(&mut self, at: Duration) -> u64 {
        self.entered += 1;
        let number = self.entered;
        self.tell(RecordingEvent::Entered { number, at });
        number
    }

    pub(crate) fn lost(&self, packet: Packet, way: Direction, cause: &str) {
        let at = packet.arrived;
        let (_, story) = packet.into_parts();
        let Some(story) = story else { return };
        let fate = format!("lost: {cause}");
        let sights = entry(&story, way, at, fate).into_iter().collect();
        self.tell(RecordingEvent::Fate {
            number: story.number,
            sights,
        });
    }

    /// Records that a packet left the path at `at`; it was `due` a little before.
    pub(crate) fn delivered(&self, packet: &Packet, way: Direction, due: Duration, at: Duration) {
        let Some(story) = packet.story() else { return };
        let ms = |time: Duration| time.as_secs_f64() * 1e3;
        let took = ms(at.saturating_sub(packet.arrived));
        let late = at.saturating_sub(due);
        let fate = format!("delivered after {took:.3} ms (late by {:.3} ms)", ms(late));
        let mut sights: Vec<PacketSight> = entry(story, way, packet.arrived, fate)
            .into_iter()
            .collect();
        sights.push(PacketSight {
            at,
            end: PathEnd::exit(way),
            leaves: true,
            packet: packet.ip().to_vec(),
            comments: story.remarks.clone(),
        });
        self.tell(RecordingEvent::Fate {
            number: story.number,
            sights,
        });
    }

    /// Writes the rest, and returns the first error.
    pub(crate) fn close(&mut self) -> io::Result<()> {
        self.line = None;
        match self.thread.take().map(JoinHandle::join) {
            Some(Ok(written)) => written,
            Some(Err(panic)) => std::panic::resume_unwind(panic),
            None => Ok(()),
        }
    }

    fn tell(&self, note: RecordingEvent) {
        // A writer that has failed reports that when it is closed.
        let _ = self.line.as_ref().map(|line| line.send(note));
    }
}

impl Drop for Recording {
    fn drop(&mut self) {
        // Callers who want the result call `close`.
        let _ = self.close();
    }
}

/// The packet as it entered; `None` for a packet that the path made.
fn entry(story: &PacketHistory, way: Direction, at: Duration, fate: String) -> Option<PacketSight> {
    let mut comments = story.remarks.clone();
    comments.push(fate);
    (!story.original.is_empty()).then(|| PacketSight {
        at,
        end: PathEnd::entrance(way),
        leaves: false,
        packet: story.original.clone(),
        comments,
    })
}
