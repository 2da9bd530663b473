//! The connections of one socket: routes datagrams to them, and answers those that belong to none.
//!
//! Our connection ids tell only us which connection they belong to, so a packet needs no lookup.
//! `connection` decides what a connection does with its datagrams; the owner provides the socket
//! and the clock.

mod answers;
mod config;
mod early_0rtt;
mod eviction;
mod ids;
mod incoming;
mod issuer;
mod misdirected;
mod peers;
mod strays;
mod table;
mod timers;
mod tokens;
mod unvalidated;

use std::collections::{HashMap, VecDeque};
use std::net::SocketAddr;
use std::sync::Arc;

use roundtrip_wire::quic::ConnectionId;
use rustls::pki_types::ServerName;

use crate::connection::{Connection, ConnectionSetup, Random};
use crate::error::ConnectError;
use crate::{Budget, RecvMeta, Time, Transmit};
use answers::Answers;
use early_0rtt::EarlyDatagrams;
use eviction::Evictions;
use ids::{ID, Owner, Router};
use issuer::{EndpointIssuer, Secrets};
use misdirected::MisdirectedQueue;
use peers::Peers;
use table::ConnectionTable;
use timers::Timers;
use tokens::Tokens;
use unvalidated::{First, UnvalidatedClients};

pub use config::{ClientConfig, Retry, ServerConfig, SessionStorage, Sibling};
pub use misdirected::Misdirected;
pub use strays::StrayCounts;
pub use table::Handle;

const FORM_LONG: u8 = 0x80;

/// All connections of one socket. It does no I/O and has no clock: the owner of the socket provides
/// both. There are three kinds of methods:
///
/// - **Handlers** take what comes in, and return the connections that it concerns:
///   [`Self::receive`] takes a datagram, [`Self::on_timeout`] the time. [`Self::connect`] begins a
///   connection.
/// - **Polls** return what leaves: [`Self::accept`] the connections that clients began,
///   [`Self::reply`] answers that belong to no connection, [`Self::misdirected`] datagrams for
///   siblings' connections, [`Self::deadline`] when to call [`Self::on_timeout`].
/// - **Access**: [`Self::connection`] returns the connection of a handle, whose contract is at
///   [`Connection`]. The other methods are getters.
///
/// For each batch of datagrams: call [`Self::receive`] for each, then [`Self::accept`],
/// [`Self::reply`] and [`Self::misdirected`] until they return nothing; then poll each connection
/// that was returned, let it transmit, and call [`Self::deadline`] again. Once a connection [is
/// drained](Connection::is_drained) and has returned its last event, [`Self::remove`] forgets it.
#[derive(Debug)]
pub struct Endpoint {
    server: Option<Arc<ServerConfig>>,
    /// Whether the endpoint has accepted connections; it then resets those that it has forgotten.
    has_served: bool,
    /// Whether other processes serve the same address.
    hands_on: bool,
    secrets: Arc<Secrets>,
    /// The endpoint's number among its siblings, and how many there are.
    number: u16,
    siblings: u16,
    misdirected: MisdirectedQueue,
    table: ConnectionTable,
    router: Router,
    /// Clients' connections, by the address and the original destination id of their first packets.
    firsts: HashMap<First, Handle>,
    peers: Peers,
    arrived: VecDeque<Handle>,
    early_0rtt: EarlyDatagrams,
    unvalidated: UnvalidatedClients,
    /// Clients' connections that are not over.
    served: usize,
    /// The memory budget of the clients' connections.
    budget: Option<Arc<Budget>>,
    evictions: Evictions,
    evicted: u64,
    tokens: Tokens,
    tokens_taken: u64,
    over_budget: u64,
    strays: StrayCounts,
    answers: Answers,
    timers: Timers,
    random: Random,
    /// The time that the owner passed in its last call.
    clock: Time,
}

impl Endpoint {
    /// Derives all secrets and random numbers of this endpoint from `seed`, which must be used only
    /// once: a second endpoint, or the same one after a restart, needs another.
    pub fn new(server: Option<ServerConfig>, seed: [u8; 32]) -> Self {
        let mut random = Random::new(&seed);
        let alone = Sibling {
            key: random.seed(),
            number: 0,
            count: 1,
        };
        Self::start(server, random, &alone)
    }

    /// Like [`Endpoint::new`], for one of several endpoints: see [`Self::misdirected`].
    pub fn with_siblings(server: ServerConfig, seed: [u8; 32], sibling: &Sibling) -> Self {
        Self::start(Some(server), Random::new(&seed), sibling)
    }

    fn start(server: Option<ServerConfig>, mut random: Random, sibling: &Sibling) -> Self {
        let tokens = server.as_ref().and_then(|server| server.key);
        let tokens = tokens.unwrap_or_else(|| random.seed());
        let secrets = Arc::new(Secrets::new(&sibling.key, tokens));
        Self {
            number: sibling.number,
            siblings: sibling.count,
            misdirected: MisdirectedQueue::default(),
            has_served: server.is_some(),
            hands_on: false,
            budget: server.as_ref().and_then(|s| s.transport.budget.clone()),
            server: server.map(Arc::new),
            table: ConnectionTable::default(),
            router: Router::default(),
            firsts: HashMap::new(),
            peers: Peers::default(),
            arrived: VecDeque::new(),
            early_0rtt: EarlyDatagrams::default(),
            unvalidated: UnvalidatedClients::default(),
            served: 0,
            evictions: Evictions::default(),
            evicted: 0,
            tokens: Tokens::default(),
            tokens_taken: 0,
            over_budget: 0,
            strays: StrayCounts::default(),
            answers: Answers::new(random.seed()),
            timers: Timers::default(),
            clock: Time::ZERO,
            secrets,
            random,
        }
    }

    /// Replaces the configuration for new clients; without one they get no answer.
    pub fn set_server(&mut self, server: Option<ServerConfig>) {
        if let Some(server) = &server {
            self.has_served = true;
            self.budget.clone_from(&server.transport.budget);
        }
        self.server = server.map(Arc::new);
    }

    /// Begins a connection to the server at `remote`, whose certificate must be for `name`.
    pub fn connect(
        &mut self,
        now: Time,
        config: &ClientConfig,
        remote: SocketAddr,
        name: &str,
    ) -> Result<Handle, ConnectError> {
        if !config.version.is_known() {
            return Err(ConnectError::Version(config.version));
        }
        let server = ServerName::try_from(name)
            .map_err(|_| ConnectError::Name(name.to_owned()))?
            .to_owned();
        let handle = self.table.reserve().ok_or(ConnectError::TooMany)?;
        let opening = ConnectionSetup {
            transport: config.transport.clone(),
            version: config.version,
            remote,
            local: None,
            issuer: Box::new(EndpointIssuer::client(
                self.secrets.clone(),
                self.owner(handle),
            )),
            seed: self.random.seed(),
        };
        let first = self.random.id();
        let (tls, token) = (config.tls.clone(), config.token.clone());
        let mut connection = Connection::client(now, opening, tls, server, token, first)?;
        if let Some(observer) = config.observer {
            connection.set_observer(observer());
        }
        self.enter(handle, connection, None);
        Ok(handle)
    }

    fn enter(&mut self, handle: Handle, connection: Connection, first: Option<First>) {
        let number = self.peers.add(connection.remote(), handle);
        self.table.fill(handle, connection, first);
        if let Some(entry) = self.table.get_mut(handle) {
            entry.peer_number = number;
        }
        self.touch(handle);
    }

    /// Handles a datagram, which is decrypted in place. Returns its connection, which may have
    /// events and something to send.
    pub fn receive(&mut self, now: Time, way: &RecvMeta, datagram: &mut [u8]) -> Option<Handle> {
        self.clock = now;
        let Some(handle) = self.route(way.remote, datagram) else {
            let before = self.strays.total();
            let begun = self.receive_stray(now, way, datagram);
            let is_dropped = begun.is_none() && self.strays.total() == before;
            self.strays.dropped += u64::from(is_dropped);
            return begun;
        };
        self.deliver(now, way, datagram, handle);
        self.relieve();
        Some(handle)
    }

    fn deliver(&mut self, now: Time, way: &RecvMeta, datagram: &mut [u8], handle: Handle) {
        let Some(entry) = self.table.get_mut(handle) else {
            return;
        };
        entry.connection.receive(now, way, datagram);
        entry.connection.follow_budget();
        let remote = entry.connection.remote();
        if remote != entry.peer {
            let left = std::mem::replace(&mut entry.peer, remote);
            self.peers.remove(left, entry.peer_number);
            entry.peer_number = self.peers.add(remote, handle);
        }
        self.settle(handle);
        self.touch(handle);
    }

    /// The connection that the destination of the first packet belongs to.
    #[inline]
    fn route(&mut self, remote: SocketAddr, datagram: &[u8]) -> Option<Handle> {
        let first = *datagram.first()?;
        if first & FORM_LONG == 0 {
            let id = datagram.get(1..)?.first_chunk::<ID>()?;
            return self.find(*id);
        }
        // RFC 8999 §5.1: the version's four bytes, then the destination id, preceded by its length.
        let (length, rest) = datagram.get(5..)?.split_first()?;
        let id = rest.get(..usize::from(*length))?;
        if let Ok(own) = <[u8; ID]>::try_from(id)
            && let Some(handle) = self.find(own)
        {
            return Some(handle);
        }
        let key = (remote, ConnectionId::new(id)?);
        self.firsts.get(&key).copied()
    }

    #[inline]
    fn find(&mut self, id: [u8; ID]) -> Option<Handle> {
        let owner = self.router.owner(&self.secrets.ids, id);
        let is_here = owner.endpoint == self.number && self.table.holds(owner.handle);
        is_here.then_some(owner.handle)
    }

    fn owner(&self, handle: Handle) -> Owner {
        Owner {
            endpoint: self.number,
            handle,
        }
    }

    /// Handles a datagram that belongs to no connection of this endpoint: it may belong to a
    /// sibling's connection, be a stateless reset, begin a connection, or belong to one that has
    /// been removed.
    fn receive_stray(&mut self, now: Time, way: &RecvMeta, datagram: &mut [u8]) -> Option<Handle> {
        if datagram.first()? & FORM_LONG == 0 {
            if let Some(handle) = self.find_reset(way.remote, datagram) {
                self.table.get_mut(handle)?.connection.on_reset(now);
                self.touch(handle);
                return Some(handle);
            }
            let id = datagram.get(1..)?.first_chunk::<ID>()?;
            let owner = self.router.owner(&self.secrets.ids, *id);
            // A connection that was never here may be elsewhere, so it gets no reset. RFC 9000
            // §21.11.
            if owner.endpoint != self.number {
                if !self.misdirect(owner.endpoint, way, datagram) {
                    self.hand_on(way, datagram);
                }
            } else if self.has_served && self.table.has_held(owner.handle) {
                let token = self.secrets.reset_token(*id);
                self.answers.reset(now, way, datagram.len(), token);
                self.strays.reset += 1;
            }
            return None;
        }
        // RFC 8999 §5.1, as in `route`.
        let id = datagram.get(5..)?.split_first();
        let id = id.and_then(|(length, rest)| rest.get(..usize::from(*length)));
        if let Some(own) = id.and_then(|id| <[u8; ID]>::try_from(id).ok()) {
            let owner = self.router.owner(&self.secrets.ids, own);
            // Late packets of a removed connection must not begin a new one.
            let has_been_here = owner.endpoint == self.number && self.table.has_held(owner.handle);
            if has_been_here || self.misdirect(owner.endpoint, way, datagram) {
                return None;
            }
            // Either another process issued the id, or a client made it up; only the latter's
            // packet is authentic here.
            let copy = self.hands_on.then(|| datagram.to_vec());
            let begun = self.receive_first(now, way, datagram);
            if let Some(copy) = copy.filter(|_| begun.is_none()) {
                self.hand_on(way, &copy);
            }
            return begun;
        }
        if self.server.is_none() {
            self.hand_on(way, datagram);
        }
        self.receive_first(now, way, datagram)
    }

    /// Returns true if a sibling with that number exists, which then gets the datagram.
    fn misdirect(&mut self, names: u16, way: &RecvMeta, datagram: &[u8]) -> bool {
        let is_siblings = names != self.number && names < self.siblings;
        if is_siblings {
            self.misdirected.push(Some(names), way, datagram);
            self.strays.handed_over += 1;
        }
        is_siblings
    }

    /// Hands a datagram to other processes, if there are any.
    fn hand_on(&mut self, way: &RecvMeta, datagram: &[u8]) {
        if self.hands_on {
            self.misdirected.push(None, way, datagram);
            self.strays.handed_over += 1;
        }
    }

    /// Sets whether other processes serve the same address: datagrams that belong to no connection
    /// here, and that this process does not answer, are [misdirected](Self::misdirected) to them.
    pub fn set_hands_on(&mut self, hands_on: bool) {
        self.hands_on = hands_on;
    }

    /// RFC 9000 §10.3.1.
    fn find_reset(&self, remote: SocketAddr, datagram: &[u8]) -> Option<Handle> {
        self.peers.at(remote).find(|handle| {
            let entry = self.table.get(*handle);
            entry.is_some_and(|entry| entry.connection.is_reset(datagram))
        })
    }

    /// Replaces the content of `buffer` by the next answer that belongs to no connection.
    pub fn reply(&mut self, buffer: &mut Vec<u8>) -> Option<Transmit> {
        self.answers.take(buffer)
    }

    /// Returns the next datagram that one of the siblings, or another process, has to
    /// [receive](Self::receive).
    pub fn misdirected(&mut self) -> Option<Misdirected> {
        self.misdirected.pop()
    }

    /// Returns the next connection that a client began. It has already handled its first datagram.
    pub fn accept(&mut self) -> Option<Handle> {
        self.arrived.pop_front()
    }

    pub fn connection(&mut self, handle: Handle) -> Option<&mut Connection> {
        // The deadline may change while the owner uses the connection.
        self.touch(handle);
        self.settle(handle);
        let entry = self.table.get_mut(handle)?;
        Some(&mut entry.connection)
    }

    pub fn handles(&self) -> impl Iterator<Item = Handle> + '_ {
        self.table.handles()
    }

    /// The number of connections.
    pub fn len(&self) -> usize {
        self.table.len()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many clients had to validate their address first.
    pub fn retries_sent(&self) -> u64 {
        self.answers.retries()
    }

    /// Counts of the datagrams that belonged to no connection.
    pub fn strays(&self) -> StrayCounts {
        self.strays
    }

    /// How many clients had a token from an earlier connection that validated their address.
    pub fn tokens_taken(&self) -> u64 {
        self.tokens_taken
    }

    /// How many clients were refused because the connections have used up their budget.
    pub fn refused_over_budget(&self) -> u64 {
        self.over_budget
    }

    /// How many connections were closed because they kept more than the budget permits.
    pub fn evicted(&self) -> u64 {
        self.evicted
    }

    /// Forgets a connection, preferably one that is drained: otherwise its peer gets stateless
    /// resets from a server, and no answer from a client.
    pub fn remove(&mut self, handle: Handle) -> Option<Connection> {
        let mut entry = self.table.remove(handle)?;
        if let Some(first) = entry.first {
            self.firsts.remove(&first);
            self.served -= usize::from(!entry.has_ended);
            if entry.unvalidated {
                self.unvalidated
                    .end(first, entry.connection.take_farewell());
            }
        }
        self.peers.remove(entry.peer, entry.peer_number);
        self.arrived.retain(|other| *other != handle);
        Some(entry.connection)
    }

    /// Forgets all connections that are drained, and returns how many. Their unread events are
    /// lost.
    pub fn remove_drained(&mut self) -> usize {
        let drained: Vec<Handle> = self
            .handles()
            .filter(|handle| {
                let entry = self.table.get(*handle);
                entry.is_some_and(|entry| entry.connection.is_drained())
            })
            .collect();
        drained
            .iter()
            .filter_map(|handle| self.remove(*handle))
            .count()
    }

    /// When to call [`Endpoint::on_timeout`].
    pub fn deadline(&mut self) -> Option<Time> {
        self.relieve();
        if !self.evictions.is_empty() {
            return Some(Time::ZERO);
        }
        self.timers.deadline(&mut self.table)
    }

    /// Passes the time to the connections whose deadline has come. Adds these to `due`, and also
    /// the connections that were closed because of the [budget](crate::Budget): they may have
    /// events, and packets to send.
    pub fn on_timeout(&mut self, now: Time, due: &mut Vec<Handle>) {
        self.clock = now;
        let first = due.len();
        self.timers.take_due(&mut self.table, now, due);
        for handle in due.get(first..).unwrap_or_default() {
            if let Some(entry) = self.table.get_mut(*handle) {
                entry.connection.on_timeout(now);
            }
            self.timers.touch(&mut self.table, *handle);
        }
        self.evictions.append_to(due);
    }

    #[inline]
    fn touch(&mut self, handle: Handle) {
        self.timers.touch(&mut self.table, handle);
    }
}
