//! Redirects: one time limit for all of them, and where they lead, as in blackbox_exporter.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use super::beside::{blackbox, compare};
use super::scene::{ask, exporter, probe, samples, write};

/// How long a slow server waits before it answers.
const WAIT: Duration = Duration::from_millis(400);

/// A server that answers each connection's only request with what `answer` makes of its head.
pub(super) fn server(answer: impl Fn(&str) -> String + Send + 'static) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let at = listener.local_addr().unwrap();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { break };
            let mut head = Vec::new();
            let mut buffer = [0; 1024];
            while !is_whole(&head) {
                match stream.read(&mut buffer) {
                    Ok(length) if length > 0 => head.extend(&buffer[..length]),
                    _ => break,
                }
            }
            let _ = stream.write_all(answer(&String::from_utf8_lossy(&head)).as_bytes());
        }
    });
    at
}

/// Whether a request has come with its body.
fn is_whole(request: &[u8]) -> bool {
    let text = String::from_utf8_lossy(request).to_ascii_lowercase();
    let Some((head, body)) = text.split_once("\r\n\r\n") else {
        return false;
    };
    let length = head.split("content-length: ").nth(1);
    let length = length.and_then(|rest| rest.lines().next()?.parse().ok());
    body.len() >= length.unwrap_or(0)
}

pub(super) fn redirect(to: &str) -> String {
    format!(
        "HTTP/1.1 302 Found\r\nLocation: {to}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
    )
}

pub(super) fn body(text: &str) -> String {
    let length = text.len();
    format!("HTTP/1.1 200 OK\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{text}")
}

/// Each redirect has its own time limit, but all together have that of the scrape.
#[test]
fn redirects_share_the_time_of_the_scrape() {
    let folder = tempfile::tempdir().unwrap();
    let text = "modules: {m: {prober: http, http: {preferred_ip_protocol: ip4}}}\n";
    let (_running, ours) = exporter(&write(folder.path(), "b.yml", text));
    let count = Arc::new(AtomicUsize::new(0));
    let counted = count.clone();
    let slow = server(move |_| {
        let n = counted.fetch_add(1, Ordering::Relaxed);
        thread::sleep(WAIT);
        redirect(&format!("/{n}"))
    });
    let path = format!("/probe?module=m&target={slow}");
    let field = "X-Prometheus-Scrape-Timeout-Seconds: 1.5\r\n";
    let (status, text) = ask(ours, "GET", &path, field);
    assert_eq!(status, 200);
    let found = samples(&text);
    assert!(found["probe_success"] < 1.0, "{text}");
    assert!(
        found.contains_key("probe_failed_phase{phase=\"first_byte\"}"),
        "{text}"
    );
    let asked = count.load(Ordering::Relaxed);
    assert!((1..=3).contains(&asked), "{asked} requests within 1.0 s");
}

/// The name for `Host` belongs to the target; a redirect to another server reaches that one.
#[test]
fn only_the_target_is_asked_under_another_name() {
    let folder = tempfile::tempdir().unwrap();
    let text = r#"
modules:
  other: {prober: http, http: {preferred_ip_protocol: ip4, fail_if_body_not_matches_regexp: ["^other "]}}
  same: {prober: http, http: {preferred_ip_protocol: ip4, fail_if_body_not_matches_regexp: ["^same Host: name.example$"]}}
"#;
    let config = write(folder.path(), "b.yml", text);
    let host = |head: &str| {
        let mut lines = head.lines();
        let line = lines.find(|line| line.starts_with("Host: "));
        line.unwrap_or("no host").to_owned()
    };
    let other = server(move |head| body(&format!("other {}", host(head))));
    let target = server(move |head| match head.split(' ').nth(1) {
        Some("/other") => redirect(&format!("http://{other}/")),
        Some("/same") => redirect("/end"),
        _ => body(&format!("same {}", host(head))),
    });
    let (_running, ours) = exporter(&config);
    let beside = blackbox("redirects beside blackbox_exporter", &config);
    for module in ["other", "same"] {
        let asked = format!("http://{target}/{module}&hostname=name.example");
        let found = probe(ours, module, &asked);
        assert!(found["probe_success"] > 0.0, "{module}: {found:#?}");
        if let Some((_, theirs)) = &beside {
            compare(module, &asked, &probe(*theirs, module, &asked), &found);
        }
    }
}
