//! The event loop of a side, on one thread, for any QUIC implementation without I/O: receive,
//! handle events, send; wait if there was nothing to do. A burst leaves in one call, few calls
//! fetch the input, and nothing is passed between threads.

mod answers;
mod lanes;
mod machine;
mod sides;

use std::io;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use roundtrip_net::datagrams::{Datagrams, Parcel, ReceiveBuffers, is_too_long};

use super::WireCounters;
use crate::error::PerfError;

pub(super) use machine::{DatagramBurst, Machine, MachineConnection, MachineEvent};
pub(super) use sides::{LoopServer, drive};

/// The number of receive slots: datagrams arrive coalesced if the interface does that, otherwise
/// this many in one call.
const SLOTS: usize = 64;
/// The size of the send buffer: the longest burst of the longest datagrams, in bytes.
const BUFFER_BYTES: usize = 64 << 10;
/// The largest number of bytes that are received before they are read.
const MAX_UNREAD_BYTES: usize = 60 << 10;
/// Bursts of a connection in a row before acknowledgements are received again.
const BURSTS: usize = 4;
/// How long to wait for the peer to answer a close; a peer that misses it times out.
const CLOSE_TIMEOUT: Duration = Duration::from_millis(100);

/// What a side does with the events of its connections.
trait Driver<M: Machine> {
    fn hear(
        &mut self,
        of: M::Handle,
        connection: &mut M::Connection,
        heard: MachineEvent<<M::Connection as MachineConnection>::Id>,
    ) -> Result<(), PerfError>;

    /// Called between turns, for work that depends only on time.
    fn act(&mut self, of: M::Handle, connection: &mut M::Connection) -> Result<(), PerfError>;

    /// When `act` has something to do.
    fn deadline(&self) -> Option<Instant>;
}

struct EventLoop<M: Machine> {
    machine: M,
    socket: Datagrams,
    /// The receive buffers; `None` while the loop reads what they contain.
    intake: Option<ReceiveBuffers>,
    buffer: Vec<u8>,
    handles: Vec<M::Handle>,
    /// A burst that waits because the kernel had no room.
    held: Option<DatagramBurst>,
    /// The counters of connections that have ended.
    past: Option<WireCounters>,
}

impl<M: Machine> EventLoop<M> {
    fn open(at: SocketAddr, machine: M, begun: Vec<M::Handle>) -> Result<Self, PerfError> {
        let opened = Datagrams::bind(at);
        let socket = opened.map_err(|source| PerfError::Listen { at, source })?;
        Ok(Self {
            machine,
            socket,
            intake: None,
            buffer: vec![0; BUFFER_BYTES],
            handles: begun,
            held: None,
            past: None,
        })
    }

    fn address(&self) -> Result<SocketAddr, PerfError> {
        self.socket
            .local_addr()
            .map_err(PerfError::io("the socket has no address"))
    }

    /// Connects the socket to its only peer.
    fn connect(&mut self, to: SocketAddr) -> Result<(), PerfError> {
        self.socket
            .connect(to)
            .map_err(PerfError::io("cannot reach the server"))
    }

    /// Runs until the driver is done; fails after waiting for longer than `patience`.
    fn run<G: Driver<M>>(
        &mut self,
        driver: &mut G,
        is_done: impl Fn(&G) -> bool,
        patience: Option<Duration>,
    ) -> Result<(), PerfError> {
        let limit = patience.map(|patience| Instant::now() + patience);
        while !is_done(driver) {
            if let (Some(limit), Some(patience)) = (limit, patience)
                && Instant::now() >= limit
            {
                return Err(PerfError::Silence(patience));
            }
            let came = self.take_in(driver)?;
            if !came {
                self.tell(driver)?;
            }
            let went = self.give_out().map_err(PerfError::io("cannot send"))?;
            if !came && !went && !is_done(driver) {
                let until = [limit, driver.deadline()].into_iter().flatten().min();
                self.wait(until).map_err(PerfError::io("cannot wait"))?;
            }
        }
        Ok(())
    }

    /// Closes all connections.
    fn close(&mut self) -> Result<(), PerfError> {
        let now = Instant::now();
        for handle in &self.handles {
            self.machine.close(now, *handle);
        }
        let until = now + CLOSE_TIMEOUT;
        let went = |turns: &mut Self| turns.give_out().map_err(PerfError::io("cannot send"));
        while went(self)? && Instant::now() < until {}
        Ok(())
    }

    /// The counters of all connections, and of the socket that they share.
    fn wire(&mut self) -> WireCounters {
        let mut all = self.past;
        for handle in &self.handles {
            if let Some(connection) = self.machine.connection(*handle) {
                let one = connection.wire();
                all = Some(all.map_or(one, |all| all.with(one)));
            }
        }
        let mut all = all.unwrap_or_default();
        let calls = self.socket.calls();
        (all.send_calls, all.receive_calls) = (Some(calls.sends), Some(calls.receives));
        all
    }

    /// Handles each run before it receives the next one: the data is read while it is still in the
    /// cache.
    fn take_in(&mut self, driver: &mut impl Driver<M>) -> Result<bool, PerfError> {
        let mut intake = self
            .intake
            .take()
            .unwrap_or_else(|| ReceiveBuffers::new(SLOTS));
        let told = match self.socket.receive(&mut intake) {
            Ok(_) => self.take_in_runs(&mut intake, driver).map(|()| true),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(false),
            Err(error) => Err(PerfError::io("cannot receive")(error)),
        };
        self.intake = Some(intake);
        told
    }

    fn take_in_runs(
        &mut self,
        intake: &mut ReceiveBuffers,
        driver: &mut impl Driver<M>,
    ) -> Result<(), PerfError> {
        let mut unheard = 0;
        for arrival in intake.arrivals_mut() {
            unheard += arrival.bytes.len();
            self.machine.receive(Instant::now(), arrival);
            if unheard >= MAX_UNREAD_BYTES {
                self.admit();
                self.tell(driver)?;
                unheard = 0;
            }
        }
        self.admit();
        self.tell(driver)
    }

    fn admit(&mut self) {
        while let Some(handle) = self.machine.accept() {
            self.handles.push(handle);
        }
        let mut reply = Vec::new();
        while let Some(burst) = self.machine.reply(&mut reply) {
            // If a reply outside of connections is lost, the peer asks again.
            let _ = send(&self.socket, &burst, &reply);
        }
    }

    fn tell(&mut self, driver: &mut impl Driver<M>) -> Result<(), PerfError> {
        let now = Instant::now();
        let machine = &mut self.machine;
        let past = &mut self.past;
        let mut outcome = Ok(());
        self.handles.retain(|handle| {
            machine.settle(now, *handle);
            let Some(connection) = machine.connection(*handle) else {
                return false;
            };
            while let (Ok(()), Some(heard)) = (&outcome, connection.poll()) {
                outcome = driver.hear(*handle, connection, heard);
            }
            if outcome.is_ok() {
                outcome = driver.act(*handle, connection);
            }
            let is_gone = machine.is_gone(*handle);
            if let Some(connection) = machine.connection(*handle).filter(|_| is_gone) {
                let one = connection.wire();
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
                let now = Instant::now();
                let Some(burst) = self.machine.transmit(now, handle, &mut self.buffer) else {
                    break;
                };
                went = true;
                match send(&self.socket, &burst, &self.buffer) {
                    Ok(()) => {}
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                        self.held = Some(burst);
                        return Ok(false);
                    }
                    Err(error) if is_too_long(&error) => {
                        self.machine.on_too_long(handle, burst.segment);
                    }
                    Err(error) => return Err(error),
                }
            }
        }
        Ok(went)
    }

    /// Sends the waiting burst; `false` if there is no room.
    fn send(&mut self, burst: DatagramBurst) -> io::Result<bool> {
        match send(&self.socket, &burst, &self.buffer) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                self.held = Some(burst);
                Ok(false)
            }
            // The packet will be declared lost.
            Err(error) if is_too_long(&error) => Ok(true),
            sent => sent.map(|()| true),
        }
    }

    fn wait(&mut self, until: Option<Instant>) -> io::Result<()> {
        let machine = &mut self.machine;
        let handles = self.handles.iter();
        let deadlines = handles.filter_map(|handle| machine.deadline(*handle));
        let now = Instant::now();
        let first = deadlines.chain(until).min();
        let timeout = first.map(|first| first.saturating_duration_since(now));
        if self.held.is_some() {
            self.socket.wait_with(true, None, timeout)?;
        } else {
            self.socket.wait(timeout)?;
        }
        Ok(())
    }
}

/// Sends a burst. If there is no room, datagrams are lost, and the engine sends their data again.
fn send(socket: &Datagrams, burst: &DatagramBurst, buffer: &[u8]) -> io::Result<()> {
    let sent = socket.send(&Parcel {
        to: burst.to,
        from: burst.from,
        ecn: burst.ecn,
        segment: burst.segment,
        bytes: buffer.get(..burst.length).unwrap_or(buffer),
    });
    sent.map(|_| ())
}
