//! The relay: one thread, which takes frames off either wire and puts them on the other when their time has come. What
//! becomes of a packet in between is the `course`'s affair; how frames are read and mended, `frame`'s.

mod carrier;
mod margin;
mod tap;
mod tempo;

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use crate::counters::{Counters, Ledger};
use crate::course::Course;
use crate::direction::PerWay;
use crate::recording::Recording;
use crate::syscall::descriptor;

use carrier::Carrier;

pub(crate) use tap::Tap;

/// What the relay is to do.
pub(crate) struct Plan {
    pub(crate) course: Course,
    pub(crate) mtu: u16,
    /// What each packet spends under way at least.
    pub(crate) least_delay: Duration,
    pub(crate) offload: bool,
    pub(crate) recording: Option<Recording>,
}

/// Runs until dropped.
#[derive(Debug)]
pub(crate) struct Relay {
    stop: Arc<OwnedFd>,
    thread: Option<JoinHandle<io::Result<()>>>,
    ledgers: Arc<Mutex<PerWay<Ledger>>>,
}

impl Relay {
    /// Starts relaying between the wires to the client and to the server.
    pub(crate) fn start(taps: [Tap; 2], plan: Plan) -> io::Result<Self> {
        let stop = Arc::new(descriptor::event()?);
        let ledgers = Arc::default();
        let carrier = Carrier::new(plan, taps, Arc::clone(&stop), Arc::clone(&ledgers));
        let thread = thread::Builder::new()
            .name("path-relay".into())
            .spawn(move || carrier.run())?;
        Ok(Self {
            stop,
            thread: Some(thread),
            ledgers,
        })
    }

    pub(crate) fn counters(&self) -> Counters {
        let ledgers = self.ledgers.lock().unwrap_or_else(PoisonError::into_inner);
        Counters {
            up: ledgers.up.read(),
            down: ledgers.down.read(),
        }
    }
}

impl Relay {
    /// Ends it, and says whether what was to be recorded was.
    pub(crate) fn stop(&mut self) -> io::Result<()> {
        // A fresh counter can always be raised once.
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
        // Whoever wants to know calls `stop`.
        let _ = self.stop();
    }
}
