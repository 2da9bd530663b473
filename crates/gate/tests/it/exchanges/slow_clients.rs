//! Slow clients, old clients, and clients that send the next request before they have an answer.

use std::fmt::Write;
use std::thread::sleep;
use std::time::Duration;

use roundtrip_gate::config::Span;

use crate::exchanges::backend::{Backend, echo};
use crate::exchanges::raw_client::{Answer, RawClient, counted, field, path};
use crate::lifecycle::eventually;
use crate::lifecycle::scene::Scene;

fn open_scene(backend: &Backend) -> Scene {
    Scene::tuned(backend.at, "", |config| {
        config.route[0].auth = false;
        config.limits.head_time = Span::seconds(1);
    })
}

fn met(scene: &Scene, limit: &str) -> u64 {
    let (_, metrics) = scene.admin("/metrics");
    let row = format!("limits_met_total{{limit=\"{limit}\"}} ");
    let line = metrics.lines().find_map(|line| line.split_once(&row));
    line.unwrap().1.parse().unwrap()
}

/// Sends a byte now and then until there is an answer, or the peer has closed.
fn trickle(client: &mut RawClient, byte: &str) -> Answer {
    let mut seen = [0];
    client
        .stream
        .set_read_timeout(Some(Duration::from_millis(50)))
        .unwrap();
    while client.stream.peek(&mut seen).is_err() {
        if !client.send(byte) {
            break;
        }
    }
    client
        .stream
        .set_read_timeout(Some(crate::lifecycle::scene::PATIENCE))
        .unwrap();
    client.answer()
}

#[test]
fn a_head_that_trickles_in_is_not_waited_for() {
    let backend = Backend::start(echo);
    let scene = open_scene(&backend);
    let mut client = RawClient::to(scene.gate().addresses().http[0]);
    client.send("GET / HTTP/1.1\r\nHost: a\r\nX-Long: ");
    assert_eq!(trickle(&mut client, "x").status(), 408);
    assert!(eventually(|| met(&scene, "head_time") == 1));
    assert_eq!(backend.connections(), 0);
}

/// RFC 9112 §2.2: empty lines before a request are not a request.
#[test]
fn empty_lines_do_not_give_a_head_more_time() {
    let backend = Backend::start(echo);
    let scene = open_scene(&backend);
    let mut client = RawClient::to(scene.gate().addresses().http[0]);
    let mut seen = [0];
    let brief = Some(Duration::from_millis(50));
    client.stream.set_read_timeout(brief).unwrap();
    let answered = (0..200).any(|_| {
        client.send("\r\n");
        client.stream.peek(&mut seen).is_ok()
    });
    assert!(answered, "ten times as long as a head may take");
    assert_eq!(client.answer().status(), 408);
    assert!(eventually(|| met(&scene, "head_time") == 1));
}

#[test]
fn a_body_that_trickles_in_is_not_waited_for() {
    let backend = Backend::start(echo);
    let scene = open_scene(&backend);
    let mut client = RawClient::to(scene.gate().addresses().http[0]);
    client.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 100000\r\n\r\n");
    assert_eq!(trickle(&mut client, "x").status(), 408);
    assert!(eventually(|| met(&scene, "body_rate") == 1));
}

/// A two-way stream may pause for longer than an upload.
#[test]
fn a_body_without_a_length_may_be_silent_where_its_route_streams() {
    let backend = Backend::start(echo);
    let scene = Scene::tuned(backend.at, "", |config| {
        config.route[0].auth = false;
        config.route[0].streams = true;
    });
    let at = scene.gate().addresses().http[0];
    let (mut talk, mut upload) = (RawClient::to(at), RawClient::to(at));
    talk.send("POST /talk HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n");
    upload.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 100000\r\n\r\n");
    assert_eq!(trickle(&mut upload, "x").status(), 408);
    talk.send("1\r\nc\r\n0\r\n\r\n");
    assert_eq!(talk.answer().whole(200).body, "/talk abc");
    assert!(eventually(|| met(&scene, "body_rate") == 1));
}

#[test]
fn a_pipeline_is_answered_in_its_order() {
    let backend = Backend::start(echo);
    let scene = open_scene(&backend);
    let mut client = RawClient::to(scene.gate().addresses().http[0]);
    let mut all = String::new();
    for n in 0..60 {
        let request = match n % 3 {
            0 => format!("GET /{n} HTTP/1.1\r\nHost: a\r\n\r\n"),
            1 => format!("POST /{n} HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello"),
            _ => format!(
                "POST /{n} HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n"
            ),
        };
        write!(all, "{request}").unwrap();
    }
    client.send(&all);
    for n in 0..60 {
        let body = client.answer().whole(200).body;
        let expected = if n % 3 == 0 { "" } else { "hello" };
        assert_eq!(body, format!("/{n} {expected}"));
    }
}

#[test]
fn a_client_of_http_1_0_is_served_as_it_understands() {
    let backend = Backend::start(|mut client| {
        while let Some(request) = client.request() {
            assert!(field(&request.head, "host").is_some());
            let answer = match path(&request.head) {
                "/chunked" => {
                    "HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n"
                        .into()
                }
                _ => counted("hello"),
            };
            client.send(&answer);
        }
    });
    let scene = open_scene(&backend);
    let gate = scene.gate().addresses().http[0];
    let mut kept = RawClient::to(gate);
    for _ in 0..2 {
        kept.send("GET /counted HTTP/1.0\r\nHost: a\r\nConnection: keep-alive\r\n\r\n");
        let message = kept.answer().whole(200);
        assert_eq!(message.body, "hello");
        assert_eq!(field(&message.head, "connection"), Some("keep-alive"));
    }
    // An answer without a length ends with the connection, even if the client wants to keep it.
    kept.send("GET /chunked HTTP/1.0\r\nHost: a\r\nConnection: keep-alive\r\n\r\n");
    let message = kept.answer().whole(200);
    assert_eq!(message.body, "hello");
    assert!(field(&message.head, "transfer-encoding").is_none());
    assert_eq!(field(&message.head, "connection"), Some("close"));
    for path in ["/counted", "/chunked"] {
        let mut client = RawClient::to(gate);
        client.send(&format!("GET {path} HTTP/1.0\r\nHost: a\r\n\r\n"));
        let (said, whole) = client.rest();
        assert!(whole && said.ends_with("\r\n\r\nhello"), "{said}");
    }
}

/// A client may be slow for good reasons: the deadline starts again with each request.
#[test]
fn a_client_may_rest_between_requests() {
    let backend = Backend::start(echo);
    let scene = open_scene(&backend);
    let mut client = RawClient::to(scene.gate().addresses().http[0]);
    for n in 0..3 {
        client.send(&format!("GET /{n} HTTP/1.1\r\nHost: a\r\n\r\n"));
        assert_eq!(client.answer().whole(200).body, format!("/{n} "));
        // Longer than a head may take, and than buffers are kept.
        sleep(Duration::from_millis(2600));
    }
    assert_eq!(backend.connections(), 1);
}
