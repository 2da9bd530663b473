//! Hand-written descriptions of a request: each part occurs once, and only a proxy may write it.

use std::fmt::Write as _;

use roundtrip_gate::config::Config;

use super::{Asked, LOGIN};
use crate::exchanges::raw_client::{RawClient, field};

const FORWARDED: &str = "X-Forwarded-Method: GET\r\nX-Forwarded-Proto: https\r\n\
                         X-Forwarded-Host: site.example\r\nX-Forwarded-Uri: /x?y\r\n";
const ORIGINAL: &str = "X-Original-Method: GET\r\nX-Original-URL: https://site.example/x?y\r\n";

#[test]
fn every_way_gets_the_same_answer() {
    let asked = Asked::new("");
    for (line, described) in [
        ("GET /forwarded", FORWARDED),
        ("GET /original", ORIGINAL),
        (
            "GET /original",
            "X-Original-Method: GET\r\nX-Original-URI: /x?y\r\nX-Original-Host: site.example\r\n",
        ),
        ("GET /mirrored/x?y", ""),
    ] {
        let client = "X-Forwarded-For: 6.6.6.6, 192.0.2.7\r\n";
        let fields = format!("{described}{client}{}\r\n", asked.cookie);
        let passed = asked.ask(line, &fields).whole(200);
        assert_eq!(field(&passed.head, "authorization"), Some(LOGIN), "{line}");
        assert_eq!(field(&passed.head, "x-client"), Some("192.0.2.7"));
        assert_eq!(field(&passed.head, "x-site"), Some("https://site.example"));
        assert_eq!(field(&passed.head, "cache-control"), Some("no-store"));
        assert_eq!(field(&passed.head, "x-accel-expires"), Some("0"));
        assert!(field(&passed.head, "x-request-id").is_some());
        let denied = asked.ask(line, described).whole(401);
        assert!(denied.head.contains("WWW-Authenticate: Bearer"), "{line}");
        assert_eq!(field(&denied.head, "authorization"), None);
    }
    let allowed = "turned_away_total{by=\"answered\",reason=\"allowed\"}";
    assert_eq!(asked.stage.metric(allowed), 4);
}

/// Otherwise a client could add what the proxy leaves out.
#[test]
fn a_description_is_whole_and_there_once() {
    let asked = Asked::new("");
    for (line, described) in [("GET /forwarded", FORWARDED), ("GET /original", ORIGINAL)] {
        let parts: Vec<&str> = described.split_inclusive('\n').collect();
        for (at, part) in parts.iter().enumerate() {
            let without: String = [&parts[..at], &parts[at + 1..]].concat().concat();
            for wrong in [&without, &format!("{described}{part}")] {
                let denied = asked.ask(line, &format!("{wrong}{}\r\n", asked.cookie));
                assert!(denied.whole(403).body.contains("undescribed"), "{wrong}");
            }
        }
    }
    let both = format!("{ORIGINAL}X-Original-URI: /open\r\nX-Original-Host: site.example\r\n");
    asked.ask("GET /original", &both).whole(403);
}

/// The proxy's configuration chooses the path at which it asks, and with it the way.
#[test]
fn the_description_of_another_way_is_not_believed() {
    let asked = Asked::new("");
    let open = "X-Original-Method: GET\r\nX-Original-URL: https://open.example/open\r\n";
    asked
        .ask("GET /forwarded", &format!("{FORWARDED}{open}"))
        .whole(403);
    let open = FORWARDED.replace("/x?y", "/open");
    asked
        .ask("GET /original", &format!("{ORIGINAL}{open}"))
        .whole(403);
    asked.ask("GET /mirrored/x", &open).whole(403);
    asked.ask("GET /mirrored/x", "").whole(401);
    asked.ask("GET /mirrored/open", "").whole(200);
    for nowhere in [
        "GET /",
        "GET /mirrored",
        "GET /mirroredopen",
        "GET /Forwarded",
        "GET /open",
    ] {
        asked.ask(nowhere, &open).whole(404);
    }
    let grpc = "POST /envoy.service.auth.v3.Authorization/Check";
    asked.ask(grpc, "Content-Length: 0\r\n").whole(404);
}

#[test]
fn hosts_and_paths_are_judged_in_every_reading() {
    let asked = Asked::new("");
    let ask = |host: &str, uri: &str| {
        let mut fields = FORWARDED.replace("site.example", host);
        fields = fields.replace("/x?y", uri);
        asked.ask("GET /forwarded", &fields).status()
    };
    assert_eq!(ask("site.example", "/open/x"), 200);
    assert_eq!(ask("OPEN.example.:443", "/x"), 200);
    for (host, uri) in [
        ("site.example", "/open/../x"),
        ("site.example", "/open/..;/x"),
        ("site.example", "/open/%2e%2e/x"),
        ("site.example", "/open;/../x"),
        ("site.example", "/OPEN"),
        ("site.example", "//open.example/open"),
        ("site.example", "https://open.example/"),
        ("open.example/", "/x"),
        ("open.example, site.example", "/x"),
        ("open.example..", "/x"),
    ] {
        let status = ask(host, uri);
        assert!(matches!(status, 401 | 403), "{host}{uri}: {status}");
    }
}

#[test]
fn strangers_may_not_ask() {
    let asked = Asked::new("trusted = [\"192.0.2.0/24\"]");
    let denied = asked.ask(
        "GET /forwarded",
        &format!("{FORWARDED}{}\r\n", asked.cookie),
    );
    let denied = denied.whole(403);
    assert!(denied.body.contains("asker"), "{}", denied.body);
    assert!(!denied.head.contains(LOGIN));
}

#[test]
fn a_proxy_may_ask_only_with_the_secret() {
    let secret = "authz-secret-of-32-visible-bytes";
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), secret).unwrap();
    let place = file.path().display();
    let asked = Asked::new(&format!("secret = {{ file = \"{place}\" }}"));
    let ask = |sent: &[&str]| {
        let mut fields = format!("{FORWARDED}{}\r\n", asked.cookie);
        for value in sent {
            write!(fields, "X-Gate-Secret: {value}\r\n").unwrap();
        }
        asked.ask("GET /forwarded", &fields).status()
    };
    assert_eq!(ask(&[secret]), 200);
    for wrong in [&[][..], &["authz"], &[&secret[1..]], &[secret, secret]] {
        assert_eq!(ask(wrong), 403, "{wrong:?}");
    }
}

#[test]
fn an_answer_may_be_remembered_no_longer_than_its_token() {
    let remembered = |more: &str| {
        let asked = Asked::new(more);
        let passed = asked.ask(
            "GET /forwarded",
            &format!("{FORWARDED}{}\r\n", asked.cookie),
        );
        let head = passed.whole(200).head;
        let seconds = field(&head, "x-accel-expires")
            .unwrap()
            .parse::<u64>()
            .unwrap();
        let control = format!("private, max-age={seconds}");
        assert_eq!(field(&head, "cache-control"), Some(control.as_str()));
        seconds
    };
    assert_eq!(remembered("remember = \"20s\""), 20);
    // The token is valid for an hour, and for 30 s more.
    let seconds = remembered("remember = \"12h\"");
    assert!((1..=3630).contains(&seconds), "{seconds}");
}

/// A proxy asks by GET about a HEAD, so the length belongs to an answer to GET.
#[test]
fn one_connection_carries_answers_of_all_kinds() {
    let asked = Asked::new("");
    let mut proxy = RawClient::to(asked.http());
    let head = FORWARDED.replace("Method: GET", "Method: HEAD");
    for _ in 0..2 {
        for (fields, status) in [
            (head.clone(), 401),
            (format!("{head}{}\r\n", asked.cookie), 200),
            (head.replace("/x?y", "/open/.."), 403),
            (String::new(), 403),
        ] {
            proxy.send(&format!(
                "GET /forwarded HTTP/1.1\r\nHost: gate\r\n{fields}\r\n"
            ));
            let answer = proxy.answer().whole(status);
            assert_eq!(answer.body.is_empty(), status == 200, "{answer:?}");
        }
    }
}

#[test]
fn a_page_of_another_origin_opens_no_socket() {
    let asked = Asked::new("");
    let socket = "Sec-WebSocket-Version: 13\r\nOrigin: https://evil.example\r\n";
    let fields = format!("{FORWARDED}{}\r\n", asked.cookie);
    asked
        .ask("GET /forwarded", &format!("{fields}{socket}"))
        .whole(403);
    let own = socket.replace("evil", "site");
    asked
        .ask("GET /forwarded", &format!("{fields}{own}"))
        .whole(200);
}

const DESCRIBED: [(&str, &str); 3] = [
    ("GET /forwarded", FORWARDED),
    ("GET /original", ORIGINAL),
    ("GET /mirrored/x", ""),
];

/// These proxies pass on whatever the client sent, and cannot remove what gate names.
#[test]
fn nobody_says_who_they_are() {
    let asked = Asked::new("");
    let claims = [
        "Remote-User: root",
        "Remote_User: root",
        "X-Forwarded-User: root",
        "X-Auth-Request-Groups: staff",
        "X_Forwarded_For: 192.0.2.1",
    ];
    for (line, described) in DESCRIBED {
        let ask = |claim: &str| {
            let fields = format!("{described}{}\r\n{claim}\r\n", asked.cookie);
            asked.ask(line, &fields)
        };
        for claim in claims {
            let denied = ask(claim).whole(403);
            assert!(denied.body.contains("identity_field"), "{line} {claim}");
        }
        ask("X-Real-IP: 192.0.2.1").whole(200);
        ask("X-Requested-With: y").whole(200);
    }
    let own = format!(
        "{ORIGINAL}X-Auth-Request-Redirect: /x\r\n{}\r\n",
        asked.cookie
    );
    asked.ask("GET /original", &own).whole(200);
}

#[test]
fn a_proxy_that_removes_identity_fields_itself_may_send_them() {
    let asked = Asked::new("identity_fields = \"pass\"");
    for (line, described) in DESCRIBED {
        let fields = format!("{described}{}\r\nRemote-User: root\r\n", asked.cookie);
        asked.ask(line, &fields).whole(200);
    }
}

/// A PROXY header says whose request it is, not who may ask.
#[test]
fn a_proxy_header_does_not_say_who_may_ask() {
    let asked = Asked::new("");
    let mut config = asked.stage.config.clone();
    let networks = "[listen]\nproxy_protocol_from = [\"127.0.0.0/8\"]\n\
                    [authz]\ntrusted = [\"192.0.2.9/32\"]\n";
    let networks = Config::parse(networks, "test").unwrap();
    config.listen.proxy_protocol_from = networks.listen.proxy_protocol_from;
    config.authz.trusted = networks.authz.trusted;
    asked.stage.gate.reload(config).unwrap();
    for _ in 0..2000 {
        let mut client = RawClient::to(asked.http());
        client.send("PROXY TCP4 192.0.2.9 192.0.2.1 1000 80\r\n");
        client.send(&format!(
            "GET /forwarded HTTP/1.1\r\nHost: a\r\nConnection: close\r\n{FORWARDED}{}\r\n\r\n",
            asked.cookie
        ));
        match client.answer().status() {
            // The thread has not followed yet.
            0 | 400 => {}
            status => return assert_eq!(status, 403),
        }
    }
    panic!("no thread has followed");
}
