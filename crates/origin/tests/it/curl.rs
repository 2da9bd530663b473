//! Answers as curl receives them over HTTP/1.1 and HTTP/2.

use std::time::Duration;

use roundtrip_origin::Expect;

use crate::peers::Peer;

/// A protocol for talking to the origin, and curl's option for it.
const WAYS: [(&str, bool, &str); 4] = [
    ("--http1.1", false, "1.1"),
    ("--http2-prior-knowledge", false, "2"),
    ("--http1.1", true, "1.1"),
    ("--http2", true, "2"),
];

fn url(peer: &Peer, tls: bool, path: &str) -> String {
    if tls {
        peer.https(path)
    } else {
        peer.http(path)
    }
}

#[test]
fn every_protocol_is_served_and_counted() {
    let peer = Peer::with(|_| {});
    for (flag, tls, version) in WAYS {
        let said = peer.curl(&[
            flag,
            "-o",
            "/dev/null",
            "-w",
            "%{http_version} %{http_code}",
            &url(&peer, tls, "/"),
        ]);
        assert_eq!(said.out, format!("{version} 200"), "{flag}: {}", said.err);
    }
    let stats = peer.origin.stats();
    assert_eq!((stats.h1_requests, stats.h2_requests), (2, 2));
    assert_eq!((stats.requests, stats.tcp_connections), (4, 4));
    assert_eq!(stats.tls_handshakes, 2);
    let seen = peer.curl(&[&peer.http("/stats")]);
    assert!(seen.out.contains("\"h2_requests\": 2"), "{}", seen.out);
}

#[test]
fn bodies_arrive_whole_however_they_are_sent() {
    let peer = Peer::with(|_| {});
    for (flag, tls, _) in WAYS {
        let fetch = |path: &str| {
            peer.curl(&[flag, "--compressed", &url(&peer, tls, path)])
                .out
        };
        let body = fetch("/bytes/300000");
        assert_eq!(body.len(), 300_000);
        assert!(body.starts_with("0123456789abc"));
        assert_eq!(fetch("/chunked/300000"), body);
        assert_eq!(fetch("/gzip?bytes=300000"), body);
        assert_eq!(fetch("/drip?bytes=1000&every=1"), body[..1000]);
        assert_eq!(fetch("/bytes/0"), "");
        assert_eq!(fetch("/chunked/0"), "");
    }
}

#[test]
fn bodies_come_back_from_the_echo_up_to_its_limit() {
    let peer = Peer::with(|knobs| knobs.http.max_body = 200_000);
    let sent = peer.file("sent");
    let data = format!("@{}", sent.display());
    for (flag, tls, _) in WAYS {
        let post = |path: &str, length: usize, extra: &str| {
            std::fs::write(&sent, vec![b'e'; length]).unwrap();
            peer.curl(&[
                flag,
                "--data-binary",
                &data,
                "-H",
                extra,
                "-w",
                "|%{http_code}",
                &url(&peer, tls, path),
            ])
            .out
        };
        for extra in [
            "Expect: 100-continue",
            "Expect:",
            "Transfer-Encoding: chunked",
        ] {
            if extra.starts_with("Transfer") && flag != "--http1.1" {
                continue;
            }
            let came = post("/echo", 150_000, extra);
            let whole = came == format!("{}|200", "e".repeat(150_000));
            assert!(whole, "{flag} {extra}: {} bytes", came.len());
        }
        assert!(post("/echo", 200_001, "Expect:").ends_with("|413"));
        assert!(post("/status/200", 400_000, "Expect:").ends_with("|200"));
    }
    assert!(peer.origin.stats().body_bytes_received > 1_600_000);
}

#[test]
fn connections_live_as_long_as_the_knobs_let_them() {
    for (close_after, silent, connects) in [
        (None, false, "1000"),
        (Some(2), false, "1010"),
        (Some(2), true, "1010"),
    ] {
        let peer = Peer::with(|knobs| {
            knobs.http.close_after = close_after;
            knobs.http.silent_close = silent;
        });
        // Debian 12's curl cannot use a connection twice with prior knowledge of HTTP/2.
        for (flag, tls, _) in WAYS
            .into_iter()
            .filter(|way| way.0 != "--http2-prior-knowledge")
        {
            let one = url(&peer, tls, "/bytes/10");
            let mut line = vec![flag, "-w", "%{num_connects}"];
            for _ in 0..4 {
                line.extend_from_slice(&["-o", "/dev/null", &one]);
            }
            let said = peer.curl(&line);
            assert_eq!(said.out, connects, "{flag} {close_after:?} {}", said.err);
            assert_eq!(said.code, 0, "{flag} {close_after:?} {}", said.err);
        }
        let twice = peer.curl(&["-v", &peer.http("/bytes/1"), &peer.http("/bytes/1")]);
        let announced = twice.err.contains("< connection: close");
        assert_eq!(announced, close_after.is_some() && !silent);
    }
}

#[test]
fn redirects_are_followed_to_their_end() {
    let peer = Peer::with(|_| {});
    for path in ["/redirect/3", "/redirect/3?status=307"] {
        let said = peer.curl(&["-L", "-w", "|%{num_redirects}", &peer.https(path)]);
        assert_eq!(said.out, "arrived\n|3", "{}", said.err);
    }
    let crossed = peer.curl(&[
        "-L",
        "-o",
        "/dev/null",
        "-w",
        "%{scheme}",
        &peer.http("/secure"),
    ]);
    assert_eq!(crossed.out.to_lowercase(), "https");
    let looped = peer.curl(&["-L", "--max-redirs", "5", &peer.http("/loop")]);
    assert_eq!(looped.code, 47, "too many redirects: {}", looped.err);
}

#[test]
fn users_and_cookies_are_known_again() {
    let peer = Peer::with(|knobs| knobs.http.credentials = "ann:open sesame".to_owned());
    let code = |user: &str| {
        let asked = ["-o", "/dev/null", "-w", "%{http_code}", "-u", user];
        peer.curl(&[&asked[..], &[&peer.https("/auth")]].concat())
            .out
    };
    assert_eq!(
        (code("ann:open sesame"), code("ann:wrong")),
        ("200".into(), "401".into())
    );
    let jar = peer.file("jar").display().to_string();
    let visit = || {
        peer.curl(&["-b", &jar, "-c", &jar, &peer.http("/cookie")])
            .out
    };
    assert_eq!((visit(), visit()), ("visit 1\n".into(), "visit 2\n".into()));
}

#[test]
fn the_wait_is_stated_and_kept() {
    let peer = Peer::with(|knobs| knobs.http.think = Duration::from_millis(30));
    let said = peer
        .curl(&[
            "-i",
            "-w",
            "|%{time_starttransfer}",
            &peer.https("/delay/40"),
        ])
        .out;
    let stated = said
        .split("think;dur=")
        .nth(1)
        .unwrap()
        .split("\r\n")
        .next()
        .unwrap();
    let stated: f64 = stated.parse().unwrap();
    let seen: f64 = said.rsplit('|').next().unwrap().parse().unwrap();
    assert!(stated >= 70.0, "{said}");
    assert!(
        seen * 1e3 >= stated,
        "the client saw less than the server waited: {said}"
    );
    let quiet = Peer::with(|knobs| knobs.http.no_server_timing = true);
    assert!(
        !quiet
            .curl(&["-i", &quiet.http("/")])
            .out
            .contains("server-timing")
    );
}

#[test]
fn heads_carry_what_was_asked_for() {
    let peer = Peer::with(|knobs| {
        knobs.http.alt_svc = Some("h3=\":1\"".to_owned());
        knobs.http.body_bytes = Some(5);
    });
    for (flag, tls, _) in WAYS {
        let size = |path: &str| -> usize {
            let asked = [flag, "-o", "/dev/null", "-w", "%{size_header}"];
            let said = peer.curl(&[&asked[..], &[&url(&peer, tls, path)]].concat());
            said.out.parse().unwrap()
        };
        let padded = size("/headers/20000");
        assert!((20_000..20_500).contains(&padded), "{padded}");
        let head = peer.curl(&[flag, "-I", &url(&peer, tls, "/")]).out;
        assert!(head.contains("content-length: 5\r\n"), "{head}");
        assert_eq!(head.contains("alt-svc: h3=\":1\""), tls);
        assert!(head.contains("date: "));
        let bodiless = peer
            .curl(&[flag, "-i", &url(&peer, tls, "/status/204")])
            .out;
        assert!(!bodiless.contains("content-length"), "{bodiless}");
    }
}

#[test]
fn interim_answers_come_first() {
    let peer = Peer::with(|knobs| knobs.http.early_hints = true);
    for (flag, tls, _) in WAYS {
        let said = peer.curl(&[flag, "-i", &url(&peer, tls, "/bytes/3")]).out;
        let hint = said.find(" 103").unwrap();
        assert!(hint < said.find(" 200").unwrap(), "{said}");
        assert!(said.contains("link: </style.css>"), "{said}");
    }
}

#[test]
fn expectations_are_met_ignored_or_refused() {
    for (expect, code, continued) in [
        (Expect::Continue, "200", true),
        (Expect::Ignore, "200", false),
        (Expect::Refuse, "417", false),
    ] {
        let peer = Peer::with(|knobs| knobs.http.expect = expect);
        let post = [
            "-v",
            "-d",
            "hello",
            "-H",
            "Expect: 100-continue",
            "-w",
            "|%{http_code}",
        ];
        // Without this time limit, curl would send a second request after a 417.
        let said = peer.curl(&[&post[..], &["--max-time", "5", &peer.http("/echo")]].concat());
        let first = said
            .err
            .lines()
            .find(|line| line.starts_with("< HTTP"))
            .unwrap();
        assert_eq!(first.contains(" 100 "), continued, "{}", said.err);
        assert!(
            said.err.contains(&format!("< HTTP/1.1 {code}")),
            "{}",
            said.err
        );
    }
}

#[test]
fn a_truncated_body_is_noticed() {
    let peer = Peer::with(|_| {});
    for (flag, tls, version) in WAYS {
        let asked = [flag, "-o", "/dev/null", "-w", "%{size_download}"];
        let said = peer.curl(&[&asked[..], &[&url(&peer, tls, "/truncated/100000")]].concat());
        assert_eq!(said.out, "50000", "{flag}: {}", said.err);
        // 18: partial file; 92: a stream of HTTP/2 was reset.
        assert_eq!(
            said.code,
            if version == "2" { 92 } else { 18 },
            "{}",
            said.err
        );
    }
}

#[test]
fn slow_bodies_are_slow_in_pieces() {
    let peer = Peer::with(|knobs| {
        knobs.http.body_every = Duration::from_millis(20);
        knobs.http.body_piece = 100;
    });
    let asked = ["-o", "/dev/null", "-w", "%{time_total} %{size_download}"];
    let said = peer
        .curl(&[&asked[..], &[&peer.http("/bytes/500")]].concat())
        .out;
    let numbers: Vec<f64> = said.split(' ').map(|word| word.parse().unwrap()).collect();
    assert!(numbers[0] >= 0.079, "four waits of 20 ms: {said}");
    assert!((numbers[1] - 500.0).abs() < 0.5);
}
