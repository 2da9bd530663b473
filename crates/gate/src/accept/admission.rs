//! Admits a new connection: checks the connection limits, performs the handshake, and chooses the
//! front of its protocol.

use std::cell::RefCell;
use std::convert::Infallible;
use std::net::{IpAddr, UdpSocket};
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use roundtrip_quic::CloseReason;
use roundtrip_quic_tokio::{Connection, Sibling};
use tokio::sync::watch;
use tokio::task::spawn_local;
use tokio::time::{sleep, timeout};
use tracing::debug;

use crate::GateError;
use crate::accept::connection_limits::{ConnectionLimits, ConnectionPermit};
use crate::accept::front;
use crate::accept::listener::{
    self, AcceptConfig, AcceptError, AcceptedConnection, ClientStream, HandshakeFacts,
    IncomingQuic, Listener, QuicHandshake, QuicListener, QuicMemory, Seed, SingleUseCounts,
};
use crate::accept::stream::Peer;
use crate::accept::thread::Thread;
use crate::config::Limits;
use crate::judge::sessions::NearSessions;
use crate::record::{ConnectionStart, LabelValue, Ledger, Limit, Protocol, Security, TlsHandshake};

/// How long handshakes that have begun may still take once a listener has to close. It is less than
/// the second after which clients repeat a SYN, so it does not delay clients whose SYN was dropped.
const HANDSHAKE_TIME: Duration = Duration::from_millis(700);
/// RFC 9114 §8.1: H3_EXCESSIVE_LOAD.
const EXCESSIVE_LOAD: u64 = 0x107;

/// The kind of clients that connect to a listener.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ListenerRole {
    Clients,
    /// Proxies that ask about requests of their clients.
    Proxies,
    /// Proxies that ask by gRPC, over HTTP/2 without TLS.
    GrpcProxies,
}

type Serving = Thread<NearSessions>;

/// The resources that every connection of the thread may need.
pub(crate) struct Admission {
    thread: Rc<Serving>,
    accept_config: RefCell<Rc<AcceptConfig>>,
    connection_limits: Arc<ConnectionLimits>,
}

impl Admission {
    pub(crate) fn new(
        thread: Rc<Serving>,
        accept_config: AcceptConfig,
        connection_limits: Arc<ConnectionLimits>,
    ) -> Rc<Self> {
        Rc::new(Self {
            thread,
            accept_config: RefCell::new(Rc::new(accept_config)),
            connection_limits,
        })
    }

    pub(crate) fn thread(&self) -> &Rc<Serving> {
        &self.thread
    }

    /// Counts of single-use TLS sessions under the present configuration.
    pub(crate) fn single_use(&self) -> SingleUseCounts {
        self.accept_config.borrow().tls.counts()
    }

    /// Accepts new connections under this configuration.
    pub(crate) fn change(&self, accept_config: AcceptConfig) {
        *self.accept_config.borrow_mut() = Rc::new(accept_config);
    }

    /// Accepts clients until the listener has to close. Then it completes the handshakes that have
    /// begun, unless another process can accept those clients.
    pub(crate) async fn receive(
        self: Rc<Self>,
        listener: Listener,
        role: ListenerRole,
        closing: watch::Receiver<bool>,
    ) {
        self.receive_until(&listener, role, until_closed(closing))
            .await;
        if listener.is_inherited() {
            return;
        }
        if listener.drop_syns().is_ok() {
            self.receive_until(&listener, role, sleep(HANDSHAKE_TIME))
                .await;
        }
        // On a busy machine, others may have arrived since the kernel was last asked.
        while let Some(arrival) = listener.waiting() {
            self.spawn(arrival, role);
        }
    }

    fn spawn(self: &Rc<Self>, arrival: listener::AcceptedSocket, role: ListenerRole) {
        self.thread.enter();
        // Boxed, because a future keeps its arguments as long as it exists.
        spawn_local(self.clone().admit(Box::new(arrival), role));
    }

    async fn receive_until(
        self: &Rc<Self>,
        listener: &Listener,
        role: ListenerRole,
        end: impl Future<Output = ()>,
    ) {
        let mut end = pin!(end);
        loop {
            let arrival = tokio::select! {
                biased;
                arrival = listener.next() => arrival,
                () = &mut end => return,
            };
            self.spawn(arrival, role);
        }
    }

    async fn admit(self: Rc<Self>, arrival: Box<listener::AcceptedSocket>, role: ListenerRole) {
        let thread = &self.thread;
        let _inside = thread.open_connection();
        let site = thread.site();
        let client = arrival.peer.ip();
        let accept_config = self.accept_config.borrow().clone();
        let names_clients = site.policy.trusts(client) || accept_config.is_proxy(client);
        let limits = &site.policy.limits;
        let place = if names_clients {
            self.connection_limits.admit_proxy(limits)
        } else {
            self.connection_limits.admit(client, limits)
        };
        let mut place = match place {
            Ok(place) => place,
            Err(limit) => return turn_away(&thread.ledger, limit, client),
        };
        let met = match arrival
            .meet(&accept_config, site.policy.limits.head_time.0)
            .await
        {
            Ok(met) => met,
            Err(unmet) => return count_unmet(&thread.ledger, &unmet, client),
        };
        let named = met.peer.ip();
        if named != client
            && !site.policy.trusts(named)
            && let Err(limit) = place.count_for(named, limits)
        {
            return turn_away(&thread.ledger, limit, named);
        }
        drop((site, accept_config));
        let asks = role != ListenerRole::Clients;
        let peer = Peer {
            // The connection, not what the client says about itself, decides whether it may ask.
            address: if asks { client } else { named },
            secure: matches!(met.stream, ClientStream::Secure(_)),
            resumed: met.facts.resumed,
            asks,
        };
        count_met(&thread.ledger, arrival_of(&met, role), peer.address);
        // Boxed for each protocol, so that each takes only as much memory as it needs.
        let serving: Pin<Box<dyn Future<Output = _>>> = match met.stream {
            ClientStream::Clear(stream) if role == ListenerRole::GrpcProxies => {
                Box::pin(front::h2::serve(stream, peer, thread))
            }
            ClientStream::Clear(stream) => Box::pin(front::h1::serve(stream, peer, thread)),
            ClientStream::Secure(stream) if stream.is_h2() => {
                // Awaiting it here would reserve its memory in every future on the way.
                Box::pin(front::h2::serve(stream, peer, thread))
            }
            ClientStream::Secure(stream) => Box::pin(front::h1::serve(*stream, peer, thread)),
        };
        // The entries of its exchanges say how a connection ended.
        let _ = serving.await;
    }
}

impl Admission {
    pub(crate) fn open_quic(
        &self,
        (socket, sibling): (UdpSocket, Sibling),
        limits: &Limits,
        memory: QuicMemory,
        seed: &Seed,
    ) -> Result<Rc<QuicListener>, GateError> {
        let tls = self.accept_config.borrow().tls.clone();
        QuicListener::open(socket, sibling, tls, limits, memory, seed).map(Rc::new)
    }

    pub(crate) async fn receive_quic(
        self: Rc<Self>,
        listener: Rc<QuicListener>,
        closing: watch::Receiver<bool>,
    ) {
        let mut closed = pin!(until_closed(closing));
        loop {
            let arrival = tokio::select! {
                biased;
                arrival = listener.next() => arrival,
                () = &mut closed => return listener.close().await,
            };
            let Some(arrival) = arrival else { return };
            let this = self.clone();
            this.thread.enter();
            spawn_local(async move { this.admit_quic(arrival).await });
        }
    }

    async fn admit_quic(self: Rc<Self>, arrival: IncomingQuic) {
        let thread = &self.thread;
        let _inside = thread.open_connection();
        let site = thread.site();
        let (client, limits) = (arrival.peer().ip(), &site.policy.limits);
        // A client with an unvalidated address does not count; otherwise anyone could use up a
        // client's share by forging its address.
        let place = if arrival.is_proved() {
            self.connection_limits.admit(client, limits).map(Some)
        } else {
            self.connection_limits.look(client, limits).map(|()| None)
        };
        let place = match place {
            Ok(place) => place,
            Err(limit) => {
                arrival.refuse();
                return turn_away(&thread.ledger, limit, client);
            }
        };
        let patience = site.policy.limits.head_time.0;
        drop(site);
        let Ok(handshake) = timeout(patience, arrival.begin()).await else {
            return count_unmet(&thread.ledger, &AcceptError::TimedOut, client);
        };
        let link = handshake.link().clone();
        tokio::select! {
            biased;
            never = self.hold_place(&link, client, place) => match never {},
            never = self.hurry(&link, patience) => match never {},
            () = self.serve_quic(handshake, client) => {}
        }
    }

    async fn serve_quic(&self, handshake: QuicHandshake, client: IpAddr) {
        let thread = &self.thread;
        let link = handshake.link().clone();
        let met = match handshake.meet().await {
            Ok(met) => met,
            // One of our limits, which is counted.
            Err(AcceptError::Quic(CloseReason::Local { .. })) => return,
            Err(unmet) => return count_unmet(&thread.ledger, &unmet, client),
        };
        // Early data may come from anybody who names this address as its own, and requests are
        // judged and passed on with it. A client with an address token does not wait.
        tokio::select! {
            () = link.validated() => {}
            _ = link.closed() => return,
        }
        let peer = Peer {
            address: met.peer.ip(),
            secure: true,
            resumed: met.facts.resumed,
            asks: false,
        };
        let start = ConnectionStart {
            protocol: Protocol::H3,
            security: security_of(met.facts),
            fast_open: false,
        };
        count_met(&thread.ledger, start, peer.address);
        // The entries of its exchanges say how a connection ended.
        let _ = front::h3::serve(met.link, link.confirmed(), peer, thread).await;
    }

    /// Waits until the client has proved that the address is its own, and then counts the
    /// connection until dropped. If a limit has been reached by then, the connection is closed.
    async fn hold_place(
        &self,
        link: &Connection,
        client: IpAddr,
        place: Option<ConnectionPermit>,
    ) -> Infallible {
        let _place = match place {
            Some(place) => Some(place),
            None => {
                link.validated().await;
                let site = self.thread.site();
                let place = self.connection_limits.admit(client, &site.policy.limits);
                let place = place.inspect_err(|limit| {
                    turn_away(&self.thread.ledger, *limit, client);
                    link.close(EXCESSIVE_LOAD, b"");
                });
                place.ok()
            }
        };
        std::future::pending().await
    }

    /// Closes a connection whose handshake takes too long, even if early data was answered
    /// meanwhile.
    async fn hurry(&self, link: &Connection, patience: Duration) -> Infallible {
        if timeout(patience, link.confirmed()).await.is_err() && link.close_reason().is_none() {
            let peer = link.remote_address();
            debug!(?peer, "a handshake was not completed in time");
            self.thread.ledger.count(Limit::HeadTime);
            link.close(EXCESSIVE_LOAD, b"");
        }
        std::future::pending().await
    }
}

/// Ends when the listeners are to close, or when the sender is dropped.
async fn until_closed(mut closing: watch::Receiver<bool>) {
    let _ = closing.wait_for(|closed| *closed).await;
}

fn turn_away(ledger: &Ledger, limit: Limit, client: IpAddr) {
    debug!(%client, limit = limit.as_str(), "a limit turned a client away");
    ledger.count(limit);
}

fn count_met(ledger: &Ledger, start: ConnectionStart, client: IpAddr) {
    let handshake = match start.security {
        Security::Clear => None,
        Security::Tls { handshake, .. } => Some(handshake.as_str()),
    };
    let protocol = start.protocol.as_str();
    debug!(%client, protocol, handshake, "a connection was accepted");
    ledger.connection(start);
}

fn count_unmet(ledger: &Ledger, unmet: &AcceptError, client: IpAddr) {
    debug!(%client, error = %unmet, "a client was not served");
    match unmet {
        AcceptError::TimedOut => ledger.count(Limit::HeadTime),
        AcceptError::Tls(_) | AcceptError::Quic(_) => ledger.count(TlsHandshake::Failed),
        AcceptError::Proxy(_) | AcceptError::Io(_) => {}
    }
}

fn arrival_of(met: &AcceptedConnection, role: ListenerRole) -> ConnectionStart {
    let (protocol, handshake) = match &met.stream {
        ClientStream::Clear(_) if role == ListenerRole::GrpcProxies => (Protocol::H2, None),
        ClientStream::Clear(_) => (Protocol::H1, None),
        ClientStream::Secure(stream) => {
            let protocol = if stream.is_h2() {
                Protocol::H2
            } else {
                Protocol::H1
            };
            (protocol, Some(met.facts))
        }
    };
    ConnectionStart {
        protocol,
        security: handshake.map_or(Security::Clear, security_of),
        fast_open: met.facts.fast_open,
    }
}

fn security_of(facts: HandshakeFacts) -> Security {
    Security::Tls {
        handshake: match (facts.early_data, facts.resumed) {
            (true, _) => TlsHandshake::Early,
            (_, true) => TlsHandshake::Resumed,
            _ => TlsHandshake::Full,
        },
        two_trips: facts.version == Some(rustls::ProtocolVersion::TLSv1_2),
    }
}
