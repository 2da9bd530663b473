//! Clients over QUIC: how their handshakes are counted, and what happens to those beyond the limit.

use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::sync::Arc;
use std::time::Duration;

use quinn::crypto::rustls::QuicClientConfig;
use quinn::{ClientConfig, Endpoint};

use crate::lifecycle::eventually;
use crate::lifecycle::scene::{Scene, backend};
use crate::runtime;
use crate::tls_client::h3_config;

pub(crate) const EARLY: &str = "[tls]\nresumption = \"single-use\"\nearly_data = true\n";

pub(crate) fn scene(at: SocketAddr, more: &str) -> Scene {
    Scene::tuned(at, more, |config| {
        config.listen.https = vec![(Ipv4Addr::LOCALHOST, 0).into()];
        config.listen.h3 = true;
    })
}

pub(crate) struct Caller {
    pub(crate) endpoint: Endpoint,
    pub(crate) to: SocketAddr,
}

impl Caller {
    pub(crate) fn new(scene: &Scene) -> Self {
        Self::with(scene, |_| ())
    }

    /// A client of the server at this address, whose certificate it knows.
    pub(crate) fn to(to: SocketAddr, certificate: &str) -> Self {
        Self::make(to, certificate, |_| ())
    }

    /// A client that keeps no address tokens.
    pub(crate) fn without_tokens(scene: &Scene) -> Self {
        Self::with(scene, |config| {
            config.token_store(Arc::new(quinn::NoneTokenStore));
        })
    }

    fn with(scene: &Scene, change: impl FnOnce(&mut ClientConfig)) -> Self {
        let gate = scene.gate();
        let pem = gate.certificate().unwrap();
        Self::make(gate.addresses().https[0], pem, change)
    }

    fn make(to: SocketAddr, pem: &str, change: impl FnOnce(&mut ClientConfig)) -> Self {
        let mut tls = h3_config(Some(pem));
        tls.enable_early_data = true;
        let tls = QuicClientConfig::try_from(tls).unwrap();
        let mut endpoint = Endpoint::client((Ipv4Addr::LOCALHOST, 0).into()).unwrap();
        let mut config = ClientConfig::new(Arc::new(tls));
        change(&mut config);
        endpoint.set_default_client_config(config);
        Self { endpoint, to }
    }

    /// Whether gate takes the early data of a new connection, which sends none.
    pub(crate) async fn may_send_early_data(&self) -> bool {
        let connecting = self.endpoint.connect(self.to, "localhost").unwrap();
        let Ok((_connection, accepted)) = connecting.into_0rtt() else {
            panic!("there is no ticket");
        };
        accepted.await
    }

    /// One connection with one request; returns whether it was early, and the status.
    pub(crate) async fn ask(&self, path: &str) -> (bool, u16) {
        let connecting = self.endpoint.connect(self.to, "localhost").unwrap();
        let (connection, accepted) = match connecting.into_0rtt() {
            Ok((connection, accepted)) => (connection, Some(accepted)),
            Err(connecting) => (connecting.await.unwrap(), None),
        };
        let carrier = h3_quinn::Connection::new(connection.clone());
        let (mut driver, mut sender) = h3::client::new(carrier).await.unwrap();
        let closing = async { std::future::poll_fn(|cx| driver.poll_close(cx)).await };
        let asking = async {
            let request = http::Request::get(format!("https://localhost{path}"));
            let request = request.body(()).unwrap();
            let mut stream = sender.send_request(request).await.unwrap();
            stream.finish().await.unwrap();
            let status = stream.recv_response().await.unwrap().status().as_u16();
            let is_early = match accepted {
                Some(accepted) => accepted.await,
                None => false,
            };
            // Tickets come after the handshake, and are then on their way to the store.
            tokio::time::sleep(Duration::from_millis(100)).await;
            (is_early, status)
        };
        let answer = tokio::select! {
            answer = asking => answer,
            error = closing => panic!("{error}"),
        };
        connection.close(0x100_u32.into(), b"");
        answer
    }
}

pub(crate) fn run<F: Future>(play: F) -> F::Output {
    let runtime = runtime();
    runtime.block_on(play)
}

/// This happens when a NAT forgets a client: the kernel chooses a thread for its packets by the new
/// port.
#[test]
fn a_connection_goes_on_whatever_its_port_on_several_threads() {
    let (at, _release) = backend("one");
    let scene = Scene::tuned(at, "", |config| {
        config.listen.https = vec![(Ipv4Addr::LOCALHOST, 0).into()];
        config.listen.h3 = true;
        config.listen.threads = 4;
    });
    run(async {
        let caller = Caller::new(&scene);
        let connecting = caller.endpoint.connect(caller.to, "localhost").unwrap();
        let connection = connecting.await.unwrap();
        let carrier = h3_quinn::Connection::new(connection.clone());
        let (mut driver, mut sender) = h3::client::new(carrier).await.unwrap();
        let closing = async { std::future::poll_fn(|cx| driver.poll_close(cx)).await };
        let asking = async {
            for _ in 0..100 {
                let request = http::Request::get("https://localhost/").body(()).unwrap();
                let mut stream = sender.send_request(request).await.unwrap();
                stream.finish().await.unwrap();
                let answer = stream.recv_response().await.unwrap();
                assert_eq!(answer.status().as_u16(), 401);
                let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
                caller.endpoint.rebind(socket).unwrap();
            }
        };
        tokio::select! {
            () = asking => {}
            error = closing => panic!("{error}"),
        }
        assert!(connection.close_reason().is_none());
    });
}

pub(crate) fn counted(scene: &Scene, line: &str) -> bool {
    let (_, metrics) = scene.admin("/metrics");
    metrics.lines().any(|other| other == line)
}

#[test]
fn handshakes_are_counted_as_what_they_were() {
    let (at, _release) = backend("one");
    for (more, early, kinds) in [
        ("", false, [("full", 1), ("resumed", 1), ("early", 0)]),
        (EARLY, true, [("full", 1), ("resumed", 0), ("early", 1)]),
    ] {
        let scene = scene(at, more);
        let (first, second) = run(async {
            let caller = Caller::new(&scene);
            (caller.ask("/").await, caller.ask("/").await)
        });
        assert_eq!((first, second), ((false, 401), (early, 401)));
        for (kind, times) in kinds {
            let line = format!("roundtrip_gate_tls_handshakes_total{{kind=\"{kind}\"}} {times}");
            assert!(eventually(|| counted(&scene, &line)), "{line}");
        }
    }
}

/// Clients from this many addresses that begin and then send nothing more, as with spoofed
/// addresses. Each got an answer.
fn strangers(scene: &Scene, count: u8) -> Vec<UdpSocket> {
    let now = roundtrip_quic::Time(1_000_000_000);
    let tls = h3_config(None);
    let transport = roundtrip_quic::Transport::default();
    let config = roundtrip_quic::ClientConfig::new(Arc::new(tls), Arc::new(transport));
    let to = scene.gate().addresses().https[0];
    let stranger = |number: u8| {
        let mut engine = roundtrip_quic::Endpoint::new(None, [number; 32]);
        let handle = engine.connect(now, &config, to, "localhost").unwrap();
        let connection = engine.connection(handle).unwrap();
        let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let mut buffer = vec![0; 1 << 16];
        while let Some(burst) = connection.transmit(now, &mut buffer) {
            for datagram in buffer[..burst.length].chunks(burst.segment) {
                socket.send_to(datagram, to).unwrap();
            }
        }
        let patience = Some(Duration::from_mins(1));
        socket.set_read_timeout(patience).unwrap();
        socket.recv(&mut [0; 2000]).unwrap();
        socket
    };
    (0..count).map(stranger).collect()
}

/// Only a client that has proved its address takes a place.
#[test]
fn strangers_take_no_place_of_the_client_in_whose_name_they_come() {
    let (at, _release) = backend("one");
    for more in ["", EARLY] {
        let limits = "[limits]\nconnections_per_client = 2\nconnections = 4\n";
        let scene = scene(at, &format!("{more}{limits}"));
        let _strangers = strangers(&scene, 20);
        run(async {
            let caller = Caller::new(&scene);
            assert_eq!(caller.ask("/").await.1, 401);
            assert_eq!(caller.ask("/").await.1, 401);
        });
        let line = "roundtrip_gate_limits_met_total{limit=\"connections_per_client\"} 0";
        assert!(eventually(|| counted(&scene, line)));
    }
}

#[test]
fn a_client_for_which_there_is_no_room_is_counted() {
    let (at, _release) = backend("one");
    let scene = scene(at, "[limits]\nconnections_per_client = 1\n");
    run(async {
        let caller = Caller::new(&scene);
        let inside = caller.endpoint.connect(caller.to, "localhost").unwrap();
        let inside = inside.await.unwrap();
        let refused = caller.endpoint.connect(caller.to, "localhost").unwrap();
        let refused = refused.await;
        assert!(
            matches!(refused, Err(quinn::ConnectionError::ConnectionClosed(_))),
            "{refused:?}"
        );
        drop(inside);
    });
    let line = "roundtrip_gate_limits_met_total{limit=\"connections_per_client\"} 1";
    assert!(eventually(|| counted(&scene, line)));
}
