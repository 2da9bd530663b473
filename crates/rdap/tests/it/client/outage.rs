//! Servers at which every lookup fails for a while.

use std::time::{Duration, Instant};

use roundtrip_rdap::client::Outcome;
use roundtrip_rdap::text::State;

use crate::client::flights::at_once;
use crate::client::scene::{Scene, look_up};
use crate::client::scripted::{Scripted, domain, rdap};

/// The states of a lookup of a list, and of eight more at once after it, at a server that gives
/// this status to the requests in `out`.
async fn states(status: &'static str, out: std::ops::Range<usize>, is_long: bool) -> Vec<State> {
    let server = Scripted::start(move |_, n| {
        if out.contains(&n) {
            rdap(status, "", "<p>out")
        } else {
            domain("one.example")
        }
    })
    .await;
    let scene = Scene::new();
    let client = scene.client_with(|parts| {
        parts.options.server = Some(server.base());
        parts.options.follow = false;
        parts.options.persistent = true;
        parts.options.awaits_first_answer = is_long;
    });
    let first = look_up(&client, "one.example").await;
    let names: Vec<String> = (0..8).map(|n| format!("n{n}.example")).collect();
    let others = at_once(&client, &names).await;
    let all = std::iter::once(&first).chain(&others);
    all.map(Outcome::state).collect()
}

#[tokio::test]
async fn a_list_waits_for_a_server_that_fails_at_every_lookup() {
    for status in ["500 Oh", "521 Oh", "200 OK"] {
        // Eight lookups fail, eight more tries, and one later try.
        assert_eq!(
            states(status, 1..18, false).await,
            [State::Found; 9],
            "{status}"
        );
    }
    // This is an answer.
    assert_ne!(states("501 No", 1..2, false).await, [State::Found; 9]);
}

#[tokio::test]
async fn a_list_from_a_file_waits_for_the_first_answer_too() {
    assert_eq!(states("502 Oh", 0..2, true).await, [State::Found; 9]);
    assert_ne!(states("502 Oh", 0..1, false).await[0], State::Found);
    // It is there, and says that it cannot answer.
    assert_ne!(states("500 Oh", 0..1, true).await[0], State::Found);
}

#[tokio::test]
async fn a_lookup_that_always_fails_is_tried_twice_and_holds_no_list() {
    let server = Scripted::start(|path, _| match path {
        path if path.contains("bad.example") => rdap("500 Oh", "", "<p>no"),
        _ => domain("one.example"),
    })
    .await;
    let scene = Scene::new();
    let client = scene.client_with(|parts| {
        parts.options.server = Some(server.base());
        parts.options.follow = false;
        parts.options.persistent = true;
    });
    let began = Instant::now();
    assert_eq!(look_up(&client, "one.example").await.state(), State::Found);
    assert_ne!(look_up(&client, "bad.example").await.state(), State::Found);
    assert!(began.elapsed() < Duration::from_secs(5));
    assert_eq!(server.heads().len(), 3);
}
