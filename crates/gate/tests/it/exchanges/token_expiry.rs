//! A token's expiry is checked on each request, even if the token is cached.

use std::time::{Duration, SystemTime};

use roundtrip_gate::config::Span;
use roundtrip_gate::manage::{Token, TokenRequest, TokenTransport};

use crate::exchanges::backend::{Backend, echo};
use crate::exchanges::raw_client::{RawClient, path};
use crate::lifecycle::eventually;
use crate::lifecycle::scene::{PATIENCE, Scene};

const LIFETIME: Duration = Duration::from_secs(3);

fn scene(backend: &Backend) -> (Scene, String) {
    let scene = Scene::tuned(backend.at, "", |config| {
        config.token.leeway = Span::seconds(0);
        config.listen.threads = 1;
    });
    // The session outlives the token.
    scene.session("s", "u:p");
    let order = TokenRequest {
        subject: "u",
        sid: "s",
        lifetime: LIFETIME,
        transport: TokenTransport::Bearer,
        key: None,
    };
    let token = Token::sign(&scene.config, &order, SystemTime::now()).unwrap();
    let field = String::from_utf8(token.field.expose().to_vec()).unwrap();
    (scene, field)
}

#[test]
fn an_expired_token_is_refused_though_it_is_remembered() {
    let backend = Backend::start(echo);
    let (scene, field) = scene(&backend);
    let mut client = RawClient::to(scene.gate().addresses().http[0]);
    let mut get = || {
        client.send(&format!("GET / HTTP/1.1\r\nHost: a\r\n{field}\r\n\r\n"));
        client.answer().status()
    };
    let mut passed = 0;
    while get() == 200 {
        passed += 1;
        assert!(passed < 100_000, "it never ends");
        std::thread::sleep(Duration::from_millis(2));
    }
    // Otherwise the refused token was never cached.
    assert!(passed > 1, "{passed}");
    for _ in 0..20 {
        assert_eq!(get(), 401);
    }
    // An exchange is recorded after its answer was sent.
    let is_recorded = || {
        let (_, metrics) = scene.admin("/metrics");
        let refused = metrics.lines().find(|line| line.contains("\"expired\""));
        refused.is_some_and(|line| line.ends_with(" 21"))
    };
    assert!(eventually(is_recorded), "{}", scene.admin("/metrics").1);
}

#[test]
fn a_stream_ends_with_the_token_that_let_it_in() {
    let backend = Backend::start(|mut client| {
        while let Some(request) = client.request() {
            assert_eq!(path(&request.head), "/events");
            client.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n7\r\ndata: 1\r\n");
            let _ = client.rest();
        }
    });
    let (scene, field) = scene(&backend);
    let mut client = RawClient::to(scene.gate().addresses().http[0]);
    client.stream.set_read_timeout(Some(PATIENCE)).unwrap();
    client.send(&format!(
        "GET /events HTTP/1.1\r\nHost: a\r\n{field}\r\n\r\n"
    ));
    assert!(client.until("data: 1").is_some());
    let (rest, _) = client.rest();
    assert!(!rest.contains("0\r\n\r\n"), "{rest}");
}
