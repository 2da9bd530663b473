//! QUIC clients: with and without early data, with address validation, and moved to another thread.

use std::net::SocketAddr;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use quinn::crypto::rustls::QuicClientConfig;
use quinn::{ClientConfig, Connection, ConnectionError, Endpoint, TokenMemoryCache, TokenStore};
use roundtrip_quic_tokio::Sibling;
use roundtrip_tls::{Client, Offer};
use rustls::HandshakeKind;
use tokio::time::timeout;

use super::quic_clients::QuicClients;
use super::relay::Relay;
use super::scene::{Scene, Setting, WITHIN, offer, run};
use crate::accept::listener::quic::MAX_UNPROVED;
use crate::accept::listener::{AcceptError, QuicListener, QuicMemory, Seed, SingleUseCounts};
use crate::config::{Limits, Resumption, Tls};

const REBINDINGS: u32 = 100;

const LONG_HEADER: u8 = 0x80;

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

/// A client with the address tokens that it got.
struct Caller {
    endpoint: Endpoint,
    tls: Client,
    tokens: Arc<dyn TokenStore>,
}

impl Caller {
    fn new(scene: &Scene) -> Self {
        Self {
            endpoint: Endpoint::client("127.0.0.1:0".parse().unwrap()).unwrap(),
            tls: scene.client(),
            tokens: Arc::new(TokenMemoryCache::default()),
        }
    }

    fn begin(&self, at: SocketAddr) -> quinn::Connecting {
        let offer = Offer {
            tls12: false,
            early_data: true,
            alpn: vec!["h3"],
            quic: true,
            ..offer()
        };
        let tls = QuicClientConfig::try_from(self.tls.config(&offer).unwrap()).unwrap();
        let mut config = ClientConfig::new(Arc::new(tls));
        config.token_store(self.tokens.clone());
        let begun = self.endpoint.connect_with(config, at, "localhost");
        begun.unwrap()
    }

    async fn full(&self, scene: &Scene) -> String {
        let connection = self.begin(scene.https).await.unwrap();
        let said = ask(&connection).await;
        // Tickets come after the handshake, and sessions are still on their way to the store.
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

/// Another listener with the same TLS, for tests that inspect arrivals themselves.
fn listener(scene: &Scene) -> (QuicListener, SocketAddr) {
    let socket = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
    let at = socket.local_addr().unwrap();
    let (limits, seed) = (Limits::default(), Seed::new(&[9; 32]));
    let sibling = Sibling::group(1, [9; 32]).remove(0);
    let listener = QuicListener::open(
        socket,
        sibling,
        scene.tls.clone(),
        &limits,
        QuicMemory::new(1),
        &seed,
    );
    (listener.unwrap(), at)
}

#[test]
fn a_handshake_without_early_data_is_over_before_requests_come() {
    run(async {
        let scene = Scene::start(&Setting::default());
        let caller = Caller::new(&scene);
        for resumed in [false, true] {
            let said = caller.full(&scene).await;
            let expected =
                format!("resumed={resumed} accepted=false early=false heard=4 confirmed");
            assert_eq!(said, expected);
        }
        assert!(
            caller.begin(scene.https).into_0rtt().is_err(),
            "stateless tickets allow none"
        );
    });
}

/// The client's hello, with a post-quantum share, takes two datagrams.
#[test]
fn early_data_is_taken_once_and_answered_before_the_handshake_is_over() {
    run(async {
        let scene = Scene::start(&single());
        let caller = Caller::new(&scene);
        let first = caller.full(&scene).await;
        assert!(first.ends_with("heard=4 confirmed"), "{first}");
        let (connection, accepted) = caller.begin(scene.https).into_0rtt().ok().unwrap();
        let second = ask(&connection).await;
        let expected = "resumed=true accepted=true early=true heard=4 confirmed";
        assert_eq!(second, expected);
        assert!(accepted.await);
        let expected = SingleUseCounts {
            taken: 1,
            absent: 0,
            failed: 0,
        };
        assert_eq!(scene.tls.counts(), expected);
    });
}

#[test]
fn sessions_over_quic_count_for_the_network_of_their_client() {
    run(async {
        let scene = Scene::start(&single());
        let caller = Caller::new(&scene);
        caller.full(&scene).await;
        assert_eq!(caller.tls.tickets(true).received(), 2);
        let prefetch = scene.tls.prefetch().unwrap();
        while prefetch.tickets([127, 0, 0, 1].into(), None) > 0 {}
        // A session that the client brings is replaced by one.
        let again = caller.full(&scene).await;
        assert!(again.contains("resumed=true"), "{again}");
        assert_eq!(caller.tls.tickets(true).received(), 3);
        // One may be left, because a client over TCP takes two at once.
        let mut received = 0;
        for _ in 0..2 {
            let stranger = Caller::new(&scene);
            let asked = stranger.full(&scene).await;
            assert!(asked.contains("resumed=false"), "{asked}");
            received += stranger.tls.tickets(true).received();
        }
        assert!(received <= 1, "{received}");
        assert!(prefetch.tickets([127, 0, 0, 2].into(), None) > 0);
    });
}

#[test]
fn with_many_unvalidated_clients_new_ones_get_a_retry() {
    run(async {
        let scene = Scene::start(&single());
        let caller = Caller::new(&scene);
        caller.full(&scene).await;
        // A client whose tokens prove its address does not count among the unvalidated ones.
        let acquainted = Caller::new(&scene);
        acquainted.full(&scene).await;
        let mut quic_clients = QuicClients::new(&scene);
        quic_clients.begin(scene.https, MAX_UNPROVED).await;
        assert_eq!(scene.quic.retries(), 0);
        ask(&acquainted.begin(scene.https).await.unwrap()).await;
        assert_eq!(scene.quic.retries(), 0);
        let stranger = Caller {
            tokens: Arc::new(TokenMemoryCache::default()),
            ..caller
        };
        let (connection, accepted) = stranger.begin(scene.https).into_0rtt().ok().unwrap();
        ask(&connection).await;
        assert_eq!(scene.quic.retries(), 1);
        assert!(accepted.await, "a session is found after a Retry, too");
    });
}

/// One of many sockets on a small machine has little memory. Clients with forged addresses, here
/// all the same, use up neither the memory nor the share of that address.
#[test]
fn strangers_leave_room_for_others_however_little_memory_there_is() {
    run(async {
        let scene = Scene::start(&Setting {
            quic_memory: QuicMemory::at_most(16 << 20),
            ..single()
        });
        let mut quic_clients = QuicClients::new(&scene);
        quic_clients.begin(scene.https, MAX_UNPROVED).await;
        assert!(scene.quic.retries() > 200);
        assert_eq!(scene.quic.over_budget(), 0);
        Caller::new(&scene).full(&scene).await;
    });
}

/// Other threads, other processes, and their successors accept the tokens.
#[test]
fn tokens_are_good_wherever_the_seed_is_the_same() {
    run(async {
        let one = Scene::start(&single());
        let caller = Caller::new(&one);
        caller.full(&one).await;
        let token = caller.tokens.take("localhost").unwrap();
        assert!(caller.tokens.take("localhost").is_some(), "there are two");
        for (seed, retries) in [(7, 0), (8, 1)] {
            let other = Scene::start(&Setting { seed, ..single() });
            let mut quic_clients = QuicClients::new(&other);
            quic_clients.begin(other.https, MAX_UNPROVED).await;
            let caller = Caller::new(&other);
            caller.tokens.insert("localhost", token.clone());
            caller.full(&other).await;
            assert_eq!(other.quic.retries(), retries);
        }
    });
}

/// A NAT may give a client another port, and the kernel then chooses another thread.
#[test]
fn a_client_goes_on_whatever_its_port() {
    run(async {
        for threads in [2, 4, 16] {
            let scene = Scene::start(&Setting {
                threads,
                ..Setting::default()
            });
            let relay = Relay::start(scene.https).await;
            let connection = Caller::new(&scene).begin(relay.at).await.unwrap();
            for _ in 0..REBINDINGS {
                assert!(ask(&connection).await.ends_with("confirmed"));
                relay.rebind().await;
            }
            assert!(connection.close_reason().is_none());
        }
    });
}

/// Anybody who has seen a connection's ID may send it from anywhere. RFC 9000 §21.11.
#[test]
fn nobody_gets_an_answer_to_a_living_connections_id() {
    run(async {
        let scene = Scene::start(&Setting {
            threads: 4,
            ..Setting::default()
        });
        let relay = Relay::start(scene.https).await;
        let connection = Caller::new(&scene).begin(relay.at).await.unwrap();
        // On a busy machine a packet of the handshake may be sent again in between.
        let mut packet = vec![LONG_HEADER];
        for _ in 0..REBINDINGS {
            ask(&connection).await;
            packet = relay.last_to_server();
            if packet[0] & LONG_HEADER == 0 {
                break;
            }
        }
        assert_eq!(packet[0] & LONG_HEADER, 0);
        packet.resize(80, 0);
        packet[11..].fill(0x3c);
        let mut strangers = Vec::new();
        for _ in 0..32 {
            let stranger = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
            stranger.set_nonblocking(true).unwrap();
            stranger.send_to(&packet, scene.https).unwrap();
            strangers.push(stranger);
        }
        // Packets that came before these have been answered by now, if at all.
        for _ in 0..REBINDINGS {
            ask(&connection).await;
            relay.rebind().await;
        }
        for stranger in strangers {
            assert!(stranger.recv(&mut [0; 2000]).is_err());
        }
    });
}

/// Two processes may run at once, or one and its successor.
#[test]
fn another_process_with_the_same_seed_resets_nothing() {
    run(async {
        let (one, other) = (
            Scene::start(&Setting::default()),
            Scene::start(&Setting::default()),
        );
        let relay = Relay::start(one.https).await;
        let connection = Caller::new(&one).begin(relay.at).await.unwrap();
        ask(&connection).await;
        relay.lead_to(other.https);
        let (mut send, mut receive) = connection.open_bi().await.unwrap();
        send.write_all(b"ask\n").await.unwrap();
        send.finish().unwrap();
        relay.carried().await;
        // Once this is answered, it has seen the earlier packets.
        QuicClients::new(&other).begin(other.https, 1).await;
        relay.lead_to(one.https);
        let said = receive.read_to_end(1000).await.unwrap();
        assert!(said.ends_with(b"confirmed"));
    });
}

#[test]
fn clients_that_come_later_are_met_in_the_new_manner() {
    run(async {
        let scene = Scene::start(&Setting::default());
        let other = Scene::start(&Setting::default());
        let before = Caller::new(&scene).begin(scene.https).await.unwrap();
        let tls = Rc::new(other.side.on_this_thread().unwrap());
        scene.quic.follow(tls, &Limits::default());
        let refused = Caller::new(&scene).begin(scene.https).await;
        assert!(refused.is_err(), "it has another certificate now");
        Caller::new(&other).begin(scene.https).await.unwrap();
        assert!(ask(&before).await.ends_with("confirmed"));
    });
}

#[test]
fn once_closed_nobody_comes_in_and_those_inside_may_finish() {
    run(async {
        let scene = Scene::start(&Setting::default());
        let inside = Caller::new(&scene).begin(scene.https).await.unwrap();
        let quic = scene.quic.clone();
        let closing = tokio::task::spawn_local(async move { quic.close().await });
        tokio::task::yield_now().await;
        let mut quic_clients = QuicClients::new(&scene);
        quic_clients.send(scene.https);
        // A later request is answered, so the earlier packet has been answered by now, if at all.
        assert!(ask(&inside).await.ends_with("confirmed"));
        assert!(!quic_clients.was_answered());
        assert!(!closing.is_finished());
        inside.close(0_u32.into(), b"");
        closing.await.unwrap();
    });
}

#[test]
fn a_client_for_which_there_is_no_room_is_told() {
    run(async {
        let scene = Scene::start(&single());
        let (listener, at) = listener(&scene);
        let caller = Caller::new(&scene);
        let (refused, ()) = tokio::join!(caller.begin(at), async {
            listener.next().await.unwrap().refuse();
        });
        // RFC 9000 §20.1: CONNECTION_REFUSED.
        let Err(ConnectionError::ConnectionClosed(close)) = refused else {
            panic!("{refused:?}");
        };
        assert_eq!(u64::from(close.error_code), 2);
    });
}

/// The hello names a session, and gate does not look it up.
#[test]
fn a_hello_that_takes_long_is_answered_by_a_full_handshake() {
    run(async {
        let scene = Scene::start(&single());
        let (listener, at) = listener(&scene);
        let mut quic_clients = QuicClients::with_halves(&scene);
        quic_clients.send(at);
        let arrival = listener.next().await.unwrap();
        assert!(
            !quic_clients.was_answered(),
            "what is held is not even acknowledged"
        );
        let (handshake, ()) = tokio::join!(arrival.begin(), async {
            quic_clients.answered().await;
            quic_clients.say_the_rest(at);
        });
        let link = handshake.link();
        let heard = timeout(WITHIN, link.hello_received()).await;
        heard.unwrap().unwrap();
        assert_eq!(link.handshake_kind(), Some(HandshakeKind::Full));
    });
}

#[test]
fn a_hello_that_never_ends_is_given_up() {
    run(async {
        let scene = Scene::start(&single());
        let (listener, at) = listener(&scene);
        let mut quic_clients = QuicClients::with_halves(&scene);
        quic_clients.send(at);
        let arrival = listener.next().await.unwrap();
        let unmet = arrival.meet(Duration::from_millis(500)).await.err();
        assert!(matches!(unmet, Some(AcceptError::TimedOut)));
        // The client is forgotten, so this ends.
        listener.close().await;
    });
}

#[test]
fn a_client_that_goes_away_is_not_waited_for() {
    run(async {
        let scene = Scene::start(&single());
        let (listener, at) = listener(&scene);
        let mut quic_clients = QuicClients::with_halves(&scene);
        quic_clients.send(at);
        let arrival = listener.next().await.unwrap();
        quic_clients.give_up(at);
        let unmet = arrival.meet(WITHIN).await.err();
        assert!(matches!(unmet, Some(AcceptError::Quic(_))));
    });
}
