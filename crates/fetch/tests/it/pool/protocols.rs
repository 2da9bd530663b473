//! The connections that are opened, for each protocol and strategy.

use roundtrip_fetch::pool::Settings;

use crate::pool::scene::{Scene, at_once};

#[tokio::test]
async fn one_http2_connection_serves_all() {
    let scene = Scene::new(|_| {});
    let pool = scene.pool("auto+reuse");
    let asks = (1..=20).map(|n| scene.ask(&format!("/bytes/{n}")));
    for (n, outcome) in at_once(&pool, asks).await.into_iter().enumerate() {
        let reply = outcome.unwrap();
        assert_eq!((reply.status, reply.body.len()), (200, n + 1));
        assert_eq!(reply.timing.version, "2");
        assert!(!reply.timing.reused);
    }
    let reply = pool.fetch(&scene.ask("/")).await.unwrap();
    assert!(reply.timing.reused && reply.timing.round_trips == Some(1.0));
    let stats = scene.origin.stats();
    assert_eq!((stats.tcp_connections, stats.h2_requests), (1, 21));
    let tally = pool.tally();
    assert_eq!((tally.connections, tally.answers, tally.resent), (1, 21, 0));
}

#[tokio::test]
async fn http1_uses_all_allowed_connections() {
    for alpn in ["http/1.1", "none"] {
        let scene = Scene::new(|knobs| knobs.tls.alpn = vec![alpn.into()]);
        let pool = scene.pool_with("auto+reuse", |settings| settings.h1_connections = 4);
        let asks = (0..40).map(|n| scene.ask(&format!("/delay/10?{n}")));
        for outcome in at_once(&pool, asks).await {
            let timing = outcome.unwrap().timing;
            assert_eq!(timing.version, "1.1");
        }
        let stats = scene.origin.stats();
        assert_eq!((stats.tcp_connections, stats.h1_requests), (4, 40));
    }
}

#[tokio::test]
async fn clear_text_is_kept_too() {
    let scene = Scene::new(|_| {});
    let pool = scene.pool_with("auto+reuse", |settings| settings.h1_connections = 2);
    let asks = (0..10).map(|n| scene.clear(&format!("/bytes/{n}")));
    assert!(at_once(&pool, asks).await.iter().all(Result::is_ok));
    assert_eq!(scene.origin.stats().tcp_connections, 2);
    let known = scene.pool("h2+clear+reuse");
    let asks = (0..10).map(|n| scene.clear(&format!("/bytes/{n}")));
    for outcome in at_once(&known, asks).await {
        assert_eq!(outcome.unwrap().timing.version, "2");
    }
    assert_eq!(scene.origin.stats().tcp_connections, 3);
}

#[tokio::test]
async fn http3_is_used_if_forced() {
    let scene = Scene::new(|_| {});
    let pool = scene.pool("h3+reuse");
    let asks = (0..20).map(|n| scene.ask(&format!("/bytes/{n}")));
    for outcome in at_once(&pool, asks).await {
        assert_eq!(outcome.unwrap().timing.version, "3");
    }
    let stats = scene.origin.stats();
    assert_eq!((stats.quic_connections, stats.h3_requests), (1, 20));
    assert_eq!(stats.tcp_connections, 0);
}

#[tokio::test]
async fn without_reuse_each_request_opens_a_connection() {
    let scene = Scene::new(|_| {});
    for (strategy, quic) in [("auto", 0), ("h1", 0), ("h3", 5)] {
        let before = scene.origin.stats();
        let pool = scene.pool_with(strategy, |settings| {
            *settings = std::mem::take(settings).without_reuse();
            settings.strategy = strategy.parse().unwrap();
        });
        let asks = (0..5).map(|_| scene.ask("/bytes/7"));
        for outcome in at_once(&pool, asks).await {
            let timing = outcome.unwrap().timing;
            assert!(!timing.reused && !timing.resumed && !timing.coalesced);
        }
        let stats = scene.origin.stats();
        let tcp = stats.tcp_connections - before.tcp_connections;
        assert_eq!(
            (tcp, stats.quic_connections - before.quic_connections),
            (5 - quic, quic)
        );
        assert_eq!((stats.tls_resumed, stats.quic_resumed), (0, 0));
    }
}

#[tokio::test]
async fn serial_requests_are_sent_one_after_another() {
    let scene = Scene::new(|_| {});
    let pool = scene.pool_with("auto+reuse", |settings| settings.serial = true);
    let asks = (0..5).map(|n| scene.ask(&format!("/delay/20?{n}")));
    let fresh = at_once(&pool, asks).await.into_iter();
    let fresh = fresh.filter(|outcome| !outcome.as_ref().unwrap().timing.reused);
    assert_eq!(fresh.count(), 1);
    assert_eq!(scene.origin.stats().tcp_connections, 1);
}

#[tokio::test]
async fn equal_requests_are_sent_once_at_a_time() {
    let scene = Scene::new(|_| {});
    let pool = scene.pool("auto+reuse");
    let same = || (0..10).map(|_| scene.ask("/delay/50"));
    let replies = at_once(&pool, same()).await;
    let coalesced = replies
        .iter()
        .filter(|r| r.as_ref().unwrap().timing.coalesced);
    assert_eq!((coalesced.count(), scene.origin.stats().requests), (9, 1));
    assert_eq!(pool.tally().coalesced, 9);
    at_once(&pool, same()).await;
    assert_eq!(scene.origin.stats().requests, 2);
    let mut other = scene.ask("/delay/50");
    other.headers.push(("Accept".into(), "text/plain".into()));
    assert!(
        at_once(&pool, [scene.ask("/delay/50"), other])
            .await
            .iter()
            .all(Result::is_ok)
    );
    assert_eq!(scene.origin.stats().requests, 4);
}

#[tokio::test]
async fn a_cancelled_request_frees_its_place() {
    let scene = Scene::new(|_| {});
    let pool = scene.pool("auto+reuse");
    let ask = scene.ask("/delay/100");
    let first = tokio::spawn({
        let (pool, ask) = (pool.clone(), ask.clone());
        async move { pool.fetch(&ask).await }
    });
    tokio::task::yield_now().await;
    let second = tokio::spawn(async move { pool.fetch(&ask).await });
    tokio::task::yield_now().await;
    first.abort();
    assert_eq!(second.await.unwrap().unwrap().status, 200);
}

#[tokio::test]
async fn a_warm_connection_waits_for_the_first_request() {
    for alpn in ["h2", "http/1.1"] {
        let scene = Scene::new(|knobs| knobs.tls.alpn = vec![alpn.into()]);
        let pool = scene.pool("auto+reuse");
        pool.warm(&scene.target("/")).await;
        assert_eq!(pool.tally().connections, 1);
        // Tickets arrive, and do not make the connection unusable.
        while scene.origin.stats().tls_handshakes == 0 {
            tokio::task::yield_now().await;
        }
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        let reply = pool.fetch(&scene.ask("/")).await.unwrap();
        assert!(reply.timing.reused, "{alpn}");
        assert_eq!(scene.origin.stats().tcp_connections, 1, "{alpn}");
    }
}

#[tokio::test]
async fn bodies_come_uncompressed() {
    let scene = Scene::new(|_| {});
    for strategy in ["h1+reuse", "h2+reuse", "h3+reuse"] {
        let pool = scene.pool(strategy);
        let reply = pool.fetch(&scene.ask("/gzip?bytes=50000")).await.unwrap();
        assert_eq!(reply.body.len(), 50_000, "{strategy}");
        assert_eq!(reply.header("Content-Encoding"), Some(&b"gzip"[..]));
    }
}

#[tokio::test]
async fn contradictory_strategies_are_refused_with_the_reason() {
    let scene = Scene::new(|_| {});
    let pool = scene.pool_with("h3+reuse", |settings: &mut Settings| settings.serial = true);
    let error = pool.fetch(&scene.clear("/")).await.unwrap_err();
    assert!(
        error.to_string().ends_with("HTTP/3 needs https://"),
        "{error}"
    );
}
