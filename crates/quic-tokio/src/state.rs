//! What all tasks of an endpoint share under one lock: the engine, additional state of each
//! connection, and the queue of connections that the driver has to handle.

use std::collections::VecDeque;
use std::future::poll_fn;
use std::io::ErrorKind;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Poll, Waker};
use std::time::{Instant, SystemTime};

use roundtrip_net::datagrams::Datagrams;
use roundtrip_quic::{
    ClientConfig, CloseReason, ConnectError, Connection, Endpoint as Engine, Handle, Misdirected,
    Time, Transmit,
};

use crate::connection_wakers::ConnectionWakers;
use crate::id_map::IdMap;
use crate::wakers::{Interest, WaiterId, Wakers};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Lifecycle {
    Open,
    /// All connections are closed, but their peers still have to be informed.
    Closing,
    /// The socket is closed.
    Closed,
}

/// The lock. No task holds it while it waits or makes a system call.
#[derive(Clone)]
pub(crate) struct Shared(Arc<Mutex<EndpointState>>);

pub(crate) struct EndpointState {
    pub(crate) engine: Engine,
    pub(crate) stage: Lifecycle,
    /// Whether no handle on the endpoint is left, so that nothing can be accepted or connected any
    /// more.
    abandoned: bool,
    connections: IdMap<Handle, DrivenConnection>,
    /// Connections that may have events, or something to send.
    queue: VecDeque<Handle>,
    /// Connections that clients began and that are not accepted yet.
    incoming: VecDeque<Handle>,
    /// The waker of the driver, while it sleeps.
    driver: Option<Waker>,
    pub(crate) local: SocketAddr,
    /// The socket that the driver continues with.
    next_socket: Option<Datagrams>,
    /// The tasks that wait for the endpoint as a whole.
    wakers: Wakers,
    clock: EndpointClock,
}

/// Tells the time since 1970: address tokens of one endpoint are valid at others, so their clocks
/// must agree.
#[derive(Clone, Copy)]
pub(crate) struct EndpointClock {
    began: Instant,
    began_at: Time,
}

impl EndpointClock {
    fn start() -> Self {
        let since = SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default();
        Self {
            began: Instant::now(),
            began_at: Time::ZERO.after(since),
        }
    }

    pub(crate) fn now(self) -> Time {
        self.began_at.after(self.began.elapsed())
    }
}

/// A connection in the table.
#[derive(Default)]
struct DrivenConnection {
    /// The connection is in the queue.
    queued: bool,
    /// A client began the connection, and it is not accepted yet: nothing is sent.
    unanswered: bool,
    /// No handle refers to the connection.
    orphaned: bool,
    /// A drained connection is moved from the engine to here, where it stays as long as it can
    /// still be queried.
    drained: Option<Box<Connection>>,
    wakers: ConnectionWakers,
}

impl Shared {
    pub(crate) fn new(engine: Engine, local: SocketAddr) -> Self {
        Self(Arc::new(Mutex::new(EndpointState {
            engine,
            stage: Lifecycle::Open,
            abandoned: false,
            connections: IdMap::default(),
            queue: VecDeque::new(),
            incoming: VecDeque::new(),
            driver: None,
            local,
            next_socket: None,
            wakers: Wakers::default(),
            clock: EndpointClock::start(),
        })))
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, EndpointState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until `ask` returns a value. It is called again whenever the endpoint as a whole has
    /// changed.
    pub(crate) async fn wait<R>(&self, mut ask: impl FnMut(&mut EndpointState) -> Option<R>) -> R {
        let waiter = EndpointWaiter {
            shared: self,
            id: self.lock().wakers.new_waiter(),
        };
        poll_fn(|cx| {
            let mut state = self.lock();
            if let Some(answer) = ask(&mut state) {
                return Poll::Ready(answer);
            }
            state.wakers.register(waiter.id, Interest::Progress, cx);
            Poll::Pending
        })
        .await
    }
}

/// Removes the waker of a future that is dropped.
struct EndpointWaiter<'a> {
    shared: &'a Shared,
    id: WaiterId,
}

impl Drop for EndpointWaiter<'_> {
    fn drop(&mut self) {
        self.shared.lock().wakers.remove(self.id);
    }
}

impl EndpointState {
    pub(crate) fn now(&self) -> Time {
        self.clock.now()
    }

    pub(crate) fn connect(
        &mut self,
        config: &ClientConfig,
        remote: SocketAddr,
        name: &str,
    ) -> Result<Handle, ConnectError> {
        let handle = self.engine.connect(self.now(), config, remote, name)?;
        self.connections.insert(handle, DrivenConnection::default());
        self.queue(handle);
        Ok(handle)
    }

    pub(crate) fn take_incoming(&mut self) -> Option<Handle> {
        self.incoming.pop_front()
    }

    /// Permits sending on a connection that a client began.
    pub(crate) fn answer(&mut self, handle: Handle) {
        if let Some(entry) = self.connections.get_mut(&handle) {
            entry.unanswered = false;
        }
        self.queue(handle);
    }

    /// Takes the results of datagrams from the engine: connections that clients began, and
    /// datagrams for others.
    pub(crate) fn take_in(&mut self, wakes: &mut Vec<Waker>, others: &mut Vec<Misdirected>) {
        others.extend(std::iter::from_fn(|| self.engine.misdirected()));
        self.take_in_clients(wakes);
    }

    /// Takes the connections that clients began from the engine into the table.
    fn take_in_clients(&mut self, wakes: &mut Vec<Waker>) {
        let mut any = false;
        while let Some(handle) = self.engine.accept() {
            let entry = DrivenConnection {
                unanswered: true,
                ..DrivenConnection::default()
            };
            self.connections.insert(handle, entry);
            self.queue(handle);
            let has_ended = self.engine.connection(handle).is_none_or(|c| c.is_closed());
            // A connection that has already ended is not offered: attackers can cause many of
            // these.
            if has_ended || self.abandoned || self.stage != Lifecycle::Open {
                self.answer(handle);
                self.orphan(handle);
            } else {
                self.incoming.push_back(handle);
                any = true;
            }
        }
        if any {
            self.wakers.take_all(wakes);
        }
    }

    /// Makes the driver look at a connection that may have events, or something to send.
    pub(crate) fn queue(&mut self, handle: Handle) {
        if let Some(entry) = self.connections.get_mut(&handle)
            && !entry.queued
        {
            entry.queued = true;
            self.queue.push_back(handle);
            self.wake_driver();
        }
    }

    /// Does something to a live connection that its peer may notice, and queues it.
    pub(crate) fn update<R>(
        &mut self,
        handle: Handle,
        update: impl FnOnce(&mut Connection, &mut ConnectionWakers, EndpointClock) -> R,
    ) -> Result<R, CloseReason> {
        let result = self.inspect(handle, update)?;
        self.queue(handle);
        Ok(result)
    }

    /// Reads from a live connection. The peer notices that only if it raises a limit, so the driver
    /// need not run otherwise.
    pub(crate) fn read<R>(
        &mut self,
        handle: Handle,
        read: impl FnOnce(&mut Connection, &mut ConnectionWakers) -> R,
    ) -> Result<R, CloseReason> {
        let (result, is_noticed) = self.inspect(handle, |connection, wakers, _| {
            let result = read(connection, wakers);
            (result, connection.has_stream_frames())
        })?;
        if is_noticed {
            self.queue(handle);
        }
        Ok(result)
    }

    /// Does something to a live connection that its peer will not notice.
    pub(crate) fn inspect<R>(
        &mut self,
        handle: Handle,
        inspect: impl FnOnce(&mut Connection, &mut ConnectionWakers, EndpointClock) -> R,
    ) -> Result<R, CloseReason> {
        let clock = self.clock;
        let gone = CloseReason::Local { code: 0 };
        let entry = self.connections.get_mut(&handle);
        let entry = entry.ok_or_else(|| gone.clone())?;
        if let Some(reason) = entry.wakers.ended() {
            return Err(reason.clone());
        }
        let connection = self.engine.connection(handle).ok_or(gone)?;
        Ok(inspect(connection, &mut entry.wakers, clock))
    }

    /// The wakers of a connection, which may be over.
    pub(crate) fn wakers(&mut self, handle: Handle) -> Option<&mut ConnectionWakers> {
        let entry = self.connections.get_mut(&handle)?;
        Some(&mut entry.wakers)
    }

    /// A connection, which may be over.
    pub(crate) fn connection(&mut self, handle: Handle) -> Option<&mut Connection> {
        let entry = self.connections.get_mut(&handle)?;
        match &mut entry.drained {
            Some(drained) => Some(drained),
            None => self.engine.connection(handle),
        }
    }

    /// Takes connections from the queue until one has something to send, and fills `buffer` with a
    /// burst from it.
    pub(crate) fn next_burst(
        &mut self,
        buffer: &mut [u8],
        wakes: &mut Vec<Waker>,
    ) -> Option<(Handle, Transmit)> {
        let now = self.now();
        while let Some(handle) = self.queue.pop_front() {
            let Some(entry) = self.connections.get_mut(&handle) else {
                continue;
            };
            entry.queued = false;
            let Some(connection) = self.engine.connection(handle) else {
                continue;
            };
            entry.wakers.on_events(connection, wakes);
            let burst = (!entry.unanswered)
                .then(|| connection.transmit(now, buffer))
                .flatten();
            // The burst may have ended the connection.
            entry.wakers.on_events(connection, wakes);
            if let Some(burst) = burst {
                entry.queued = true;
                self.queue.push_back(handle);
                return Some((handle, burst));
            }
            if connection.is_drained() {
                entry.drained = self.engine.remove(handle).map(Box::new);
                if self.engine.is_empty() {
                    self.wakers.take_all(wakes);
                }
                if entry.orphaned {
                    self.connections.remove(&handle);
                }
            }
        }
        None
    }

    /// Notes that the peer of all connections cannot be reached.
    pub(crate) fn on_unreachable(&mut self, why: ErrorKind) {
        let now = self.now();
        for handle in self.handles() {
            if let Some(connection) = self.engine.connection(handle) {
                connection.on_unreachable(now, why);
                self.queue(handle);
            }
        }
    }

    /// Makes the driver continue on another socket. Returns false if a connection may not migrate.
    pub(crate) fn rebind(&mut self, local: SocketAddr, socket: Datagrams) -> bool {
        let mut entries = self.connections.iter();
        let may = entries.all(|(handle, entry)| {
            let connection = self.engine.connection(*handle);
            entry.wakers.ended().is_some() || connection.is_none_or(|c| c.may_migrate())
        });
        if may {
            self.local = local;
            self.next_socket = Some(socket);
            self.wake_driver();
        }
        may
    }

    /// The socket that the driver continues with, to which all connections now migrate.
    pub(crate) fn take_socket(&mut self) -> Option<Datagrams> {
        let socket = self.next_socket.take()?;
        let now = self.now();
        for handle in self.handles() {
            if let Some(connection) = self.engine.connection(handle) {
                connection.migrate(now, None);
                self.queue(handle);
            }
        }
        Some(socket)
    }

    fn handles(&self) -> Vec<Handle> {
        self.connections.keys().copied().collect()
    }

    /// Stores the driver's waker. Returns false if the driver has something to do.
    pub(crate) fn sleep(&mut self, waker: &Waker) -> bool {
        if !self.queue.is_empty() || self.next_socket.is_some() {
            return false;
        }
        self.driver = Some(waker.clone());
        true
    }

    /// Whether there is nothing left to do, and no handle is left.
    pub(crate) fn is_over(&self) -> bool {
        let mut entries = self.connections.values();
        match self.stage {
            Lifecycle::Open => {
                self.queue.is_empty()
                    && self.abandoned
                    && entries.all(|entry| entry.wakers.ended().is_some())
            }
            Lifecycle::Closing => self.queue.is_empty(),
            Lifecycle::Closed => true,
        }
    }

    /// Closes a connection on which no handle is left.
    pub(crate) fn orphan(&mut self, handle: Handle) {
        let now = self.now();
        let Some(entry) = self.connections.get_mut(&handle) else {
            return;
        };
        entry.orphaned = true;
        if entry.drained.is_some() {
            self.connections.remove(&handle);
        } else if let Some(connection) = self.engine.connection(handle) {
            connection.close(now, 0, b"");
            self.queue(handle);
        }
        self.wake_driver();
    }

    /// Ends connections that can no longer be accepted, because no handle on the endpoint is left.
    pub(crate) fn abandon(&mut self) {
        self.abandoned = true;
        while let Some(handle) = self.take_incoming() {
            self.answer(handle);
            self.orphan(handle);
        }
        self.wake_driver();
    }

    pub(crate) fn close_all(&mut self, code: u64, reason: &[u8]) {
        if self.stage != Lifecycle::Open {
            return;
        }
        self.stage = Lifecycle::Closing;
        while let Some(handle) = self.take_incoming() {
            self.answer(handle);
        }
        let now = self.now();
        for handle in self.handles() {
            if let Some(connection) = self.engine.connection(handle) {
                connection.close(now, code, reason);
            }
            self.queue(handle);
        }
        let mut wakes = Vec::new();
        self.wakers.take_all(&mut wakes);
        wakes.into_iter().for_each(Waker::wake);
        self.wake_driver();
    }

    /// Notes that the socket is closed: ends all connections, and collects the wakers of all
    /// waiting tasks.
    pub(crate) fn finish(&mut self, wakes: &mut Vec<Waker>) {
        self.stage = Lifecycle::Closed;
        self.driver = None;
        for entry in self.connections.values_mut() {
            entry.wakers.end(CloseReason::Local { code: 0 }, wakes);
        }
        self.wakers.take_all(wakes);
    }

    #[cfg(test)]
    pub(crate) fn kept(&self) -> usize {
        self.connections.len()
    }

    fn wake_driver(&mut self) {
        if let Some(driver) = self.driver.take() {
            driver.wake();
        }
    }
}
