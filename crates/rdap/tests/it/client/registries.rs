//! IANA's registries, renewed from a server of the test.

use std::time::Duration;

use roundtrip_fetch::memory::documents::Document;
use roundtrip_fetch::memory::{DEFAULT_SIZE, Memory};
use roundtrip_origin::Quic;
use roundtrip_rdap::client::{Client, Parts};
use roundtrip_rdap::text::State;

use crate::client::scene::{Scene, bootstrapped, look_up, registry, target};
use crate::client::scripted::{Scripted, rdap};

/// Longer than any renewal here takes.
const PATIENCE: Duration = Duration::from_secs(100);

fn from(server: &Scripted) -> impl FnOnce(&mut Parts) {
    let base = server.base();
    move |parts| {
        parts.options.server = None;
        parts.options.registries = Some(base);
    }
}

/// Makes the stored copy of the registry of names older.
fn age(scene: &Scene, by: Duration) {
    let memory = Memory::open(scene.directory.path(), DEFAULT_SIZE).unwrap();
    let copy = memory.document("dns").unwrap();
    let fetched_at = copy.fetched_at.minus(by);
    assert!(memory.keep_document("dns", &Document { fetched_at, ..copy }));
}

/// Whether there is a server for a name below `example`: the embedded copy lists none.
async fn knows_example(client: &Client) -> bool {
    look_up(client, "one.example").await.state() == State::Found
}

#[tokio::test]
async fn a_newer_copy_serves_the_query_and_is_requested_once_a_day() {
    let scene = Scene::new();
    let json = registry(&[scene.server().url().as_str()]);
    let server = Scripted::start(move |_, _| rdap("200 OK", "ETag: \"a\"\r\n", &json)).await;
    // The embedded copy lists no server, so IANA is asked first: once, for all queries together.
    let first = scene.remembering(from(&server));
    let (one, two) = tokio::join!(knows_example(&first), look_up(&first, "two.example"));
    assert!(one && two.state() == State::Found);
    assert_eq!(first.refresh(PATIENCE).await, [""; 0]);
    for _ in 0..2 {
        let next = scene.remembering(from(&server));
        assert!(knows_example(&next).await);
        assert_eq!(next.refresh(PATIENCE).await, [""; 0]);
    }
    let lines: Vec<String> = server.heads();
    assert_eq!(lines.len(), 1);
    assert!(lines[0].starts_with("GET /dns.json "), "{}", lines[0]);
}

#[tokio::test]
async fn a_name_that_no_registry_knows_makes_iana_asked_first() {
    let scene = Scene::new();
    let json = registry(&[scene.server().url().as_str()]);
    let old = json
        .replace("\"example\"", "\"other\"")
        .replace("2126", "2125");
    assert_ne!(old, json);
    let server = Scripted::start(move |_, n| {
        let json = if n == 0 { &old } else { &json };
        rdap("200 OK", "", json)
    })
    .await;
    // The copy of today lists no server either.
    let first = scene.remembering(from(&server));
    assert!(!knows_example(&first).await && !knows_example(&first).await);
    let soon = scene.remembering(from(&server));
    assert!(!knows_example(&soon).await);
    assert_eq!(server.heads().len(), 1);
    age(&scene, Duration::from_mins(1));
    let later = scene.remembering(from(&server));
    assert!(knows_example(&later).await);
    assert_eq!(server.heads().len(), 2);
    // Without a memory, the new copy still serves this run.
    let forgetful = scene.client_with(from(&server));
    assert!(knows_example(&forgetful).await && knows_example(&forgetful).await);
    assert_eq!(server.heads().len(), 3);
}

#[tokio::test]
async fn a_silent_iana_holds_a_query_without_a_server_only_briefly() {
    let silent = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base = target(&format!("http://{}/", silent.local_addr().unwrap()));
    let scene = Scene::new();
    let run = || {
        scene.remembering(|parts| {
            parts.options.server = None;
            parts.options.registries = Some(base.clone());
        })
    };
    tokio::time::pause();
    let began = tokio::time::Instant::now();
    let first = run();
    assert!(!knows_example(&first).await);
    assert!(began.elapsed() < Duration::from_millis(2500));
    assert_eq!(first.refresh(Duration::from_millis(200)).await.len(), 1);
    let began = tokio::time::Instant::now();
    assert!(!knows_example(&run()).await);
    assert!(began.elapsed() < Duration::from_millis(100));
}

#[tokio::test]
async fn with_a_known_server_the_answer_does_not_wait_for_iana() {
    let silent = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base = target(&format!("http://{}/", silent.local_addr().unwrap()));
    let scene = Scene::new();
    let run = || {
        scene.remembering(|parts| {
            bootstrapped(parts, &[scene.server().url().as_str()]);
            parts.options.registries = Some(base.clone());
        })
    };
    let first = run();
    assert!(knows_example(&first).await);
    let notes = first.refresh(Duration::from_millis(50)).await;
    assert!(notes[0].contains("did not answer"), "{notes:?}");
    // It is reported once, and not tried again soon.
    let next = run();
    assert!(knows_example(&next).await);
    assert_eq!(next.refresh(PATIENCE).await, [""; 0]);
}

#[tokio::test]
async fn an_attempt_that_the_end_interrupts_is_not_a_failure_and_the_next_renews() {
    let scene = Scene::new();
    let json = registry(&[scene.server().url().as_str()]);
    let renewed = json.replace("2126", "2127");
    // The first attempt fills the memory; the second does not end in time, and the third does.
    let server = Scripted::start_silent(move |_, n| {
        let json = if n == 0 { &json } else { &renewed };
        (n != 1).then(|| rdap("200 OK", "", json).into_bytes())
    })
    .await;
    let first = scene.remembering(from(&server));
    assert!(knows_example(&first).await);
    assert_eq!(first.refresh(PATIENCE).await, [""; 0]);
    let run = async || {
        let next = scene.remembering(from(&server));
        assert!(knows_example(&next).await);
        // No note is written, because nothing is known to be wrong.
        let renewing = next.renew_as_used();
        tokio::select! {
            notes = next.refresh_briefly(Duration::from_millis(50)) => assert_eq!(notes, [""; 0]),
            never = renewing => match never {},
        }
        server.heads().len()
    };
    age(&scene, Duration::from_hours(25));
    assert_eq!(run().await, 2);
    // It is not repeated with each run, but long before a failed one would be.
    assert_eq!(run().await, 2);
    age(&scene, Duration::from_mins(10));
    assert_eq!(run().await, 3);
    let memory = Memory::open(scene.directory.path(), DEFAULT_SIZE).unwrap();
    let copy = memory.document("dns").unwrap();
    assert!(String::from_utf8(copy.body).unwrap().contains("2127"));
    age(&scene, Duration::from_hours(1));
    assert_eq!(run().await, 3);
}

#[tokio::test]
async fn iana_is_asked_by_the_ticket_of_an_earlier_run() {
    // The server of the tests has no registries, but tickets.
    let scene = Scene::with(|knobs| knobs.listen.h3 = Quic::Off);
    for resumed in [0, 1] {
        let client = scene.remembering(|parts| {
            parts.options.registries = parts.options.server.take();
        });
        assert!(!knows_example(&client).await);
        assert_eq!(client.refresh_briefly(PATIENCE).await.len(), 1);
        assert_eq!(scene.origin.stats().tls_resumed, resumed);
        client.keep();
        client.pool().close().await;
        age(&scene, Duration::from_hours(25));
    }
}

#[tokio::test]
async fn a_truncated_copy_changes_nothing_and_is_reported() {
    let scene = Scene::new();
    let mut json = registry(&[scene.server().url().as_str()]);
    json.truncate(json.len() / 2);
    let server = Scripted::start(move |_, _| rdap("200 OK", "", &json)).await;
    let first = scene.remembering(from(&server));
    knows_example(&first).await;
    let notes = first.refresh(PATIENCE).await;
    assert_eq!(notes.len(), 1);
    assert!(
        notes[0].contains("dns") && notes[0].contains("stays"),
        "{notes:?}"
    );
    let next = scene.remembering(from(&server));
    assert!(!knows_example(&next).await);
    // It has just failed.
    assert_eq!(next.refresh(PATIENCE).await, [""; 0]);
    assert_eq!(server.heads().len(), 1);
    assert_eq!(next.notes(), [""; 0]);
    // A minute later, a query for which no server is known asks again.
    age(&scene, Duration::from_mins(1));
    let later = scene.remembering(from(&server));
    assert!(!knows_example(&later).await);
    assert_eq!(later.refresh(PATIENCE).await.len(), 1);
    assert_eq!(server.heads().len(), 2);
}

#[tokio::test]
async fn an_unavailable_registry_causes_a_note() {
    for status in ["404 No", "500 Oh", "304 Same"] {
        let server = Scripted::start(move |_, _| rdap(status, "", "")).await;
        let scene = Scene::new();
        let client = scene.remembering(from(&server));
        knows_example(&client).await;
        let notes = client.refresh(PATIENCE).await;
        assert!(notes[0].contains(&status[..3]), "{status}: {notes:?}");
    }
}

#[tokio::test]
async fn with_known_servers_and_no_memory_or_with_a_named_server_nothing_is_renewed() {
    let server = Scripted::start(|_, _| rdap("500 Oh", "", "")).await;
    let scene = Scene::new();
    let named = scene.remembering(|parts| parts.options.registries = Some(server.base()));
    assert!(knows_example(&named).await);
    assert_eq!(named.refresh(PATIENCE).await, [""; 0]);
    let forgetful = scene.client_with(|parts| {
        bootstrapped(parts, &[scene.server().url().as_str()]);
        parts.options.registries = Some(server.base());
    });
    assert!(knows_example(&forgetful).await);
    assert_eq!(forgetful.refresh(PATIENCE).await, [""; 0]);
    let content = scene.remembering(|parts| parts.options.server = None);
    knows_example(&content).await;
    assert_eq!(content.refresh(PATIENCE).await, [""; 0]);
    assert!(server.heads().is_empty());
    let unreachable = scene.remembering(|parts| {
        parts.options.server = None;
        parts.options.registries = Some(target("http://127.0.0.1:9/"));
    });
    knows_example(&unreachable).await;
    assert!(unreachable.refresh(PATIENCE).await[0].contains("127.0.0.1:9"));
}
