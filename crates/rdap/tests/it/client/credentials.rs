//! Credentials for servers that require them: Basic and Digest, sent on request, and not stored.

use roundtrip_rdap::client::From;
use roundtrip_rdap::credentials::{Credentials, Secret};
use roundtrip_rdap::text::State;

use crate::client::scene::{Scene, look_up, why};
use crate::client::scripted::{Scripted, domain, rdap};

fn challenge(scheme: &str) -> String {
    rdap("401 Who", &format!("WWW-Authenticate: {scheme}\r\n"), "{}")
}

fn credentials(server: &Scripted) -> Credentials {
    let login = Secret::from("user:secret");
    Credentials::from_text(&server.base(), &login)
        .unwrap()
        .allow_plain()
}

#[tokio::test]
async fn basic_is_sent_on_request_and_from_then_on() {
    let server = Scripted::start(|_, n| match n {
        0 => challenge("Basic realm=\"r\""),
        _ => domain("one.example"),
    })
    .await;
    let scene = Scene::new();
    let client = scene.remembering(|parts| {
        parts.options.server = Some(server.base());
        parts.options.credentials = Some(credentials(&server));
    });
    for name in ["one.example", "two.example"] {
        let outcome = look_up(&client, name).await;
        assert_eq!(outcome.state(), State::Found, "{}", why(&outcome));
    }
    let basic = "Basic dXNlcjpzZWNyZXQ=";
    assert_eq!(server.fields("authorization"), ["", basic, basic]);
}

#[tokio::test]
async fn digest_is_sent_on_request_and_from_then_on() {
    let asked = "Digest realm=\"r\", qop=\"auth\", algorithm=SHA-256, nonce=\"n1\", opaque=\"o\"";
    let server = Scripted::start(move |_, n| match n {
        0 => challenge(asked),
        // The nonce has become stale.
        2 => challenge(&asked.replace("n1\"", "n2\", stale=true")),
        _ => domain("one.example"),
    })
    .await;
    let scene = Scene::new();
    let client = scene.client_with(|parts| {
        parts.options.server = Some(server.base());
        parts.options.credentials = Some(credentials(&server));
    });
    for name in ["one.example", "two.example"] {
        let outcome = look_up(&client, name).await;
        assert_eq!(outcome.state(), State::Found, "{}", why(&outcome));
    }
    let said = server.fields("authorization");
    assert_eq!(said.len(), 4);
    assert_eq!(said[0], "");
    for (said, nonce) in said[1..].iter().zip(["n1", "n1", "n2"]) {
        assert!(said.starts_with("Digest "), "{said}");
        assert!(said.contains(&format!("nonce=\"{nonce}\"")), "{said}");
        assert!(!said.contains("secret"), "{said}");
    }
}

#[tokio::test]
async fn wrong_credentials_are_sent_only_once() {
    let server = Scripted::start(|_, _| challenge("Basic realm=\"r\"")).await;
    let scene = Scene::new();
    let client = scene.client_with(|parts| {
        parts.options.server = Some(server.base());
        parts.options.credentials = Some(credentials(&server));
    });
    assert_eq!(
        look_up(&client, "one.example").await.state(),
        State::Refused
    );
    assert!(server.heads().len() <= 3, "{}", server.heads().len());
    let stranger = scene.client_with(|parts| parts.options.server = Some(server.base()));
    let outcome = look_up(&stranger, "two.example").await;
    assert_eq!(outcome.state(), State::Refused);
}

#[tokio::test]
async fn answers_to_requests_with_credentials_are_not_stored() {
    let server = Scripted::start(|_, n| match n {
        0 | 2 => challenge("Basic realm=\"r\""),
        _ => {
            let body = r#"{"objectClassName":"domain","ldhName":"one.example"}"#;
            rdap("200 OK", "Cache-Control: max-age=3600\r\n", body)
        }
    })
    .await;
    let scene = Scene::new();
    for _ in 0..2 {
        let client = scene.remembering(|parts| {
            parts.options.server = Some(server.base());
            parts.options.credentials = Some(credentials(&server));
        });
        let outcome = look_up(&client, "one.example").await;
        assert_eq!(outcome.registry.unwrap().from, From::Network);
    }
    assert_eq!(server.heads().len(), 4);
}

#[tokio::test]
async fn answers_to_requests_with_a_certificate_are_not_stored() {
    let server = Scripted::start(|_, _| {
        let body = r#"{"objectClassName":"domain","ldhName":"one.example"}"#;
        rdap("200 OK", "Cache-Control: max-age=3600\r\n", body)
    })
    .await;
    let scene = Scene::new();
    for _ in 0..2 {
        let client = scene.remembering(|parts| {
            parts.options.server = Some(server.base());
            parts.options.certified = Some(server.base());
        });
        look_up(&client, "one.example").await;
    }
    assert_eq!(server.heads().len(), 2);
}
