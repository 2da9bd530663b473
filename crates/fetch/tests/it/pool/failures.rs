//! Failures over TLS, HTTP/2 and HTTP/3: shared connections, and those that cannot be opened.

use std::time::Duration;

use roundtrip_fetch::pool::PoolErrorKind;
use roundtrip_http::{HttpError, OpenError};
use roundtrip_origin::Certificate;

use crate::pool::scene::{Scene, at_once};

const ALL: [&str; 3] = ["h1+reuse", "h2+reuse", "h3+reuse"];

#[tokio::test]
async fn an_announced_end_loses_no_answer() {
    // HTTP/2 accepts requests that are in flight when it announces the end: only later ones need
    // another connection.
    for (strategy, serial) in [("h1+reuse", false), ("h2+reuse", false), ("h2+reuse", true)] {
        let scene = Scene::new(|knobs| knobs.http.close_after = Some(20));
        let pool = scene.pool_with(strategy, |settings| settings.serial = serial);
        let asks = (0..100).map(|n| scene.ask(&format!("/bytes/{n}")));
        for (n, outcome) in at_once(&pool, asks).await.into_iter().enumerate() {
            assert_eq!(outcome.unwrap().body.len(), n, "{strategy}");
        }
        let connections = scene.origin.stats().tcp_connections;
        let expected = if serial || strategy == "h1+reuse" {
            5..=10
        } else {
            1..=10
        };
        assert!(expected.contains(&connections), "{strategy}: {connections}");
        assert_eq!(pool.tally().resent, 0, "{strategy}");
    }
}

#[tokio::test]
async fn an_unannounced_end_costs_one_resend_each() {
    let scene = Scene::new(|knobs| {
        knobs.http.close_after = Some(3);
        knobs.http.silent_close = true;
    });
    let pool = scene.pool("h1+reuse");
    let asks = (0..60).map(|n| scene.ask(&format!("/bytes/{n}")));
    for outcome in at_once(&pool, asks).await {
        assert!(outcome.unwrap().timing.resent <= 1);
    }
    assert!(scene.origin.stats().tcp_connections >= 20);
}

#[tokio::test]
async fn requests_beyond_the_servers_limit_are_sent_later() {
    for (strategy, limit) in [("h2+reuse", 10), ("h2+reuse", 100), ("h3+reuse", 10)] {
        let scene = Scene::new(|knobs| knobs.http.streams = limit);
        let pool = scene.pool(strategy);
        let asks = (0..500).map(|n| scene.ask(&format!("/bytes/{n}")));
        for (n, outcome) in at_once(&pool, asks).await.into_iter().enumerate() {
            assert_eq!(outcome.unwrap().body.len(), n, "{strategy}");
        }
        let tally = pool.tally();
        assert_eq!(
            (tally.connections, tally.answers, tally.resent),
            (1, 500, 0)
        );
        if strategy == "h2+reuse" {
            let told = pool.learnt().remove(0).streams;
            assert_eq!(told, Some(limit as usize));
            // Only requests that left before the server had announced its limit can have exceeded
            // it.
            assert!(tally.turned_away <= 100 - u64::from(limit), "{tally:?}");
        }
    }
}

#[tokio::test]
async fn after_an_end_in_the_middle_of_an_answer_the_request_is_repeated_once() {
    for strategy in ALL {
        for fault in ["reset@body", "close@body"] {
            let scene = Scene::new(|knobs| {
                knobs.fault = Some(fault.parse().unwrap());
                knobs.fault_times = Some(1);
            });
            let pool = scene.pool(strategy);
            let reply = pool.fetch(&scene.ask("/bytes/100000")).await;
            let reply = reply.unwrap_or_else(|e| panic!("{strategy} {fault}: {e}"));
            assert_eq!(
                (reply.body.len(), reply.timing.resent),
                (100_000, 1),
                "{strategy} {fault}"
            );
        }
    }
}

#[tokio::test]
async fn an_answer_that_is_always_cut_is_an_error() {
    for strategy in ALL {
        let scene = Scene::new(|_| {});
        let pool = scene.pool(strategy);
        let error = pool.fetch(&scene.ask("/truncated/1000")).await.unwrap_err();
        let named = matches!(error.kind(), PoolErrorKind::CutShort { got: 500, .. });
        assert!(named && error.resent == 1, "{strategy}: {error}");
        assert_eq!(pool.tally().requests, 2, "{strategy}");
    }
}

#[tokio::test]
async fn a_compression_bomb_is_refused_without_harm_to_others() {
    let scene = Scene::new(|_| {});
    for strategy in ALL {
        let pool = scene.pool(strategy);
        let mut bomb = scene.ask("/gzip?bytes=5000000");
        bomb.limit = 100_000;
        let mut asks: Vec<_> = (0..10).map(|n| scene.ask(&format!("/bytes/{n}"))).collect();
        asks.insert(5, bomb);
        let mut outcomes = at_once(&pool, asks).await;
        let error = outcomes.remove(5).unwrap_err();
        assert!(
            matches!(error.kind(), PoolErrorKind::TooLarge { limit: 100_000 }),
            "{error}"
        );
        assert!(outcomes.iter().all(Result::is_ok), "{strategy}");
    }
}

#[tokio::test]
async fn endless_heads_are_refused() {
    let scene = Scene::new(|_| {});
    for strategy in ["h1+reuse", "h2+reuse"] {
        let pool = scene.pool(strategy);
        let error = pool.fetch(&scene.ask("/headers/600000")).await.unwrap_err();
        let named = matches!(
            error.kind(),
            PoolErrorKind::Http(HttpError::HeadTooLarge { .. })
        );
        assert!(named, "{strategy}: {error}");
        assert!(pool.fetch(&scene.ask("/")).await.is_ok());
    }
}

#[tokio::test]
async fn silence_ends_with_its_deadline() {
    let short = Duration::from_millis(100);
    for strategy in ALL {
        let scene = Scene::new(|knobs| {
            knobs.fault = Some("stall@request".parse().unwrap());
        });
        let pool = scene.pool_with(strategy, |settings| settings.deadlines.first_byte = short);
        let error = pool.fetch(&scene.ask("/")).await.unwrap_err();
        assert!(
            matches!(error.kind(), PoolErrorKind::FirstByteTimeout(_)),
            "{strategy}: {error}"
        );
    }
    let scene = Scene::new(|knobs| knobs.fault = Some("stall@hello".parse().unwrap()));
    for strategy in ALL {
        let pool = scene.pool_with(strategy, |settings| settings.deadlines.connect = short);
        let asks = (0..5).map(|n| scene.ask(&format!("/{n}")));
        for outcome in at_once(&pool, asks).await {
            let error = outcome.unwrap_err();
            assert!(
                matches!(error.kind(), PoolErrorKind::ConnectTimeout(_)),
                "{strategy}: {error}"
            );
        }
    }
}

#[tokio::test]
async fn a_missing_server_fails_all_requests_at_once() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port();
    drop(taken);
    let scene = Scene::new(|_| {});
    let pool = scene.pool("h2+reuse");
    let target = format!("https://127.0.0.1:{port}/");
    let ask = |n: u32| {
        let mut ask = scene.ask("/");
        ask.target = roundtrip_model::Target::parse(&format!("{target}{n}")).unwrap();
        ask
    };
    for outcome in at_once(&pool, (0..50).map(ask)).await {
        let error = outcome.unwrap_err();
        assert!(
            matches!(error.kind(), PoolErrorKind::Open(OpenError::Net(_))),
            "{error}"
        );
        assert!(error.to_string().contains(&port.to_string()));
    }
    assert_eq!(pool.tally().failed_connections, 1);
}

#[tokio::test]
async fn a_wrong_certificate_is_refused() {
    let scene = Scene::new(|knobs| knobs.tls.certificate = Certificate::WrongName);
    for strategy in ALL {
        let error = scene
            .pool(strategy)
            .fetch(&scene.ask("/"))
            .await
            .unwrap_err();
        let named = matches!(
            error.kind(),
            PoolErrorKind::Open(OpenError::Tls(_) | OpenError::Http(_))
        );
        assert!(named, "{strategy}: {error}");
    }
    assert_eq!(scene.origin.stats().requests, 0);
}

#[tokio::test]
async fn statuses_are_answers() {
    let scene = Scene::new(|_| {});
    let pool = scene.pool("auto+reuse");
    for status in [204, 301, 404, 425, 429, 503] {
        let reply = pool
            .fetch(&scene.ask(&format!("/status/{status}")))
            .await
            .unwrap();
        assert_eq!(reply.status, status);
    }
    assert_eq!(pool.tally().requests, 6);
}

#[tokio::test]
async fn an_idle_connection_that_ended_is_replaced_without_a_resend() {
    for strategy in ALL {
        let scene = Scene::new(|knobs| knobs.http.keep_alive = Duration::from_millis(50));
        let pool = scene.pool(strategy);
        for path in ["/1", "/2"] {
            let reply = pool.fetch(&scene.ask(path)).await.unwrap();
            let timing = reply.timing;
            // An HTTP/3 client learns that the server is leaving only when the next request is
            // sent.
            let unnoticed = timing.resent == 0 || strategy == "h3+reuse";
            assert!(unnoticed && !timing.reused, "{strategy}: {timing:?}");
            tokio::time::sleep(Duration::from_millis(300)).await;
        }
        assert_eq!(pool.tally().connections, 2, "{strategy}");
    }
}

#[tokio::test]
async fn a_silent_connection_is_no_longer_used() {
    let scene = Scene::new(|knobs| {
        knobs.fault = Some("stall@request".parse().unwrap());
        knobs.fault_times = Some(1);
    });
    let pool = scene.pool_with("h2+reuse", |settings| {
        settings.deadlines.first_byte = Duration::from_millis(300);
    });
    // All remaining packets of the handshake are sent by then.
    pool.warm(&scene.target("/")).await;
    tokio::time::sleep(Duration::from_millis(50)).await;
    assert!(pool.fetch(&scene.ask("/1")).await.is_err());
    let reply = pool.fetch(&scene.ask("/2")).await.unwrap();
    assert!(!reply.timing.reused);
    assert_eq!(pool.tally().connections, 2);
}
