//! The endpoint: a UDP socket on which connections are begun and accepted.

use std::fmt;
use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::sync::Arc;

use roundtrip_net::datagrams::Datagrams;
use roundtrip_quic::{ClientConfig, ConnectError, ServerConfig, StrayCounts};
use rustls::crypto::SecureRandom;

use crate::driver::Driver;
use crate::handle::ConnectionHandle;
use crate::sibling::Sibling;
use crate::socket::Socket;
use crate::state::{EndpointState, Lifecycle, Shared};
use crate::{Connection, DatagramObserver, Incoming};

/// A handle on a UDP socket and its connections.
///
/// # Contract
///
/// [`Endpoint::new`] spawns the driver on the current runtime. Only the driver touches the socket,
/// and no other call is needed for timers to fire. Any task may then do any of the following, in
/// any order:
///
/// - A client calls [`connect`](Self::connect), once for each connection, and waits for
///   [`Connection::connected`], or begins at once if [`Connection::is_early`].
/// - A server calls [`accept`](Self::accept) in a loop and decides about each [`Incoming`]:
///   `accept`, `refuse` or `ignore`. Until it does, the client gets no answer, so the loop must not
///   wait for anything slow.
/// - To shut down gracefully, [`set_server_config`](Self::set_server_config) to `None`, then
///   [`wait_idle`](Self::wait_idle). To end now, [`close`](Self::close), then
///   [`closed`](Self::closed).
///
/// When the last handle is dropped, no connection is accepted any more, and the socket is closed
/// once all connections have ended.
#[derive(Clone)]
pub struct Endpoint(Arc<EndpointInner>);

struct EndpointInner {
    shared: Shared,
    /// Whether datagrams get the kernel's timestamps.
    is_observed: bool,
}

impl Endpoint {
    /// Drives the engine's endpoint on a socket, on the current runtime.
    pub fn new(socket: UdpSocket, engine: roundtrip_quic::Endpoint) -> io::Result<Self> {
        Self::start(socket, engine, None, None)
    }

    /// Like [`Endpoint::new`], for a server that shares its address with others: each of them may
    /// receive datagrams for another one. `seed` is as for the engine's endpoint.
    pub fn with_siblings(
        socket: UdpSocket,
        config: ServerConfig,
        seed: [u8; 32],
        sibling: Sibling,
    ) -> io::Result<Self> {
        let engine = roundtrip_quic::Endpoint::with_siblings(config, seed, &sibling.in_engine());
        Self::start(socket, engine, None, Some(sibling))
    }

    /// Like [`Endpoint::new`], and shows each datagram to an observer.
    pub fn with_observer(
        socket: UdpSocket,
        engine: roundtrip_quic::Endpoint,
        observer: Arc<dyn DatagramObserver>,
    ) -> io::Result<Self> {
        Self::start(socket, engine, Some(observer), None)
    }

    fn start(
        socket: UdpSocket,
        engine: roundtrip_quic::Endpoint,
        observer: Option<Arc<dyn DatagramObserver>>,
        sibling: Option<Sibling>,
    ) -> io::Result<Self> {
        let is_observed = observer.is_some();
        let (local, datagrams) = prepare(socket, is_observed)?;
        let shared = Shared::new(engine, local);
        let socket = Socket::new(datagrams, observer);
        tokio::spawn(Driver::new(socket, shared.clone(), sibling)?);
        let inner = EndpointInner {
            shared,
            is_observed,
        };
        Ok(Self(Arc::new(inner)))
    }

    pub fn local_addr(&self) -> SocketAddr {
        self.0.shared.lock().local
    }

    /// Continues on another socket: all connections migrate to its address. Datagrams on their way
    /// to the old one are lost. If one of the connections may not migrate, this is an error and
    /// changes nothing. A connection may not migrate if it is a server's, if its handshake is not
    /// confirmed, or if its server forbids it or has given no spare connection id. RFC 9000 §9.
    pub fn rebind(&self, socket: UdpSocket) -> io::Result<()> {
        let (local, datagrams) = prepare(socket, self.0.is_observed)?;
        let rebound = self.0.shared.lock().rebind(local, datagrams);
        let refused = || io::Error::other("a connection may not migrate");
        rebound.then_some(()).ok_or_else(refused)
    }

    /// Waits for the next client that begins a connection. `None` once the endpoint is closed.
    pub async fn accept(&self) -> Option<Incoming> {
        let shared = &self.0.shared;
        let taken = shared.wait(|state| {
            if state.stage != Lifecycle::Open {
                return Some(None);
            }
            state.take_incoming().map(Some)
        });
        let handle = ConnectionHandle::new(shared.clone(), taken.await?);
        Some(Incoming::new(Connection::new(handle)))
    }

    /// Begins a connection.
    ///
    /// If TLS has a ticket that allows early data, streams can be opened at once, and data written
    /// to them leaves as early data.
    pub fn connect(
        &self,
        config: &ClientConfig,
        remote: SocketAddr,
        name: &str,
    ) -> Result<Connection, ConnectError> {
        let shared = &self.0.shared;
        let handle = shared.lock().connect(config, remote, name)?;
        Ok(Connection::new(ConnectionHandle::new(
            shared.clone(),
            handle,
        )))
    }

    /// Sets the configuration for new clients. Without one, none is accepted.
    pub fn set_server_config(&self, config: Option<ServerConfig>) {
        self.0.shared.lock().engine.set_server(config);
    }

    /// Waits until no connection is left.
    pub async fn wait_idle(&self) {
        let is_idle = |state: &mut EndpointState| {
            let is_idle = state.engine.is_empty() || state.stage == Lifecycle::Closed;
            is_idle.then_some(())
        };
        self.0.shared.wait(is_idle).await;
    }

    /// Closes all connections, informs their peers, and then closes the socket.
    pub fn close(&self, code: u64, reason: &[u8]) {
        self.0.shared.lock().close_all(code, reason);
    }

    /// Waits until the socket is closed.
    pub async fn closed(&self) {
        let is_closed =
            |state: &mut EndpointState| (state.stage == Lifecycle::Closed).then_some(());
        self.0.shared.wait(is_closed).await;
    }

    /// The number of stored connections, including those that have ended.
    #[cfg(test)]
    pub(crate) fn kept(&self) -> usize {
        self.0.shared.lock().kept()
    }

    /// The number of clients that had to validate their address because of a Retry. RFC 9000
    /// §8.1.2.
    pub fn retries_sent(&self) -> u64 {
        self.0.shared.lock().engine.retries_sent()
    }

    /// Counts of the datagrams that belonged to no connection.
    pub fn strays(&self) -> StrayCounts {
        self.0.shared.lock().engine.strays()
    }

    /// The number of clients whose token validated their address. RFC 9000 §8.1.3.
    pub fn tokens_taken(&self) -> u64 {
        self.0.shared.lock().engine.tokens_taken()
    }

    /// The number of clients that were refused because connections have used up their budget.
    pub fn refused_over_budget(&self) -> u64 {
        self.0.shared.lock().engine.refused_over_budget()
    }

    /// The number of connections that were closed because they kept more than the budget permits.
    pub fn evicted(&self) -> u64 {
        self.0.shared.lock().engine.evicted()
    }
}

fn prepare(socket: UdpSocket, is_observed: bool) -> io::Result<(SocketAddr, Datagrams)> {
    let datagrams = Datagrams::from_socket(socket)?;
    if is_observed {
        // Without the kernel's timestamps, the time of the wake-up is used: a little late, but not
        // wrong.
        let _ = datagrams.stamp();
    }
    // Otherwise an unreachable peer is noticed only by a timeout.
    let _ = datagrams.hear_unreachable();
    Ok((datagrams.local_addr()?, datagrams))
}

/// Generates the seed of an engine's endpoint. Each endpoint needs a different one: all of its
/// secrets are derived from it.
pub fn random_seed(random: &dyn SecureRandom) -> Result<[u8; 32], rustls::Error> {
    let mut seed = [0; 32];
    random
        .fill(&mut seed)
        .map_err(|_| rustls::Error::FailedToGetRandomBytes)?;
    Ok(seed)
}

impl Drop for EndpointInner {
    fn drop(&mut self) {
        self.shared.lock().abandon();
    }
}

impl fmt::Debug for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Endpoint")
            .field("local", &self.local_addr())
            .finish_non_exhaustive()
    }
}
