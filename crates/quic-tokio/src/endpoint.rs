//! The socket: where connections begin and are accepted.

use std::fmt;
use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::sync::Arc;

use roundtrip_net::datagrams::Datagrams;
use roundtrip_quic::{ClientConfig, ConnectError, Endpoint, ServerConfig};

use crate::driver::Driver;
use crate::socket::Socket;
use crate::state::{self, Harbour, Stage};
use crate::{Caller, Link, Lookout};

/// A handle on the socket and its connections. When the last is dropped, no connection is accepted any more, and the
/// socket is closed once all connections have ended.
#[derive(Clone)]
pub struct Dock(Arc<Handhold>);

struct Handhold {
    harbour: Harbour,
    local: SocketAddr,
}

impl Dock {
    /// Puts an endpoint on a socket, on the current runtime.
    pub fn open(socket: UdpSocket, endpoint: Endpoint) -> io::Result<Self> {
        Self::start(Datagrams::from_socket(socket)?, endpoint, None)
    }

    /// The same, under somebody's eyes.
    pub fn open_watched(
        socket: UdpSocket,
        endpoint: Endpoint,
        lookout: Arc<dyn Lookout>,
    ) -> io::Result<Self> {
        let datagrams = Datagrams::from_socket(socket)?;
        // Without stamps, times are those of the wake-up: a little later, not wrong.
        let _ = datagrams.stamp();
        Self::start(datagrams, endpoint, Some(lookout))
    }

    fn start(
        datagrams: Datagrams,
        endpoint: Endpoint,
        lookout: Option<Arc<dyn Lookout>>,
    ) -> io::Result<Self> {
        let local = datagrams.local_addr()?;
        let harbour = Harbour::new(endpoint);
        let socket = Socket::new(datagrams, lookout);
        tokio::spawn(Driver::new(socket, harbour.clone())?);
        Ok(Self(Arc::new(Handhold { harbour, local })))
    }

    pub fn local_addr(&self) -> SocketAddr {
        self.0.local
    }

    /// The next client that begins a connection. None once the dock is closed.
    pub async fn accept(&self) -> Option<Caller> {
        let harbour = &self.0.harbour;
        let taken = harbour.wait(|state| {
            if state.stage != Stage::Open {
                return Some(None);
            }
            state.take_arrived().map(Some)
        });
        taken
            .await
            .map(|handle| Caller::new(Link::new(harbour.clone(), handle)))
    }

    /// Begins a connection. Where TLS has a ticket that allows it, streams can be opened at once and what is written leaves
    /// as early data.
    pub fn connect(
        &self,
        config: &ClientConfig,
        remote: SocketAddr,
        name: &str,
    ) -> Result<Link, ConnectError> {
        let harbour = &self.0.harbour;
        let handle = harbour.lock().connect(config, remote, name)?;
        Ok(Link::new(harbour.clone(), handle))
    }

    /// Clients that come from now on are taken as another configuration wants it; without one, nobody is taken.
    pub fn serve(&self, config: Option<ServerConfig>) {
        self.0.harbour.lock().endpoint.set_server(config);
    }

    /// Waits until there is no connection.
    pub async fn emptied(&self) {
        let is_empty = |state: &mut state::State| {
            let is_empty = state.endpoint.is_empty() || state.stage == Stage::Over;
            is_empty.then_some(())
        };
        self.0.harbour.wait(is_empty).await;
    }

    /// Ends all connections, tells their peers, and closes the socket.
    pub fn close(&self, code: u64, reason: &[u8]) {
        self.0.harbour.lock().close_all(code, reason);
    }

    /// Waits until the socket is closed.
    pub async fn closed(&self) {
        let over = |state: &mut state::State| (state.stage == Stage::Over).then_some(());
        self.0.harbour.wait(over).await;
    }

    /// How many clients were made to prove their address, and how many had a token that spared them that.
    pub fn doubts(&self) -> (u64, u64) {
        let state = self.0.harbour.lock();
        (state.endpoint.retries_sent(), state.endpoint.tokens_taken())
    }
}

impl Drop for Handhold {
    fn drop(&mut self) {
        self.harbour.lock().abandon();
    }
}

impl fmt::Debug for Dock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Dock")
            .field("local", &self.0.local)
            .finish_non_exhaustive()
    }
}
