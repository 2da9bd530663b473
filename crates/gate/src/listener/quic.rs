//! QUIC: an endpoint for each UDP socket of a thread. Which requests may be answered from early data is for the front.
//!
//! The kernel gives a thread the packets by their addresses. A client that comes from another address than before, as when a
//! NAT forgets it, may reach another thread, which knows its connection by its id for one of ours and not its own: it answers
//! with a stateless reset, whose key all threads share, and the client connects anew at once instead of waiting in vain.

use std::cell::{Cell, RefCell};
use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use quinn::crypto::rustls::QuicServerConfig;
use quinn::{
    Endpoint, EndpointConfig, IdleTimeout, Incoming, Runtime, ServerConfig, TokioRuntime,
    ValidationTokenConfig, VarInt,
};
use roundtrip_http::{Redeemed, connection_ids, take_in, transport_config};
use rustls::ProtocolVersion;
use tokio::time::{Instant, timeout, timeout_at};

use super::desk::{Desk, PATIENCE};
use super::doorman::Doorman;
use super::secure::Phase;
use super::{Early, Handshake, Seed, ThreadTls, Unmet};
use crate::GateError;
use crate::config::Limits;

/// Handshakes of clients that have not proved their address: of more, it is asked for by a Retry first (RFC 9000 §8.1.2).
pub(super) const MOST_UNPROVED: usize = 256;
/// Tokens for each client, which spare its next connection the doubt. RFC 9000 §8.1.3.
const TOKENS: u32 = 2;
const TOKEN_LIFE: Duration = Duration::from_hours(24);
/// HTTP/3 has three of each side, and others for whoever likes them. RFC 9114 §6.2.
const ONE_WAY_STREAMS: u32 = 16;

pub(crate) struct QuicEntrance {
    endpoint: Endpoint,
    doorman: Option<Arc<Doorman>>,
    tls: RefCell<Rc<ThreadTls>>,
    pub(super) unproved: Rc<Cell<usize>>,
    retries: Cell<u64>,
}

/// A client of which one datagram has come.
pub(crate) struct QuicArrival {
    incoming: Incoming,
    peer: SocketAddr,
    doorman: Option<Arc<Doorman>>,
    tls: Rc<ThreadTls>,
    unproved: Option<Unproved>,
}

/// A connection on which requests may come, though perhaps as early data.
pub(crate) struct QuicMet {
    pub(crate) connection: quinn::Connection,
    /// Is the handshake over? What came before that may be a replay.
    pub(crate) early: Early,
    pub(crate) peer: SocketAddr,
    pub(crate) facts: Handshake,
}

/// Counts itself.
struct Unproved(Rc<Cell<usize>>);

impl Unproved {
    fn new(all: &Rc<Cell<usize>>) -> Self {
        all.set(all.get() + 1);
        Self(all.clone())
    }
}

impl Drop for Unproved {
    fn drop(&mut self) {
        self.0.set(self.0.get().saturating_sub(1));
    }
}

impl QuicEntrance {
    pub(crate) fn open(
        socket: UdpSocket,
        tls: Rc<ThreadTls>,
        limits: &Limits,
        seed: &Seed,
    ) -> Result<Self, GateError> {
        let local = socket.local_addr().unwrap_or(([0, 0, 0, 0], 0).into());
        let failed = |source: io::Error| GateError::Listen {
            address: local,
            source,
        };
        let server = server_config(tls.quic().clone(), limits, seed)?;
        let mut config = EndpointConfig::new(seed.quic_reset_key()?);
        config.cid_generator(connection_ids(seed.quic_id_key()?));
        let mut socket = TokioRuntime.wrap_udp_socket(socket).map_err(failed)?;
        let doorman = tls.desk().map(|_| Doorman::new(socket.clone()));
        if let Some(doorman) = &doorman {
            socket = doorman.clone();
        }
        let runtime = Arc::new(TokioRuntime);
        let endpoint = Endpoint::new_with_abstract_socket(config, Some(server), socket, runtime)
            .map_err(failed)?;
        Ok(Self {
            endpoint,
            doorman,
            tls: RefCell::new(tls),
            unproved: Rc::default(),
            retries: Cell::new(0),
        })
    }

    /// The next client; none once the endpoint is closed.
    pub(crate) async fn next(&self) -> Option<QuicArrival> {
        loop {
            let incoming = self.endpoint.accept().await?;
            let proved = incoming.remote_address_validated();
            if !proved && self.unproved.get() >= MOST_UNPROVED {
                if incoming.retry().is_ok() {
                    self.retries.set(self.retries.get() + 1);
                }
                continue;
            }
            return Some(QuicArrival {
                peer: incoming.remote_address(),
                doorman: self.doorman.clone(),
                tls: self.tls.borrow().clone(),
                unproved: (!proved).then(|| Unproved::new(&self.unproved)),
                incoming,
            });
        }
    }

    /// Clients that come from now on are met as a new configuration wants it.
    pub(crate) fn follow(
        &self,
        tls: Rc<ThreadTls>,
        limits: &Limits,
        seed: &Seed,
    ) -> Result<(), GateError> {
        let server = server_config(tls.quic().clone(), limits, seed)?;
        self.endpoint.set_server_config(Some(server));
        self.tls.replace(tls);
        Ok(())
    }

    /// Nobody new is let in; ends when those inside are gone.
    pub(crate) async fn close(&self) {
        self.endpoint.set_server_config(None);
        self.endpoint.wait_idle().await;
    }

    /// Clients that were asked to prove their address first.
    pub(crate) fn retries(&self) -> u64 {
        self.retries.get()
    }
}

impl QuicArrival {
    pub(crate) fn peer(&self) -> SocketAddr {
        self.peer
    }

    /// On the thread's `LocalSet`: until requests may come, or `within` is over.
    pub(crate) async fn meet(self, within: Duration) -> Result<QuicMet, Unmet> {
        let until = Instant::now() + within;
        // Lies ready until TLS has looked for it.
        let fetched = match (&self.doorman, self.tls.desk()) {
            (Some(doorman), Some(desk)) => fetch(&self, doorman, desk).await,
            _ => None,
        };
        let early_data = self.tls.takes_early_data();
        let taken = timeout_at(until, take_in(self.incoming, early_data)).await;
        let (connection, mut confirmation) =
            taken.map_err(|_| Unmet::TimedOut)?.map_err(Unmet::Quic)?;
        let early = Early::default();
        if confirmation.is_complete() {
            early.enter(Phase::Complete);
        } else {
            let (early, connection) = (early.clone(), connection.clone());
            let unproved = self.unproved;
            tokio::task::spawn_local(async move {
                confirmation.over().await;
                drop(unproved);
                early.enter(match connection.close_reason() {
                    None => Phase::Complete,
                    Some(_) => Phase::Gone,
                });
            });
        }
        let facts = Handshake {
            version: Some(ProtocolVersion::TLSv1_3),
            resumed: fetched.is_some(),
            ..Handshake::default()
        };
        Ok(QuicMet {
            connection,
            early,
            peer: self.peer,
            facts,
        })
    }
}

async fn fetch(
    arrival: &QuicArrival,
    doorman: &Doorman,
    desk: &Desk,
) -> Option<super::desk::Fetched> {
    let destination = arrival.incoming.orig_dst_cid();
    let identity = doorman.identity(arrival.peer, &destination);
    let identity = timeout(PATIENCE, identity).await.ok()?;
    desk.fetch(identity).await
}

fn server_config(
    crypto: Arc<QuicServerConfig>,
    limits: &Limits,
    seed: &Seed,
) -> Result<ServerConfig, GateError> {
    let mut given = ValidationTokenConfig::default();
    given
        .sent(TOKENS)
        .lifetime(TOKEN_LIFE)
        .log(Arc::new(Redeemed::default()));
    let mut config = ServerConfig::new(crypto, seed.quic_token_key()?);
    config.validation_token_config(given);
    let idle = u64::try_from(limits.idle_time.0.as_millis()).unwrap_or(u64::MAX);
    let idle = VarInt::from_u64(idle).unwrap_or(VarInt::MAX);
    let mut transport = transport_config();
    transport
        .max_idle_timeout(Some(IdleTimeout::from(idle)))
        .max_concurrent_bidi_streams(limits.streams.into())
        .max_concurrent_uni_streams(ONE_WAY_STREAMS.into())
        .datagram_receive_buffer_size(None);
    config.transport_config(Arc::new(transport));
    Ok(config)
}
