//! Client and backend send one byte at a time, and nothing changes.

use crate::exchanges::backend::Backend;
use crate::exchanges::raw_client::{RawClient, field, path};
use crate::lifecycle::scene::Scene;

/// Answers as the path says, one byte at a time, with the request as it was parsed.
fn dripping(mut client: RawClient) {
    while let Some(head) = client.head() {
        let expects = field(&head, "expect").is_some();
        if expects && !client.drip("HTTP/1.1 100 Continue\r\n\r\n") {
            return;
        }
        let Some(body) = client.body(&head) else {
            return;
        };
        let said = format!("{} {} {body}", path(&head), expects);
        let length = said.len();
        let answer = match path(&head) {
            "/chunked" => {
                let (a, b) = said.split_at(length / 2);
                format!(
                    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n{:x};x=\"y\"\r\n{a}\r\n{:X}\r\n{b}\r\n0\r\nX-Trailer: z\r\n\r\n",
                    a.len(),
                    b.len()
                )
            }
            "/endless" => format!("HTTP/1.1 200 OK\r\n\r\n{said}"),
            "/hints" => format!(
                "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: {length}\r\n\r\n{said}"
            ),
            _ => format!("HTTP/1.1 200 OK\r\nContent-Length: {length}\r\n\r\n{said}"),
        };
        if !client.drip(&answer) || path(&head) == "/endless" {
            return;
        }
    }
}

#[test]
fn answers_in_single_bytes_arrive_unchanged() {
    let backend = Backend::start(dripping);
    let scene = Scene::tuned(backend.at, "", |config| config.route[0].auth = false);
    let gate = scene.gate().addresses().http[0];
    let mut client = RawClient::to(gate);
    for round in 0..3 {
        for path in ["/counted", "/chunked", "/hints", "/endless"] {
            let text = format!("body {round}");
            let length = text.len();
            let (a, b) = text.split_at(3);
            for (fields, body, expected) in [
                (String::new(), String::new(), format!("{path} false ")),
                (
                    format!("Content-Length: {length}\r\n"),
                    text.clone(),
                    format!("{path} false {text}"),
                ),
                (
                    "Transfer-Encoding: chunked\r\n".into(),
                    format!(
                        "{:x}\r\n{a}\r\n{:x};e\r\n{b}\r\n0\r\n\r\n",
                        a.len(),
                        b.len()
                    ),
                    format!("{path} false {text}"),
                ),
                (
                    format!("Content-Length: {length}\r\nExpect: 100-continue\r\n"),
                    text.clone(),
                    format!("{path} true {text}"),
                ),
            ] {
                client.drip(&format!("POST {path} HTTP/1.1\r\nHost: a\r\n{fields}\r\n"));
                if fields.contains("Expect") {
                    let interim = client.head().unwrap();
                    assert!(interim.starts_with("HTTP/1.1 100 "), "{interim}");
                }
                client.drip(&body);
                if path == "/hints" {
                    let interim = client.head().unwrap();
                    assert!(interim.starts_with("HTTP/1.1 103 "), "{interim}");
                    assert!(interim.contains("Link: </a>\r\n"), "{interim}");
                }
                assert_eq!(client.answer().whole(200).body, expected);
            }
        }
    }
}
