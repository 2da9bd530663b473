//! Connections to a backend that must not serve other clients after a request, and those that may.

use std::net::SocketAddr;

use crate::exchanges::backend::{Backend, echo};
use crate::exchanges::raw_client::{RawClient, counted, field, path};
use crate::limits::gate;

/// A body that is also a request.
const POISON: &str = "GET /poison HTTP/1.1\r\nHost: a\r\n\r\n";

fn ask(gate: SocketAddr, line: &str, more: &str) -> (u16, String) {
    let mut client = RawClient::to(gate);
    client.send(&format!("{line} HTTP/1.1\r\nHost: a\r\n{more}"));
    let answer = client.answer();
    let status = answer.status();
    (status, answer.whole(status).body)
}

fn with_poison(gate: SocketAddr, line: &str) -> u16 {
    let length = POISON.len();
    ask(
        gate,
        line,
        &format!("Content-Length: {length}\r\n\r\n{POISON}"),
    )
    .0
}

/// It reads no body, and so takes it for the next request. What it answers to that comes with the
/// answer to the request after it, so that no connection looks odd while it is idle. The path is
/// the status.
fn careless(mut client: RawClient) {
    let mut held = String::new();
    while let Some(head) = client.head() {
        let status = path(&head).trim_start_matches('/');
        let answer = counted(status);
        match status {
            "poison" => held = answer,
            "200" | "other" => drop(client.send(&(std::mem::take(&mut held) + &answer))),
            _ => drop(client.send(&answer.replace("200 OK", &format!("{status} No")))),
        }
    }
}

#[test]
fn the_answer_to_a_body_that_a_server_never_reads_reaches_nobody() {
    let backend = Backend::start(careless);
    let scene = gate(backend.at);
    let gate = scene.gate().addresses().http[0];
    for method in ["GET", "HEAD", "DELETE", "OPTIONS"] {
        let mut client = RawClient::to(gate);
        let length = POISON.len();
        client.send(&format!(
            "{method} /200 HTTP/1.1\r\nHost: a\r\nContent-Length: {length}\r\n\r\n{POISON}"
        ));
        assert!(
            client.head().unwrap().starts_with("HTTP/1.1 200 "),
            "{method}"
        );
        assert_eq!(ask(gate, "GET /other", "\r\n").1, "other", "{method}");
    }
}

/// Servers redirect and refuse requests without reading their bodies.
#[test]
fn the_answer_to_a_body_that_a_server_refuses_reaches_nobody() {
    let backend = Backend::start(careless);
    let scene = gate(backend.at);
    let gate = scene.gate().addresses().http[0];
    for status in [302, 307, 400, 401, 404, 405, 500, 501] {
        for method in ["POST", "PUT", "PROPFIND", "LIST"] {
            assert_eq!(with_poison(gate, &format!("{method} /{status}")), status);
            let other = ask(gate, "GET /other", "\r\n");
            assert_eq!(other.1, "other", "{method} {status}");
        }
    }
}

#[test]
fn a_connection_stays_after_bodies_that_a_server_takes() {
    let backend = Backend::start(echo);
    let scene = gate(backend.at);
    let gate = scene.gate().addresses().http[0];
    for method in ["POST", "PUT", "PATCH", "REPORT"] {
        assert_eq!(with_poison(gate, &format!("{method} /x")), 200);
        assert_eq!(ask(gate, "GET /other", "\r\n").1, "/other ");
    }
    assert_eq!(backend.connections(), 1);
}

/// Servers of Windows take all that follows on a connection for the user who authenticated on it.
#[test]
fn nobody_acts_as_the_user_who_authenticated_a_connection() {
    let backend = Backend::start(|mut client| {
        let mut user = "nobody".to_owned();
        while let Some(head) = client.head() {
            let credentials = field(&head, "authorization").and_then(|f| f.split_once(' '));
            let mut own = user.clone();
            if let Some((scheme, name)) = credentials {
                own = name.trim().to_owned();
                if scheme != "Basic" {
                    user.clone_from(&own);
                }
            }
            client.send(&counted(&own));
        }
    });
    let scene = gate(backend.at);
    let gate = scene.gate().addresses().http[0];
    let who = |more: &str| ask(gate, "GET /", &format!("{more}\r\n")).1;
    for scheme in ["NTLM", "Negotiate", "ntlm", "NEGOTIATE"] {
        assert_eq!(who(&format!("Authorization: {scheme} alice\r\n")), "alice");
        assert_eq!(who(""), "nobody", "{scheme}");
    }
    let before = backend.connections();
    assert_eq!(who("Authorization: Basic bob\r\n"), "bob");
    assert_eq!(who(""), "nobody");
    assert_eq!(backend.connections(), before, "Basic is for one request");
}
