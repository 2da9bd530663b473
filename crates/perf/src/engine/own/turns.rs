//! The loop of a side: take in, hear, give out; wait where there was nothing of it.

use std::io;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use roundtrip_net::datagrams::{Datagrams, Intake, Parcel, is_too_long};
use roundtrip_quic::{
    ClientConfig, Connection, Endpoint, Event, Handle, ServerConfig, Time, Transmit, Way,
};

use super::broken;
use crate::engine::Wire;
use crate::error::PerfError;

/// Datagrams come joined where the interface joins them, else one by one: then this many by one call.
const SLOTS: usize = 64;
/// The longest burst of the longest datagrams.
const BUFFER: usize = 64 << 10;
/// What may come before somebody reads it.
const EARFUL: usize = 60 << 10;
/// Bursts of a connection in a row before acknowledgements are heard again.
const BURSTS: usize = 4;
/// How long the farewell is waited for: who does not hear it finds out in time.
const FAREWELL: Duration = Duration::from_millis(100);

/// What a side does with what it hears.
pub(super) trait Guest {
    fn hear(
        &mut self,
        handle: Handle,
        connection: &mut Connection,
        event: Event,
    ) -> Result<(), PerfError>;

    /// Between turns: for what time alone brings about.
    fn act(&mut self, handle: Handle, connection: &mut Connection) -> Result<(), PerfError>;

    /// When `act` has something to do.
    fn deadline(&self) -> Option<Instant>;
}

pub(super) struct Turns {
    endpoint: Endpoint,
    socket: Datagrams,
    /// None while it is read.
    intake: Option<Intake>,
    buffer: Vec<u8>,
    handles: Vec<Handle>,
    epoch: Instant,
    /// The kernel had no room: a burst that waits for it.
    held: Option<Transmit>,
    /// Of connections that are gone.
    past: Option<Wire>,
}

impl Turns {
    pub(super) fn open(at: SocketAddr, server: Option<ServerConfig>) -> Result<Self, PerfError> {
        let opened = Datagrams::bind(at);
        let socket = opened.map_err(|source| PerfError::Listen { at, source })?;
        let mut seed = [0; 32];
        rustls::crypto::aws_lc_rs::default_provider()
            .secure_random
            .fill(&mut seed)
            .map_err(|_| rustls::Error::FailedToGetRandomBytes)?;
        Ok(Self {
            endpoint: Endpoint::new(server, seed),
            socket,
            intake: None,
            buffer: vec![0; BUFFER],
            handles: Vec::new(),
            epoch: Instant::now(),
            held: None,
            past: None,
        })
    }

    pub(super) fn address(&self) -> Result<SocketAddr, PerfError> {
        self.socket
            .local_addr()
            .map_err(PerfError::io("the socket has no address"))
    }

    pub(super) fn connect(
        &mut self,
        config: &ClientConfig,
        to: SocketAddr,
        name: &str,
    ) -> Result<(), PerfError> {
        let now = self.now();
        let handle = self
            .endpoint
            .connect(now, config, to, name)
            .map_err(broken)?;
        self.handles.push(handle);
        Ok(())
    }

    /// Goes on until the guest has what it wants; whoever waits longer than `patience` waits no longer.
    pub(super) fn run<G: Guest>(
        &mut self,
        guest: &mut G,
        is_done: impl Fn(&G) -> bool,
        patience: Option<Duration>,
    ) -> Result<(), PerfError> {
        let limit = patience.map(|patience| Instant::now() + patience);
        while !is_done(guest) {
            if let (Some(limit), Some(patience)) = (limit, patience)
                && Instant::now() >= limit
            {
                return Err(PerfError::Silence(patience));
            }
            let came = self.take_in(guest)?;
            if !came {
                self.tell(guest)?;
            }
            let went = self.give_out().map_err(PerfError::io("cannot send"))?;
            if !came && !went && !is_done(guest) {
                let until = [limit, guest.deadline()].into_iter().flatten().min();
                self.wait(until).map_err(PerfError::io("cannot wait"))?;
            }
        }
        Ok(())
    }

    /// Says goodbye on all connections.
    pub(super) fn close(&mut self) -> Result<(), PerfError> {
        let now = self.now();
        for handle in &self.handles {
            if let Some(connection) = self.endpoint.connection(*handle) {
                connection.close(now, 0, b"");
            }
        }
        let until = Instant::now() + FAREWELL;
        let went = |turns: &mut Self| turns.give_out().map_err(PerfError::io("cannot send"));
        while went(self)? && Instant::now() < until {}
        Ok(())
    }

    /// Of all connections together, and of the socket they share.
    pub(super) fn wire(&mut self) -> Wire {
        let mut all = self.past;
        for handle in &self.handles {
            if let Some(connection) = self.endpoint.connection(*handle) {
                let one = wire(connection);
                all = Some(all.map_or(one, |all| all.with(one)));
            }
        }
        let mut all = all.unwrap_or_default();
        let calls = self.socket.calls();
        (all.send_calls, all.receive_calls) = (Some(calls.sends), Some(calls.receives));
        all
    }

    fn now(&self) -> Time {
        Time::ZERO.after(self.epoch.elapsed())
    }

    /// Hears of each run before it takes the next one in: what came is read while the cache still has it.
    fn take_in(&mut self, guest: &mut impl Guest) -> Result<bool, PerfError> {
        let mut intake = self.intake.take().unwrap_or_else(|| Intake::new(SLOTS));
        let told = match self.socket.receive(&mut intake) {
            Ok(_) => self.take_in_runs(&mut intake, guest).map(|()| true),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(false),
            Err(error) => Err(PerfError::io("cannot receive")(error)),
        };
        self.intake = Some(intake);
        told
    }

    fn take_in_runs(
        &mut self,
        intake: &mut Intake,
        guest: &mut impl Guest,
    ) -> Result<(), PerfError> {
        let mut unheard = 0;
        for mut arrival in intake.arrivals_mut() {
            let now = self.now();
            let way = Way {
                remote: arrival.from,
                local: arrival.to,
                ecn: arrival.ecn,
            };
            unheard += arrival.bytes.len();
            for datagram in arrival.datagrams_mut() {
                self.endpoint.receive(now, &way, datagram);
            }
            if unheard >= EARFUL {
                self.admit();
                self.tell(guest)?;
                unheard = 0;
            }
        }
        self.admit();
        self.tell(guest)
    }

    fn admit(&mut self) {
        while let Some(handle) = self.endpoint.accept() {
            self.handles.push(handle);
        }
        let mut reply = Vec::new();
        while let Some(transmit) = self.endpoint.reply(&mut reply) {
            // A reply to nobody that is lost is asked for again.
            let _ = send(&self.socket, &transmit, &reply);
        }
    }

    fn tell(&mut self, guest: &mut impl Guest) -> Result<(), PerfError> {
        let now = self.now();
        let endpoint = &mut self.endpoint;
        let past = &mut self.past;
        let mut outcome = Ok(());
        self.handles.retain(|handle| {
            let Some(connection) = endpoint.connection(*handle) else {
                return false;
            };
            if connection
                .deadline()
                .is_some_and(|deadline| deadline <= now)
            {
                connection.on_timeout(now);
            }
            while let (Ok(()), Some(event)) = (&outcome, connection.poll()) {
                outcome = guest.hear(*handle, connection, event);
            }
            if outcome.is_ok() {
                outcome = guest.act(*handle, connection);
            }
            let is_gone = connection.is_closed() && connection.deadline().is_none();
            if is_gone {
                let one = wire(connection);
                *past = Some(past.map_or(one, |past| past.with(one)));
            }
            !is_gone
        });
        outcome
    }

    fn give_out(&mut self) -> io::Result<bool> {
        let mut went = false;
        if let Some(held) = self.held.take() {
            if !self.send(held)? {
                return Ok(false);
            }
            went = true;
        }
        for place in 0..self.handles.len() {
            let Some(handle) = self.handles.get(place).copied() else {
                break;
            };
            for _ in 0..BURSTS {
                let now = self.now();
                let Some(connection) = self.endpoint.connection(handle) else {
                    break;
                };
                let Some(transmit) = connection.transmit(now, &mut self.buffer) else {
                    break;
                };
                went = true;
                match send(&self.socket, &transmit, &self.buffer) {
                    Ok(()) => {}
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                        self.held = Some(transmit);
                        return Ok(false);
                    }
                    Err(error) if is_too_long(&error) => connection.on_too_big(transmit.segment),
                    Err(error) => return Err(error),
                }
            }
        }
        Ok(went)
    }

    /// Sends what waits in the buffer; false while there is no room.
    fn send(&mut self, transmit: Transmit) -> io::Result<bool> {
        match send(&self.socket, &transmit, &self.buffer) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                self.held = Some(transmit);
                Ok(false)
            }
            // It is found to be lost in time.
            Err(error) if is_too_long(&error) => Ok(true),
            sent => sent.map(|()| true),
        }
    }

    fn wait(&mut self, until: Option<Instant>) -> io::Result<()> {
        let now = self.now();
        let endpoint = &mut self.endpoint;
        let deadlines = self
            .handles
            .iter()
            .filter_map(|handle| endpoint.connection(*handle)?.deadline());
        let first = deadlines.min().map(|deadline| deadline.since(now));
        let asked = until.map(|until| until.saturating_duration_since(Instant::now()));
        let timeout = [first, asked].into_iter().flatten().min();
        if self.held.is_some() {
            self.socket.wait_with(true, None, timeout)?;
        } else {
            self.socket.wait(timeout)?;
        }
        Ok(())
    }
}

fn send(socket: &Datagrams, transmit: &Transmit, buffer: &[u8]) -> io::Result<()> {
    socket.send(&Parcel {
        to: transmit.to,
        from: transmit.from,
        ecn: transmit.ecn,
        segment: transmit.segment,
        bytes: buffer.get(..transmit.length).unwrap_or(buffer),
    })
}

/// What a connection has counted.
fn wire(connection: &Connection) -> Wire {
    let stats = connection.stats();
    Wire {
        packets_sent: Some(stats.packets_sent),
        packets_received: Some(stats.packets_received),
        acks_sent: Some(stats.acks_sent),
        acks_received: Some(stats.acks_received),
        lost: Some(stats.packets_lost),
        retransmitted: Some(stats.stream_bytes_resent / u64::from(stats.datagram.max(1))),
        // Those of the socket, which connections share.
        send_calls: Some(0),
        receive_calls: Some(0),
        largest: Some(stats.datagram.into()),
        held_by_window: None,
    }
}
