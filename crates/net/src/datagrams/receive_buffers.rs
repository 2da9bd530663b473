//! Receive buffers: slots that are filled again and again, each large enough for the longest
//! coalesced run.

use std::fmt;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::BorrowedFd;
use std::slice::ChunksMut;
use std::time::Duration;

use roundtrip_model::Moment;

use super::control::{self, ReceivedControl};
use crate::clock;
use crate::sys::udp::ReceiveSlots;

/// The largest number of slots; more would not make a call cheaper.
pub const MAX_SLOTS: usize = 64;
/// The size of a slot in bytes: no UDP packet and no coalesced run is longer.
const SLOT_BYTES: usize = 64 << 10;
/// Coalesced runs need few slots; without coalescing, one call brings this many datagrams.
const DEFAULT_SLOTS: usize = 8;

/// The buffers of [`Datagrams::receive`](super::Datagrams::receive): created once, used for every
/// call. Slots that were never filled take address space, but no memory.
pub struct ReceiveBuffers {
    bytes: Box<[u8]>,
    /// The size of a slot, in bytes.
    size: usize,
    slots: ReceiveSlots,
    /// One heading for each run of the last call; `None` if the run's content was dropped.
    headings: Vec<Option<Heading>>,
}

/// A run of datagrams from one peer, one after the other in memory.
#[derive(Debug)]
pub struct DatagramRun<'a> {
    pub from: SocketAddr,
    /// The destination address.
    pub to: Option<IpAddr>,
    /// The ECN bits (RFC 3168 §5), the same for the whole run.
    pub ecn: u8,
    /// The length of each datagram except the last, which can be shorter; never 0.
    pub stride: usize,
    pub bytes: &'a mut [u8],
    stamp: Option<Duration>,
}

#[derive(Debug, Clone, Copy)]
struct Heading {
    from: SocketAddr,
    incoming: ReceivedControl,
    length: usize,
}

/// The runs that one call received.
pub(super) struct ReceivedRuns {
    pub(super) runs: usize,
    pub(super) datagrams: u64,
    pub(super) truncated: u64,
}

impl Default for ReceiveBuffers {
    fn default() -> Self {
        Self::new(DEFAULT_SLOTS)
    }
}

impl ReceiveBuffers {
    /// Creates `slots` slots of 64 KiB, at least 1 and at most [`MAX_SLOTS`].
    pub fn new(slots: usize) -> Self {
        Self::with_slots_of(SLOT_BYTES, slots.clamp(1, MAX_SLOTS))
    }

    fn with_slots_of(size: usize, slots: usize) -> Self {
        Self {
            bytes: vec![0; slots * size].into(),
            size,
            slots: ReceiveSlots::new(slots),
            headings: Vec::with_capacity(slots),
        }
    }

    /// The runs of the last call, in the order of their arrival.
    pub fn arrivals_mut(&mut self) -> impl Iterator<Item = DatagramRun<'_>> {
        let slots = self.bytes.chunks_exact_mut(self.size).zip(&self.headings);
        slots.filter_map(|(slot, heading)| {
            let heading = (*heading)?;
            let bytes = slot.get_mut(..heading.length)?;
            Some(DatagramRun {
                from: heading.from,
                to: heading.incoming.to,
                ecn: heading.incoming.ecn,
                stride: heading.stride(),
                bytes,
                stamp: heading.incoming.stamp,
            })
        })
    }

    pub(super) fn fill(&mut self, socket: BorrowedFd<'_>) -> io::Result<ReceivedRuns> {
        self.headings.clear();
        let filled = self.slots.receive(socket, &mut self.bytes, self.size, 0)?;
        let envelopes = self.slots.envelopes().take(filled);
        self.headings.extend(envelopes.map(|envelope| {
            let from = control::address(envelope.name)?;
            (!envelope.truncated).then(|| Heading {
                from,
                incoming: ReceivedControl::read(envelope.control),
                length: envelope.length,
            })
        }));
        let whole = self.headings.iter().flatten();
        let datagrams = whole.clone().map(Heading::datagrams);
        let runs = whole.clone().count();
        Ok(ReceivedRuns {
            runs,
            datagrams: datagrams.sum(),
            truncated: (filled - runs) as u64,
        })
    }
}

impl Heading {
    fn stride(&self) -> usize {
        self.incoming.stride.unwrap_or(self.length).max(1)
    }

    /// The number of datagrams; an empty one counts.
    fn datagrams(&self) -> u64 {
        self.length.div_ceil(self.stride()).max(1) as u64
    }
}

impl DatagramRun<'_> {
    /// The time when the first datagram arrived, on this clock; without the kernel's timestamp,
    /// now.
    pub fn moment(&self, clock: impl Fn() -> Moment) -> Moment {
        match self.stamp {
            Some(stamp) => clock::read(clock).moment_of(stamp),
            None => clock(),
        }
    }

    /// The datagrams one after the other; none if the datagram is empty.
    pub fn datagrams_mut(&mut self) -> ChunksMut<'_, u8> {
        self.bytes.chunks_mut(self.stride)
    }
}

impl fmt::Debug for ReceiveBuffers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ReceiveBuffers")
            .field("headings", &self.headings)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::super::{Datagrams, Parcel};
    use super::*;

    fn socket() -> Datagrams {
        Datagrams::bind((Ipv4Addr::LOCALHOST, 0).into()).unwrap()
    }

    #[test]
    fn a_run_that_does_not_fit_its_slot_is_dropped_and_counted() {
        let (client, server) = (socket(), socket());
        let mut intake = ReceiveBuffers::with_slots_of(100, 4);
        for length in [100, 101, 99] {
            let bytes = vec![length; length.into()];
            let parcel = Parcel {
                to: server.local_addr().unwrap(),
                from: None,
                ecn: 0,
                segment: usize::MAX,
                bytes: &bytes,
            };
            client.send(&parcel).unwrap();
        }
        let mut lengths = Vec::new();
        while lengths.len() < 2 {
            assert!(server.wait(None).unwrap());
            server.receive(&mut intake).unwrap();
            lengths.extend(intake.arrivals_mut().map(|arrival| {
                assert!(
                    arrival
                        .bytes
                        .iter()
                        .all(|b| usize::from(*b) == arrival.stride)
                );
                arrival.bytes.len()
            }));
        }
        assert_eq!(lengths, [100, 99]);
        let calls = server.calls();
        assert_eq!((calls.datagrams_in, calls.truncated), (2, 1));
    }
}
