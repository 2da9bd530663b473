//! Redirects: their allowed targets, and what is not sent there.

use roundtrip_rdap::credentials::{Credentials, Secret};
use roundtrip_rdap::text::State;

use crate::client::scene::{Scene, look_up, why};
use crate::client::scripted::{Scripted, domain, rdap};

fn elsewhere(to: &str) -> String {
    rdap("302 Found", &format!("Location: {to}\r\n"), "")
}

#[tokio::test]
async fn a_redirect_is_followed() {
    let scene = Scene::new();
    let outcome = look_up(&scene.client(), "moved.example").await;
    assert_eq!(outcome.state(), State::Found);
    let source = outcome.registry.unwrap();
    assert!(
        source
            .target
            .url()
            .path()
            .ends_with("/domain/to-moved.example")
    );
}

#[tokio::test]
async fn a_redirect_cycle_ends_at_once() {
    let scene = Scene::new();
    let outcome = look_up(&scene.client(), "loop.example").await;
    assert_eq!(outcome.state(), State::Failed);
    assert!(why(&outcome).contains("leads to itself"));
    assert_eq!(scene.asked().await["/rdap/domain/loop.example"], 1);
}

#[tokio::test]
async fn the_number_of_redirects_is_bounded() {
    let server = Scripted::start(|_, n| elsewhere(&format!("/{n}"))).await;
    let scene = Scene::new();
    let client = scene.client_with(|parts| parts.options.server = Some(server.base()));
    let outcome = look_up(&client, "one.example").await;
    assert_eq!(outcome.state(), State::Failed);
    assert!(why(&outcome).contains("redirects, and no answer"));
    assert_eq!(server.heads().len(), 6);
}

#[tokio::test]
async fn an_invalid_redirect_is_reported() {
    for to in ["ftp://x.example/", "https://", "tcp://x.example:1/"] {
        let server = Scripted::start(move |_, _| elsewhere(to)).await;
        let scene = Scene::new();
        let client = scene.client_with(|parts| parts.options.server = Some(server.base()));
        let outcome = look_up(&client, "one.example").await;
        assert_eq!(outcome.state(), State::Failed, "{to}");
        assert!(why(&outcome).contains("a redirect to"), "{}", why(&outcome));
    }
}

#[tokio::test]
async fn credentials_are_not_sent_to_other_origins() {
    let other = Scripted::start(|_, _| domain("one.example")).await;
    let to = format!(
        "{}domain/one.example",
        other.url().replace("//", "//me:canary@")
    );
    let server = Scripted::start(move |_, n| match n {
        0 => rdap("401 Who", "WWW-Authenticate: Basic realm=\"r\"\r\n", "{}"),
        _ => elsewhere(&to),
    })
    .await;
    let scene = Scene::new();
    let client = scene.client_with(|parts| {
        let login = Secret::from("user:canary");
        let credentials = Credentials::from_text(&server.base(), &login).unwrap();
        parts.options.credentials = Some(credentials.allow_plain());
        parts.options.server = Some(server.base());
    });
    let outcome = look_up(&client, "one.example").await;
    assert_eq!(outcome.state(), State::Found, "{}", why(&outcome));
    assert!(server.fields("authorization")[1].starts_with("Basic "));
    assert_eq!(other.fields("authorization"), [""]);
    let shown = outcome.told(&[], |told| format!("{told:?}")).concat();
    assert!(!shown.contains("canary"), "{shown}");
}
