//! TLS is never abandoned silently: a server that fails over https is not replaced by one that
//! answers in clear text.

use roundtrip_rdap::client::{Outcome, Parts};
use roundtrip_rdap::text::State;

use crate::client::scene::{Scene, bootstrapped, look_up, why};
use crate::client::scripted::{Scripted, domain, rdap};

const REFUSES: &str = "https://127.0.0.1:9/";

async fn willing() -> Scripted {
    Scripted::start(|_, _| domain("one.example")).await
}

async fn ask(scene: &Scene, change: impl FnOnce(&mut Parts)) -> (Outcome, Vec<String>) {
    let client = scene.client_with(change);
    let outcome = look_up(&client, "one.example").await;
    (outcome, client.notes())
}

#[tokio::test]
async fn an_https_server_that_refuses_connections_is_not_replaced_by_an_http_one() {
    let (scene, clear) = (Scene::new(), willing().await);
    let (outcome, _) = ask(&scene, |parts| {
        bootstrapped(parts, &[&clear.url(), REFUSES]);
    })
    .await;
    assert_eq!(outcome.state(), State::Failed);
    assert!(clear.heads().is_empty(), "{:?}", clear.heads());
    for words in ["refused", &clear.url(), "--insecure-http"] {
        assert!(why(&outcome).contains(words), "{words}: {}", why(&outcome));
    }
}

#[tokio::test]
async fn after_a_certificate_failure_nothing_else_is_asked() {
    let (scene, impostor, clear) = (Scene::new(), Scene::new(), willing().await);
    let (forged, genuine) = (impostor.server(), scene.server());
    let (forged, genuine) = (forged.url().as_str(), genuine.url().as_str());
    for servers in [
        vec![forged, &clear.url()],
        vec![forged, genuine],
        vec![forged, &clear.url(), genuine],
        vec![REFUSES, forged, genuine],
    ] {
        let (outcome, notes) = ask(&scene, |parts| bootstrapped(parts, &servers)).await;
        assert_eq!(outcome.state(), State::Failed, "{servers:?}");
        for words in ["certificate", "not asked in place"] {
            assert!(why(&outcome).contains(words), "{}", why(&outcome));
        }
        assert!(notes.is_empty(), "{notes:?}");
    }
    assert!(clear.heads().is_empty() && scene.asked().await.is_empty());
}

#[tokio::test]
async fn after_a_refused_connection_another_https_server_is_asked() {
    let (scene, clear) = (Scene::new(), willing().await);
    let genuine = scene.server();
    let servers = [REFUSES, &clear.url(), genuine.url().as_str()];
    let (outcome, notes) = ask(&scene, |parts| bootstrapped(parts, &servers)).await;
    assert_eq!(outcome.state(), State::Found, "{}", why(&outcome));
    assert!(outcome.registry.unwrap().target.same_origin(&genuine));
    assert!(clear.heads().is_empty() && notes.is_empty(), "{notes:?}");
}

#[tokio::test]
async fn a_registry_with_only_http_is_asked_and_reported() {
    let (scene, clear) = (Scene::new(), willing().await);
    let (outcome, notes) = ask(&scene, |parts| bootstrapped(parts, &[&clear.url()])).await;
    assert_eq!(outcome.state(), State::Found);
    assert!(outcome.registry.as_ref().unwrap().clear);
    assert!(
        notes.concat().contains("publishes no https URL"),
        "{notes:?}"
    );
    let told = outcome.told(&[], |told| told.first.clear);
    assert_eq!(told, [true]);
    // There is no note if the user named the server, but the answer is still marked.
    let (outcome, notes) = ask(&scene, |parts| parts.options.server = Some(clear.base())).await;
    assert!(
        outcome.registry.unwrap().clear && notes.is_empty(),
        "{notes:?}"
    );
}

#[tokio::test]
async fn an_answer_reached_over_clear_text_is_marked() {
    let scene = Scene::new();
    let to = format!("{}domain/one.example", scene.server());
    let moved = move |_: &str, _| rdap("302 Found", &format!("Location: {to}\r\n"), "");
    let clear = Scripted::start(moved).await;
    let (outcome, _) = ask(&scene, |parts| bootstrapped(parts, &[&clear.url()])).await;
    let source = outcome.registry.unwrap();
    assert!(source.target.same_origin(&scene.server()) && source.clear);
    // The link to the registrar is in that answer.
    let registrar = outcome.registrar.unwrap().unwrap();
    assert!(registrar.target.same_origin(&scene.server()) && registrar.clear);
}

#[tokio::test]
async fn a_page_reached_over_clear_text_is_marked() {
    let scene = Scene::new();
    let to = format!("{}domains?name=exam*", scene.server());
    let moved = move |_: &str, _| rdap("302 Found", &format!("Location: {to}\r\n"), "");
    let clear = Scripted::start(moved).await;
    let client = scene.client_with(|parts| {
        parts.options.server = Some(clear.base());
        parts.options.pages = 2;
    });
    let outcome = look_up(&client, "domains:exam*").await;
    assert_eq!(outcome.state(), State::Found, "{}", why(&outcome));
    let pages: Vec<bool> = outcome.sources().map(|source| source.clear).collect();
    assert_eq!(pages, [true, true]);
}

#[tokio::test]
async fn with_permission_tls_is_left_but_not_after_a_certificate_failure() {
    let (scene, impostor, clear) = (Scene::new(), Scene::new(), willing().await);
    let allow = |parts: &mut Parts, server: &str| {
        bootstrapped(parts, &[server, &clear.url()]);
        parts.options.insecure_http = true;
    };
    let (outcome, notes) = ask(&scene, |parts| allow(parts, REFUSES)).await;
    assert!(outcome.registry.unwrap().clear);
    assert!(notes.concat().contains("its https URL failed"), "{notes:?}");
    let forged = impostor.server();
    let (outcome, _) = ask(&scene, |parts| allow(parts, forged.url().as_str())).await;
    assert_eq!(outcome.state(), State::Failed);
    assert!(
        why(&outcome).contains("not asked in place"),
        "{}",
        why(&outcome)
    );
    assert_eq!(clear.heads().len(), 1);
}

#[tokio::test]
async fn a_copy_from_clear_text_does_not_replace_tls() {
    let (scene, clear) = (Scene::new(), willing().await);
    let ask = async |insecure_http: bool, offline: bool| {
        let client = scene.remembering(|parts| {
            bootstrapped(parts, &[REFUSES, &clear.url()]);
            parts.options.insecure_http = insecure_http;
            parts.options.policy.offline = offline;
        });
        look_up(&client, "one.example").await.state()
    };
    assert_eq!(ask(true, false).await, State::Found);
    assert_eq!(ask(true, true).await, State::Found);
    assert_eq!(ask(false, true).await, State::Failed);
    assert_eq!(ask(false, false).await, State::Failed);
    assert_eq!(clear.heads().len(), 1);
}

#[tokio::test]
async fn the_https_link_to_the_registrar_is_preferred() {
    let scene = Scene::new();
    let link = |url: &str| {
        format!(r#"{{"rel":"related","type":"application/rdap+json","href":"{url}domain/x"}}"#)
    };
    let clear = willing().await;
    let links = [link(&clear.url()), link(scene.server().url().as_str())].join(",");
    let body =
        format!(r#"{{"objectClassName":"domain","ldhName":"one.example","links":[{links}]}}"#);
    let registry = Scripted::start(move |_, _| rdap("200 OK", "", &body)).await;
    let (outcome, _) = ask(&scene, |parts| parts.options.server = Some(registry.base())).await;
    let registrar = outcome.registrar.unwrap().unwrap();
    assert!(registrar.target.same_origin(&scene.server()));
    assert!(clear.heads().is_empty());
}
