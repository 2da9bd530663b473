//! Names: looked up once, and used as long as the answer allows.

use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use roundtrip_fetch::pool::{Family, Override, Pool, PoolErrorKind, PoolRequest};
use roundtrip_model::Target;
use roundtrip_wire::dns::{Data, Kind, Message, Rcode, Record};

use crate::pool::scene::{Scene, at_once};

/// A name server with the address 127.0.0.1 for every host and this TTL; counts the queries for
/// IPv4 addresses.
fn name_server(ttl: u32) -> (SocketAddr, Arc<AtomicUsize>) {
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    let (place, asked) = (socket.local_addr().unwrap(), Arc::new(AtomicUsize::new(0)));
    let count = asked.clone();
    std::thread::spawn(move || {
        let mut buffer = [0; 1500];
        while let Ok((n, from)) = socket.recv_from(&mut buffer) {
            let query = Message::parse(&buffer[..n]).unwrap();
            let question = query.questions.first().unwrap();
            let mut reply = query.reply(Rcode::NO_ERROR);
            if question.kind == Kind::A {
                count.fetch_add(1, Relaxed);
                reply.answers.push(Record {
                    name: question.name.clone(),
                    ttl,
                    data: Data::A(Ipv4Addr::LOCALHOST),
                });
            }
            socket.send_to(&reply.encode().unwrap(), from).unwrap();
        }
    });
    (place, asked)
}

fn scene() -> Scene {
    Scene::new(|knobs| {
        knobs.tls.names = vec!["far.test".into()];
        knobs.http.alt_svc = Some("none".into());
    })
}

fn ask(scene: &Scene, n: u32) -> PoolRequest {
    let url = format!(
        "https://far.test:{}/delay/30?{n}",
        scene.origin.https.port()
    );
    PoolRequest::new(Target::parse(&url).unwrap())
}

/// Opens several connections at once, and returns the number of queries.
async fn queries(scene: &Scene, pool: &Pool, asked: &AtomicUsize) -> usize {
    let before = asked.load(Relaxed);
    for outcome in at_once(pool, (0..20).map(|n| ask(scene, n))).await {
        outcome.unwrap();
    }
    asked.load(Relaxed) - before
}

#[tokio::test]
async fn one_query_serves_all_connections_while_its_answer_is_valid() {
    for (ttl, second) in [(3600, 0), (0, 1)] {
        let scene = scene();
        let (server, asked) = name_server(ttl);
        let pool = scene.pool_with("h1+reuse", |settings| settings.name_servers = vec![server]);
        let first = queries(&scene, &pool, &asked).await;
        assert!(ttl == 0 || first == 1, "{first}");
        assert!(scene.origin.stats().tcp_connections > 1);
        pool.close().await;
        let told = pool.learnt().remove(0);
        assert_eq!(told.addresses.is_empty(), ttl == 0, "{told:?}");
        assert!(queries(&scene, &pool, &asked).await >= second);
        if ttl > 0 {
            assert_eq!(asked.load(Relaxed), 1);
            // Another pool uses the addresses that this one learnt.
            let next = scene.pool_with("h2+reuse", |settings| {
                settings.name_servers = vec![server];
                settings.known = vec![told];
            });
            assert_eq!(queries(&scene, &next, &asked).await, 0);
        }
    }
}

#[tokio::test]
async fn addresses_can_be_configured() {
    let scene = scene();
    let pool = scene.pool_with("h2+reuse", |settings| {
        settings.overrides = vec![Override {
            host: "far.test".into(),
            port: Some(scene.origin.https.port()),
            addresses: vec![scene.origin.https.ip()],
        }];
        // No server listens there: a query would not be answered.
        settings.name_servers = vec!["127.0.0.1:9".parse().unwrap()];
    });
    assert_eq!(pool.fetch(&ask(&scene, 1)).await.unwrap().status, 200);
    let other = PoolRequest::new(Target::parse("https://near.test/").unwrap());
    let error = pool.fetch(&other).await.unwrap_err();
    assert!(matches!(error.kind(), PoolErrorKind::Name(_)), "{error}");
}

#[tokio::test]
async fn an_address_family_can_be_required() {
    let scene = scene();
    let pool = scene.pool_with("h2+reuse", |settings| settings.family = Family::V6);
    let error = pool.fetch(&scene.ask("/")).await.unwrap_err();
    assert!(
        matches!(error.kind(), PoolErrorKind::NoAddressOfFamily { .. }),
        "{error}"
    );
}

#[tokio::test]
async fn an_address_that_refused_is_not_tried_first_again() {
    let refused: IpAddr = [127, 0, 0, 2].into();
    for strategy in ["h1+reuse", "h2+reuse", "h3+reuse"] {
        let scene = scene();
        let port = scene.origin.https.port();
        let pool_that_knows = |known| {
            scene.pool_with(strategy, |settings| {
                settings.overrides = vec![Override {
                    host: "far.test".into(),
                    port: Some(port),
                    addresses: vec![refused, scene.origin.https.ip()],
                }];
                settings.known = known;
            })
        };
        let first = pool_that_knows(Vec::new());
        first.fetch(&ask(&scene, 0)).await.unwrap();
        let told = first.learnt();
        let reached = told[0].reached.map(|reached| reached.address);
        assert_eq!(reached, Some(scene.origin.https.ip()), "{strategy}");
        first.close().await;

        // An attempt to reach that address is noticed from here on.
        let stream = TcpListener::bind((refused, port)).unwrap();
        let datagrams = UdpSocket::bind((refused, port)).unwrap();
        stream.set_nonblocking(true).unwrap();
        datagrams.set_nonblocking(true).unwrap();
        for pool in [first, pool_that_knows(told)] {
            pool.fetch(&ask(&scene, 1)).await.unwrap();
            assert!(stream.accept().is_err(), "{strategy}");
            assert!(datagrams.recv_from(&mut [0; 9]).is_err(), "{strategy}");
        }
    }
}
