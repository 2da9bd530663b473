//! The socket of an endpoint: sends and receives runs of datagrams, and shows them to an observer
//! if there is one.

use std::io;
use std::sync::Arc;

use roundtrip_net::Watch;
use roundtrip_net::datagrams::{DatagramRun, Datagrams, Parcel, ReceiveBuffers};

use crate::DatagramObserver;

/// The largest number of runs of datagrams that one call receives.
const MAX_RUNS: usize = 8;

pub(crate) struct Socket {
    datagrams: Datagrams,
    observer: Option<Arc<dyn DatagramObserver>>,
    intake: ReceiveBuffers,
    /// The buffers for receiving one run at a time.
    single: ReceiveBuffers,
    /// Whether the last call received a single run, because the observer wants to see each one
    /// separately.
    received_single: bool,
}

impl Socket {
    pub(crate) fn new(datagrams: Datagrams, observer: Option<Arc<dyn DatagramObserver>>) -> Self {
        Self {
            datagrams,
            observer,
            intake: ReceiveBuffers::new(MAX_RUNS),
            single: ReceiveBuffers::new(1),
            received_single: false,
        }
    }

    pub(crate) fn replace(&mut self, datagrams: Datagrams) {
        self.datagrams = datagrams;
    }

    pub(crate) fn watch(&self) -> io::Result<Watch> {
        Watch::new(&self.datagrams)
    }

    /// Receives what is there. Returns true if there may be more.
    pub(crate) fn receive(&mut self) -> io::Result<bool> {
        self.received_single = self.observer.as_ref().is_some_and(|o| o.wants_each());
        if self.received_single {
            self.datagrams.receive(&mut self.single)?;
            self.show_received();
            return Ok(true);
        }
        let runs = self.datagrams.receive(&mut self.intake)?;
        self.show_received();
        Ok(runs == MAX_RUNS)
    }

    /// The datagrams that the last call received.
    pub(crate) fn arrivals_mut(&mut self) -> impl Iterator<Item = DatagramRun<'_>> {
        let intake = if self.received_single {
            &mut self.single
        } else {
            &mut self.intake
        };
        intake.arrivals_mut()
    }

    /// Whether the last call received a single run, because the observer wants to see each one
    /// separately.
    pub(crate) fn received_single_run(&self) -> bool {
        self.received_single
    }

    /// Sends a run. Returns false if there was room for the first datagrams only.
    pub(crate) fn send(&self, parcel: &Parcel<'_>) -> io::Result<bool> {
        let Some(observer) = &self.observer else {
            return self.datagrams.send(parcel);
        };
        let at = observer.now();
        let sent = self.datagrams.send(parcel)?;
        observer.on_sent(at, parcel.segment, parcel.bytes);
        Ok(sent)
    }

    /// The error that the network has reported about the connected peer.
    pub(crate) fn take_unreachable(&self) -> Option<io::ErrorKind> {
        self.datagrams.take_unreachable()
    }

    pub(crate) fn observer(&self) -> Option<Arc<dyn DatagramObserver>> {
        self.observer.clone()
    }

    fn show_received(&mut self) {
        if let Some(observer) = self.observer.clone() {
            for arrival in self.arrivals_mut() {
                let at = arrival.moment(|| observer.now());
                observer.on_received(at, arrival.stride, arrival.bytes);
            }
        }
    }
}
