//! From the registry to the registrar: no failure of the registrar loses the registry's answer.

use roundtrip_rdap::client::SourceError;
use roundtrip_rdap::text::State;

use crate::client::scene::{Scene, look_up};
use crate::client::scripted::{Scripted, domain, rdap};

#[tokio::test]
async fn the_registrar_is_asked_and_both_answers_are_returned() {
    let scene = Scene::new();
    let outcome = look_up(&scene.client(), "one.example").await;
    assert_eq!(outcome.state(), State::Found);
    let registrar = outcome.registrar.as_ref().unwrap().as_ref().unwrap();
    assert_eq!(
        registrar.target.url().path(),
        "/registrar/domain/one.example"
    );
    assert_eq!(outcome.sources().count(), 2);
    let asked = scene.asked().await;
    assert_eq!(asked["/rdap/domain/one.example"], 1);
    assert_eq!(asked["/registrar/domain/one.example"], 1);
}

#[tokio::test]
async fn its_failures_are_reported_beside_the_registrys_answer() {
    let scene = Scene::new();
    let client = scene.client();
    let trouble = |outcome: roundtrip_rdap::client::Outcome| -> SourceError {
        assert_eq!(outcome.state(), State::Found);
        assert_eq!(outcome.registry.as_ref().unwrap().state(), State::Found);
        outcome.registrar.unwrap().unwrap_err()
    };
    let nowhere = trouble(look_up(&client, "nowhere.example").await);
    assert!(nowhere.why.contains("refused"), "{nowhere:?}");
    let clear = trouble(look_up(&client, "clear.example").await);
    assert!(clear.why.contains("not https"), "{clear:?}");
    let unknown = look_up(&client, "unknown.example").await;
    assert_eq!(unknown.state(), State::Found);
    let registrar = unknown.registrar.unwrap().unwrap();
    assert_eq!(registrar.state(), State::NotRegistered);
}

#[tokio::test]
async fn web_pages_and_cycles_are_not_followed() {
    let scene = Scene::new();
    let client = scene.client();
    for word in ["page", "thick"] {
        let outcome = look_up(&client, &format!("{word}.example")).await;
        assert!(outcome.registrar.is_none(), "{word}");
    }
    let circle = look_up(&client, "circle.example").await;
    assert_eq!(circle.registrar.unwrap().unwrap().state(), State::Found);
    let asked = scene.asked().await;
    assert_eq!(asked["/registrar/domain/circle.example"], 1);
    assert!(!asked.contains_key("/registrar/domain/page.example"));
    assert!(!asked.contains_key("/registrar/domain/clear.example"));
}

#[tokio::test]
async fn without_the_option_the_registrar_is_not_asked() {
    let scene = Scene::new();
    let client = scene.client_with(|parts| parts.options.follow = false);
    let outcome = look_up(&client, "one.example").await;
    assert!(outcome.registrar.is_none());
    assert_eq!(scene.asked().await.len(), 1);
}

#[tokio::test]
async fn a_chain_of_registrars_is_bounded() {
    let scene = Scene::new();
    let host = scene.origin.https;
    // Each registrar of the origin knows the name and names no other; the registry here names one
    // that redirects to itself.
    let body = format!(
        r#"{{"objectClassName":"domain","ldhName":"one.example","links":[{{"rel":"related","type":"application/rdap+json","href":"https://{host}/rdap/domain/loop.example"}}]}}"#
    );
    let server = Scripted::start(move |_, _| rdap("200 OK", "", &body)).await;
    let client = scene.client_with(|parts| parts.options.server = Some(server.base()));
    let outcome = look_up(&client, "one.example").await;
    assert_eq!(outcome.state(), State::Found);
    let why = outcome.registrar.unwrap().unwrap_err().why;
    assert!(why.contains("leads to itself"), "{why}");
}

#[tokio::test]
async fn a_url_of_a_domain_is_followed_to_its_registrar() {
    let scene = Scene::new();
    let url = format!("{}domain/one.example", scene.server());
    let outcome = look_up(&scene.client(), &url).await;
    assert!(outcome.registrar.unwrap().is_ok());
    let other = Scripted::start(|_, _| domain("one.example")).await;
    let outcome = look_up(&scene.client(), &format!("{}domain/x", other.url())).await;
    assert!(outcome.registrar.is_none());
}
