//! Two connections and the links between them: delay, loss, and the changes that a test makes to
//! datagrams.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::net::SocketAddr;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use bytes::Bytes;
use roundtrip_wire::quic::{ConnectionId, Frame, Packet, Packets, Pen, Version};
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer, ServerName};

use super::super::frame_owners::PacketWriter;
use super::super::{Connection, ConnectionSetup, FirstInitial, Issuer};
use crate::{Dir, Event, Read, RecvMeta, StreamEvent, Time, Transport};

pub(crate) const DELAY: Duration = Duration::from_millis(10);

#[derive(Debug)]
struct Ids(u8);

impl Issuer for Ids {
    fn id(&self, sequence: u64) -> (ConnectionId, [u8; 16]) {
        let mut id = [self.0; 8];
        id[7] = sequence as u8;
        (ConnectionId::new(&id).unwrap(), [id[7] ^ self.0; 16])
    }

    fn tokens(&mut self, _version: Version, _now: Time, _remote: SocketAddr) -> Vec<Bytes> {
        vec![Bytes::from_static(b"come again")]
    }
}

pub(crate) fn tls() -> (Arc<rustls::ClientConfig>, Arc<rustls::ServerConfig>) {
    static CONFIGS: OnceLock<(Arc<rustls::ClientConfig>, Arc<rustls::ServerConfig>)> =
        OnceLock::new();
    CONFIGS.get_or_init(make_tls).clone()
}

pub(crate) fn make_tls() -> (Arc<rustls::ClientConfig>, Arc<rustls::ServerConfig>) {
    let made = rcgen::generate_simple_self_signed(vec!["server.test".to_owned()]).unwrap();
    let certificate = made.cert.der().clone();
    let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(made.signing_key.serialize_der()));
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let mut server = rustls::ServerConfig::builder_with_provider(provider.clone())
        .with_protocol_versions(&[&rustls::version::TLS13])
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certificate.clone()], key)
        .unwrap();
    server.alpn_protocols = vec![b"test".to_vec()];
    server.max_early_data_size = u32::MAX;
    let mut roots = rustls::RootCertStore::empty();
    roots.add(certificate).unwrap();
    let mut client = rustls::ClientConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&rustls::version::TLS13])
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    client.alpn_protocols = vec![b"test".to_vec()];
    client.enable_early_data = true;
    (Arc::new(client), Arc::new(server))
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    Client,
    Server,
}

/// A datagram in flight: when it arrives, its sending order, whether it goes to the server, its
/// source address, and its bytes.
type Flying = Reverse<(Time, u64, bool, SocketAddr, Vec<u8>)>;

type Fate = Box<dyn FnMut(End, u64, &mut Vec<u8>) -> bool>;

pub(crate) struct Pair {
    pub(crate) now: Time,
    pub(crate) client: Connection,
    pub(crate) server: Option<Connection>,
    pub(crate) client_address: SocketAddr,
    pub(crate) server_address: SocketAddr,
    /// Whether a datagram with this sender and count arrives.
    pub(crate) arrives: Fate,
    pub(crate) sent: [u64; 2],
    pub(crate) bytes: [u64; 2],
    /// The bursts that each end sent, as numbers of datagrams.
    pub(crate) bursts: [Vec<usize>; 2],
    pub(crate) client_events: Vec<Event>,
    pub(crate) server_events: Vec<Event>,
    /// Whether each datagram may be answered before the next one comes.
    pub(crate) answers_each: bool,
    /// How many bytes the server has received from each address; how many bytes it sent there, and
    /// in how many datagrams, before the address was validated.
    pub(crate) exchanged: HashMap<SocketAddr, [u64; 3]>,
    flying: BinaryHeap<Flying>,
    order: u64,
    server_transport: Arc<Transport>,
    server_tls: Arc<rustls::ServerConfig>,
    buffer: Vec<u8>,
}

impl Pair {
    pub(crate) fn new(transport: &Transport) -> Self {
        let (client, server) = tls();
        Self::with(transport, transport, client, server)
    }

    pub(crate) fn with(
        client: &Transport,
        server: &Transport,
        client_tls: Arc<rustls::ClientConfig>,
        server_tls: Arc<rustls::ServerConfig>,
    ) -> Self {
        let now = Time(1_000_000_000);
        let client_address = "192.0.2.1:4000".parse().unwrap();
        let server_address: SocketAddr = "192.0.2.2:443".parse().unwrap();
        let opening = opening(client, server_address, 0xc1);
        let name = ServerName::try_from("server.test").unwrap();
        let first = ConnectionId::new(&[0x55; 8]).unwrap();
        let client = Connection::client(now, opening, client_tls, name, None, first).unwrap();
        Self {
            now,
            client,
            server: None,
            client_address,
            server_address,
            arrives: Box::new(|_, _, _| true),
            sent: [0; 2],
            bytes: [0; 2],
            bursts: [Vec::new(), Vec::new()],
            client_events: Vec::new(),
            server_events: Vec::new(),
            answers_each: false,
            exchanged: HashMap::new(),
            flying: BinaryHeap::new(),
            order: 0,
            server_transport: Arc::new(server.clone()),
            server_tls,
            buffer: vec![0; 65_536],
        }
    }

    pub(crate) fn server(&mut self) -> &mut Connection {
        self.server.as_mut().unwrap()
    }

    pub(crate) fn connection(&mut self, end: End) -> &mut Connection {
        match end {
            End::Client => &mut self.client,
            End::Server => self.server(),
        }
    }

    /// Runs until `done`, or until nothing happens any more, or a minute has passed.
    pub(crate) fn run(&mut self, mut done: impl FnMut(&mut Self) -> bool) -> bool {
        let end = self.now.after(Duration::from_mins(1));
        let mut before = (self.now, 0);
        loop {
            // Time has to advance: a deadline that is never met would keep its owner awake.
            before = if before.0 == self.now {
                (self.now, before.1 + 1)
            } else {
                (self.now, 0)
            };
            assert!(before.1 < 1000, "{:?} {:?}", self.client, self.server);
            self.send();
            self.collect_events();
            if done(self) {
                return true;
            }
            // Reading and writing may have created something to send.
            self.send();
            let Some(next) = self.next_time().filter(|next| *next <= end) else {
                return false;
            };
            self.now = self.now.max(next);
            self.receive();
            for end in [End::Client, End::Server] {
                let now = self.now;
                if end == End::Server && self.server.is_none() {
                    continue;
                }
                let connection = self.connection(end);
                if connection
                    .deadline()
                    .is_some_and(|deadline| deadline <= now)
                {
                    connection.on_timeout(now);
                }
            }
        }
    }

    pub(crate) fn run_for(&mut self, span: Duration) {
        let until = self.now.after(span);
        self.run(|pair| pair.next_time().is_none_or(|next| next > until));
        self.now = self.now.max(until);
    }

    pub(crate) fn connect(&mut self) {
        assert!(self.run(|pair| {
            pair.client_events.contains(&Event::HandshakeConfirmed)
                && pair.server_events.contains(&Event::HandshakeConfirmed)
        }));
    }

    fn next_time(&self) -> Option<Time> {
        let arrival = self.flying.peek().map(|Reverse(flying)| flying.0);
        let server = self.server.as_ref().and_then(Connection::deadline);
        [arrival, self.client.deadline(), server]
            .into_iter()
            .flatten()
            .min()
    }

    /// Lets these ends send.
    pub(crate) fn send_of(&mut self, ends: &[End]) {
        for end in ends.iter().copied() {
            if end == End::Server && self.server.is_none() {
                continue;
            }
            let mut buffer = std::mem::take(&mut self.buffer);
            let now = self.now;
            while let Some(transmit) = self.connection(end).transmit(now, &mut buffer) {
                assert!(transmit.length > 0 && transmit.segment > 0);
                self.bursts[end as usize].push(transmit.count());
                for datagram in buffer[..transmit.length].chunks(transmit.segment) {
                    let from = match end {
                        End::Client => self.client_address,
                        End::Server => self.server_address,
                    };
                    self.throw(end, from, transmit.to, datagram.to_vec());
                }
            }
            self.buffer = buffer;
        }
    }

    fn throw(&mut self, end: End, from: SocketAddr, to: SocketAddr, mut datagram: Vec<u8>) {
        let count = self.sent[end as usize];
        self.sent[end as usize] += 1;
        self.bytes[end as usize] += datagram.len() as u64;
        if end == End::Server && !self.server().has_proved(to) {
            let [came, went, datagrams] = self.exchanged.entry(to).or_default();
            *went += datagram.len() as u64;
            *datagrams += 1;
            assert!(*went <= 3 * *came, "{to} got {went} bytes for {came}");
        }
        // A peer that has moved gets nothing at its old address.
        let is_there = end == End::Client || to == self.client_address;
        if (self.arrives)(end, count, &mut datagram) && is_there {
            self.order += 1;
            let time = self.now.after(DELAY);
            let to_server = end == End::Client;
            self.flying
                .push(Reverse((time, self.order, to_server, from, datagram)));
        }
    }

    fn receive(&mut self) {
        while let Some(Reverse(next)) = self.flying.peek()
            && next.0 <= self.now
        {
            let Some(Reverse((_, _, to_server, remote, mut datagram))) = self.flying.pop() else {
                return;
            };
            let way = RecvMeta {
                remote,
                local: None,
                ecn: 0,
            };
            if to_server && self.server.is_none() {
                self.server = Some(self.accept(remote, &datagram));
            }
            let now = self.now;
            let end = if to_server { End::Server } else { End::Client };
            if to_server {
                self.exchanged.entry(remote).or_default()[0] += datagram.len() as u64;
            }
            self.connection(end).receive(now, &way, &mut datagram);
            if self.answers_each {
                self.send();
            }
        }
    }

    fn accept(&mut self, remote: SocketAddr, datagram: &[u8]) -> Connection {
        let Some(Ok(Packet::Long(initial))) = Packets::new(datagram).next() else {
            panic!("a first datagram without an Initial packet");
        };
        assert!(datagram.len() >= 1200);
        let arrival = FirstInitial {
            original: initial.destination,
            retry_source: None,
            destination: initial.destination,
            source: initial.source,
            validated: false,
            datagram: datagram.len() as u16,
        };
        let opening = opening(&self.server_transport, remote, 0x5e);
        let tls = self.server_tls.clone();
        Connection::server(self.now, opening, &tls, None, &arrival).unwrap()
    }

    /// Passes the server a packet with these frames, sealed with the client's keys, as if from that
    /// address. The client records the packet, and believes the acknowledgement.
    pub(crate) fn forge(&mut self, from: SocketAddr, frames: &[Frame<'_>]) {
        let mut payload = vec![0; 1300];
        let mut pen = Pen::new(&mut payload);
        for frame in frames {
            assert!(frame.write(&mut pen));
        }
        let length = pen.position();
        self.forge_bytes(from, &payload[..length]);
    }

    pub(crate) fn forge_bytes(&mut self, from: SocketAddr, payload: &[u8]) {
        let mut datagram = self.client.seal_alone(payload);
        self.exchanged.entry(from).or_default()[0] += datagram.len() as u64;
        let way = RecvMeta {
            remote: from,
            local: None,
            ecn: 0,
        };
        let now = self.now;
        self.server().receive(now, &way, &mut datagram);
    }

    pub(crate) fn send(&mut self) {
        self.send_of(&[End::Client, End::Server]);
    }

    fn collect_events(&mut self) {
        while let Some(event) = self.client.poll() {
            self.client_events.push(event);
        }
        while let Some(event) = self.server.as_mut().and_then(Connection::poll) {
            self.server_events.push(event);
        }
    }

    /// Sends `total` bytes of a known pattern on one stream and reads them at the other end; false
    /// if it stalls.
    pub(crate) fn carry(&mut self, from: End, total: usize) -> bool {
        let to = match from {
            End::Client => End::Server,
            End::Server => End::Client,
        };
        let id = self.connection(from).open(Dir::Uni).unwrap();
        let mut written = 0;
        let mut read = 0;
        let mut ended = false;
        let mut scratch = vec![0; 1 << 16];
        self.run(|pair| {
            while written < total {
                let length = (total - written).min(60_000);
                let bytes: Bytes = (written..written + length).map(byte).collect();
                match pair.connection(from).write(id, bytes).unwrap() {
                    0 => break,
                    count => written += count,
                }
                if written == total {
                    pair.connection(from).finish(id).unwrap();
                }
            }
            let receiver = pair.connection(to);
            while receiver.accept(Dir::Uni).is_some() {}
            while let Ok(outcome) = receiver.read(id, &mut scratch) {
                match outcome {
                    Read::Bytes(count) => {
                        for (at, found) in scratch[..count].iter().enumerate() {
                            assert_eq!(*found, byte(read + at), "at {}", read + at);
                        }
                        read += count;
                    }
                    Read::Blocked => break,
                    Read::End => {
                        ended = true;
                        break;
                    }
                }
            }
            let finished = Event::Stream(StreamEvent::Finished(id));
            let told = match from {
                End::Client => &pair.client_events,
                End::Server => &pair.server_events,
            };
            ended && told.contains(&finished)
        }) && read == total
    }
}

/// The pattern is long, so that data at the wrong place shows.
fn byte(at: usize) -> u8 {
    ((at as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as u8
}

pub(crate) fn opening(transport: &Transport, remote: SocketAddr, mark: u8) -> ConnectionSetup {
    ConnectionSetup {
        transport: Arc::new(transport.clone()),
        version: Version::V1,
        remote,
        local: None,
        issuer: Box::new(Ids(mark)),
        seed: [mark; 32],
    }
}

/// Test access to the inside of a connection.
impl Connection {
    fn has_proved(&self, remote: SocketAddr) -> bool {
        self.paths.has_proved(remote)
    }

    /// Makes a 1-RTT packet with this payload.
    fn seal_alone(&mut self, payload: &[u8]) -> Vec<u8> {
        PacketWriter::new(self).seal_alone(payload)
    }
}
