//! Conversations over TCP: lines, bytes, labels, and where they come from.

use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::unix::net::UnixListener;
use std::thread;

use super::beside::{blackbox, compare};
use super::scene::{exporter, probe, write};
use crate::servers::listen;

/// A server that says `first` to each client, and `then` after each line.
fn talker(first: &'static str, then: &'static str) -> SocketAddr {
    listen(move |mut stream: TcpStream| {
        let _ = stream.write_all(first.as_bytes());
        if then.is_empty() {
            return;
        }
        let lines = BufReader::new(stream.try_clone().unwrap()).split(b'\n');
        for line in lines.map_while(Result::ok) {
            let answer = then.replace("LINE", &String::from_utf8_lossy(&line));
            let _ = stream.write_all(answer.as_bytes());
        }
    })
}

#[test]
fn the_last_line_needs_no_end_as_in_blackbox_exporter() {
    let folder = tempfile::tempdir().unwrap();
    let text = r"
modules:
  banner: {prober: tcp, tcp: {query_response: [{expect: '^SSH-2.0-'}]}}
  other: {prober: tcp, tcp: {query_response: [{expect: '^HTTP'}]}}
  capture: {prober: tcp, tcp: {query_response: [{expect: '^SSH-([0-9.]+)', send: 'got ${1}'}, {expect: '^you got 2.0$'}]}}
  six: {prober: tcp, tcp: {ip_protocol_fallback: false}}
";
    let config = write(folder.path(), "b.yml", text);
    let (_running, ours) = exporter(&config);
    let theirs = blackbox("conversations beside blackbox_exporter", &config);
    let endless = talker("SSH-2.0-x\n", "you LINE\n");
    let short = talker("SSH-2.0-x", "");
    let long = talker("SSH-".repeat(20_000).leak(), "");
    for (module, at, success) in [
        ("banner", short, 1.0),
        ("other", short, 0.0),
        // No pattern saw the line.
        ("other", long, 0.0),
        ("capture", endless, 1.0),
        ("six", endless, 0.0),
    ] {
        let found = probe(ours, module, &at.to_string());
        assert_eq!(
            found["probe_success"].to_string(),
            success.to_string(),
            "{module}"
        );
        if at == long {
            assert!(found["probe_failed_due_to_regex"] < 1.0, "{found:#?}");
        }
        if let Some((_, theirs)) = &theirs {
            compare(
                module,
                &at.to_string(),
                &probe(*theirs, module, &at.to_string()),
                &found,
            );
        }
    }
}

#[test]
fn a_unix_socket_is_probed_like_a_port() {
    let folder = tempfile::tempdir().unwrap();
    let text = r"
modules:
  ping: {prober: unix, unix: {query_response: [{send: PING}, {expect: '^PO(NG)$', labels: [{name: word, value: '${1}'}]}]}}
  other: {prober: unix, unix: {query_response: [{send: PING}, {expect: '^HTTP'}]}}
";
    let (_running, ours) = exporter(&write(folder.path(), "b.yml", text));
    let socket = folder.path().join("socket");
    let listener = UnixListener::bind(&socket).unwrap();
    thread::spawn(move || {
        for mut stream in listener.incoming().map_while(Result::ok) {
            let mut line = String::new();
            let _ = BufReader::new(stream.try_clone().unwrap()).read_line(&mut line);
            let _ = stream.write_all(line.replace("PI", "PO").as_bytes());
        }
    });
    let target = socket.to_str().unwrap();
    let found = probe(ours, "ping", target);
    assert!(found["probe_success"] > 0.0, "{found:#?}");
    assert!(found.contains_key("probe_expect_info{word=\"NG\"}"));
    assert!(!found.contains_key("probe_ip_protocol"), "{found:#?}");
    let found = probe(ours, "other", target);
    assert!(found["probe_failed_due_to_regex"] > 0.0, "{found:#?}");
    let found = probe(ours, "ping", "/nowhere/socket");
    assert!(
        found["probe_failed_phase{phase=\"connect\"}"] > 0.0,
        "{found:#?}"
    );
}

/// Settings that are newer than the blackbox_exporter of Debian.
#[test]
fn bytes_are_compared_and_labels_are_told() {
    let folder = tempfile::tempdir().unwrap();
    let text = r"
modules:
  labels: {prober: tcp, tcp: {source_ip_address: 127.0.0.2, query_response: [{expect: '^SSH-([0-9.]+)-(.*)$', labels: [{name: version, value: 'v${1}'}, {name: who, value: '${2}'}]}]}}
  bytes: {prober: tcp, tcp: {query_response: [{expect_bytes: SSH-}, {expect: '^2.0'}, {send: !!binary AAAACATSFi8=}, {expect_bytes: you}]}}
  others: {prober: tcp, tcp: {query_response: [{expect_bytes: XXXX}]}}
";
    let (_running, ours) = exporter(&write(folder.path(), "b.yml", text));
    let at = talker("SSH-2.0-x\n", "you\n").to_string();
    let found = probe(ours, "labels", &at);
    let info = "probe_expect_info{version=\"v2.0\",who=\"x\"}";
    assert!(
        found["probe_success"] > 0.0 && found.contains_key(info),
        "{found:#?}"
    );
    for (module, success) in [("bytes", true), ("others", false)] {
        let found = probe(ours, module, &at);
        let seen = [found["probe_success"], found["probe_failed_due_to_bytes"]].map(|is| is > 0.0);
        assert_eq!(seen, [success, !success], "{module}");
    }
}
