//! QUIC: our own engine on each UDP socket of a thread. The front decides which requests may be
//! answered from early data.
//!
//! The kernel distributes packets to threads by their addresses. When a client's address changes,
//! for instance because a NAT forgot it, its packets may reach another thread. That thread finds
//! the owner by the connection ID and hands the packets over.

use std::cell::RefCell;
use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::rc::Rc;
use std::sync::Arc;

use aws_lc_rs::rand;
use roundtrip_net::memory_limit;
use roundtrip_quic::{Budget, Retry, ServerConfig, SessionStorage, StrayCounts, Transport};
use roundtrip_quic_tokio::{Connection, Endpoint, Incoming, Sibling};
use roundtrip_wire::h3::Code;
use rustls::{HandshakeKind, ProtocolVersion};
use tokio::task::spawn_local;
use tokio::time::timeout;
use tracing::warn;

use super::hello::Hello;
use super::session_prefetch::{FETCH_TIMEOUT, FetchedSession, SessionPrefetch};
use super::{AcceptError, HandshakeFacts, Seed, ThreadTls};
use crate::GateError;
use crate::config::Limits;

/// The largest number of clients with unvalidated addresses, counting those that may arrive within
/// a quarter of a second without ever validating theirs. Further clients get a Retry first (RFC
/// 9000 §8.1.2).
pub(super) const MAX_UNPROVED: usize = 256;
/// The number of tokens for each client; one saves its next connection the Retry. RFC 9000 §8.1.3.
const TOKEN_COUNT: u8 = 2;
/// HTTP/3 uses three in each direction; there may be others. RFC 9114 §6.2.
const ONE_WAY_STREAMS: u64 = 16;
/// The largest number of bytes that a client may send ahead, both on one stream and on all of them
/// together.
const WINDOW: u64 = 1 << 20;
/// All connections of a thread may keep at least this much memory, if there is enough: see
/// [`QuicMemory`].
const MIN_MEMORY: u64 = 256 << 20;
/// All connections of all threads may keep this part of the memory that the process may use.
const MEMORY_DIVISOR: u64 = 4;
/// The memory that is reserved for a connection: what an idle one takes beyond what the engine
/// counts, what the engine counts for it, and what a stream without an exchange takes.
const CONNECTION_COST: u64 = 48 << 10;
const RESTING_COST: u64 = 64 << 10;
const STREAM_COST: u64 = 6 << 10;
/// What a client may hold until its address is validated, nearly all of it an endless hello and
/// waiting early data.
const UNPROVED_COST: u64 = RESTING_COST + (96 << 10);
/// Such clients, whose addresses may all be forged, may hold this part of the memory.
const UNPROVED_DIVISOR: u64 = 4;

pub(crate) struct QuicListener {
    endpoint: Endpoint,
    budget: Arc<Budget>,
    memory: QuicMemory,
    tls: RefCell<Rc<ThreadTls>>,
}

/// A client whose first datagram has arrived. If dropped, it gets no answer.
pub(crate) struct IncomingQuic {
    incoming: Incoming,
    peer: SocketAddr,
    tls: Rc<ThreadTls>,
}

/// A client whose handshake has begun.
pub(crate) struct QuicHandshake {
    link: Connection,
    peer: SocketAddr,
    takes_early_data: bool,
    /// Stays available until TLS has looked for it.
    _session: Option<FetchedSession>,
}

/// A connection on which requests may arrive, perhaps as early data: what arrives before the
/// handshake is complete may be a replay.
pub(crate) struct QuicConnection {
    pub(crate) link: Connection,
    pub(crate) peer: SocketAddr,
    pub(crate) facts: HandshakeFacts,
}

impl QuicListener {
    pub(crate) fn open(
        socket: UdpSocket,
        sibling: Sibling,
        tls: Rc<ThreadTls>,
        limits: &Limits,
        memory: QuicMemory,
        seed: &Seed,
    ) -> Result<Self, GateError> {
        let local = socket.local_addr().unwrap_or(([0, 0, 0, 0], 0).into());
        let failed = |source: io::Error| GateError::Listen {
            address: local,
            source,
        };
        let most = memory.limit(limits);
        let budget = Arc::new(Budget::new(most).with_costs(CONNECTION_COST, STREAM_COST));
        let mut config = server_config(&tls, limits, &budget, most);
        config.key = Some(seed.quic_key()?);
        let mut own = [0; 32];
        rand::fill(&mut own).map_err(|_| GateError::Cryptography)?;
        // During an upgrade, another process serves the same address.
        let neighbours = sibling.meet_neighbours(local).map_err(failed)?;
        let endpoint = Endpoint::with_siblings(socket, config, own, sibling).map_err(failed)?;
        if let Some(neighbours) = neighbours {
            spawn_local(async move {
                if let Err(error) = neighbours.run().await {
                    warn!(%error, "another process at the same address will not be found");
                }
            });
        }
        let tls = RefCell::new(tls);
        Ok(Self {
            endpoint,
            budget,
            memory,
            tls,
        })
    }

    /// The next client; `None` once the socket is closed.
    pub(crate) async fn next(&self) -> Option<IncomingQuic> {
        loop {
            let incoming = self.endpoint.accept().await?;
            // A connection that is already gone has no address.
            if let Some(peer) = incoming.remote_address() {
                let tls = self.tls.borrow().clone();
                return Some(IncomingQuic {
                    incoming,
                    peer,
                    tls,
                });
            }
        }
    }

    /// Accepts new clients under the new configuration.
    pub(crate) fn follow(&self, tls: Rc<ThreadTls>, limits: &Limits) {
        let most = self.memory.limit(limits);
        self.endpoint
            .set_server_config(Some(server_config(&tls, limits, &self.budget, most)));
        self.budget.set_limit(most);
        self.tls.replace(tls);
    }

    /// Stops accepting connections; ends when the open ones have ended.
    pub(crate) async fn close(&self) {
        self.endpoint.set_server_config(None);
        self.endpoint.wait_idle().await;
    }

    /// The number of clients that had to validate their address first.
    pub(crate) fn retries(&self) -> u64 {
        self.endpoint.retries_sent()
    }

    /// The number of connections that were refused or closed because of their [`memory`].
    pub(crate) fn over_budget(&self) -> u64 {
        self.endpoint.refused_over_budget() + self.endpoint.evicted()
    }

    /// Counts of the datagrams that belonged to no connection.
    pub(crate) fn strays(&self) -> StrayCounts {
        self.endpoint.strays()
    }

    /// The number of bytes that the connections keep.
    pub(crate) fn memory_used(&self) -> u64 {
        self.budget.used()
    }
}

impl IncomingQuic {
    pub(crate) fn peer(&self) -> SocketAddr {
        self.peer
    }

    /// Whether the client has proved, by a token, that the address is its own.
    pub(crate) fn is_proved(&self) -> bool {
        self.incoming.remote_address_validated()
    }

    /// Refuses the connection because a limit is reached. RFC 9000 §5.2.2.
    pub(crate) fn refuse(self) {
        self.incoming.refuse();
    }

    /// Begins the handshake, once a session that the client wants to resume was fetched.
    pub(crate) async fn begin(self) -> QuicHandshake {
        let session = match self.tls.prefetch() {
            Some(prefetch) => fetch(&self.incoming, prefetch).await,
            None => None,
        };
        QuicHandshake {
            link: self.incoming.accept(),
            peer: self.peer,
            takes_early_data: self.tls.takes_early_data(),
            _session: session,
        }
    }
}

#[cfg(test)]
impl IncomingQuic {
    pub(crate) async fn meet(
        self,
        within: std::time::Duration,
    ) -> Result<QuicConnection, AcceptError> {
        let met = timeout(within, async { self.begin().await.meet().await });
        met.await.map_err(|_| AcceptError::TimedOut)?
    }
}

impl QuicHandshake {
    pub(crate) fn link(&self) -> &Connection {
        &self.link
    }

    /// Must run on the thread's runtime. Ends when requests may arrive.
    pub(crate) async fn meet(self) -> Result<QuicConnection, AcceptError> {
        let link = self.link;
        let mut heard = Ok(());
        if self.takes_early_data {
            heard = link.hello_received().await;
        }
        // Without early data, only a real client can send anything.
        if heard.is_ok() && link.early_accepted() != Some(true) {
            heard = link.connected().await;
        }
        heard.map_err(AcceptError::Quic)?;
        let facts = HandshakeFacts {
            version: Some(ProtocolVersion::TLSv1_3),
            resumed: link.handshake_kind() == Some(HandshakeKind::Resumed),
            early_data: link.early_accepted() == Some(true),
            fast_open: false,
        };
        let peer = self.peer;
        Ok(QuicConnection { link, peer, facts })
    }
}

/// Fetches the session that a client wants to resume. A client that is slow to name it gets a full
/// handshake.
async fn fetch(incoming: &Incoming, prefetch: &SessionPrefetch) -> Option<FetchedSession> {
    let said = incoming.client_hello(|messages| match Hello::in_messages(messages) {
        Hello::Part => None,
        Hello::Whole(facts) => Some(facts.identity),
    });
    let identity = timeout(FETCH_TIMEOUT, said).await.ok()?.ok()?;
    prefetch.fetch(identity).await
}

/// The memory limit for all connections of one socket; the connections of one client may use half
/// of it. Once half is used, windows shrink; beyond the limit, the connections that keep most are
/// closed.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct QuicMemory {
    most: u64,
}

impl QuicMemory {
    /// The memory of this process, for one of its `sockets`; there must be one.
    pub(crate) fn new(sockets: usize) -> Self {
        let all = memory_limit().unwrap_or(u64::MAX);
        Self {
            most: all / MEMORY_DIVISOR / sockets as u64,
        }
    }

    /// Twice what one client's connections need while they are all idle.
    fn limit(self, limits: &Limits) -> u64 {
        let resting = limits.connections_per_client.min(limits.connections);
        (2 * RESTING_COST)
            .saturating_mul(resting as u64)
            .max(MIN_MEMORY)
            .min(self.most)
    }

    #[cfg(test)]
    pub(super) fn at_most(most: u64) -> Self {
        Self { most }
    }
}

/// The number of clients with unvalidated addresses that share this much memory with the others.
fn max_unproved(memory: u64) -> usize {
    let fit = usize::try_from(memory / UNPROVED_DIVISOR / UNPROVED_COST);
    fit.unwrap_or(usize::MAX).clamp(1, MAX_UNPROVED)
}

/// `memory` is the limit of the budget.
fn server_config(
    tls: &ThreadTls,
    limits: &Limits,
    budget: &Arc<Budget>,
    memory: u64,
) -> ServerConfig {
    let transport = Transport {
        idle_timeout: limits.idle_time.0,
        stream_window: WINDOW,
        window: WINDOW,
        bidi_streams: limits.streams.into(),
        uni_streams: ONE_WAY_STREAMS,
        application_limit: limits.head.0,
        given_up_code: Code::H3_REQUEST_INCOMPLETE.value(),
        budget: Some(budget.clone()),
        ..Transport::default()
    };
    let mut config = ServerConfig::new(tls.quic().clone(), Arc::new(transport));
    config.retry = Retry::AboveHandshakes(max_unproved(memory));
    config.tokens = TOKEN_COUNT;
    // `connection_limits` limits connections.
    config.most_connections = config.most_connections.max(limits.connections);
    config.holds = tls.prefetch().is_some();
    config.sessions = tls
        .prefetch()
        .map(|prefetch| -> Arc<dyn SessionStorage> { prefetch.quic() });
    config
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_sockets_share_the_memory_that_there_is() {
        let limits = Limits::default();
        let much = QuicMemory::at_most(u64::MAX);
        assert_eq!(much.limit(&limits), 512 << 20);
        let all = memory_limit().unwrap();
        let one_of_many = QuicMemory::new(4096).limit(&limits);
        assert!(one_of_many <= all / 4 / 4096, "{one_of_many}");
    }
}
