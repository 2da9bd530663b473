//! The server: answers each stream with as many bytes as its head asks for, and ends with its
//! connections.

use std::collections::HashMap;
use std::time::Instant;

use bytes::Bytes;

use super::machine::pour;
use super::{Driver, Machine, MachineConnection, MachineEvent};
use crate::account::CpuMeter;
use crate::engine::{Job, Pulse, SideReport};
use crate::error::PerfError;
use crate::protocol::StreamHead;

pub(super) struct AnsweringServer<M: Machine> {
    streams: HashMap<Place<M>, StreamAnswer>,
    payload: Bytes,
    pulse: Pulse,
    core: Option<usize>,
    /// Starts with the first stream.
    meter: Option<CpuMeter>,
    /// The number of connections that are expected or not over.
    expected: u32,
    going: u32,
    side: SideReport,
}

/// A stream of a connection.
type Place<M> = (
    <M as Machine>::Handle,
    <<M as Machine>::Connection as MachineConnection>::Id,
);

#[derive(Default)]
struct StreamAnswer {
    head: StreamHead,
    asked: bool,
    left: u64,
}

impl<M: Machine> AnsweringServer<M> {
    pub(super) fn new(job: &Job) -> Self {
        Self {
            streams: HashMap::new(),
            payload: Bytes::from(vec![0x5a; job.knobs.write_size]),
            pulse: job.pulse.clone(),
            core: job.core,
            meter: None,
            expected: job.work.connections,
            going: 0,
            side: SideReport::default(),
        }
    }

    pub(super) fn has_begun(&self) -> bool {
        self.expected == 0
    }

    pub(super) fn is_over(&self) -> bool {
        self.has_begun() && self.going == 0
    }

    pub(super) fn into_side(self) -> SideReport {
        let usage = self.meter.map(|meter| meter.read()).unwrap_or_default();
        SideReport { usage, ..self.side }
    }

    fn listen(&mut self, place: Place<M>, connection: &mut M::Connection) {
        let answer = self.streams.entry(place).or_default();
        let mut came = 0;
        let ended = connection.drain(place.1, |bytes| {
            came += answer.head.take(bytes).len();
        });
        self.side.received += came as u64;
        self.pulse.add(came);
        // An error affects only its stream: the client counts what it received.
        let wanted = answer.head.wanted();
        if let Some(wanted) = wanted.filter(|_| ended.unwrap_or(false) && !answer.asked) {
            answer.asked = true;
            answer.left = wanted;
            self.speak(place, connection);
        }
    }

    fn speak(&mut self, place: Place<M>, connection: &mut M::Connection) {
        let Some(answer) = self.streams.get_mut(&place).filter(|answer| answer.asked) else {
            return;
        };
        let before = answer.left;
        let done = pour(connection, place.1, &self.payload, &mut answer.left);
        self.side.sent += before - answer.left;
        if done.unwrap_or(true) {
            self.streams.remove(&place);
        }
    }
}

impl<M: Machine> Driver<M> for AnsweringServer<M> {
    fn hear(
        &mut self,
        of: M::Handle,
        connection: &mut M::Connection,
        heard: MachineEvent<<M::Connection as MachineConnection>::Id>,
    ) -> Result<(), PerfError> {
        match heard {
            MachineEvent::Connected => {
                self.expected = self.expected.saturating_sub(1);
                self.going += 1;
            }
            MachineEvent::Closed(_) => {
                self.going = self.going.saturating_sub(1);
                self.streams.retain(|(one, _), _| *one != of);
            }
            MachineEvent::Opened => {
                self.meter.get_or_insert_with(|| CpuMeter::start(self.core));
                while let Some(stream) = connection.accept() {
                    self.listen((of, stream), connection);
                }
            }
            MachineEvent::Readable(stream) => self.listen((of, stream), connection),
            MachineEvent::Writable(stream) => self.speak((of, stream), connection),
            MachineEvent::Stopped(stream) => {
                self.streams.remove(&(of, stream));
            }
            MachineEvent::Other => {}
        }
        Ok(())
    }

    fn act(&mut self, _: M::Handle, _: &mut M::Connection) -> Result<(), PerfError> {
        Ok(())
    }

    fn deadline(&self) -> Option<Instant> {
        None
    }
}
