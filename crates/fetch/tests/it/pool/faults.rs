//! Connections that end too early, at an exact byte: which requests are sent again, and how often.

use roundtrip_fetch::pool::PoolErrorKind;
use roundtrip_http::HttpError;

use crate::pool::scripted::{Scripted, Step, last, ok, pool, pool_with, say};

const HALF: &str = "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf!";
const CHUNK: &str = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhalf!\r\n";

#[tokio::test]
async fn a_kept_connection_that_had_ended_is_replaced_once() {
    let server = Scripted::start(vec![vec![ok()], vec![ok(), ok()]]).await;
    let pool = pool();
    assert_eq!(
        pool.fetch(&server.ask("/1")).await.unwrap().timing.resent,
        0
    );
    // The second request crosses the end of the first connection.
    let reply = pool.fetch(&server.ask("/2")).await.unwrap();
    assert_eq!((reply.timing.resent, &reply.body[..]), (1, &b"ok"[..]));
    assert!(!reply.timing.reused);
    assert!(pool.fetch(&server.ask("/3")).await.unwrap().timing.reused);
    assert_eq!((server.seen(), pool.tally().resent), ((2, 4), 1));
}

#[tokio::test]
async fn a_second_end_is_an_error() {
    let server = Scripted::start(vec![vec![ok()], vec![]]).await;
    let pool = pool();
    pool.fetch(&server.ask("/1")).await.unwrap();
    let error = pool.fetch(&server.ask("/2")).await.unwrap_err();
    assert!(
        matches!(
            error.kind(),
            PoolErrorKind::Http(HttpError::ClosedUnanswered)
        ),
        "{error}"
    );
    assert!(error.to_string().contains("/2: sent twice: "), "{error}");
    assert_eq!(server.seen(), (2, 3));
}

#[tokio::test]
async fn a_new_connection_that_ends_unanswered_is_not_tried_again() {
    let server = Scripted::start(vec![vec![]]).await;
    let error = pool().fetch(&server.ask("/")).await.unwrap_err();
    assert!(
        matches!(
            error.kind(),
            PoolErrorKind::Http(HttpError::ClosedUnanswered)
        ),
        "{error}"
    );
    assert_eq!((server.seen(), error.resent), ((1, 1), 0));
}

#[tokio::test]
async fn after_half_an_answer_the_request_is_repeated_once() {
    for half in [HALF, CHUNK, "HTTP/1.1 200 OK\r\nContent-"] {
        let server = Scripted::start(vec![vec![last(half)], vec![ok()]]).await;
        let reply = pool().fetch(&server.ask("/")).await.unwrap();
        assert_eq!(
            (reply.timing.resent, &reply.body[..]),
            (1, &b"ok"[..]),
            "{half}"
        );
        assert_eq!(server.seen().0, 2);
    }
}

#[tokio::test]
async fn half_an_answer_twice_is_an_error_with_the_received_size() {
    for half in [HALF, CHUNK] {
        let server = Scripted::start(vec![vec![last(half)]]).await;
        let error = pool().fetch(&server.ask("/")).await.unwrap_err();
        assert!(
            matches!(error.kind(), PoolErrorKind::CutShort { got: 5, .. }),
            "{error}"
        );
        assert_eq!(server.seen(), (2, 2));
    }
}

#[tokio::test]
async fn a_server_that_ends_after_each_answer_is_asked_on_new_connections() {
    let closing = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok";
    let until_end = "HTTP/1.1 200 OK\r\n\r\nok";
    let old = "HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nok";
    for answer in [closing, until_end, old] {
        let server = Scripted::start(vec![vec![last(answer)]]).await;
        let pool = pool();
        for n in 0..5 {
            let reply = pool.fetch(&server.ask(&format!("/{n}"))).await.unwrap();
            assert_eq!(
                (reply.timing.resent, &reply.body[..]),
                (0, &b"ok"[..]),
                "{answer}"
            );
        }
        assert_eq!(server.seen(), (5, 5));
    }
}

#[tokio::test]
async fn unsolicited_data_ends_a_connection() {
    let twice = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nokHTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil";
    let server = Scripted::start(vec![vec![say(twice), ok()], vec![ok()]]).await;
    let pool = pool();
    for path in ["/1", "/2"] {
        assert_eq!(
            &pool.fetch(&server.ask(path)).await.unwrap().body[..],
            b"ok"
        );
    }
    assert_eq!(server.seen(), (2, 2));
}

#[tokio::test]
async fn garbage_is_reported_and_ends_the_connection() {
    for garbage in [
        "\0\u{1}\u{2}\u{3}\u{4}\u{5}",
        "SSH-2.0-OpenSSH_9.6\r\n",
        "HTTP/1.1 abc\r\n\r\n",
    ] {
        let server = Scripted::start(vec![vec![say(garbage)], vec![ok()]]).await;
        let pool = pool();
        let error = pool.fetch(&server.ask("/1")).await.unwrap_err();
        let named = matches!(
            error.kind(),
            PoolErrorKind::Http(HttpError::NotHttp(_) | HttpError::Malformed(_))
        );
        assert!(named, "{error}");
        pool.fetch(&server.ask("/2")).await.unwrap();
        assert_eq!(server.seen(), (2, 2));
    }
}

#[tokio::test]
async fn a_body_over_the_limit_is_refused_and_ends_the_connection() {
    let large = format!(
        "HTTP/1.1 200 OK\r\nContent-Length: 5000\r\n\r\n{}",
        "x".repeat(5000)
    );
    let server = Scripted::start(vec![vec![say(&large), ok()], vec![ok()]]).await;
    let pool = pool();
    let mut ask = server.ask("/1");
    ask.limit = 4999;
    let error = pool.fetch(&ask).await.unwrap_err();
    assert!(
        matches!(error.kind(), PoolErrorKind::TooLarge { limit: 4999 }),
        "{error}"
    );
    pool.fetch(&server.ask("/2")).await.unwrap();
    assert_eq!((server.seen(), error.resent), ((2, 2), 0));
}

#[tokio::test]
async fn silence_ends_with_its_deadline() {
    use std::time::Duration;
    let short = Duration::from_millis(50);
    let server = Scripted::start(vec![vec![Step::Stall]]).await;
    let pool = pool_with(|settings| settings.deadlines.first_byte = short);
    let error = pool.fetch(&server.ask("/")).await.unwrap_err();
    assert!(
        matches!(error.kind(), PoolErrorKind::FirstByteTimeout(limit) if *limit == short),
        "{error}"
    );

    let server = Scripted::start(vec![vec![say(HALF), Step::Stall]]).await;
    let pool = pool_with(|settings| settings.deadlines.idle = short);
    let error = pool.fetch(&server.ask("/")).await.unwrap_err();
    assert!(
        matches!(error.kind(), PoolErrorKind::Stalled { got: 5, .. }),
        "{error}"
    );

    let server = Scripted::start(vec![vec![say(HALF), Step::Stall]]).await;
    let pool = pool_with(|settings| settings.deadlines.total = short);
    let error = pool.fetch(&server.ask("/")).await.unwrap_err();
    assert!(
        matches!(error.kind(), PoolErrorKind::TotalTimeout { got: 5, .. }),
        "{error}"
    );
    // The request that waits behind it gets another connection.
    assert_eq!(server.seen(), (1, 1));
}

#[tokio::test]
async fn a_cancelled_request_leaves_no_half_answer_behind() {
    let server = Scripted::start(vec![vec![say(HALF), Step::Stall], vec![ok()]]).await;
    let pool = pool();
    let first = tokio::spawn({
        let (pool, ask) = (pool.clone(), server.ask("/1"));
        async move { pool.fetch(&ask).await }
    });
    while server.seen().1 == 0 {
        tokio::task::yield_now().await;
    }
    let second = tokio::spawn({
        let (pool, ask) = (pool.clone(), server.ask("/2"));
        async move { pool.fetch(&ask).await }
    });
    tokio::task::yield_now().await;
    first.abort();
    assert_eq!(&second.await.unwrap().unwrap().body[..], b"ok");
    assert_eq!(server.seen(), (2, 2));
}

/// The script counts heads, so these requests have no bodies.
#[tokio::test]
async fn requests_that_may_have_had_an_effect_are_not_repeated() {
    for half in [HALF, CHUNK] {
        let server = Scripted::start(vec![vec![last(half)], vec![ok()]]).await;
        let error = pool().fetch(&server.post("/", "")).await.unwrap_err();
        assert!(
            matches!(error.kind(), PoolErrorKind::CutShort { got: 5, .. }),
            "{error}"
        );
        assert_eq!((server.seen(), error.resent), ((1, 1), 0));
    }
    // The first answer came on a connection that has ended since.
    let server = Scripted::start(vec![vec![ok()], vec![ok()]]).await;
    let pool = pool();
    pool.fetch(&server.ask("/1")).await.unwrap();
    let error = pool.fetch(&server.post("/2", "")).await.unwrap_err();
    assert_eq!(error.resent, 0, "{error}");
    assert_eq!(server.seen().0, 1);
}

#[tokio::test]
async fn a_body_is_sent_with_its_length() {
    let server = Scripted::start(vec![vec![ok()]]).await;
    let reply = pool().fetch(&server.post("/", "a=b")).await.unwrap();
    assert_eq!((reply.status, &reply.body[..]), (200, &b"ok"[..]));
}
