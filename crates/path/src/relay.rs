//! The relay: one thread that reads frames from either wire and writes them to the other when they
//! are due. `course` decides what happens to a packet in between; `frame` reads and completes
//! frames.

mod carrier;
mod density;
mod margin;
mod tap;

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use crate::counters::{DirectionLedger, PathCounters};
use crate::course::Course;
use crate::direction::PerWay;
use crate::recording::Recording;
use crate::syscall::descriptor;

use carrier::RelayLoop;

pub(crate) use tap::Tap;

/// The configuration of a relay.
pub(crate) struct RelayConfig {
    pub(crate) course: Course,
    pub(crate) mtu: u16,
    /// The shortest time that a packet spends on the path, in either direction.
    pub(crate) least_delay: Duration,
    pub(crate) offload: bool,
    pub(crate) recording: Option<Recording>,
}

/// A running relay. Dropping it stops its thread.
#[derive(Debug)]
pub(crate) struct Relay {
    stop: Arc<OwnedFd>,
    thread: Option<JoinHandle<io::Result<()>>>,
    ledgers: Arc<Mutex<PerWay<DirectionLedger>>>,
}

impl Relay {
    /// Starts relaying between the wires to the client and to the server.
    pub(crate) fn start(taps: [Tap; 2], plan: RelayConfig) -> io::Result<Self> {
        let stop = Arc::new(descriptor::event()?);
        let ledgers = Arc::default();
        let carrier = RelayLoop::new(plan, taps, Arc::clone(&stop), Arc::clone(&ledgers));
        let thread = thread::Builder::new()
            .name("path-relay".into())
            .spawn(move || carrier.run())?;
        Ok(Self {
            stop,
            thread: Some(thread),
            ledgers,
        })
    }

    pub(crate) fn counters(&self) -> PathCounters {
        let ledgers = self.ledgers.lock().unwrap_or_else(PoisonError::into_inner);
        PathCounters {
            up: ledgers.up.read(),
            down: ledgers.down.read(),
        }
    }
}

impl Relay {
    /// Stops the thread, and returns the first error of the recording.
    pub(crate) fn stop(&mut self) -> io::Result<()> {
        // A new event counter can always be raised once.
        let _ = descriptor::raise(self.stop.as_fd());
        match self.thread.take().map(JoinHandle::join) {
            Some(Ok(recorded)) => recorded,
            Some(Err(panic)) => std::panic::resume_unwind(panic),
            None => Ok(()),
        }
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        // Callers who want the result call `stop`.
        let _ = self.stop();
    }
}
