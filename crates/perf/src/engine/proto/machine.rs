//! Adapts quinn-proto to the loop in `turns`: its endpoint, its connections, and the events between
//! them.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Instant;

use bytes::{Bytes, BytesMut};
use quinn_proto::{
    ClientConfig, Connection, ConnectionHandle, DatagramEvent, Dir, EcnCodepoint, Endpoint,
    EndpointConfig, Event, Incoming, ReadError, ServerConfig, StreamEvent, StreamId, Transmit,
    VarInt, WriteError,
};
use roundtrip_net::datagrams::{DatagramRun, MAX_PARCEL_BYTES};

use crate::engine::WireCounters;
use crate::engine::quinn::wire;
use crate::engine::turns::{DatagramBurst, Machine, MachineConnection, MachineEvent};
use crate::error::PerfError;

/// Makes a server configuration for datagrams of this size.
pub(super) type Mirror = Box<dyn Fn(u16) -> ServerConfig>;

pub(super) struct ProtoMachine {
    endpoint: Endpoint,
    /// The connections, indexed by their handles, which are small integers.
    connections: Vec<Option<Connection>>,
    fresh: VecDeque<ConnectionHandle>,
    replies: VecDeque<(DatagramBurst, Vec<u8>)>,
    mirror: Option<Mirror>,
    /// The largest number of datagrams in a burst.
    burst: usize,
}

impl ProtoMachine {
    pub(super) fn new(server: Option<ServerConfig>, mirror: Option<Mirror>, burst: usize) -> Self {
        let config = Arc::new(EndpointConfig::default());
        Self {
            endpoint: Endpoint::new(config, server.map(Arc::new), true, None),
            connections: Vec::new(),
            fresh: VecDeque::new(),
            replies: VecDeque::new(),
            mirror,
            burst: burst.max(1),
        }
    }

    pub(super) fn connect(
        &mut self,
        config: &ClientConfig,
        to: SocketAddr,
        name: &str,
    ) -> Result<ConnectionHandle, PerfError> {
        let begun = self
            .endpoint
            .connect(Instant::now(), config.clone(), to, name);
        let (handle, connection) = begun?;
        self.keep(handle, connection);
        Ok(handle)
    }

    fn keep(&mut self, handle: ConnectionHandle, connection: Connection) {
        let least = self.connections.len().max(handle.0 + 1);
        self.connections.resize_with(least, || None);
        if let Some(place) = self.connections.get_mut(handle.0) {
            *place = Some(connection);
        }
    }

    /// Accepts a connection with the configured datagram size, or with that of its first datagram.
    fn admit(&mut self, now: Instant, incoming: Incoming, length: usize) {
        let length = u16::try_from(length).unwrap_or(u16::MAX);
        let config = self.mirror.as_ref().map(|of| Arc::new(of(length)));
        let mut buffer = Vec::new();
        match self.endpoint.accept(incoming, now, &mut buffer, config) {
            Ok((handle, connection)) => {
                self.keep(handle, connection);
                self.fresh.push_back(handle);
            }
            Err(refused) => {
                let response = refused.response.map(|transmit| (burst(&transmit), buffer));
                self.replies.extend(response);
            }
        }
    }
}

impl Machine for ProtoMachine {
    type Handle = ConnectionHandle;
    type Connection = Connection;

    fn receive(&mut self, now: Instant, arrival: DatagramRun<'_>) {
        let ecn = EcnCodepoint::from_bits(arrival.ecn);
        // Packets are kept beyond this call, so the whole run is copied out of the intake once.
        let mut run = BytesMut::from(&*arrival.bytes);
        while !run.is_empty() {
            let datagram = run.split_to(arrival.stride.min(run.len()));
            let length = datagram.len();
            let mut buffer = Vec::new();
            let led_to =
                self.endpoint
                    .handle(now, arrival.from, arrival.to, ecn, datagram, &mut buffer);
            match led_to {
                Some(DatagramEvent::ConnectionEvent(of, event)) => {
                    if let Some(connection) = self.connection(of) {
                        connection.handle_event(event);
                    }
                }
                Some(DatagramEvent::NewConnection(incoming)) => self.admit(now, incoming, length),
                Some(DatagramEvent::Response(transmit)) => {
                    self.replies.push_back((burst(&transmit), buffer));
                }
                None => {}
            }
        }
    }

    fn accept(&mut self) -> Option<ConnectionHandle> {
        self.fresh.pop_front()
    }

    fn reply(&mut self, buffer: &mut Vec<u8>) -> Option<DatagramBurst> {
        let (burst, bytes) = self.replies.pop_front()?;
        *buffer = bytes;
        Some(burst)
    }

    fn settle(&mut self, now: Instant, of: ConnectionHandle) {
        let Some(Some(connection)) = self.connections.get_mut(of.0) else {
            return;
        };
        if connection.poll_timeout().is_some_and(|due| due <= now) {
            connection.handle_timeout(now);
        }
        while let Some(event) = connection.poll_endpoint_events() {
            if let Some(answer) = self.endpoint.handle_event(of, event) {
                connection.handle_event(answer);
            }
        }
    }

    fn connection(&mut self, of: ConnectionHandle) -> Option<&mut Connection> {
        self.connections.get_mut(of.0)?.as_mut()
    }

    fn transmit(
        &mut self,
        now: Instant,
        of: ConnectionHandle,
        buffer: &mut Vec<u8>,
    ) -> Option<DatagramBurst> {
        let most = self.burst;
        let connection = self.connection(of)?;
        let fit = MAX_PARCEL_BYTES / usize::from(connection.current_mtu().max(1));
        buffer.clear();
        let transmit = connection.poll_transmit(now, most.min(fit).max(1), buffer)?;
        Some(burst(&transmit))
    }

    /// Does nothing: the packet will be declared lost, and MTU detection notices the smaller path.
    fn on_too_long(&mut self, _: ConnectionHandle, _: usize) {}

    fn deadline(&mut self, of: ConnectionHandle) -> Option<Instant> {
        self.connection(of)?.poll_timeout()
    }

    fn is_gone(&mut self, of: ConnectionHandle) -> bool {
        self.connection(of).is_none_or(|one| one.is_drained())
    }

    fn close(&mut self, now: Instant, of: ConnectionHandle) {
        if let Some(connection) = self.connection(of) {
            connection.close(now, VarInt::from_u32(0), Bytes::new());
        }
    }
}

impl MachineConnection for Connection {
    type Id = StreamId;

    fn poll(&mut self) -> Option<MachineEvent<StreamId>> {
        Some(match Connection::poll(self)? {
            Event::Connected => MachineEvent::Connected,
            Event::ConnectionLost { reason } => MachineEvent::Closed(reason.to_string()),
            Event::Stream(StreamEvent::Opened { dir: Dir::Bi }) => MachineEvent::Opened,
            Event::Stream(StreamEvent::Readable { id }) => MachineEvent::Readable(id),
            Event::Stream(StreamEvent::Writable { id }) => MachineEvent::Writable(id),
            Event::Stream(StreamEvent::Stopped { id, .. }) => MachineEvent::Stopped(id),
            _ => MachineEvent::Other,
        })
    }

    fn open(&mut self) -> Option<StreamId> {
        self.streams().open(Dir::Bi)
    }

    fn accept(&mut self) -> Option<StreamId> {
        self.streams().accept(Dir::Bi)
    }

    fn write(&mut self, to: StreamId, bytes: Bytes) -> Result<usize, PerfError> {
        let whole = bytes.len();
        let mut rest = [bytes];
        let mut taken = 0;
        // Writable events are only sent after a write that was blocked.
        while taken < whole {
            match self.send_stream(to).write_chunks(&mut rest) {
                Ok(written) => taken += written.bytes,
                Err(WriteError::Blocked) => break,
                Err(error) => return Err(PerfError::broken(error)),
            }
        }
        Ok(taken)
    }

    fn finish(&mut self, stream: StreamId) -> Result<(), PerfError> {
        self.send_stream(stream).finish().map_err(PerfError::broken)
    }

    fn drain(&mut self, from: StreamId, mut see: impl FnMut(&[u8])) -> Result<bool, PerfError> {
        let mut stream = self.recv_stream(from);
        let mut chunks = stream.read(true).map_err(PerfError::broken)?;
        let ended = loop {
            match chunks.next(usize::MAX) {
                Ok(Some(chunk)) => see(&chunk.bytes),
                Ok(None) => break Ok(true),
                Err(ReadError::Blocked) => break Ok(false),
                Err(error) => break Err(PerfError::broken(error)),
            }
        };
        // Ignored: it says whether credit should be sent, but the loop polls for packets in any
        // case.
        let _ = chunks.finalize();
        ended
    }

    fn wire(&self) -> WireCounters {
        wire(&self.stats())
    }
}

fn burst(transmit: &Transmit) -> DatagramBurst {
    DatagramBurst {
        to: transmit.destination,
        from: transmit.src_ip,
        ecn: transmit.ecn.map_or(0, |ecn| ecn as u8),
        segment: transmit.segment_size.unwrap_or(transmit.size),
        length: transmit.size,
    }
}
