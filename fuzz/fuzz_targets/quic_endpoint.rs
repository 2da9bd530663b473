//! Fuzzes two QUIC endpoints that talk to each other, with datagrams that are invented, damaged,
//! repeated, delayed and lost.
#![no_main]

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::{Arc, LazyLock};

use bytes::Bytes;
use libfuzzer_sys::fuzz_target;
use roundtrip_quic::{
    ClientConfig, Dir, Endpoint, Event, Handle, Read, RecvMeta, Retry, ServerConfig, StreamEvent,
    Time, Transport,
};
use rustls::crypto::aws_lc_rs::default_provider;

const NAME: &str = "server.test";
const MOST_STEPS: usize = 400;

struct Tls {
    client: Arc<rustls::ClientConfig>,
    server: Arc<rustls::ServerConfig>,
}

static TLS: LazyLock<Tls> = LazyLock::new(|| {
    let made = rcgen::generate_simple_self_signed([NAME.to_owned()]).expect("a certificate");
    let certificate = made.cert.der().clone();
    let key = rustls::pki_types::PrivateKeyDer::try_from(made.signing_key.serialize_der());
    let provider = Arc::new(default_provider());
    let mut server = rustls::ServerConfig::builder_with_provider(provider.clone())
        .with_protocol_versions(&[&rustls::version::TLS13])
        .expect("TLS 1.3")
        .with_no_client_auth()
        .with_single_cert(vec![certificate.clone()], key.expect("a key"))
        .expect("a key that fits");
    server.max_early_data_size = u32::MAX;
    let mut roots = rustls::RootCertStore::empty();
    roots.add(certificate).expect("a root");
    let mut client = rustls::ClientConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&rustls::version::TLS13])
        .expect("TLS 1.3")
        .with_root_certificates(roots)
        .with_no_client_auth();
    client.enable_early_data = true;
    Tls {
        client: Arc::new(client),
        server: Arc::new(server),
    }
});

struct Host {
    endpoint: Endpoint,
    address: SocketAddr,
    /// Datagrams under way to it.
    inbox: VecDeque<Vec<u8>>,
    sent: u64,
}

struct World {
    now: Time,
    /// The server and the client.
    hosts: [Host; 2],
    client: Handle,
    buffer: Vec<u8>,
}

impl World {
    fn new(retry: bool, holds: bool) -> Self {
        let transport = Arc::new(Transport::default());
        let mut server = ServerConfig::new(TLS.server.clone(), transport.clone());
        server.retry = if retry { Retry::Always } else { Retry::Never };
        server.holds = holds;
        let host = |server, address: &str, seed| Host {
            endpoint: Endpoint::new(server, [seed; 32]),
            address: address.parse().expect("an address"),
            inbox: VecDeque::new(),
            sent: 0,
        };
        let mut hosts = [
            host(Some(server), "192.0.2.1:443", 1),
            host(None, "198.51.100.1:5000", 2),
        ];
        let config = ClientConfig::new(TLS.client.clone(), transport);
        let now = Time(1_000_000_000);
        let (remote, client) = (hosts[0].address, &mut hosts[1].endpoint);
        let client = client
            .connect(now, &config, remote, NAME)
            .expect("a connection");
        Self {
            now,
            hosts,
            client,
            buffer: vec![0; 65_536],
        }
    }

    /// Everything that either host wants to do now.
    fn act(&mut self) {
        for at in [0, 1] {
            let mut left = Vec::new();
            let host = &mut self.hosts[at];
            let mut due = Vec::new();
            host.endpoint.on_timeout(self.now, &mut due);
            while host.endpoint.accept().is_some() {}
            let handles: Vec<Handle> = host.endpoint.handles().collect();
            for handle in handles {
                let Some(connection) = host.endpoint.connection(handle) else {
                    continue;
                };
                while let Some(event) = connection.poll() {
                    if let Event::Stream(StreamEvent::Opened(dir)) = event {
                        while let Some(id) = connection.accept(dir) {
                            let _ = connection.write(id, Bytes::from_static(&[7; 3000]));
                        }
                    }
                    if let Event::Stream(StreamEvent::Readable(id)) = event {
                        let mut into = [0; 4096];
                        while matches!(connection.read(id, &mut into), Ok(Read::Bytes(_))) {}
                    }
                }
                while let Some(sent) = connection.transmit(self.now, &mut self.buffer) {
                    assert!(sent.length <= self.buffer.len() && sent.segment > 0);
                    let bytes = self.buffer.get(..sent.length).unwrap_or_default();
                    left.extend(bytes.chunks(sent.segment).map(<[u8]>::to_vec));
                }
            }
            let mut reply = Vec::new();
            while host.endpoint.reply(&mut reply).is_some() {
                left.push(reply.clone());
            }
            host.sent += left
                .iter()
                .map(|datagram| datagram.len() as u64)
                .sum::<u64>();
            self.hosts[1 - at].inbox.extend(left);
        }
    }

    /// The server continues with clients whose hello it holds, refuses them, or accepts no more
    /// clients.
    fn decide(&mut self, value: u8) {
        let (now, endpoint) = (self.now, &mut self.hosts[0].endpoint);
        if value == 0 {
            endpoint.set_server(None);
        }
        let handles: Vec<Handle> = endpoint.handles().collect();
        for handle in handles {
            let Some(connection) = endpoint.connection(handle) else {
                continue;
            };
            let held = connection.hello().map(<[u8]>::len);
            assert!(held.is_none_or(|length| length <= 1 << 16));
            match value {
                0 => {}
                1 => connection.refuse(now),
                _ => connection.proceed(now),
            }
        }
    }

    fn deliver(&mut self, to: usize, mut datagram: Vec<u8>, ecn: u8) {
        let way = RecvMeta {
            remote: self.hosts[1 - to].address,
            local: None,
            ecn,
        };
        self.hosts[to]
            .endpoint
            .receive(self.now, &way, &mut datagram);
    }
}

fuzz_target!(|input: &[u8]| {
    let mut bytes = input.iter().copied();
    let first = input.first().copied().unwrap_or_default();
    let mut world = World::new(first & 1 == 1, first & 2 == 2);
    for _ in 0..MOST_STEPS {
        let (Some(step), Some(value)) = (bytes.next(), bytes.next()) else {
            break;
        };
        let to = usize::from(step >> 7);
        match step & 0x07 {
            // All that is under way arrives.
            0 | 1 => {
                while let Some(datagram) = world.hosts[to].inbox.pop_front() {
                    world.deliver(to, datagram, value & 3);
                }
            }
            // A datagram is lost, damaged, or comes twice.
            2 => drop(world.hosts[to].inbox.pop_front()),
            3 => {
                if let Some(mut datagram) = world.hosts[to].inbox.pop_front() {
                    let at = usize::from(value) % datagram.len().max(1);
                    if let Some(byte) = datagram.get_mut(at) {
                        *byte ^= bytes.next().unwrap_or(1);
                    }
                    world.deliver(to, datagram, 0);
                }
            }
            4 => {
                if let Some(datagram) = world.hosts[to].inbox.pop_front() {
                    world.deliver(to, datagram.clone(), 0);
                    world.deliver(to, datagram, 0);
                }
            }
            // One is invented.
            5 => {
                let size = usize::from(value) * 6;
                let datagram = (0..size).map(|_| bytes.next().unwrap_or(0)).collect();
                world.deliver(to, datagram, 0);
            }
            // Time goes by: up to a second.
            6 => world.now = Time(world.now.0 + (u64::from(value) << 22)),
            _ if to == 0 => world.decide(value),
            // The client writes, closes, updates its keys.
            _ => {
                let (now, handle) = (world.now, world.client);
                if let Some(connection) = world.hosts[1].endpoint.connection(handle) {
                    match value {
                        0 => connection.close(now, 1, b"done"),
                        1 => drop(connection.update_keys()),
                        2 => connection.ping(),
                        _ => {
                            if let Some(id) = connection.open(Dir::Bidi) {
                                let data = Bytes::from(vec![value; usize::from(value) * 50]);
                                let _ = connection.write(id, data);
                                let _ = connection.finish(id);
                            }
                        }
                    }
                }
            }
        }
        world.act();
    }
});
