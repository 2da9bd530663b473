//! A recording of both ends of the path, as pcapng: each packet where it entered and where it left, with nanoseconds, and
//! comments that say what the path did to it. A trace with ground truth.
//!
//! The relay tells what happens as it happens; a thread of the recording's own puts it in order and writes it.

mod order;
mod writer;

use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::mpsc::{self, Sender};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use crate::direction::Direction;
use crate::packet::{Packet, Story};
use crate::syscall::time;

use writer::Writer;

/// An end of the path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    Client,
    Server,
}

impl End {
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

/// A packet seen at an end, on the path's clock.
#[derive(Debug)]
struct Sight {
    at: Duration,
    end: End,
    /// Whether it came out of the path there.
    leaves: bool,
    packet: Vec<u8>,
    comments: Vec<String>,
}

/// What the relay tells.
#[derive(Debug)]
enum Note {
    /// Until its fate is told, nothing later than its entry can be written.
    Entered { number: u64, at: Duration },
    Fate {
        number: Option<u64>,
        sights: Vec<Sight>,
    },
}

#[derive(Debug)]
pub(crate) struct Recording {
    /// Absent once it is closed.
    line: Option<Sender<Note>>,
    thread: Option<JoinHandle<io::Result<()>>>,
    entered: u64,
}

impl Recording {
    /// Begins a file; what was in it is lost.
    pub(crate) fn create(file: &Path) -> io::Result<Self> {
        let file = File::create(file)?;
        let writer = Writer::begin(file, time::epoch())?;
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

    /// A packet has entered; by the number, its fate will be told.
    pub(crate) fn entered(&mut self, at: Duration) -> u64 {
        self.entered += 1;
        let number = self.entered;
        self.tell(Note::Entered { number, at });
        number
    }

    pub(crate) fn lost(&self, packet: Packet, way: Direction, cause: &str) {
        let at = packet.arrived;
        let (_, story) = packet.into_parts();
        let Some(story) = story else { return };
        let fate = format!("lost: {cause}");
        let sights = entry(&story, way, at, fate).into_iter().collect();
        self.tell(Note::Fate {
            number: story.number,
            sights,
        });
    }

    /// A packet has left the path at `at`; it was `due` a little before.
    pub(crate) fn delivered(&self, packet: &Packet, way: Direction, due: Duration, at: Duration) {
        let Some(story) = packet.story() else { return };
        let ms = |time: Duration| time.as_secs_f64() * 1e3;
        let took = ms(at.saturating_sub(packet.arrived));
        let late = at.saturating_sub(due);
        let fate = format!("delivered after {took:.3} ms (late by {:.3} ms)", ms(late));
        let mut sights: Vec<Sight> = entry(story, way, packet.arrived, fate)
            .into_iter()
            .collect();
        sights.push(Sight {
            at,
            end: End::exit(way),
            leaves: true,
            packet: packet.ip().to_vec(),
            comments: story.remarks.clone(),
        });
        self.tell(Note::Fate {
            number: story.number,
            sights,
        });
    }

    /// Writes what is left, and says whether all of it went well.
    pub(crate) fn close(&mut self) -> io::Result<()> {
        self.line = None;
        match self.thread.take().map(JoinHandle::join) {
            Some(Ok(written)) => written,
            Some(Err(panic)) => std::panic::resume_unwind(panic),
            None => Ok(()),
        }
    }

    fn tell(&self, note: Note) {
        // A writer that has given up says so when it is closed.
        let _ = self.line.as_ref().map(|line| line.send(note));
    }
}

impl Drop for Recording {
    fn drop(&mut self) {
        // Whoever wants to know calls `close`.
        let _ = self.close();
    }
}

/// The packet as it entered; nothing for one that the path made.
fn entry(story: &Story, way: Direction, at: Duration, fate: String) -> Option<Sight> {
    let mut comments = story.remarks.clone();
    comments.push(fate);
    (!story.original.is_empty()).then(|| Sight {
        at,
        end: End::entrance(way),
        leaves: false,
        packet: story.original.clone(),
        comments,
    })
}
