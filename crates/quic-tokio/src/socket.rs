//! The socket of a dock: runs of datagrams in and out, under a lookout's eyes where there is one.

use std::io;
use std::sync::Arc;

use roundtrip_net::Watch;
use roundtrip_net::datagrams::{Arrival, Datagrams, Intake, Parcel};

use crate::Lookout;

/// Runs of datagrams that come by one call.
const SLOTS: usize = 8;

pub(crate) struct Socket {
    datagrams: Datagrams,
    lookout: Option<Arc<dyn Lookout>>,
    intake: Intake,
    /// For one run at a time.
    single: Intake,
    /// The last call was for one run.
    singly: bool,
}

impl Socket {
    pub(crate) fn new(datagrams: Datagrams, lookout: Option<Arc<dyn Lookout>>) -> Self {
        Self {
            datagrams,
            lookout,
            intake: Intake::new(SLOTS),
            single: Intake::new(1),
            singly: false,
        }
    }

    pub(crate) fn watch(&self) -> io::Result<Watch> {
        Watch::new(&self.datagrams)
    }

    /// True where there may be more.
    pub(crate) fn receive(&mut self) -> io::Result<bool> {
        self.singly = self.lookout.as_ref().is_some_and(|l| l.wants_each());
        if self.singly {
            self.datagrams.receive(&mut self.single)?;
            self.show();
            return Ok(true);
        }
        let runs = self.datagrams.receive(&mut self.intake)?;
        self.show();
        Ok(runs == SLOTS)
    }

    /// What came by the last call.
    pub(crate) fn arrivals_mut(&mut self) -> impl Iterator<Item = Arrival<'_>> {
        let intake = if self.singly {
            &mut self.single
        } else {
            &mut self.intake
        };
        intake.arrivals_mut()
    }

    /// That was one run, because the lookout wants each.
    pub(crate) fn came_singly(&self) -> bool {
        self.singly
    }

    pub(crate) fn send(&self, parcel: &Parcel<'_>) -> io::Result<()> {
        let Some(lookout) = &self.lookout else {
            return self.datagrams.send(parcel);
        };
        let at = lookout.now();
        self.datagrams.send(parcel)?;
        lookout.left(at, parcel.segment, parcel.bytes);
        Ok(())
    }

    fn show(&mut self) {
        if let Some(lookout) = self.lookout.clone() {
            for arrival in self.arrivals_mut() {
                let at = arrival.moment(|| lookout.now());
                lookout.came(at, arrival.stride, arrival.bytes);
            }
        }
    }
}
