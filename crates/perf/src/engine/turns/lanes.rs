//! The client: opens the lanes of all its connections at once, and watches the clock.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use bytes::Bytes;

use super::machine::pour;
use super::{Driver, Machine, MachineConnection, MachineEvent};
use crate::engine::{Job, Pulse, SideReport};
use crate::error::PerfError;
use crate::plan::{Amount, WorkLane};
use crate::protocol::{ENDLESS, STREAM_HEAD};

/// How often the clock is checked after the end.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

pub(super) struct Lanes<M: Machine> {
    going: HashMap<Place<M>, Going>,
    /// The lanes of each connection.
    wanted: Vec<WorkLane>,
    amount: Amount,
    share: Option<u64>,
    expected: u32,
    /// Connections with lanes that are not opened yet.
    fresh: Vec<(M::Handle, Vec<WorkLane>)>,
    began: bool,
    deadline: Option<Instant>,
    /// The number of bulk lanes that are not done: concurrent requests continue until it is 0.
    bulk: usize,
    payload: Bytes,
    pulse: Pulse,
    side: SideReport,
}

/// A stream of a connection.
type Place<M> = (
    <M as Machine>::Handle,
    <<M as Machine>::Connection as MachineConnection>::Id,
);

struct Going {
    lane: WorkLane,
    /// The bytes still to be written.
    left: u64,
    came: u64,
    written: bool,
    asked: Instant,
}

impl<M: Machine> Lanes<M> {
    pub(super) fn new(job: &Job) -> Self {
        Self {
            going: HashMap::new(),
            wanted: job.work.lanes(),
            amount: job.work.amount,
            share: job.work.share(),
            expected: job.work.connections,
            fresh: Vec::new(),
            began: false,
            deadline: None,
            bulk: 0,
            payload: Bytes::from(vec![0x5a; job.knobs.write_size]),
            pulse: job.pulse.clone(),
            side: SideReport::default(),
        }
    }

    pub(super) fn is_connected(&self) -> bool {
        self.expected == 0
    }

    pub(super) fn begin(&mut self) {
        self.began = true;
        let bulk = self.wanted.iter().filter(|lane| lane.is_bulk()).count();
        self.bulk = bulk * self.fresh.len();
        self.deadline = match self.amount {
            Amount::For(time) => Some(Instant::now() + time),
            Amount::Bytes(_) => None,
        };
    }

    pub(super) fn is_done(&self) -> bool {
        self.began && self.going.is_empty() && self.fresh.is_empty()
    }

    pub(super) fn into_side(self) -> SideReport {
        self.side
    }

    fn is_over(&self) -> bool {
        self.deadline
            .is_some_and(|deadline| Instant::now() >= deadline)
    }

    /// Opens as many lanes as the server allows.
    fn open(&mut self, handle: M::Handle, connection: &mut M::Connection) -> Result<(), PerfError> {
        let Some(at) = self.fresh.iter().position(|(of, _)| *of == handle) else {
            return Ok(());
        };
        let (_, mut lanes) = self.fresh.swap_remove(at);
        while let Some(lane) = lanes.pop() {
            if !self.start(lane, handle, connection)? {
                lanes.push(lane);
                self.fresh.push((handle, lanes));
                break;
            }
        }
        Ok(())
    }

    fn start(
        &mut self,
        lane: WorkLane,
        handle: M::Handle,
        connection: &mut M::Connection,
    ) -> Result<bool, PerfError> {
        let Some(stream) = connection.open() else {
            return Ok(false);
        };
        let (wanted, left) = match lane {
            WorkLane::Down => (self.share.unwrap_or(ENDLESS), 0),
            WorkLane::Up => (0, self.share.unwrap_or(ENDLESS)),
            WorkLane::Ask { request, response } => (response, request),
        };
        let head = Bytes::copy_from_slice(&wanted.to_be_bytes());
        let taken = connection.write(stream, head)?;
        if taken < STREAM_HEAD {
            return Err(PerfError::broken(
                "there is no room for the head of a stream",
            ));
        }
        let going = Going {
            lane,
            left,
            came: 0,
            written: false,
            asked: Instant::now(),
        };
        self.going.insert((handle, stream), going);
        self.speak((handle, stream), connection)?;
        Ok(true)
    }

    fn speak(&mut self, place: Place<M>, connection: &mut M::Connection) -> Result<(), PerfError> {
        let over = self.is_over();
        let Some(going) = self.going.get_mut(&place).filter(|going| !going.written) else {
            return Ok(());
        };
        if over && going.lane == WorkLane::Up {
            going.left = 0;
        }
        let before = going.left;
        going.written = pour(connection, place.1, &self.payload, &mut going.left)?;
        self.side.sent += before - going.left;
        Ok(())
    }

    fn listen(&mut self, place: Place<M>, connection: &mut M::Connection) -> Result<(), PerfError> {
        let Some(going) = self.going.get_mut(&place) else {
            return Ok(());
        };
        let mut came = 0;
        let ended = connection.drain(place.1, |bytes| came += bytes.len())?;
        going.came += came as u64;
        self.side.received += came as u64;
        self.pulse.add(came);
        if !ended {
            return Ok(());
        }
        let wanted = match going.lane {
            WorkLane::Down => self.share.unwrap_or(ENDLESS),
            WorkLane::Up => 0,
            WorkLane::Ask { response, .. } => response,
        };
        if going.came != wanted {
            return Err(PerfError::broken(
                "an answer did not have the requested length",
            ));
        }
        let (lane, asked) = (going.lane, going.asked);
        self.going.remove(&place);
        if lane.is_bulk() {
            self.bulk = self.bulk.saturating_sub(1);
            return Ok(());
        }
        self.side.latencies.record(asked.elapsed());
        let counts_bytes = matches!(self.amount, Amount::Bytes(_));
        let is_last = self.is_over() || (counts_bytes && self.bulk == 0);
        if !is_last && !self.start(lane, place.0, connection)? {
            self.fresh.push((place.0, vec![lane]));
        }
        Ok(())
    }

    /// Stops: after the deadline nothing is read, and nothing new begins.
    fn stop(&mut self, handle: M::Handle, connection: &mut M::Connection) -> Result<(), PerfError> {
        self.fresh.retain(|(of, _)| *of != handle);
        self.going
            .retain(|(of, _), going| *of != handle || going.lane != WorkLane::Down);
        let own = self
            .going
            .iter()
            .filter(|(place, going)| place.0 == handle && !going.written);
        let places: Vec<_> = own.map(|(place, _)| *place).collect();
        for place in places {
            self.speak(place, connection)?;
        }
        Ok(())
    }
}

impl<M: Machine> Driver<M> for Lanes<M> {
    fn hear(
        &mut self,
        of: M::Handle,
        connection: &mut M::Connection,
        heard: MachineEvent<<M::Connection as MachineConnection>::Id>,
    ) -> Result<(), PerfError> {
        match heard {
            MachineEvent::Connected => {
                self.expected = self.expected.saturating_sub(1);
                self.fresh.push((of, self.wanted.clone()));
            }
            MachineEvent::Closed(reason) => return Err(PerfError::broken(reason)),
            MachineEvent::Readable(stream) => self.listen((of, stream), connection)?,
            MachineEvent::Writable(stream) => self.speak((of, stream), connection)?,
            _ => {}
        }
        Ok(())
    }

    fn act(&mut self, handle: M::Handle, connection: &mut M::Connection) -> Result<(), PerfError> {
        if !self.began {
            return Ok(());
        }
        if self.is_over() {
            return self.stop(handle, connection);
        }
        self.open(handle, connection)
    }

    fn deadline(&self) -> Option<Instant> {
        let now = Instant::now();
        let next = |deadline| {
            if deadline > now {
                deadline
            } else {
                now + POLL_INTERVAL
            }
        };
        self.deadline.map(next)
    }
}
