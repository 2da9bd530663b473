//! Searches, page after page: as many as requested, from one server, without cycles, and never
//! silently truncated.

use roundtrip_rdap::text::State;

use crate::client::scene::{Scene, look_up};
use crate::client::scripted::{Scripted, rdap};

#[tokio::test]
async fn as_many_pages_as_requested() {
    let scene = Scene::new();
    for (pages, got) in [(1, 1), (2, 2), (9, 3)] {
        let client = scene.client_with(|parts| parts.options.pages = pages);
        let outcome = look_up(&client, "domains:exam*").await;
        assert_eq!(outcome.state(), State::Found);
        assert_eq!(outcome.sources().count(), got, "{pages}");
        assert_eq!(outcome.told(&[], |_| ()).len(), got);
        let more = client.notes().iter().any(|note| note.contains("--pages"));
        assert_eq!(more, got < 3, "{pages}");
    }
}

fn page(next: &str) -> String {
    let body = format!(
        r#"{{"domainSearchResults":[{{"objectClassName":"domain","ldhName":"a.example"}}],"links":[{{"rel":"next","href":"{next}"}}]}}"#
    );
    rdap("200 OK", "", &body)
}

#[tokio::test]
async fn cycles_and_other_servers_end_a_search_with_a_note() {
    for (next, asked, said) in [
        ("/domains?name=a*", 1, "already"),
        ("/other", 2, "already"),
        ("https://127.0.0.1:9/", 1, "another server"),
    ] {
        let server = Scripted::start(move |_, _| page(next)).await;
        let scene = Scene::new();
        let client = scene.client_with(|parts| {
            parts.options.server = Some(server.base());
            parts.options.pages = 9;
        });
        let outcome = look_up(&client, "domains:a*").await;
        assert_eq!(server.heads().len(), asked, "{next}");
        assert_eq!(outcome.state(), State::Failed, "{next}");
        let whys = outcome.told(&[], |told| told.first.why.unwrap_or_default().to_owned());
        assert_eq!(whys.len(), asked + 1);
        assert!(whys[asked].contains(said), "{whys:?}");
    }
}

#[tokio::test]
async fn a_missing_page_is_reported_after_the_earlier_ones() {
    let server = Scripted::start(|_, n| match n {
        0 => page("/2"),
        1 => page("/3"),
        _ => rdap("500 Oh", "", "<html>"),
    })
    .await;
    let scene = Scene::new();
    let client = scene.client_with(|parts| {
        parts.options.server = Some(server.base());
        parts.options.pages = 9;
    });
    let outcome = look_up(&client, "domains:a*").await;
    assert_eq!(outcome.sources().count(), 2);
    assert_eq!(outcome.state(), State::Failed);
    let states = outcome.told(&[], |told| told.first.state);
    assert_eq!(states, [State::Found, State::Found, State::Failed]);
    let why = outcome.broken_off.unwrap().why;
    assert!(why.contains("500"), "{why}");
}
