//! Servers that complain: asked again after the requested pause, and given up if that is too long.

use std::sync::Arc;
use std::time::Duration;

use roundtrip_fetch::memory::Memory;
use roundtrip_rdap::text::State;

use crate::client::scene::{Scene, look_up, rate_limiter, why};
use crate::client::scripted::{Scripted, domain, rdap};

const TOO_MANY: &str = "429 Too Many Requests";

#[tokio::test]
async fn a_busy_server_is_asked_again_after_its_pause() {
    for (word, least) in [("busy", 1000), ("busydate", 0), ("busymute", 1000)] {
        let scene = Scene::new();
        let outcome = look_up(&scene.client(), &format!("{word}.example")).await;
        assert_eq!(outcome.state(), State::Found, "{word}");
        let path = format!("/rdap/domain/{word}.example");
        assert_eq!(scene.asked().await[&path], 3, "{word}");
        let slept = scene.timer.slept();
        assert!(slept >= Duration::from_millis(least), "{word}: {slept:?}");
        assert!(slept < Duration::from_secs(20), "{word}: {slept:?}");
    }
}

#[tokio::test]
async fn patience_is_the_time_spent_waiting() {
    let scene = Scene::new();
    let outcome = look_up(&scene.client(), "busy.example").await;
    let patience = outcome.registry.unwrap().patience;
    assert!(patience >= Duration::from_secs(1), "{patience:?}");
}

#[tokio::test]
async fn a_server_that_is_always_busy_is_given_up_with_advice() {
    let server = Scripted::start(|_, _| rdap(TOO_MANY, "Retry-After: 1\r\n", "{}")).await;
    let scene = Scene::new();
    let client = scene.client_with(|parts| parts.options.server = Some(server.base()));
    let outcome = look_up(&client, "one.example").await;
    assert_eq!(outcome.state(), State::Refused);
    assert!(why(&outcome).contains("429"), "{}", why(&outcome));
    assert_eq!(server.heads().len(), 5);
    let notes = client.notes().join("\n");
    assert!(notes.contains("--rate 127.0.0.1="), "{notes}");
}

#[tokio::test]
async fn a_pause_that_is_too_long_is_reported_at_once() {
    let server = Scripted::start(|_, _| rdap(TOO_MANY, "Retry-After: 3600\r\n", "{}")).await;
    let scene = Scene::new();
    let client = scene.client_with(|parts| parts.options.server = Some(server.base()));
    for _ in 0..2 {
        let outcome = look_up(&client, "one.example").await;
        assert_eq!(outcome.state(), State::Refused);
        assert!(why(&outcome).contains("--patience"), "{}", why(&outcome));
    }
    assert_eq!(server.heads().len(), 1);
    assert!(scene.timer.slept() < Duration::from_mins(1));
}

#[tokio::test]
async fn the_servers_words_are_told_with_its_pause() {
    let body = r#"{"errorCode":429,"title":"Limit reached","description":["Ask for more."]}"#;
    let server = Scripted::start(move |_, _| rdap(TOO_MANY, "Retry-After: 3600\r\n", body)).await;
    let scene = Scene::new();
    let client = scene.client_with(|parts| parts.options.server = Some(server.base()));
    let why = why(&look_up(&client, "one.example").await);
    assert!(
        why.ends_with("--patience (HTTP 429: Limit reached · Ask for more.)"),
        "{why}"
    );
}

#[tokio::test]
async fn only_the_origin_that_complains_waits() {
    let busy = Scripted::start(|_, _| rdap(TOO_MANY, "Retry-After: 3600\r\n", "{}")).await;
    let well = Scripted::start(|_, _| domain("one.example")).await;
    let scene = Scene::new();
    let client = scene.client();
    let ask = |base: String| {
        let client = &client;
        async move { look_up(client, &format!("{base}domain/one.example")).await }
    };
    assert_eq!(ask(busy.url()).await.state(), State::Refused);
    assert_eq!(ask(well.url()).await.state(), State::Found);
    assert_eq!(scene.timer.slept(), Duration::ZERO);
}

#[tokio::test]
async fn lookups_wait_for_tokens() {
    let scene = Scene::new();
    let client = scene.client_with(|parts| {
        let memory = Arc::new(Memory::nowhere());
        parts.rate_limiter = rate_limiter(&scene.timer, &memory, "2/s");
        parts.options.follow = false;
    });
    for n in 0..10 {
        let outcome = look_up(&client, &format!("n{n}.example")).await;
        assert_eq!(outcome.state(), State::Found);
    }
    // Four at once, and six more at two per second.
    let slept = scene.timer.slept();
    assert!(slept >= Duration::from_millis(2500), "{slept:?}");
    assert!(slept < Duration::from_secs(4), "{slept:?}");
}
