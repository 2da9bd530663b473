//! The network and its clock: hosts act, datagrams travel, deadlines come.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use roundtrip_quic::{
    ClientConfig, Connection, Endpoint, Handle, RecvMeta, Retry, ServerConfig, Sibling, Stats,
    Time, Transport,
};

use super::amplification::Amplification;
use super::link::{Dice, Link};
use super::node::{Life, Node};
use super::tls::{Identity, NAME};
use super::traffic::Traffic;

pub(crate) const SERVER: usize = 0;
pub(crate) const CLIENT: usize = 1;
pub(crate) const RTT: Duration = Duration::from_millis(40);
const START: Time = Time(1_000_000_000);
/// How many steps may happen in a row without the clock advancing.
const MAX_STEPS_AT_ONCE: usize = 20_000;

#[derive(Debug)]
pub(crate) struct Flying {
    pub(crate) from: SocketAddr,
    pub(crate) to: SocketAddr,
    pub(crate) ecn: u8,
    pub(crate) bytes: Vec<u8>,
}

pub(crate) struct Simulation {
    pub(crate) now: Time,
    pub(crate) nodes: Vec<Node>,
    /// To the server, and from it.
    pub(crate) up: Link,
    pub(crate) down: Link,
    pub(crate) dice: Dice,
    pub(crate) identity: Identity,
    pub(crate) client_config: ClientConfig,
    /// The host that an address belongs to.
    pub(crate) hosts: HashMap<SocketAddr, usize>,
    /// Nodes that share the server's address with it. As in the kernel, the client's address
    /// decides which of them gets a datagram.
    pub(crate) siblings: Vec<usize>,
    /// All datagrams that the hosts sent, if they are to be kept.
    pub(crate) seen: Option<Vec<Flying>>,
    /// The largest number of datagrams that left the server at one time.
    pub(crate) most_at_once: usize,
    amplification: Amplification,
    flying: HashMap<u64, Flying>,
    arrivals: BinaryHeap<Reverse<(Time, u64)>>,
    order: u64,
}

pub(crate) fn fast() -> Transport {
    Transport::default()
}

/// The configuration of a server without Retry.
pub(crate) fn server_config(identity: &Identity, transport: &Transport) -> ServerConfig {
    let mut config = ServerConfig::new(identity.server.clone(), Arc::new(transport.clone()));
    config.retry = Retry::Never;
    config
}

impl Simulation {
    pub(crate) fn new(seed: u64) -> Self {
        Self::with(seed, &fast(), |_| {})
    }

    /// A server and a client, with one transport for both; the server's configuration may be
    /// changed.
    pub(crate) fn with(
        seed: u64,
        transport: &Transport,
        change: impl FnOnce(&mut ServerConfig),
    ) -> Self {
        Self::with_identity(Identity::new(), seed, transport, change)
    }

    pub(crate) fn with_identity(
        identity: Identity,
        seed: u64,
        transport: &Transport,
        change: impl FnOnce(&mut ServerConfig),
    ) -> Self {
        let mut server = server_config(&identity, transport);
        change(&mut server);
        let client_config = ClientConfig::new(identity.client.clone(), Arc::new(transport.clone()));
        let mut simulation = Self {
            now: START,
            nodes: Vec::new(),
            up: Link::new(RTT / 2),
            down: Link::new(RTT / 2),
            dice: Dice::new(seed),
            identity,
            client_config,
            hosts: HashMap::new(),
            siblings: Vec::new(),
            seen: None,
            most_at_once: 0,
            amplification: Amplification::default(),
            flying: HashMap::new(),
            arrivals: BinaryHeap::new(),
            order: 0,
        };
        simulation.add_host(Some(server), "192.0.2.1:443");
        simulation.add_host(None, "198.51.100.1:50000");
        simulation
    }

    pub(crate) fn add_host(&mut self, server: Option<ServerConfig>, address: &str) -> usize {
        let address = address.parse().unwrap();
        let at = self.nodes.len();
        let seed = self.seed();
        let is_server = server.is_some();
        let endpoint = Endpoint::new(server, seed);
        self.nodes.push(Node::new(endpoint, address, is_server));
        self.hosts.insert(address, at);
        at
    }

    /// Replaces the server by `count` endpoints with the same key.
    pub(crate) fn multiply_server(&mut self, config: &ServerConfig, count: u16) {
        let (address, key) = (self.nodes[SERVER].address, self.seed());
        self.siblings.clear();
        for number in 0..count {
            let sibling = Sibling { key, number, count };
            let endpoint = Endpoint::with_siblings(config.clone(), self.seed(), &sibling);
            let node = Node::new(endpoint, address, true);
            if number == 0 {
                self.nodes[SERVER] = node;
                self.siblings.push(SERVER);
            } else {
                self.siblings.push(self.nodes.len());
                self.nodes.push(node);
            }
        }
    }

    pub(crate) fn seed(&mut self) -> [u8; 32] {
        self.dice.bytes(32).try_into().unwrap()
    }

    /// Begins the client's next connection; nothing has left yet.
    pub(crate) fn connect(&mut self) -> Handle {
        self.connect_from(CLIENT)
    }

    pub(crate) fn connect_from(&mut self, host: usize) -> Handle {
        let remote = self.nodes[SERVER].address;
        let node = &mut self.nodes[host];
        let made = node
            .endpoint
            .connect(self.now, &self.client_config, remote, NAME);
        let handle = made.unwrap();
        node.stir(handle);
        handle
    }

    /// Connects, and continues until both sides have completed the handshake.
    pub(crate) fn establish(&mut self) -> (Handle, Handle) {
        let before = self.nodes[SERVER].accepted.len();
        let client = self.connect();
        self.run_until("a handshake", |simulation| {
            let accepted = simulation.nodes[SERVER].accepted.get(before);
            let server = accepted.copied();
            server.is_some_and(|server| {
                let confirmed = |node: usize, handle| {
                    simulation.nodes[node]
                        .lives
                        .get(&handle)
                        .is_some_and(|life| {
                            life.time_of(&roundtrip_quic::Event::HandshakeConfirmed)
                                .is_some()
                        })
                };
                confirmed(SERVER, server) && confirmed(CLIENT, client)
            })
        });
        (client, self.nodes[SERVER].accepted[before])
    }

    pub(crate) fn request(&mut self, handle: Handle, brought: u64, wanted: u64) {
        self.request_from(CLIENT, handle, brought, wanted);
    }

    pub(crate) fn request_from(&mut self, host: usize, handle: Handle, brought: u64, wanted: u64) {
        let node = &mut self.nodes[host];
        node.stir(handle);
        let connection = node.endpoint.connection(handle).unwrap();
        let life = node.lives.entry(handle).or_default();
        life.traffic.request(connection, brought, wanted);
    }

    /// Passes a connection and its traffic to `act`.
    pub(crate) fn with_traffic(
        &mut self,
        host: usize,
        handle: Handle,
        act: impl FnOnce(&mut Traffic, &mut Connection),
    ) {
        let node = &mut self.nodes[host];
        node.stir(handle);
        let connection = node.endpoint.connection(handle).unwrap();
        act(
            &mut node.lives.entry(handle).or_default().traffic,
            connection,
        );
    }

    pub(crate) fn life(&self, handle: Handle) -> &Life {
        &self.nodes[CLIENT].lives[&handle]
    }

    pub(crate) fn stats(&mut self, host: usize, handle: Handle) -> Stats {
        self.nodes[host].stats(handle)
    }

    pub(crate) fn completed(&self, handle: Handle) -> usize {
        let life = self.nodes[CLIENT].lives.get(&handle);
        life.map_or(0, |life| life.traffic.completed)
    }

    /// Runs until `count` requests on the client's connection were answered.
    pub(crate) fn run_until_completed(&mut self, handle: Handle, count: usize) {
        self.run_until("answers", |simulation| {
            simulation.completed(handle) >= count
        });
    }

    /// Runs until the condition holds, at most a quarter of an hour of virtual time.
    pub(crate) fn run_until(&mut self, what: &str, mut holds: impl FnMut(&Self) -> bool) {
        let patience = self.now.after(Duration::from_mins(15));
        let mut steps = (self.now, 0);
        loop {
            self.act();
            if holds(self) {
                return;
            }
            assert!(self.step(patience), "{what}: nothing happens any more");
            steps = if steps.0 == self.now {
                (self.now, steps.1 + 1)
            } else {
                (self.now, 0)
            };
            assert!(
                steps.1 < MAX_STEPS_AT_ONCE,
                "{what}: the clock stands still"
            );
        }
    }

    /// Runs for this much time.
    pub(crate) fn run_for(&mut self, span: Duration) {
        let end = self.now.after(span);
        let mut steps = (self.now, 0);
        self.act();
        while self.step(end) {
            self.act();
            steps = if steps.0 == self.now {
                (self.now, steps.1 + 1)
            } else {
                (self.now, 0)
            };
            assert!(steps.1 < MAX_STEPS_AT_ONCE, "the clock stands still");
        }
        self.now = end;
    }

    /// Advances to the next thing that happens before `end`.
    fn step(&mut self, end: Time) -> bool {
        let arrival = self.arrivals.peek().map(|Reverse((time, _))| *time);
        let deadline = self
            .nodes
            .iter_mut()
            .filter_map(|node| node.endpoint.deadline())
            .min();
        let Some(next) = arrival.into_iter().chain(deadline).min() else {
            return false;
        };
        if next > end {
            return false;
        }
        self.now = self.now.max(next);
        while let Some(Reverse((time, order))) = self.arrivals.peek().copied()
            && time <= self.now
        {
            self.arrivals.pop();
            self.deliver(order);
        }
        for node in &mut self.nodes {
            node.wake(self.now);
        }
        true
    }

    fn deliver(&mut self, order: u64) {
        let Some(mut flying) = self.flying.remove(&order) else {
            return;
        };
        if let Some(host) = self.hosts.get(&flying.to) {
            if self.nodes[*host].is_server {
                let bytes = flying.bytes.len();
                self.amplification.on_received(flying.from, bytes);
            } else {
                self.amplification.on_arrived(flying.to);
            }
            let way = RecvMeta {
                remote: flying.from,
                local: Some(flying.to.ip()),
                ecn: flying.ecn,
            };
            self.arrive(*host, &way, &mut flying.bytes);
        }
    }

    fn arrive(&mut self, host: usize, way: &RecvMeta, datagram: &mut [u8]) {
        let of_siblings = usize::from(way.remote.port()).checked_rem(self.siblings.len());
        let chosen = of_siblings.filter(|_| host == SERVER);
        let host = chosen.map_or(host, |number| self.siblings[number]);
        self.nodes[host].receive(self.now, way, datagram);
        while let Some(mut next) = self.nodes[host].endpoint.misdirected() {
            let owner = self.siblings[usize::from(next.to.unwrap())];
            self.nodes[owner].receive(self.now, &next.way, &mut next.datagram);
        }
    }

    /// Puts a datagram into a host's socket, as if from that address.
    pub(crate) fn inject(&mut self, host: usize, from: SocketAddr, datagram: &[u8]) {
        let way = RecvMeta {
            remote: from,
            local: Some(self.nodes[host].address.ip()),
            ecn: 0,
        };
        let mut bytes = datagram.to_vec();
        if self.nodes[host].is_server {
            self.amplification.on_received(from, bytes.len());
        }
        self.arrive(host, &way, &mut bytes);
    }

    pub(crate) fn act(&mut self) {
        let mut sent = Vec::new();
        for (at, node) in self.nodes.iter_mut().enumerate() {
            let address = node.address;
            node.act(self.now, &mut |transmit, bytes| {
                let from = transmit
                    .from
                    .map_or(address, |ip| SocketAddr::new(ip, address.port()));
                for datagram in bytes.chunks(transmit.segment) {
                    sent.push((at, from, transmit.to, transmit.ecn, datagram.to_vec()));
                }
            });
        }
        let serves = |at: usize| at == SERVER || self.siblings.contains(&at);
        let from_server = sent.iter().filter(|(at, ..)| serves(*at)).count();
        self.most_at_once = self.most_at_once.max(from_server);
        for (at, from, to, mut ecn, mut bytes) in sent {
            let link = if at == SERVER || self.siblings.contains(&at) {
                &mut self.down
            } else {
                &mut self.up
            };
            if self.nodes[at].is_server {
                self.amplification.on_sent(to, bytes.len());
            }
            if let Some(seen) = &mut self.seen {
                let bytes = bytes.clone();
                seen.push(Flying {
                    from,
                    to,
                    ecn,
                    bytes,
                });
            }
            for time in link.carry(self.now, &mut bytes, &mut ecn, &mut self.dice) {
                self.order += 1;
                let bytes = bytes.clone();
                let flying = Flying {
                    from,
                    to,
                    ecn,
                    bytes,
                };
                self.flying.insert(self.order, flying);
                self.arrivals.push(Reverse((time, self.order)));
            }
        }
    }
}
