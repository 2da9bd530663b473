//! Adapts crate `quic` to the loop in `turns`.

use std::net::SocketAddr;
use std::time::Instant;

use bytes::Bytes;
use roundtrip_net::datagrams::DatagramRun;
use roundtrip_quic::{
    ClientConfig, Connection, Dir, Endpoint, Event, Handle, Peek, RecvMeta, ServerConfig,
    StreamEvent, StreamId, Time, Transmit,
};

use crate::engine::WireCounters;
use crate::engine::turns::{DatagramBurst, Machine, MachineConnection, MachineEvent};
use crate::error::PerfError;

pub(super) struct OwnMachine {
    endpoint: Endpoint,
    epoch: Instant,
}

impl OwnMachine {
    pub(super) fn new(server: Option<ServerConfig>) -> Result<Self, PerfError> {
        let mut seed = [0; 32];
        rustls::crypto::aws_lc_rs::default_provider()
            .secure_random
            .fill(&mut seed)
            .map_err(|_| rustls::Error::FailedToGetRandomBytes)?;
        Ok(Self {
            endpoint: Endpoint::new(server, seed),
            epoch: Instant::now(),
        })
    }

    pub(super) fn connect(
        &mut self,
        config: &ClientConfig,
        to: SocketAddr,
        name: &str,
    ) -> Result<Handle, PerfError> {
        let now = self.time(Instant::now());
        let begun = self.endpoint.connect(now, config, to, name);
        begun.map_err(PerfError::broken)
    }

    fn time(&self, at: Instant) -> Time {
        Time::ZERO.after(at.saturating_duration_since(self.epoch))
    }
}

impl Machine for OwnMachine {
    type Handle = Handle;
    type Connection = Connection;

    fn receive(&mut self, now: Instant, mut arrival: DatagramRun<'_>) {
        let now = self.time(now);
        let way = RecvMeta {
            remote: arrival.from,
            local: arrival.to,
            ecn: arrival.ecn,
        };
        for datagram in arrival.datagrams_mut() {
            self.endpoint.receive(now, &way, datagram);
        }
    }

    fn accept(&mut self) -> Option<Handle> {
        self.endpoint.accept()
    }

    fn reply(&mut self, buffer: &mut Vec<u8>) -> Option<DatagramBurst> {
        self.endpoint.reply(buffer).map(DatagramBurst::from)
    }

    fn settle(&mut self, now: Instant, of: Handle) {
        let now = self.time(now);
        if let Some(connection) = self.endpoint.connection(of) {
            let deadline = connection.deadline();
            if deadline.is_some_and(|deadline| deadline <= now) {
                connection.on_timeout(now);
            }
        }
    }

    fn connection(&mut self, of: Handle) -> Option<&mut Connection> {
        self.endpoint.connection(of)
    }

    fn transmit(
        &mut self,
        now: Instant,
        of: Handle,
        buffer: &mut Vec<u8>,
    ) -> Option<DatagramBurst> {
        let now = self.time(now);
        let transmit = self.endpoint.connection(of)?.transmit(now, buffer)?;
        Some(transmit.into())
    }

    fn on_too_long(&mut self, of: Handle, length: usize) {
        if let Some(connection) = self.endpoint.connection(of) {
            connection.on_too_big(length);
        }
    }

    fn deadline(&mut self, of: Handle) -> Option<Instant> {
        let deadline = self.endpoint.connection(of)?.deadline()?;
        Some(self.epoch + deadline.since(Time::ZERO))
    }

    fn is_gone(&mut self, of: Handle) -> bool {
        let connection = self.endpoint.connection(of);
        connection.is_none_or(|one| one.is_closed() && one.deadline().is_none())
    }

    fn close(&mut self, now: Instant, of: Handle) {
        let now = self.time(now);
        if let Some(connection) = self.endpoint.connection(of) {
            connection.close(now, 0, b"");
        }
    }
}

impl MachineConnection for Connection {
    type Id = StreamId;

    fn poll(&mut self) -> Option<MachineEvent<StreamId>> {
        Some(match Connection::poll(self)? {
            Event::Connected => MachineEvent::Connected,
            Event::Closed(reason) => MachineEvent::Closed(reason.to_string()),
            Event::Stream(StreamEvent::Opened(Dir::Bidi)) => MachineEvent::Opened,
            Event::Stream(StreamEvent::Readable(stream)) => MachineEvent::Readable(stream),
            Event::Stream(StreamEvent::Writable(stream)) => MachineEvent::Writable(stream),
            Event::Stream(StreamEvent::Stopped(stream, _)) => MachineEvent::Stopped(stream),
            _ => MachineEvent::Other,
        })
    }

    fn open(&mut self) -> Option<StreamId> {
        Connection::open(self, Dir::Bidi)
    }

    fn accept(&mut self) -> Option<StreamId> {
        Connection::accept(self, Dir::Bidi)
    }

    fn write(&mut self, to: StreamId, bytes: Bytes) -> Result<usize, PerfError> {
        Connection::write(self, to, bytes).map_err(PerfError::broken)
    }

    fn finish(&mut self, stream: StreamId) -> Result<(), PerfError> {
        Connection::finish(self, stream).map_err(PerfError::broken)
    }

    fn drain(&mut self, from: StreamId, mut see: impl FnMut(&[u8])) -> Result<bool, PerfError> {
        loop {
            let count = match self.peek(from).map_err(PerfError::broken)? {
                Peek::Bytes(bytes) => {
                    see(bytes);
                    bytes.len()
                }
                Peek::Blocked => return Ok(false),
                Peek::End => return Ok(true),
            };
            self.consume(from, count);
        }
    }

    fn wire(&self) -> WireCounters {
        let stats = self.stats();
        WireCounters {
            packets_sent: Some(stats.packets_sent),
            packets_received: Some(stats.packets_received),
            acks_sent: Some(stats.acks_sent),
            acks_received: Some(stats.acks_received),
            lost: Some(stats.packets_lost),
            retransmitted: Some(stats.stream_bytes_resent / u64::from(stats.datagram.max(1))),
            // Counted by the socket, which connections share.
            send_calls: Some(0),
            receive_calls: Some(0),
            largest: Some(stats.datagram.into()),
            held_by_window: None,
        }
    }
}

impl From<Transmit> for DatagramBurst {
    fn from(transmit: Transmit) -> Self {
        Self {
            to: transmit.to,
            from: transmit.from,
            ecn: transmit.ecn,
            segment: transmit.segment,
            length: transmit.length,
        }
    }
}
