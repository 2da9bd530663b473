//! WebSocket over HTTP/2: python-h2 and a browser talk to a server that speaks WebSocket over
//! HTTP/1.1. RFC 8441.

use std::io::{Read, Write};
use std::net::TcpListener;

use serde_json::json;

use crate::applications::stage::{Browser, Server, Stage, has_python, json as ask, python, token};
use crate::skip;
use roundtrip_gate::manage::TokenTransport;

fn stage(talk: &Server, more: &str) -> Stage {
    let upstream = |name: &str, port: u16| {
        format!("[upstream.{name}]\nservers = [\"http://127.0.0.1:{port}\"]\n")
    };
    let route = |path: &str, upstream: &str, more: &str| {
        format!("[[route]]\npath = \"{path}\"\nupstream = \"{upstream}\"\n{more}\n")
    };
    Stage::new(
        &[
            upstream("talk", talk.port),
            upstream("liar", liar()),
            route("/liar", "liar", "auth = false\nupgrades = true"),
            route("/plain", "talk", "auth = false"),
            more.to_owned(),
        ]
        .concat(),
    )
}

/// A server that switches to a protocol without speaking it.
fn liar() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let _ = stream.read(&mut [0; 4096]);
            let _ = stream.write_all(
                b"HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\
                  Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\n",
            );
        }
    });
    port
}

#[test]
fn sockets_go_over_streams() {
    let test = "sockets_go_over_streams";
    if !(has_python(test, "h2, wsproto") && has_python(test, "websockets")) {
        return;
    }
    let talk = Server::start(&mut python("talk.py"));
    let route = "[[route]]\npath = \"/ws\"\nupstream = \"talk\"\nauth = false\nupgrades = true\n";
    let stage = stage(&talk, route);
    let mut command = python("h2_socket.py");
    let heard = ask(command.arg(stage.https().port().to_string()));
    let expected = json!({
        "enabled": 1,
        "status": 200,
        "protocol": "chat",
        "of one hop": [],
        "echo": "hello",
        "large": true,
        "close": 1000,
        "end": "ended",
        "seen": "1000",
        "half": ["ended", "1006"],
        "between": "1001",
        "reset": "1006",
        "refused": 403,
        // To an HTTP/2 client each of these 200 would be an open WebSocket.
        "no switch": 502,
        "liar": 502,
        "no upgrades": 501,
        "other protocol": 501,
        "plain connect": 405,
        "again": "again",
    });
    assert_eq!(heard, expected, "{heard:#}");
}

#[test]
fn nothing_is_announced_where_no_route_has_upgrades() {
    let test = "nothing_is_announced_where_no_route_has_upgrades";
    if !has_python(test, "h2, wsproto") {
        return;
    }
    let stage = Stage::new(
        "[upstream.talk]\nservers = [\"http://127.0.0.1:1\"]\n[[route]]\nupstream = \"talk\"\n",
    );
    let mut command = python("h2_socket.py");
    command
        .arg(stage.https().port().to_string())
        .arg("announced");
    assert_eq!(ask(&mut command), json!(null));
}

#[test]
fn a_browser_talks_over_the_connection_that_its_page_came_by() {
    let test = "a_browser_talks_over_the_connection_that_its_page_came_by";
    if !has_python(test, "websockets") {
        return;
    }
    let (talk, pages) = (
        Server::start(&mut python("talk.py")),
        Server::start(&mut python("pages.py")),
    );
    let more = format!(
        "[upstream.pages]\nservers = [\"http://127.0.0.1:{}\"]\n\
         [[route]]\nupstream = \"pages\"\nauth = false\n\
         [[route]]\npath = \"/ws\"\nupstream = \"talk\"\nupgrades = true\n",
        pages.port
    );
    let stage = stage(&talk, &more);
    let cookie = token(&stage.config, TokenTransport::Cookie);
    let cookie: String = url::form_urlencoded::byte_serialize(cookie.as_bytes()).collect();
    let port = stage.https().port();
    let page = format!("https://localhost:{port}/socket.html?cookie={cookie}");
    let Some(heard) = Browser::new(&stage).visit(&page) else {
        return skip::lacking(test, "chromium");
    };
    assert_eq!(
        heard,
        json!({"said": [20, 19000, 1000, "chat"], "way": "h2"})
    );
    // Not over a separate HTTP/1.1 connection.
    let over_h1 = stage.metric("connections_total{protocol=\"h1\"}");
    assert_eq!(over_h1, 0, "{}", stage.metrics());
}
