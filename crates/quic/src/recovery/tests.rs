//! Recovery on a simulated clock: a rig that sends and acknowledges, and a controller that only
//! records its calls.

mod acks;
mod bounds;
mod cost;
mod losses;
mod model;
mod paths;
mod timers;

use std::net::{IpAddr, Ipv4Addr};
use std::ops::RangeInclusive;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use super::{AckContext, Feedback, HandshakeProgress, Recovery};
use crate::congestion::{Acknowledged, Controller, Lost};
use crate::error::TransportError;
use crate::mtu::Mtu;
use crate::sent::{Chunk, SentFrame};
use crate::space::Space;
use crate::{Time, Transport};

const SIZE: u16 = 1000;
const RTT: Duration = Duration::from_millis(100);
const REMOTE: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);
const CONFIRMED: HandshakeProgress = HandshakeProgress {
    has_handshake_keys: true,
    is_complete: true,
    is_confirmed: true,
    is_peer_validated: true,
};

#[derive(Debug, Clone, PartialEq)]
enum Note {
    Sent { bytes: u64, before: u64 },
    Acked { bytes: u64, app_limited: bool },
    Lost { bytes: u64, persistent: bool },
    Marked,
    Spurious,
}

#[derive(Debug, Default)]
struct Spy {
    notes: Arc<Mutex<Vec<Note>>>,
}

impl Spy {
    fn note(&self, note: Note) {
        self.notes.lock().unwrap().push(note);
    }
}

impl Controller for Spy {
    fn on_sent(&mut self, _now: Time, bytes: u64, before: u64) {
        self.note(Note::Sent { bytes, before });
    }

    fn on_acknowledged(&mut self, told: &Acknowledged) {
        self.note(Note::Acked {
            bytes: told.bytes,
            app_limited: told.app_limited,
        });
    }

    fn on_lost(&mut self, lost: &Lost) {
        self.note(Note::Lost {
            bytes: lost.bytes,
            persistent: lost.persistent,
        });
    }

    fn on_marked(&mut self, _now: Time, _sent: Time) {
        self.note(Note::Marked);
    }

    fn on_spurious(&mut self) {
        self.note(Note::Spurious);
    }

    fn window(&self) -> u64 {
        20_000
    }

    fn pacing_rate(&self, _smoothed: Duration) -> u64 {
        u64::MAX
    }

    fn set_datagram(&mut self, _size: u16) {}

    fn is_slow_start(&self) -> bool {
        false
    }
}

/// A connection whose handshake is confirmed, unless a test changes that.
struct Rig {
    recovery: Recovery,
    progress: HandshakeProgress,
    now: Time,
    feedback: Feedback,
    notes: Arc<Mutex<Vec<Note>>>,
    /// How much of stream 0 has been sent.
    offset: u64,
}

impl Rig {
    fn new() -> Self {
        Self::with(&Transport {
            ecn: false,
            ..Transport::default()
        })
    }

    fn with(config: &Transport) -> Self {
        let mut recovery = Recovery::new(Time::ZERO, config, Mtu::new(config.datagram, REMOTE), 7);
        let spy = Spy::default();
        let notes = spy.notes.clone();
        recovery.controller = Box::new(spy);
        Self {
            recovery,
            progress: CONFIRMED,
            now: Time(1_000_000_000),
            feedback: Feedback::default(),
            notes,
            offset: 0,
        }
    }

    /// A rig with a first sample: packet 0 took `RTT`.
    fn sampled() -> Self {
        let mut rig = Self::new();
        rig.send(1);
        rig.wait(RTT);
        rig.ack(&[0..=0]);
        rig.notes();
        rig
    }

    fn wait(&mut self, span: Duration) {
        self.now = self.now.after(span);
    }

    /// Sends a burst of full packets of stream 0, in the Data space.
    fn send(&mut self, count: usize) {
        self.recovery.begin_burst(self.now);
        for _ in 0..count {
            let chunk = Chunk {
                slot: 0,
                offset: self.offset,
                length: u32::from(SIZE),
                fin: false,
            };
            self.offset += u64::from(SIZE);
            self.put(Space::Data, Some(chunk), &[], true);
        }
        self.recovery.end_burst();
    }

    /// Sends a burst of one packet with items.
    fn send_items(&mut self, space: Space, items: &[SentFrame], eliciting: bool) -> u64 {
        self.recovery.begin_burst(self.now);
        let number = self.put(space, None, items, eliciting);
        self.recovery.end_burst();
        number
    }

    fn put(
        &mut self,
        space: Space,
        chunk: Option<Chunk>,
        items: &[SentFrame],
        eliciting: bool,
    ) -> u64 {
        let number = self.recovery.next_number(space);
        let mut items = items.to_vec();
        self.recovery
            .on_sent(space, number, SIZE, chunk, &mut items, eliciting);
        assert!(items.is_empty());
        number
    }

    fn ack(&mut self, ranges: &[RangeInclusive<u64>]) {
        self.try_ack(Space::Data, ranges).unwrap();
    }

    /// The feedback contains only the results of this call.
    fn try_ack(
        &mut self,
        space: Space,
        ranges: &[RangeInclusive<u64>],
    ) -> Result<(), TransportError> {
        self.feedback.clear();
        let context = self.context(space, Duration::ZERO);
        let ranges = ranges.iter().cloned();
        self.recovery
            .on_ranges(&context, ranges, None, &mut self.feedback)
    }

    fn context(&self, space: Space, delay: Duration) -> AckContext {
        AckContext {
            now: self.now,
            space,
            delay,
            progress: self.progress,
        }
    }

    fn deadline(&self) -> Option<Time> {
        self.recovery.deadline(self.progress)
    }

    fn time_out(&mut self) -> super::Timeout {
        self.feedback.clear();
        self.recovery
            .on_timeout(self.now, self.progress, &mut self.feedback)
    }

    /// The controller's calls since the last time, except departures.
    fn notes(&mut self) -> Vec<Note> {
        let mut notes = std::mem::take(&mut *self.notes.lock().unwrap());
        notes.retain(|note| !matches!(note, Note::Sent { .. }));
        notes
    }
}

/// The run of stream 0 that begins at packet `rank` and is `packets` packets long.
fn run(rank: u64, packets: u32) -> Chunk {
    Chunk {
        slot: 0,
        offset: rank * u64::from(SIZE),
        length: packets * u32::from(SIZE),
        fin: false,
    }
}

fn lost(bytes: u64) -> Note {
    Note::Lost {
        bytes,
        persistent: false,
    }
}

fn acked(bytes: u64) -> Note {
    Note::Acked {
        bytes,
        app_limited: false,
    }
}

fn ms(count: u64) -> Duration {
    Duration::from_millis(count)
}
