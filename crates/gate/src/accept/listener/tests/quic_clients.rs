//! Clients whose later datagrams never arrive, as with spoofed addresses.

use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::sync::Arc;

use roundtrip_quic::{ClientConfig, Endpoint, Handle, Time, Transport};
use roundtrip_tls::Offer;

use super::scene::{Scene, offer};

const NOW: Time = Time(1_000_000_000);

pub(super) struct QuicClients {
    endpoint: Endpoint,
    config: ClientConfig,
    /// The largest number of datagrams that each client sends.
    most: usize,
    last: Option<(UdpSocket, Handle)>,
    /// The datagrams that the last client has not sent.
    unsaid: Vec<Vec<u8>>,
    /// Sockets stay open, because the kernel would answer for a closed one with an ICMP error.
    kept: Vec<UdpSocket>,
}

impl QuicClients {
    pub(super) fn new(scene: &Scene) -> Self {
        Self::saying(scene, false, usize::MAX)
    }

    /// Makes clients that send only the first half of their hello.
    pub(super) fn with_halves(scene: &Scene) -> Self {
        Self::saying(scene, true, 1)
    }

    fn saying(scene: &Scene, post_quantum: bool, most: usize) -> Self {
        let offer = Offer {
            tls12: false,
            post_quantum,
            alpn: vec!["h3"],
            quic: true,
            ..offer()
        };
        let tls = scene.client().config(&offer).unwrap();
        Self {
            endpoint: Endpoint::new(None, [3; 32]),
            config: ClientConfig::new(Arc::new(tls), Arc::new(Transport::default())),
            most,
            last: None,
            unsaid: Vec::new(),
            kept: Vec::new(),
        }
    }

    /// Starts one more client, from a new address.
    pub(super) fn send(&mut self, to: SocketAddr) {
        let config = &self.config;
        let handle = self.endpoint.connect(NOW, config, to, "localhost").unwrap();
        let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        socket.set_nonblocking(true).unwrap();
        let before = self.last.replace((socket, handle));
        self.kept.extend(before.map(|(socket, _)| socket));
        self.say(to, self.most);
    }

    fn say(&mut self, to: SocketAddr, most: usize) {
        let (socket, handle) = self.last.as_ref().unwrap();
        let connection = self.endpoint.connection(*handle).unwrap();
        let mut buffer = vec![0; 1 << 16];
        let mut said = Vec::new();
        while let Some(burst) = connection.transmit(NOW, &mut buffer) {
            let datagrams = buffer[..burst.length].chunks(burst.segment);
            said.extend(datagrams.map(<[u8]>::to_vec));
        }
        self.unsaid = said.split_off(most.min(said.len()));
        assert!(!said.is_empty());
        for datagram in said {
            socket.send_to(&datagram, to).unwrap();
        }
    }

    /// The last client sends the missing datagrams.
    pub(super) fn say_the_rest(&mut self, to: SocketAddr) {
        let (socket, _) = self.last.as_ref().unwrap();
        assert!(!self.unsaid.is_empty());
        for datagram in self.unsaid.drain(..) {
            socket.send_to(&datagram, to).unwrap();
        }
    }

    /// Starts this many more clients, and waits for an answer to each.
    pub(super) async fn begin(&mut self, to: SocketAddr, count: usize) {
        for _ in 0..count {
            self.send(to);
            self.answered().await;
        }
    }

    /// Waits until the last client gets an answer.
    pub(super) async fn answered(&self) {
        let (socket, _) = self.last.as_ref().unwrap();
        let socket = tokio::net::UdpSocket::from_std(socket.try_clone().unwrap());
        socket.unwrap().recv(&mut [0; 2000]).await.unwrap();
    }

    /// Whether the last client got an answer.
    pub(super) fn was_answered(&self) -> bool {
        let (socket, _) = self.last.as_ref().unwrap();
        socket.recv(&mut [0; 2000]).is_ok()
    }

    /// Closes the connection of the last client.
    pub(super) fn give_up(&mut self, to: SocketAddr) {
        let (_, handle) = self.last.as_ref().unwrap();
        let connection = self.endpoint.connection(*handle).unwrap();
        connection.close(NOW, 0, b"");
        self.say(to, usize::MAX);
    }
}
