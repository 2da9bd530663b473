//! The relay: one thread a direction, which takes frames off one wire and puts them on the other when their time has
//! come. What becomes of a packet is said by `link` and `middlebox`; how frames are read and mended, by `frame`.

mod frame;
mod lane;
mod margin;

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};

use crate::counters::{Counters, Ledger, Tally};
use crate::link::Link;
use crate::middlebox::Middlebox;
use crate::rtnetlink::Mac;
use crate::syscall::descriptor;

use lane::Lane;

/// What one direction does.
pub(crate) struct Route {
    pub(crate) link: Link,
    pub(crate) boxes: Vec<Box<dyn Middlebox>>,
    /// Whom it leads to: frames to anybody else (multicast, that is) stay behind, uncounted.
    pub(crate) destination: Mac,
    pub(crate) mtu: u16,
}

/// Runs until dropped.
#[derive(Debug)]
pub(crate) struct Relay {
    stop: Arc<OwnedFd>,
    threads: Vec<JoinHandle<()>>,
    up: Arc<Mutex<Ledger>>,
    down: Arc<Mutex<Ledger>>,
}

impl Relay {
    /// Starts relaying between the packet sockets `to_client` and `to_server`.
    pub(crate) fn start(taps: [OwnedFd; 2], up: Route, down: Route) -> io::Result<Self> {
        let [to_client, to_server] = taps.map(Arc::new);
        let mut relay = Self {
            stop: Arc::new(descriptor::event()?),
            threads: Vec::new(),
            up: Arc::default(),
            down: Arc::default(),
        };
        let lanes = [
            ("path-up", up, &to_client, &to_server, &relay.up),
            ("path-down", down, &to_server, &to_client, &relay.down),
        ];
        for (name, route, from, to, ledger) in lanes {
            let lane = Lane::new(
                route,
                Arc::clone(from),
                Arc::clone(to),
                Arc::clone(&relay.stop),
                Arc::clone(ledger),
            );
            let thread = thread::Builder::new().name(name.into());
            relay.threads.push(thread.spawn(move || lane.run())?);
        }
        Ok(relay)
    }

    pub(crate) fn counters(&self) -> Counters {
        Counters {
            up: read(&self.up),
            down: read(&self.down),
        }
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        // A fresh counter can always be raised once.
        let _ = descriptor::raise(self.stop.as_fd());
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

fn read(ledger: &Mutex<Ledger>) -> Tally {
    ledger.lock().unwrap_or_else(PoisonError::into_inner).read()
}
