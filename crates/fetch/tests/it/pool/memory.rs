//! Tickets, early data, and the knowledge that is stored.

use std::time::Duration;

use roundtrip_fetch::pool::{OriginKnowledge, Pool};
use roundtrip_origin::{EarlyData, Quic};
use roundtrip_tls::Roots;

use crate::pool::scene::{Scene, at_once};

#[tokio::test]
async fn with_a_ticket_the_next_request_leaves_in_early_data() {
    for strategy in ["auto+0rtt+reuse", "h1+0rtt+reuse", "h3+0rtt+reuse"] {
        let scene = Scene::new(|knobs| {
            knobs.tls.early_data = EarlyData::On;
            knobs.http.alt_svc = Some("none".into());
        });
        let pool = scene.pool(strategy);
        let first = pool.fetch(&scene.ask("/")).await.unwrap().timing;
        assert!(!first.resumed && !first.early, "{strategy}");
        tokio::time::sleep(Duration::from_millis(50)).await;
        pool.close().await;
        let second = pool.fetch(&scene.ask("/")).await.unwrap().timing;
        assert!(
            second.resumed && second.early && !second.reused,
            "{strategy}: {second:?}"
        );
        // The server may read it before or after the handshake is complete.
        let stats = scene.origin.stats();
        let resumed = stats.tls_resumed + stats.quic_resumed;
        assert_eq!((resumed, pool.tally().early_refused), (1, 0), "{strategy}");
        let third = pool.fetch(&scene.ask("/")).await.unwrap().timing;
        assert!(third.reused && !third.early, "{strategy}");
    }
}

/// Waits until `is_so`, for a few seconds.
async fn eventually(is_so: impl Fn() -> bool) {
    for _ in 0..500 {
        if is_so() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("it did not happen");
}

#[tokio::test]
async fn a_run_that_lasts_gets_a_ticket_of_http3_beside_its_answers() {
    let scene = Scene::new(|knobs| knobs.tls.early_data = EarlyData::On);
    let pool = scene.pool_with("auto+0rtt+reuse", |settings| settings.seeks_tickets = true);
    for n in 0..3 {
        let reply = pool.fetch(&scene.ask(&format!("/bytes/{n}"))).await;
        assert_eq!(reply.unwrap().timing.version, "2");
    }
    assert_eq!(pool.sought().len(), 1);
    eventually(|| pool.sought().is_empty()).await;
    let stats = scene.origin.stats();
    assert_eq!((stats.quic_connections, stats.h3_requests), (1, 0));
    pool.close().await;
    let next = pool.fetch(&scene.ask("/")).await.unwrap().timing;
    assert!(
        next.version == "3" && next.resumed && next.early,
        "{next:?}"
    );
    assert_eq!(scene.origin.stats().quic_connections, 2);
}

#[tokio::test]
async fn a_run_that_ends_opens_no_connection_for_a_ticket() {
    let scene = Scene::new(|_| {});
    let pool = scene.pool_with("auto+0rtt+reuse", |settings| settings.seeks_tickets = true);
    pool.fetch(&scene.ask("/")).await.unwrap();
    pool.close().await;
    drop(pool);
    let others = scene.pool("auto+0rtt+reuse");
    others.fetch(&scene.ask("/")).await.unwrap();
    tokio::time::sleep(Duration::from_millis(100)).await;
    assert_eq!(scene.origin.stats().quic_connections, 0);
}

#[tokio::test]
async fn where_quic_does_not_answer_the_next_run_does_not_try_it() {
    let scene = Scene::new(|knobs| {
        knobs.listen.h3 = Quic::Silent;
    });
    let pool = scene.pool_with("auto+0rtt+reuse", |settings| {
        settings.seeks_tickets = true;
        settings.deadlines.connect = Duration::from_millis(300);
    });
    pool.fetch(&scene.ask("/")).await.unwrap();
    assert!(pool.learnt()[0].alt_svc.is_some());
    eventually(|| pool.sought().is_empty()).await;
    assert!(pool.learnt()[0].alt_svc.is_none());
}

/// A pool whose only connection, to a server with tickets, has been closed.
async fn primed(scene: &Scene, strategy: &str) -> Pool {
    let pool = scene.pool(strategy);
    pool.fetch(&scene.ask("/")).await.unwrap();
    tokio::time::sleep(Duration::from_millis(50)).await;
    pool.close().await;
    pool
}

#[tokio::test]
async fn refused_early_data_is_sent_again() {
    for strategy in ["h1+0rtt+reuse", "h2+0rtt+reuse", "h3+0rtt+reuse"] {
        let scene = Scene::new(|knobs| knobs.tls.early_data = EarlyData::Refused);
        let pool = primed(&scene, strategy).await;
        let asks = (0..5).map(|n| scene.ask(&format!("/bytes/{n}")));
        for outcome in at_once(&pool, asks).await {
            let timing = outcome.unwrap().timing;
            assert!(!timing.early && timing.resent == 0, "{strategy}");
        }
        assert!(pool.tally().early_refused >= 1, "{strategy}");
        assert_eq!(scene.origin.stats().early_requests, 0, "{strategy}");
    }
}

#[tokio::test]
async fn requests_that_must_not_be_replayed_wait_for_the_handshake() {
    for strategy in ["h1+0rtt+reuse", "h2+0rtt+reuse", "h3+0rtt+reuse"] {
        let scene = Scene::new(|knobs| knobs.tls.early_data = EarlyData::On);
        let pool = primed(&scene, strategy).await;
        let mut asks: Vec<_> = (0..6).map(|n| scene.ask(&format!("/bytes/{n}"))).collect();
        for (n, ask) in asks.iter_mut().enumerate().step_by(2) {
            // The flag or the header forbids early data.
            ask.early = n == 4;
            ask.headers.push(("Authorization".into(), "Basic x".into()));
        }
        for (n, outcome) in at_once(&pool, asks).await.into_iter().enumerate() {
            let timing = outcome.unwrap().timing;
            assert!(n % 2 == 1 || !timing.early, "{strategy}");
        }
        assert!(scene.origin.stats().early_requests <= 3, "{strategy}");
    }
}

#[tokio::test]
async fn a_stored_protocol_that_fails_is_forgotten() {
    let scene = Scene::new(|knobs| {
        knobs.tls.alpn = vec!["http/1.1".into()];
        knobs.http.alt_svc = Some("none".into());
    });
    let known = OriginKnowledge {
        alpn: Some("h2".into()),
        ..OriginKnowledge::new(scene.target("/").origin())
    };
    let pool = scene.pool_with("auto+0rtt+reuse", |settings| settings.known = vec![known]);
    let reply = pool.fetch(&scene.ask("/")).await.unwrap();
    assert_eq!(reply.timing.version, "1.1");
    let told = pool.learnt().remove(0);
    assert_eq!(told.alpn.as_deref(), Some("http/1.1"));
}

#[tokio::test]
async fn another_pool_can_use_the_knowledge() {
    let scene = Scene::new(|_| {});
    let pool = scene.pool("auto+reuse");
    assert_eq!(
        pool.fetch(&scene.ask("/")).await.unwrap().timing.version,
        "2"
    );
    let told = pool.learnt();
    let [known] = &told[..] else {
        panic!("{told:?}")
    };
    assert_eq!(
        known.origin.to_string(),
        format!("https://{}", scene.origin.https)
    );
    assert_eq!(
        (known.alpn.as_deref(), known.streams),
        (Some("h2"), Some(256))
    );
    assert!(known.rtt.is_some());
    assert_eq!(
        known.alt_svc.as_ref().unwrap().port,
        scene.origin.https.port()
    );
    let next = scene.pool_with("auto+reuse", |settings| settings.known = told);
    assert_eq!(
        next.fetch(&scene.ask("/")).await.unwrap().timing.version,
        "3"
    );
}

#[tokio::test]
async fn unanswered_early_data_is_sent_over_tcp() {
    let scene = Scene::new(|knobs| knobs.tls.early_data = EarlyData::On);
    let pool = scene.pool_with("auto+0rtt+reuse", |settings| {
        settings.roots = Roots::Anything;
    });
    for version in ["2", "3"] {
        let reply = pool.fetch(&scene.ask("/")).await.unwrap();
        assert_eq!(reply.timing.version, version);
        tokio::time::sleep(Duration::from_millis(50)).await;
        pool.close().await;
    }
    // The same address, but UDP is dropped now.
    let port = scene.origin.https.port();
    scene.origin.stop().await;
    let scene = Scene::new(|knobs| {
        knobs.listen.h3 = Quic::Silent;
        knobs.listen.https_port = port;
    });
    let asks = (0..5).map(|n| scene.ask(&format!("/bytes/{n}")));
    for outcome in at_once(&pool, asks).await {
        let timing = outcome.unwrap().timing;
        assert_eq!((timing.version.as_str(), timing.resent), ("2", 1));
    }
    assert_eq!(scene.origin.stats().tcp_connections, 1);
}

#[tokio::test]
async fn a_request_cancelled_in_early_data_delays_no_other() {
    let scene = Scene::new(|knobs| {
        knobs.tls.early_data = EarlyData::On;
        knobs.http.alt_svc = Some("none".into());
    });
    let pool = primed(&scene, "auto+0rtt+reuse").await;
    let early = tokio::spawn({
        let (pool, ask) = (pool.clone(), scene.ask("/delay/60000"));
        async move { pool.fetch(&ask).await }
    });
    while pool.tally().requests < 2 {
        tokio::task::yield_now().await;
    }
    let mut ask = scene.ask("/");
    ask.early = false;
    let careful = tokio::spawn(async move { pool.fetch(&ask).await });
    tokio::task::yield_now().await;
    early.abort();
    let reply = careful.await.unwrap().unwrap();
    assert_eq!((reply.status, reply.timing.early), (200, false));
}
