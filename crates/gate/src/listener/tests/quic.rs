//! QUIC clients: with and without early data, and made to prove their address.

use std::sync::Arc;
use std::time::Duration;

use quinn::crypto::rustls::QuicClientConfig;
use quinn::{ClientConfig, Connection, Endpoint};
use roundtrip_tls::{Client, Offer};

use super::scene::{Scene, Setting, offer, run};
use crate::config::{Resumption, Tls};
use crate::listener::Tally;
use crate::listener::quic::MOST_UNPROVED;

fn single() -> Setting {
    Setting {
        tls: Tls {
            resumption: Resumption::SingleUse,
            early_data: true,
            ..Tls::default()
        },
        ..Setting::default()
    }
}

struct Caller {
    endpoint: Endpoint,
    tls: Client,
}

impl Caller {
    fn new(scene: &Scene) -> Self {
        Self {
            endpoint: Endpoint::client("127.0.0.1:0".parse().unwrap()).unwrap(),
            tls: scene.client(),
        }
    }

    fn begin(&self, scene: &Scene) -> quinn::Connecting {
        let offer = Offer {
            tls12: false,
            early_data: true,
            alpn: vec!["h3"],
            quic: true,
            ..offer()
        };
        let tls = QuicClientConfig::try_from(self.tls.config(&offer).unwrap()).unwrap();
        let config = ClientConfig::new(Arc::new(tls));
        let begun = self.endpoint.connect_with(config, scene.https, "localhost");
        begun.unwrap()
    }

    async fn full(&self, scene: &Scene) -> String {
        let connection = self.begin(scene).await.unwrap();
        let said = ask(&connection).await;
        // Tickets come behind the handshake, and what is kept is on its way to the store.
        tokio::time::sleep(Duration::from_millis(100)).await;
        connection.close(0_u32.into(), b"");
        said
    }
}

async fn ask(connection: &Connection) -> String {
    let (mut send, mut receive) = connection.open_bi().await.unwrap();
    send.write_all(b"ask\n").await.unwrap();
    send.finish().unwrap();
    String::from_utf8(receive.read_to_end(1000).await.unwrap()).unwrap()
}

#[test]
fn a_handshake_without_early_data_is_over_before_requests_come() {
    run(async {
        let scene = Scene::start(&Setting::default());
        let caller = Caller::new(&scene);
        assert_eq!(caller.full(&scene).await, "early=false heard=4 confirmed");
        assert!(
            caller.begin(&scene).into_0rtt().is_err(),
            "stateless tickets allow none"
        );
    });
}

/// Its hello, with a post-quantum share, takes two datagrams.
#[test]
fn early_data_is_taken_once_and_answered_before_the_handshake_is_over() {
    run(async {
        let scene = Scene::start(&single());
        let caller = Caller::new(&scene);
        let first = caller.full(&scene).await;
        assert!(first.ends_with("heard=4 confirmed"), "{first}");
        let (connection, accepted) = caller.begin(&scene).into_0rtt().ok().unwrap();
        let second = ask(&connection).await;
        assert_eq!(second, "early=true heard=4 confirmed");
        assert!(accepted.await);
        let expected = Tally {
            taken: 1,
            absent: 0,
            failed: 0,
        };
        assert_eq!(scene.tls.tally(), expected);
    });
}

#[test]
fn where_many_have_not_proved_their_address_it_is_asked_for_first() {
    run(async {
        let scene = Scene::start(&single());
        let caller = Caller::new(&scene);
        caller.full(&scene).await;
        assert_eq!(scene.quic.retries(), 0);
        scene.quic.unproved.set(MOST_UNPROVED);
        let (connection, accepted) = caller.begin(&scene).into_0rtt().ok().unwrap();
        ask(&connection).await;
        assert_eq!(scene.quic.retries(), 1);
        assert!(
            accepted.await,
            "a session is found by its client's address too"
        );
        assert_eq!(scene.quic.unproved.get(), MOST_UNPROVED);
    });
}
