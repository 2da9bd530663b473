//! IANA's registries, renewed from a server of the test's own.

use roundtrip_rdap::client::{Client, Parts};
use roundtrip_rdap::text::State;

use crate::client::scene::{Scene, look_up, registry, target};
use crate::client::scripted::{Scripted, rdap};

fn from(server: &Scripted) -> impl FnOnce(&mut Parts) {
    let base = server.base();
    move |parts| {
        parts.options.server = None;
        parts.options.registries = Some(base);
    }
}

/// Whether a name below `example` can be asked by now: the copy that is built in knows no such
/// servers.
async fn knows_example(client: &Client) -> bool {
    look_up(client, "one.example").await.state() == State::Found
}

#[tokio::test]
async fn a_newer_copy_serves_the_next_run_and_is_asked_for_once_a_day() {
    let scene = Scene::new();
    let json = registry(&[scene.server().url().as_str()]);
    let server = Scripted::start(move |_, _| rdap("200 OK", "ETag: \"a\"\r\n", &json)).await;
    let first = scene.remembering(from(&server));
    assert!(!knows_example(&first).await);
    assert_eq!(first.refresh().await, [""; 0]);
    for _ in 0..2 {
        let next = scene.remembering(from(&server));
        assert!(knows_example(&next).await);
        assert_eq!(next.refresh().await, [""; 0]);
    }
    let lines: Vec<String> = server.heads();
    assert_eq!(lines.len(), 1);
    assert!(lines[0].starts_with("GET /dns.json "), "{}", lines[0]);
}

#[tokio::test]
async fn a_truncated_copy_changes_nothing_and_is_told() {
    let scene = Scene::new();
    let mut json = registry(&[scene.server().url().as_str()]);
    json.truncate(json.len() / 2);
    let server = Scripted::start(move |_, _| rdap("200 OK", "", &json)).await;
    let first = scene.remembering(from(&server));
    knows_example(&first).await;
    let notes = first.refresh().await;
    assert_eq!(notes.len(), 1);
    assert!(
        notes[0].contains("dns") && notes[0].contains("stays"),
        "{notes:?}"
    );
    let next = scene.remembering(from(&server));
    assert!(!knows_example(&next).await);
    // It failed a moment ago.
    assert_eq!(next.refresh().await, [""; 0]);
    assert_eq!(server.heads().len(), 1);
    assert_eq!(next.notes(), [""; 0]);
}

#[tokio::test]
async fn a_registry_that_cannot_be_had_is_a_note() {
    for status in ["404 No", "500 Oh", "304 Same"] {
        let server = Scripted::start(move |_, _| rdap(status, "", "")).await;
        let scene = Scene::new();
        let client = scene.remembering(from(&server));
        knows_example(&client).await;
        let notes = client.refresh().await;
        assert!(notes[0].contains(&status[..3]), "{status}: {notes:?}");
    }
}

#[tokio::test]
async fn who_names_the_server_or_keeps_nothing_renews_nothing() {
    let server = Scripted::start(|_, _| rdap("500 Oh", "", "")).await;
    let scene = Scene::new();
    let named = scene.remembering(|parts| parts.options.registries = Some(server.base()));
    assert!(knows_example(&named).await);
    assert_eq!(named.refresh().await, [""; 0]);
    let forgetful = scene.client_with(from(&server));
    knows_example(&forgetful).await;
    assert_eq!(forgetful.refresh().await, [""; 0]);
    let content = scene.remembering(|parts| parts.options.server = None);
    knows_example(&content).await;
    assert_eq!(content.refresh().await, [""; 0]);
    assert!(server.heads().is_empty());
    let unreachable = scene.remembering(|parts| {
        parts.options.server = None;
        parts.options.registries = Some(target("http://127.0.0.1:9/"));
    });
    knows_example(&unreachable).await;
    assert!(unreachable.refresh().await[0].contains("127.0.0.1:9"));
}
