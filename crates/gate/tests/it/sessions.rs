//! A gate on loopback in front of a backend, with a store that tests control: which requests are
//! served, as which user, and when that ends.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // a test may panic

mod import;
mod scene;
mod store;

use roundtrip_gate::guard::SessionError;
use scene::{Scene, cookie, run};

#[test]
fn a_session_is_asked_for_once_and_its_login_set_on_every_request() {
    run(async |scene: Scene| {
        let mut client = scene.client().await;
        scene.knows("s1", "u1:p");
        scene.knows("s2", "u2:p");
        let (first, second) = (cookie("s1"), cookie("s2"));
        for _ in 0..3 {
            // Two users on one connection, and one with an Authorization field.
            let seen = client.get(&first).await;
            assert!(seen.contains("Authorization: Basic dTE6cA==\r\n"), "{seen}");
            let seen = client
                .get(&format!("{second}\r\nAuthorization: Basic ZXZpbDplcw=="))
                .await;
            assert!(seen.contains("Authorization: Basic dTI6cA==\r\n"), "{seen}");
            assert!(!seen.contains("ZXZpbDplcw"), "{seen}");
        }
        assert_eq!(scene.asked(), ["s1", "s2"]);
        // All requests came to the backend on one connection.
        assert_eq!(scene.connections(), 1);
    });
}

#[test]
fn a_client_without_a_known_session_is_told_why_and_nothing_else() {
    run(async |scene: Scene| {
        let mut client = scene.client().await;
        let denied = client.get("X: y").await;
        assert!(denied.starts_with("HTTP/1.1 401 "), "{denied}");
        assert!(
            denied.contains("\r\n\r\n401 Unauthorized: ") && denied.contains("Reason: no_token\n"),
            "{denied}"
        );
        assert!(
            client
                .get(&cookie("nobody"))
                .await
                .starts_with("HTTP/1.1 401 ")
        );
        scene.trouble("down", SessionError::Down);
        let down = client.get(&cookie("down")).await;
        assert!(
            down.starts_with("HTTP/1.1 503 ") && down.contains("Retry-After: "),
            "{down}"
        );
        scene.trouble("odd", SessionError::Unreadable);
        assert!(
            client
                .get(&cookie("odd"))
                .await
                .starts_with("HTTP/1.1 500 ")
        );
        scene.knows("spoilt", "no colon");
        assert!(
            client
                .get(&cookie("spoilt"))
                .await
                .starts_with("HTTP/1.1 500 ")
        );
        // The connection stays open, and the backend saw none of this.
        assert_eq!(scene.connections(), 0);
        scene.knows("s", "u:p");
        assert!(client.get(&cookie("s")).await.contains("Basic dTpw"));
    });
}

/// Otherwise the body would be taken for the next request.
#[test]
fn a_denied_request_with_a_body_ends_the_connection() {
    run(async |scene: Scene| {
        let mut client = scene.client().await;
        client
            .send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 31\r\n\r\n")
            .await;
        client
            .send("GET /smuggled HTTP/1.1\r\nHost: a\r\n\r\n")
            .await;
        let all = client.rest().await;
        assert!(
            all.starts_with("HTTP/1.1 401 ") && all.contains("Connection: close\r\n"),
            "{all}"
        );
        assert_eq!(all.matches("HTTP/1.1 ").count(), 1, "{all}");
    });
}

#[test]
fn a_revoked_session_hears_no_more_and_is_asked_for_anew() {
    run(async |scene: Scene| {
        scene.knows("s", "u:p");
        let mut stream = scene.client().await;
        stream
            .send(&format!(
                "GET /events HTTP/1.1\r\nHost: a\r\n{}\r\n\r\n",
                cookie("s")
            ))
            .await;
        let begun = stream.until("data: 1").await;
        assert!(begun.starts_with("HTTP/1.1 200 "), "{begun}");
        let mut client = scene.client().await;
        assert!(client.get(&cookie("s")).await.contains("Basic dTpw"));
        // Outdated does not mean revoked: the store is asked again, and the stream continues.
        scene.outdate("s");
        assert!(client.get(&cookie("s")).await.contains("Basic dTpw"));
        scene.next_event();
        stream.until("data: 2").await;
        scene.revoke("s");
        assert!(client.get(&cookie("s")).await.starts_with("HTTP/1.1 401 "));
        // The stream ends without the end of the body.
        let rest = stream.rest().await;
        assert!(!rest.contains("0\r\n\r\n"), "{rest}");
    });
}

/// The password was changed, so the old one would not be admitted again.
#[test]
fn a_session_that_becomes_another_login_hears_no_more() {
    run(async |scene: Scene| {
        scene.knows("s", "u:p");
        let mut stream = scene.client().await;
        stream
            .send(&format!(
                "GET /events HTTP/1.1\r\nHost: a\r\n{}\r\n\r\n",
                cookie("s")
            ))
            .await;
        stream.until("data: 1").await;
        scene.changes("s", "u:other");
        stream.rest().await;
        let mut client = scene.client().await;
        assert!(
            client
                .get(&cookie("s"))
                .await
                .contains("Basic dTpvdGhlcg==")
        );
    });
}

#[test]
fn without_a_guard_what_came_goes_on() {
    run(async |scene: Scene| {
        let mut client = scene.plain_client().await;
        let seen = client.get("Authorization: Basic bWluZTo=").await;
        assert!(seen.contains("Authorization: Basic bWluZTo=\r\n"), "{seen}");
    });
}
