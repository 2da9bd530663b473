//! The servers for a query, and the states of outcomes.

use roundtrip_rdap::text::State;

use crate::client::scene::{Scene, bootstrapped, look_up, why};
use crate::client::scripted::{Scripted, domain, rdap};

#[tokio::test]
async fn outcomes_have_the_states_of_their_answers() {
    let scene = Scene::new();
    let client = scene.client();
    for (name, state) in [
        ("one.example", State::Found),
        ("missing-1.example", State::NotRegistered),
        ("bad.example", State::Refused),
        ("refused.example", State::Refused),
        ("unable.example", State::Refused),
        ("html.example", State::Failed),
    ] {
        let outcome = look_up(&client, name).await;
        assert_eq!(outcome.state(), state, "{name}");
        assert_eq!(outcome.query, name);
    }
    let missing = look_up(&client, "missing-1.example").await;
    assert!(missing.registry.unwrap().answer.is_ok());
}

#[tokio::test]
async fn a_dead_server_is_skipped() {
    let scene = Scene::new();
    let live = scene.server();
    let client = scene.client_with(|parts| {
        bootstrapped(parts, &["https://127.0.0.1:9/", live.url().as_str()]);
    });
    let outcome = look_up(&client, "one.example").await;
    assert_eq!(outcome.state(), State::Found);
    assert_eq!(outcome.troubles.len(), 1);
    assert!(
        outcome.troubles[0].why.contains("127.0.0.1:9"),
        "{outcome:?}"
    );
    assert!(outcome.registry.unwrap().target.same_origin(&live));
}

#[tokio::test]
async fn a_failing_server_is_reported_only_if_no_other_answers() {
    let unwell = Scripted::start(|_, _| rdap("500 Oh", "", "{}")).await;
    let well = Scripted::start(|_, _| domain("one.example")).await;
    let scene = Scene::new();
    let unwell_by_name = unwell.url().replace("127.0.0.1", "127.0.0.2");
    // The same host is not asked again at another port; another host is.
    let client = scene.client_with(|parts| {
        bootstrapped(parts, &[&unwell.url(), &format!("{}v2/", unwell.url())]);
    });
    let outcome = look_up(&client, "one.example").await;
    assert_eq!((outcome.state(), unwell.heads().len()), (State::Failed, 1));
    assert_eq!(outcome.registry.as_ref().unwrap().status, 500);
    let client = scene.client_with(|parts| {
        bootstrapped(parts, &[&unwell_by_name, &well.url()]);
    });
    let outcome = look_up(&client, "one.example").await;
    assert_eq!(outcome.state(), State::Found, "{}", why(&outcome));
}

#[tokio::test]
async fn an_answer_that_a_name_is_not_registered_is_final() {
    let scene = Scene::new();
    let other = Scripted::start(|_, _| domain("missing-1.example")).await;
    let client = scene.client_with(|parts| {
        bootstrapped(parts, &[scene.server().url().as_str(), &other.url()]);
    });
    let outcome = look_up(&client, "missing-1.example").await;
    assert_eq!(outcome.state(), State::NotRegistered);
    assert!(other.heads().is_empty());
}

#[tokio::test]
async fn a_query_without_a_server_is_reported() {
    let scene = Scene::new();
    let client = scene.client_with(|parts| bootstrapped(parts, &["https://127.0.0.1:9/"]));
    let nobody = look_up(&client, "name.nothing").await;
    assert_eq!(nobody.state(), State::Failed);
    assert!(why(&nobody).contains("nothing"), "{}", why(&nobody));
    let dead = look_up(&client, "one.example").await;
    assert_eq!(dead.state(), State::Failed);
    assert!(why(&dead).contains("refused"), "{}", why(&dead));
    let search = look_up(&client, "domains:exam*").await;
    assert!(why(&search).contains("--server"), "{}", why(&search));
    let secret = look_up(&client, "https://me:canary@127.0.0.1:9/domain/a.example").await;
    assert!(why(&secret).contains("--user-file"), "{}", why(&secret));
    assert!(!why(&secret).contains("canary"));
}
