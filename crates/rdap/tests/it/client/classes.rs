//! An answer of another class does not answer the query: the lookup fails, another server is asked,
//! and nothing is stored. The answer is still passed on.

use roundtrip_rdap::text::State;

use crate::client::scene::{Scene, bootstrapped, look_up, why};
use crate::client::scripted::{Scripted, domain, rdap};

#[tokio::test]
async fn each_kind_of_query_accepts_only_its_class() {
    for (query, class, body) in [
        (
            "one.example",
            "'entity'",
            r#"{"objectClassName":"entity","handle":"X"}"#,
        ),
        (
            "one.example",
            "'wrong'",
            r#"{"objectClassName":"wrong","ldhName":"one.example"}"#,
        ),
        (
            "one.example",
            "an entity",
            r#"{"handle":"X","roles":["registrar"]}"#,
        ),
        ("one.example", "only notices", r#"{"notices":[]}"#),
        ("one.example", "of no class", "{}"),
        (
            "192.0.2.1",
            "of no class",
            r#"{"status":"error","message":"Forbidden"}"#,
        ),
        ("one.example", "error response", r#"{"errorCode":404}"#),
        (
            "one.example",
            "a list of domains",
            r#"{"domainSearchResults":[]}"#,
        ),
        (
            "ns:ns.example",
            "'domain'",
            r#"{"objectClassName":"domain"}"#,
        ),
        ("192.0.2.1", "'autnum'", r#"{"objectClassName":"autnum"}"#),
        (
            "AS64500",
            "'ip network'",
            r#"{"objectClassName":"ip network"}"#,
        ),
        ("entity:X", "'domain'", r#"{"objectClassName":"domain"}"#),
        (
            "domains:exam*",
            "'domain'",
            r#"{"objectClassName":"domain"}"#,
        ),
        (
            "domains:exam*",
            "a list of entities",
            r#"{"entitySearchResults":[]}"#,
        ),
        (
            "up:192.0.2.0/24",
            "'domain'",
            r#"{"objectClassName":"domain"}"#,
        ),
        ("help", "'domain'", r#"{"objectClassName":"domain"}"#),
    ] {
        let server = Scripted::start(move |_, _| rdap("200 OK", "", body)).await;
        let scene = Scene::new();
        let base = server.base();
        let client = scene.client_with(|parts| parts.options.server = Some(base));
        let outcome = look_up(&client, query).await;
        assert_eq!(outcome.state(), State::Failed, "{query} {body}");
        assert!(why(&outcome).contains(class), "{}", why(&outcome));
        let handed_on = outcome.told(&[], |told| told.first.answer.is_some());
        assert_eq!(handed_on, [true], "{query} {body}");
    }
}

#[tokio::test]
async fn a_missing_or_misspelt_class_is_accepted() {
    for (query, body) in [
        ("one.example", r#"{"ldhName":"one.example"}"#),
        ("one.example", r#"{"objectClassName":" Domain "}"#),
        (
            "192.0.2.1",
            r#"{"startAddress":"192.0.2.0","endAddress":"192.0.2.255"}"#,
        ),
        ("domains:exam*", r#"{"notices":[{"title":"nothing"}]}"#),
        ("help", r#"{"notices":[{"title":"Terms"}]}"#),
        ("down:192.0.2.0/24", r#"{"ipSearchResults":[]}"#),
        ("https://server/x", r#"{"objectClassName":"anything"}"#),
    ] {
        let server = Scripted::start(move |_, _| rdap("200 OK", "", body)).await;
        let scene = Scene::new();
        let base = server.base();
        let query = query.replace("https://server/", &server.url());
        let client = scene.client_with(|parts| parts.options.server = Some(base));
        let outcome = look_up(&client, &query).await;
        assert_eq!(outcome.state(), State::Found, "{query}: {}", why(&outcome));
    }
}

#[tokio::test]
async fn another_server_is_asked_and_the_wrong_answer_is_not_stored() {
    let wrong = |_: &str, _| {
        let cached = "Cache-Control: max-age=600\r\n";
        rdap("200 OK", cached, r#"{"objectClassName":"entity"}"#)
    };
    let astray = Scripted::start(wrong).await;
    let well = Scripted::start(|_, _| domain("one.example")).await;
    let scene = Scene::new();
    for _ in 0..2 {
        let client = scene.remembering(|parts| parts.options.server = Some(astray.base()));
        assert_eq!(look_up(&client, "one.example").await.state(), State::Failed);
    }
    assert_eq!(astray.heads().len(), 2);
    let by_name = astray.url().replace("127.0.0.1", "localhost");
    let client = scene.client_with(|parts| bootstrapped(parts, &[&by_name, &well.url()]));
    let outcome = look_up(&client, "one.example").await;
    assert_eq!(outcome.state(), State::Found, "{}", why(&outcome));
    assert_eq!(astray.heads().len(), 3);
}
