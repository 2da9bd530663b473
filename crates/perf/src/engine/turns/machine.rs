//! What the loop asks of a QUIC engine that does no I/O, and what the work asks of its connections.

use std::hash::Hash;
use std::net::{IpAddr, SocketAddr};
use std::time::Instant;

use bytes::Bytes;
use roundtrip_net::datagrams::Arrival;

use crate::engine::Wire;
use crate::error::PerfError;

/// All connections of one socket.
pub(in crate::engine) trait Machine {
    type Handle: Copy + Eq + Hash;
    type Connection: Streams;

    /// Takes in a run of datagrams from one peer.
    fn receive(&mut self, now: Instant, arrival: Arrival<'_>);

    /// The next connection that somebody else has begun.
    fn accept(&mut self) -> Option<Self::Handle>;

    /// What leaves and belongs to no connection.
    fn reply(&mut self, buffer: &mut Vec<u8>) -> Option<Burst>;

    /// Does what is due.
    fn settle(&mut self, now: Instant, of: Self::Handle);

    fn connection(&mut self, of: Self::Handle) -> Option<&mut Self::Connection>;

    /// What leaves next by one call.
    fn transmit(&mut self, now: Instant, of: Self::Handle, buffer: &mut Vec<u8>) -> Option<Burst>;

    /// A datagram of this length did not fit the way.
    fn on_too_long(&mut self, of: Self::Handle, length: usize);

    /// When something will be due.
    fn deadline(&mut self, of: Self::Handle) -> Option<Instant>;

    /// Nothing will come of it any more.
    fn is_gone(&mut self, of: Self::Handle) -> bool;

    /// Says goodbye.
    fn close(&mut self, now: Instant, of: Self::Handle);
}

/// A connection, as the work sees it: streams both ways, and what happened.
pub(in crate::engine) trait Streams {
    type Id: Copy + Eq + Hash;

    fn poll(&mut self) -> Option<Heard<Self::Id>>;

    /// None where the peer allows no more for now.
    fn open(&mut self) -> Option<Self::Id>;

    fn accept(&mut self) -> Option<Self::Id>;

    /// Takes as much as there is room for. If that is not all, [`Heard::Writable`] follows.
    fn write(&mut self, to: Self::Id, bytes: Bytes) -> Result<usize, PerfError>;

    fn finish(&mut self, stream: Self::Id) -> Result<(), PerfError>;

    /// Reads what there is and forgets it; true at the stream's end.
    fn drain(&mut self, from: Self::Id, see: impl FnMut(&[u8])) -> Result<bool, PerfError>;

    /// What it has counted, but for the system calls.
    fn wire(&self) -> Wire;
}

/// What happened on a connection.
pub(in crate::engine) enum Heard<Id> {
    Connected,
    /// And why.
    Closed(String),
    /// One or more.
    Opened,
    Readable(Id),
    Writable(Id),
    Stopped(Id),
    /// Nothing that concerns the work.
    Other,
}

/// What leaves by one call, from the beginning of a buffer.
#[derive(Clone, Copy, Debug)]
pub(in crate::engine) struct Burst {
    pub(in crate::engine) to: SocketAddr,
    pub(in crate::engine) from: Option<IpAddr>,
    pub(in crate::engine) ecn: u8,
    /// The length of each datagram but the last, which may be shorter.
    pub(in crate::engine) segment: usize,
    pub(in crate::engine) length: usize,
}

/// Writes what is left, as far as it goes; true when it is all written, and the stream's end with it.
pub(super) fn pour<C: Streams>(
    connection: &mut C,
    stream: C::Id,
    payload: &Bytes,
    left: &mut u64,
) -> Result<bool, PerfError> {
    while *left > 0 {
        let part = payload
            .len()
            .min(usize::try_from(*left).unwrap_or(usize::MAX));
        let taken = connection.write(stream, payload.slice(..part))?;
        *left -= taken as u64;
        if taken < part {
            return Ok(false);
        }
    }
    connection.finish(stream)?;
    Ok(true)
}
