//! The relay's loop: fetch frames that have arrived, perform the steps that are due, sleep until
//! there is more to do.
//!
//! The time of a packet begins with the kernel's timestamp of its arrival, so neither a late
//! wake-up of this thread nor a preceding burst adds to a delay. The thread sleeps until shortly
//! before the next step is due and spins for the rest.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::RelayConfig;
use super::density::Density;
use super::margin::Margin;
use super::tap::Tap;
use crate::counters::DirectionLedger;
use crate::course::{Course, CourseOutput, DepartingPacket};
use crate::direction::{Direction, PerWay};
use crate::frame::{self, HEADERS};
use crate::packet::Packet;
use crate::recording::Recording;
use crate::side::{CLIENT, SERVER};
use crate::syscall::packet::{BATCH, FrameArrival};
use crate::syscall::{child, time};

/// The largest number of bytes in transit: 10 Gbit/s for 100 ms.
const MAX_HELD_BYTES: usize = 128 << 20;

/// The longest frame that a packet socket delivers, in bytes: a super-segment with its headers.
const MAX_FRAME: usize = HEADERS + 65_536;

/// The shortest pause: in dense traffic, steps that are closer together are done together.
const MIN_PAUSE: Duration = Duration::from_micros(50);

/// The number of buffers that are kept for reuse.
const MAX_SPARE_BUFFERS: usize = 4096;

pub(super) struct RelayLoop {
    course: Course,
    mtu: u16,
    /// The source of packets in each direction.
    from: PerWay<Arc<Tap>>,
    to: PerWay<Arc<Tap>>,
    stop: Arc<OwnedFd>,
    ledgers: Arc<Mutex<PerWay<DirectionLedger>>>,
    margin: Margin,
    tempo: Density,
    /// When the last packet of each direction arrived.
    latest: PerWay<Duration>,
    recording: Option<Recording>,
    out: CourseOutput,
    /// Receive buffers, each of the maximum length.
    buffers: Vec<Vec<u8>>,
    longest: usize,
    spare: Vec<Vec<u8>>,
}

impl RelayLoop {
    pub(super) fn new(
        plan: RelayConfig,
        taps: [Tap; 2],
        stop: Arc<OwnedFd>,
        ledgers: Arc<Mutex<PerWay<DirectionLedger>>>,
    ) -> Self {
        let [client, server] = taps.map(Arc::new);
        // Room for one byte more than the MTU, to detect frames that are too long.
        let longest = if plan.offload {
            MAX_FRAME
        } else {
            HEADERS + usize::from(plan.mtu) + 1
        };
        Self {
            course: plan.course,
            mtu: plan.mtu,
            from: PerWay {
                up: Arc::clone(&client),
                down: Arc::clone(&server),
            },
            to: PerWay {
                up: server,
                down: client,
            },
            stop,
            ledgers,
            margin: Margin::default(),
            tempo: Density::new(plan.least_delay),
            latest: PerWay::default(),
            recording: plan.recording,
            out: CourseOutput::default(),
            buffers: vec![vec![0; longest]; BATCH],
            longest,
            spare: Vec::new(),
        }
    }

    /// Runs until it is stopped; then returns the first error of the recording.
    pub(super) fn run(mut self) -> io::Result<()> {
        // Both are best effort: without them the relay is less exact, or receives its host's
        // signals.
        let _ = child::block_signals();
        let _ = time::sharpen_timers();
        let _ = time::come_sooner();
        loop {
            let fetched = Direction::BOTH.map(|way| self.fetch(way));
            self.tempo.fetched(fetched.iter().sum(), time::monotonic());
            self.course.advance(time::monotonic(), &mut self.out);
            self.deliver();
            if fetched.iter().all(|count| *count < BATCH) && self.rest() == AfterRest::Stop {
                return self.recording.as_mut().map_or(Ok(()), Recording::close);
            }
        }
    }

    /// Fetches frames that have arrived, and returns how many. If it was a whole batch, there may
    /// be more.
    fn fetch(&mut self, way: Direction) -> usize {
        let mut arrivals = [FrameArrival::default(); BATCH];
        let tap = Arc::clone(self.from.get(way));
        // An error means that there is no frame, or that the other end of the wire is being
        // removed.
        let count = tap
            .receive(&mut self.buffers, &mut arrivals)
            .unwrap_or_default();
        if count == 0 {
            return 0;
        }
        let epoch = time::epoch();
        let ledgers = Arc::clone(&self.ledgers);
        let mut ledgers = lock(&ledgers);
        let ledger = ledgers.get_mut(way);
        for (place, arrival) in arrivals.into_iter().take(count).enumerate() {
            let stamp = arrival.stamp.map(|stamp| stamp.saturating_sub(epoch));
            // Two processors may have timestamped frames in a different order than that on the
            // wire.
            let latest = self.latest.get_mut(way);
            let at = stamp.unwrap_or_else(time::monotonic).max(*latest);
            *latest = at;
            if let Some(packet) = self.take_in(place, arrival.length, way, at, ledger) {
                self.course.enter(packet, way, at, &mut self.out);
            }
        }
        if count == BATCH {
            // After a full batch, the kernel may have dropped some.
            ledger.tally.missed += tap.take_missed();
        }
        count
    }

    /// Makes a packet of the frame in this buffer, if it is for the other side and can be carried.
    fn take_in(
        &mut self,
        place: usize,
        length: usize,
        way: Direction,
        at: Duration,
        ledger: &mut DirectionLedger,
    ) -> Option<Packet> {
        let buffer = self.buffers.get_mut(place)?;
        let destination = match way {
            Direction::Up => SERVER.mac,
            Direction::Down => CLIENT.mac,
        };
        if !frame::is_for(buffer.get(..length)?, destination) {
            return None;
        }
        let tally = &mut ledger.tally;
        tally.packets += 1;
        tally.bytes += (length - HEADERS) as u64;
        let is_oversized = length > HEADERS + usize::from(self.mtu);
        if is_oversized && self.longest < MAX_FRAME {
            tally.oversized += 1;
            return None;
        }
        if self.course.held() > MAX_HELD_BYTES {
            tally.missed += 1;
            return None;
        }
        let mut bytes = self.spare.pop().unwrap_or_default();
        bytes.clear();
        bytes.extend_from_slice(buffer.get(..length)?);
        frame::complete_checksum(&mut bytes);
        let number = self
            .recording
            .as_mut()
            .map(|recording| recording.entered(at));
        Some(Packet::arrived(bytes, at, number))
    }

    /// Sends all packets that are due, and counts losses.
    fn deliver(&mut self) {
        if self.out.departures.is_empty() && self.out.losses.is_empty() {
            return;
        }
        let ledgers = Arc::clone(&self.ledgers);
        // Locked before anything is sent, so that a received packet is already counted.
        let mut ledgers = lock(&ledgers);
        for loss in self.out.losses.drain(..) {
            ledgers.get_mut(loss.way).lose(loss.cause);
            match &self.recording {
                Some(recording) => recording.lost(loss.packet, loss.way, loss.cause),
                None => keep(&mut self.spare, loss.packet),
            }
        }
        for batch in self.out.departures.chunk_by_mut(|a, b| a.way == b.way) {
            for batch in batch.chunks_mut(BATCH) {
                let Some(way) = batch.first().map(|first| first.way) else {
                    continue;
                };
                send(self.to.get(way), batch, ledgers.get_mut(way));
            }
        }
        for departure in self.out.departures.drain(..) {
            let DepartingPacket {
                packet,
                way,
                due,
                sent,
            } = departure;
            match (&self.recording, sent) {
                (Some(recording), Some(sent)) => recording.delivered(&packet, way, due, sent),
                (Some(recording), None) => recording.lost(packet.clone(), way, "the relay's fault"),
                (None, _) => {}
            }
            keep(&mut self.spare, packet);
        }
    }

    /// Sleeps until a frame arrives or a step is nearly due; then spins for the remaining time, if
    /// spinning is granted.
    fn rest(&mut self) -> AfterRest {
        let now = time::monotonic();
        let due = self.course.due();
        let left = due.map(|due| due.saturating_sub(now));
        if let Some(pause) = self.tempo.pause() {
            let pause = left.map_or(pause, |left| left.clamp(MIN_PAUSE, pause));
            let [stopped] = time::wait_readable([self.stop.as_fd()], Some(pause));
            return if stopped {
                AfterRest::Stop
            } else {
                AfterRest::Go
            };
        }
        if let Some(due) = due.filter(|due| self.margin.grant(now, due.saturating_sub(now))) {
            while time::monotonic() < due {
                std::hint::spin_loop();
            }
            return AfterRest::Go;
        }
        let margin = self.margin.length();
        // The step is due within the margin but spinning is not granted: sleep, even if that ends
        // late.
        let sleep = left.map(|left| left.checked_sub(margin).unwrap_or(left));
        let watched = [
            self.from.up.as_fd(),
            self.from.down.as_fd(),
            self.stop.as_fd(),
        ];
        match time::wait_readable(watched, sleep) {
            [_, _, true] => return AfterRest::Stop,
            [false, false, false] => {
                let planned = now + sleep.unwrap_or_default();
                self.margin.learn(time::monotonic().saturating_sub(planned));
            }
            _ => {}
        }
        AfterRest::Go
    }
}

/// Sends a batch in one direction, and counts it.
fn send(tap: &Tap, batch: &mut [DepartingPacket], ledger: &mut DirectionLedger) {
    let mut rest = batch;
    while !rest.is_empty() {
        let now = time::monotonic();
        let frames = rest.iter().map(|departure| departure.packet.frame());
        // A frame that the wire does not accept is lost; the next one is tried.
        let sent = tap.send(frames).unwrap_or(0);
        let (left, after) = rest.split_at_mut(sent.min(rest.len()));
        for departure in left.iter_mut() {
            departure.sent = Some(now);
            ledger.lateness.record(now.saturating_sub(departure.due));
        }
        ledger.tally.delivered += left.len() as u64;
        rest = after;
        if sent == 0 {
            ledger.tally.missed += 1;
            rest = rest.get_mut(1..).unwrap_or_default();
        }
    }
}

/// Keeps a buffer for a later frame.
fn keep(spare: &mut Vec<Vec<u8>>, packet: Packet) {
    if spare.len() < MAX_SPARE_BUFFERS {
        spare.push(packet.into_parts().0);
    }
}

/// The action after a rest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum AfterRest {
    Go,
    Stop,
}

fn lock(ledgers: &Mutex<PerWay<DirectionLedger>>) -> MutexGuard<'_, PerWay<DirectionLedger>> {
    ledgers.lock().unwrap_or_else(PoisonError::into_inner)
}
