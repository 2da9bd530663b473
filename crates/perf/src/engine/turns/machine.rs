//! What the loop needs from a QUIC implementation without I/O, and the work from its connections.

use std::hash::Hash;
use std::net::{IpAddr, SocketAddr};
use std::time::Instant;

use bytes::Bytes;
use roundtrip_net::datagrams::DatagramRun;

use crate::engine::WireCounters;
use crate::error::PerfError;

/// All connections of one socket.
pub(in crate::engine) trait Machine {
    type Handle: Copy + Eq + Hash;
    type Connection: MachineConnection;

    /// Handles a run of datagrams from one peer.
    fn receive(&mut self, now: Instant, arrival: DatagramRun<'_>);

    /// The next connection that a peer has opened.
    fn accept(&mut self) -> Option<Self::Handle>;

    /// The next datagrams that belong to no connection.
    fn reply(&mut self, buffer: &mut Vec<u8>) -> Option<DatagramBurst>;

    /// Does everything that is due on a connection.
    fn settle(&mut self, now: Instant, of: Self::Handle);

    fn connection(&mut self, of: Self::Handle) -> Option<&mut Self::Connection>;

    /// The next burst of a connection.
    fn transmit(
        &mut self,
        now: Instant,
        of: Self::Handle,
        buffer: &mut Vec<u8>,
    ) -> Option<DatagramBurst>;

    /// Reports that a datagram of this length did not fit the path.
    fn on_too_long(&mut self, of: Self::Handle, length: usize);

    /// When something will be due on a connection.
    fn deadline(&mut self, of: Self::Handle) -> Option<Instant>;

    /// Whether the connection has ended for good.
    fn is_gone(&mut self, of: Self::Handle) -> bool;

    /// Closes the connection.
    fn close(&mut self, now: Instant, of: Self::Handle);
}

/// A connection as the work sees it: streams in both directions, and events.
pub(in crate::engine) trait MachineConnection {
    type Id: Copy + Eq + Hash;

    fn poll(&mut self) -> Option<MachineEvent<Self::Id>>;

    /// Opens a stream; `None` if the peer allows no more for now.
    fn open(&mut self) -> Option<Self::Id>;

    fn accept(&mut self) -> Option<Self::Id>;

    /// Writes as many bytes as there is room for. If some are left, [`MachineEvent::Writable`]
    /// follows.
    fn write(&mut self, to: Self::Id, bytes: Bytes) -> Result<usize, PerfError>;

    fn finish(&mut self, stream: Self::Id) -> Result<(), PerfError>;

    /// Reads and discards what there is; `true` at the end of the stream.
    fn drain(&mut self, from: Self::Id, see: impl FnMut(&[u8])) -> Result<bool, PerfError>;

    /// The counters of the connection, without those of system calls.
    fn wire(&self) -> WireCounters;
}

/// An event of a connection.
pub(in crate::engine) enum MachineEvent<Id> {
    Connected,
    /// The connection was closed, for this reason.
    Closed(String),
    /// The peer opened one or more streams.
    Opened,
    Readable(Id),
    Writable(Id),
    Stopped(Id),
    /// An event that does not concern the work.
    Other,
}

/// Datagrams that leave in one call, from the start of a buffer.
#[derive(Clone, Copy, Debug)]
pub(in crate::engine) struct DatagramBurst {
    pub(in crate::engine) to: SocketAddr,
    pub(in crate::engine) from: Option<IpAddr>,
    pub(in crate::engine) ecn: u8,
    /// The length of each datagram except the last, which may be shorter.
    pub(in crate::engine) segment: usize,
    pub(in crate::engine) length: usize,
}

/// Writes the remaining data as far as possible; `true` when everything is written, including the
/// end of the stream.
pub(super) fn pour<C: MachineConnection>(
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
