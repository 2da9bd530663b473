//! Answers of an earlier run: used, confirmed, or requested again, as their server and the user
//! wish.

use std::time::Duration;

use roundtrip_rdap::client::From;
use roundtrip_rdap::text::State;

use crate::client::scene::{Scene, look_up, why};
use crate::client::scripted::{Scripted, rdap};

#[tokio::test]
async fn a_fresh_copy_needs_no_request() {
    let scene = Scene::new();
    for (n, from) in [From::Network, From::Memory].into_iter().enumerate() {
        let client = scene.remembering(|parts| parts.options.follow = false);
        let outcome = look_up(&client, "fresh.example").await;
        assert_eq!(outcome.registry.unwrap().from, from, "run {n}");
    }
    assert_eq!(scene.asked().await["/rdap/domain/fresh.example"], 1);
}

#[tokio::test]
async fn a_stale_copy_is_confirmed_by_its_tag() {
    let scene = Scene::new();
    let mut bodies = Vec::new();
    for from in [From::Network, From::Confirmed, From::Confirmed] {
        let client = scene.remembering(|parts| parts.options.follow = false);
        let source = look_up(&client, "one.example").await.registry.unwrap();
        assert_eq!((source.from, source.state()), (from, State::Found));
        assert!(source.timing.is_some());
        bodies.push(source.body);
    }
    assert!(bodies.windows(2).all(|pair| pair[0] == pair[1]));
}

#[tokio::test]
async fn refresh_asks_even_if_the_copy_is_fresh() {
    let scene = Scene::new();
    for (refresh, from) in [(false, From::Network), (true, From::Confirmed)] {
        let client = scene.remembering(|parts| {
            parts.options.follow = false;
            parts.options.policy.refresh = refresh;
        });
        let outcome = look_up(&client, "fresh.example").await;
        assert_eq!(outcome.registry.unwrap().from, from);
    }
}

#[tokio::test]
async fn offline_makes_no_requests() {
    let scene = Scene::new();
    let client = scene.remembering(|parts| parts.options.follow = false);
    look_up(&client, "fresh.example").await;
    let before = scene.origin.stats();
    let client = scene.remembering(|parts| {
        parts.options.follow = false;
        parts.options.policy.offline = true;
    });
    let kept = look_up(&client, "fresh.example").await;
    assert_eq!(kept.registry.unwrap().from, From::Memory);
    let never = look_up(&client, "never.example").await;
    assert_eq!(never.state(), State::Failed);
    assert!(why(&never).contains("--offline"), "{}", why(&never));
    let after = scene.origin.stats();
    assert_eq!(before.requests, after.requests);
    assert_eq!(before.tcp_connections, after.tcp_connections);
    assert_eq!(before.quic_connections, after.quic_connections);
}

#[tokio::test]
async fn old_answers_are_used_if_allowed() {
    let body = r#"{"objectClassName":"domain","ldhName":"one.example"}"#;
    let server = Scripted::start(move |_, _| rdap("200 OK", "", body)).await;
    let scene = Scene::new();
    let ask = |max_age| {
        let client = scene.remembering(|parts| {
            parts.options.server = Some(server.base());
            parts.options.policy.max_age = max_age;
        });
        async move { look_up(&client, "one.example").await.registry.unwrap().from }
    };
    assert_eq!(ask(None).await, From::Network);
    assert_eq!(ask(Some(Duration::from_hours(1))).await, From::Memory);
    assert_eq!(ask(None).await, From::Network);
    assert_eq!(server.heads().len(), 2);
}

#[tokio::test]
async fn not_registered_is_stored_for_a_short_time() {
    let server = Scripted::start(move |_, _| rdap("404 No", "", "{}")).await;
    let scene = Scene::new();
    for from in [From::Network, From::Memory] {
        let client = scene.remembering(|parts| parts.options.server = Some(server.base()));
        let outcome = look_up(&client, "one.example").await;
        assert_eq!(outcome.state(), State::NotRegistered);
        assert_eq!(outcome.registry.unwrap().from, from);
    }
    assert_eq!(server.heads().len(), 1);
}

#[tokio::test]
async fn a_304_for_another_copy_causes_an_unconditional_request() {
    let server = Scripted::start(|_, n| match n {
        0 | 2 => rdap("200 OK", "ETag: \"a\"\r\n", r#"{"ldhName":"one.example"}"#),
        _ => "HTTP/1.1 304 Not Modified\r\nETag: \"b\"\r\n\r\n".to_owned(),
    })
    .await;
    let scene = Scene::new();
    for _ in 0..2 {
        let client = scene.remembering(|parts| parts.options.server = Some(server.base()));
        let source = look_up(&client, "one.example").await.registry.unwrap();
        assert_eq!((source.status, source.from), (200, From::Network));
    }
    let conditions = server.fields("if-none-match");
    assert_eq!(conditions, ["", "\"a\"", ""]);
}
