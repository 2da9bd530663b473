//! CAs that lie: whatever they answer, an order ends, nothing but the CA is asked, and gate serves.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use super::scene::Setting;

/// Answers each path with the result of `answer`, which gets the path and the server's own URL.
fn server(answer: fn(&str, &str) -> String) -> (String, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let count = Arc::<AtomicUsize>::default();
    let (own, counted) = (url.clone(), count.clone());
    thread::spawn(move || {
        for stream in listener.incoming() {
            counted.fetch_add(1, Ordering::Relaxed);
            let own = own.clone();
            thread::spawn(move || serve(stream.unwrap(), &own, answer));
        }
    });
    (url, count)
}

fn serve(mut stream: TcpStream, own: &str, answer: fn(&str, &str) -> String) {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let (mut first, mut length) = (String::new(), 0);
    if reader.read_line(&mut first).is_err() {
        return;
    }
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).unwrap_or(0) == 0 || line == "\r\n" {
            break;
        }
        if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().unwrap();
        }
    }
    let mut body = vec![0; length];
    if reader.read_exact(&mut body).is_err() {
        return;
    }
    let path = first.split(' ').nth(1).unwrap_or_default();
    let _ = stream.write_all(answer(path, own).as_bytes());
}

fn ok(fields: &str, body: &str) -> String {
    let length = body.len();
    format!(
        "HTTP/1.1 200 OK\r\nReplay-Nonce: abc\r\n{fields}Content-Length: {length}\r\nConnection: close\r\n\r\n{body}"
    )
}

fn directory(own: &str) -> String {
    let body = format!(
        r#"{{"newNonce":"{own}/nonce","newAccount":"{own}/account","newOrder":"{own}/order"}}"#
    );
    ok("", &body)
}

/// A gate before it says `line` about its name, and serves.
fn says(answer: fn(&str, &str) -> String, line: &str) {
    let (url, _) = server(answer);
    let mut setting = Setting::for_directory(&format!("{url}/dir"));
    setting.acme = setting.acme.replace("20s", "10s");
    let gate = setting.start();
    gate.wait_for_line(line);
    assert!(gate.get("/").starts_with("HTTP/1.1 401"));
    assert_eq!(
        (gate.event("order_failed"), gate.event("certificate_issued")),
        (1, 0)
    );
}

#[test]
fn an_endless_answer_ends() {
    says(
        |_, _| ok("", &format!("{{\"a\":\"{}\"}}", "x".repeat(1 << 20))),
        "the CA's directory cannot be asked",
    );
}

#[test]
fn a_redirect_is_not_followed() {
    says(
        |_, own| {
            format!(
                "HTTP/1.1 302 Found\r\nLocation: {own}/x\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
            )
        },
        "the CA's directory: it answers with status 302",
    );
}

#[test]
fn no_other_server_is_asked() {
    let (other, asked) = server(|_, _| ok("", "{}"));
    let (url, _) = server(|path, own| match path.split_once("other=") {
        Some((_, other)) => directory(&format!("http://{other}")),
        None => directory(own),
    });
    let other = other.replace("http://", "");
    let setting = Setting::for_directory(&format!("{url}/dir?other={other}"));
    let gate = setting.start();
    gate.wait_for_line("it names a URL on a server other than the directory's");
    assert_eq!(asked.load(Ordering::Relaxed), 0);
}

#[test]
fn an_order_that_is_never_ready_is_given_up() {
    says(
        |path, own| match path {
            "/dir" => directory(own),
            "/account" => ok(&format!("Location: {own}/me\r\n"), "{}"),
            "/order" => {
                let body = format!(r#"{{"authorizations":["{own}/authz"],"finalize":"{own}/f"}}"#);
                ok(&format!("Location: {own}/o\r\n"), &body)
            }
            "/authz" => ok(
                "Retry-After: 1\r\n",
                &format!(
                    r#"{{"status":"pending","challenges":[{{"type":"tls-alpn-01","url":"{own}/c","token":"t"}}]}}"#
                ),
            ),
            _ => ok("", "{}"),
        },
        "the order was not complete within 10s",
    );
}

#[test]
fn a_refusal_is_told_without_what_could_move_a_cursor() {
    says(
        |path, own| match path {
            "/account" => {
                let body = "{\"type\":\"urn:ietf:params:acme:error:rateLimited\",\"detail\":\"too \\u001b[2Jmany\"}";
                let length = body.len();
                format!(
                    "HTTP/1.1 429 Too Many\r\nReplay-Nonce: n\r\nRetry-After: 5000\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{body}"
                )
            }
            "/dir" => directory(own),
            _ => ok("", "{}"),
        },
        "the CA refuses (rateLimited): too \\u{1b}[2Jmany; the next attempt is in 5000 s",
    );
}
