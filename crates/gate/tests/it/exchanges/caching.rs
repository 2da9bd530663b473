//! Shared caches in front of gate must not give one user's answer to others. They see the cookie,
//! and not the `Authorization` that gate sends to the backend, and so cannot know that an answer is
//! for one user (RFC 9111 §3.5).

use std::time::{Duration, SystemTime};

use roundtrip_gate::manage::{Token, TokenRequest, TokenTransport};

use crate::exchanges::backend::Backend;
use crate::exchanges::raw_client::{RawClient, path};
use crate::lifecycle::scene::Scene;

/// What a backend says, and the values of `Cache-Control` that the client of a cookie gets.
const SAID: [(&str, &[&str]); 14] = [
    ("", &["private"]),
    ("Cache-Control: max-age=60", &["max-age=60", "private"]),
    ("Expires: Fri, 01 Jan 2100 00:00:00 GMT", &["private"]),
    ("Cache-Control: no-cache", &["no-cache", "private"]),
    (
        "Cache-Control: private=\"a, b\"",
        &["private=\"a, b\"", "private"],
    ),
    (
        "Cache-Control: privateer, x-public",
        &["privateer, x-public", "private"],
    ),
    (
        "Connection: Cache-Control\r\nCache-Control: public",
        &["private"],
    ),
    ("Cache-Control: private", &["private"]),
    ("Cache-Control: no-store", &["no-store"]),
    ("cache-control: Public, max-age=60", &["Public, max-age=60"]),
    (
        "Cache-Control: max-age=60,s-maxage=5",
        &["max-age=60,s-maxage=5"],
    ),
    ("Cache-Control: must-revalidate", &["must-revalidate"]),
    (
        "Cache-Control: max-age=1\r\nCache-Control: private",
        &["max-age=1", "private"],
    ),
    ("Cache-Control: no-cache, private", &["no-cache, private"]),
];

/// Its answer says what the path names.
fn backend() -> Backend {
    Backend::start(|mut client| {
        while let Some(head) = client.head() {
            let (said, _) = SAID[path(&head)[1..].parse::<usize>().unwrap()];
            let line = if said.is_empty() { "" } else { "\r\n" };
            client.send(&format!(
                "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n{said}{line}\r\n"
            ));
        }
    })
}

/// The values of `Cache-Control` that the client gets.
fn told(scene: &Scene, number: usize, credentials: &str) -> Vec<String> {
    let mut client = RawClient::to(scene.gate().addresses().http[0]);
    client.send(&format!(
        "GET /{number} HTTP/1.1\r\nHost: a\r\n{credentials}\r\n"
    ));
    let head = client.answer().whole(200).head;
    let fields = head.lines().filter_map(|line| line.split_once(": "));
    let fields = fields.filter(|(name, _)| name.eq_ignore_ascii_case("cache-control"));
    fields.map(|(_, value)| value.to_owned()).collect()
}

#[test]
fn an_answer_for_the_user_of_a_cookie_is_for_no_shared_cache() {
    let backend = backend();
    let scene = Scene::new(backend.at, "");
    let cookie = format!("{}\r\n", scene.session("s1", "alice:secret"));
    for (number, (said, expected)) in SAID.iter().enumerate() {
        assert_eq!(told(&scene, number, &cookie), *expected, "{said}");
    }
}

#[test]
fn caches_see_whose_answer_it_is_if_the_client_sends_authorization() {
    let backend = backend();
    let scene = Scene::new(backend.at, "");
    scene.session("s1", "alice:secret");
    let order = TokenRequest {
        subject: "somebody",
        sid: "s1",
        lifetime: Duration::from_hours(1),
        transport: TokenTransport::Bearer,
        key: None,
    };
    let token = Token::sign(&scene.config, &order, SystemTime::now()).unwrap();
    let bearer = String::from_utf8(token.field.expose().to_vec()).unwrap();
    assert!(bearer.starts_with("Authorization: Bearer "), "{bearer}");
    assert!(told(&scene, 0, &format!("{bearer}\r\n")).is_empty());
}

#[test]
fn an_answer_for_everybody_is_as_the_backend_says() {
    let backend = backend();
    let scene = Scene::tuned(backend.at, "", |config| config.route[0].auth = false);
    assert!(told(&scene, 0, "Cookie: Authorization=x\r\n").is_empty());
}
