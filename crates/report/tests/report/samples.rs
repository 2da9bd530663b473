//! Handmade exchanges, so that every report is the same on every run.

use std::net::SocketAddr;
use std::time::Duration;

use roundtrip_model::{
    Answer, CertificateFacts, ChainFacts, EarlyData, Event, Exchange, Failure, FailureKind,
    Finding, HttpFacts, HttpsRecord, Moment, NameFacts, NameWaits, PhaseName, QuicFacts, Setting,
    Task, TcpFacts, TlsFacts,
};

pub(crate) const R: f64 = 50.0;

pub(crate) fn peer() -> SocketAddr {
    ([192, 0, 2, 7], 443).into()
}

pub(crate) fn local() -> SocketAddr {
    ([192, 0, 2, 99], 53_312).into()
}

pub(crate) fn push(exchange: &mut Exchange, events: &[(f64, Event)]) {
    for (at, event) in events {
        exchange
            .timeline
            .push(Moment::from_millis(*at), event.clone());
    }
}

fn sent(bytes: u64) -> Event {
    Event::Sent { bytes }
}

fn received(bytes: u64) -> Event {
    Event::Received { bytes }
}

fn worked(task: Task, micros: u64) -> Event {
    Event::Worked {
        task,
        took: Duration::from_micros(micros),
    }
}

/// A cold request over TLS 1.3: three round trips of 50 ms; the server takes `think` ms.
pub(crate) fn cold(think: f64) -> Exchange {
    let mut e = Exchange {
        url: "https://shop.example/catalogue?page=2".into(),
        asked: "auto".parse().unwrap(),
        used: "h2+tls1.3".parse().unwrap(),
        rtt: Some(Duration::from_secs_f64(R / 1e3)),
        name: Some(name()),
        tcp: Some(TcpFacts {
            local: Some(local()),
            peer: Some(peer()),
            handshake_rtt: Some(Duration::from_millis(51)),
            min_rtt: Some(Duration::from_millis(50)),
            mss: 1448,
            congestion_window: 10,
            congestion_control: "cubic".into(),
            ..TcpFacts::default()
        }),
        tls: Some(tls()),
        http: Some(http("GET", 200, 23_456)),
        ..Exchange::default()
    };
    push_cold(&mut e, 156.0 + think);
    e
}

fn push_cold(e: &mut Exchange, done: f64) {
    push(
        e,
        &[
            (0.0, worked(Task::Configure, 300)),
            (0.4, Event::LookupStarted),
            (4.5, Event::LookupFinished),
            (4.5, Event::AttemptStarted { peer: peer() }),
            (
                54.6,
                Event::Connected {
                    peer: peer(),
                    deferred: false,
                },
            ),
            (54.6, Event::HandshakeStarted),
            (55.1, worked(Task::GenerateKeys, 420)),
            (55.1, sent(1_740)),
            (105.8, received(3_900)),
            (106.3, worked(Task::Verify, 460)),
            (106.3, sent(80)),
            (106.3, Event::HandshakeFinished),
            (106.3, Event::RequestStarted),
            (106.4, sent(240)),
            (106.4, Event::RequestSent),
            (done, received(1_400)),
            (done, Event::FirstByte),
            (done + 2.2, received(23_000)),
            (done + 2.3, Event::Finished),
        ],
    );
}

fn name() -> NameFacts {
    NameFacts {
        host: "shop.example".into(),
        answer: Answer::Server(([192, 0, 2, 53], 53).into()),
        addresses: vec!["192.0.2.7".parse().unwrap(), "2001:db8::7".parse().unwrap()],
        aliases: vec!["edge.cdn.example".into()],
        ttl: Some(300),
        resent: 0,
        truncated: false,
        https_record: Some(HttpsRecord {
            priority: 1,
            alpn: vec!["h3".into(), "h2".into()],
            ..HttpsRecord::default()
        }),
        waits: NameWaits::default(),
    }
}

pub(crate) fn tls() -> TlsFacts {
    TlsFacts {
        version: "TLSv1.3".into(),
        cipher: "TLS_AES_128_GCM_SHA256".into(),
        group: "X25519MLKEM768".into(),
        alpn: Some("h2".into()),
        client_hello_bytes: 1_740,
        flights: 3,
        bytes_received: 3_900,
        bytes_sent: 1_820,
        tickets: 2,
        chain: Some(ChainFacts {
            certificates: vec![
                CertificateFacts {
                    subject: "CN=shop.example".into(),
                    issuer: "CN=Example Intermediate".into(),
                    names: vec!["shop.example".into(), "*.shop.example".into()],
                    days_left: 61,
                    not_after: 1_800_000_000,
                    key: "ECDSA P-256".into(),
                    bytes: 1_204,
                    der: vec![0x30; 70],
                },
                CertificateFacts {
                    subject: "CN=Example Intermediate".into(),
                    issuer: "CN=Example Root".into(),
                    days_left: 1_400,
                    key: "RSA 2048".into(),
                    bytes: 1_290,
                    ..CertificateFacts::default()
                },
            ],
            bytes_on_wire: 2_512,
            compressed: Some("brotli"),
            stapled_ocsp: true,
        }),
        ..TlsFacts::default()
    }
}

pub(crate) fn http(method: &str, status: u16, downloaded: u64) -> HttpFacts {
    HttpFacts {
        method: method.into(),
        version: "2".into(),
        status,
        reason: String::new(),
        headers: vec![
            ("content-type".into(), b"text/html; charset=utf-8".to_vec()),
            ("set-cookie".into(), b"a=1".to_vec()),
            ("Set-Cookie".into(), b"b=2".to_vec()),
            ("x-odd".into(), b"caf\xe9".to_vec()),
        ],
        request_bytes: 240,
        header_bytes: 412,
        downloaded,
        decoded: downloaded * 3,
        server_timing: vec![
            (
                "db".into(),
                Some(Duration::from_millis(21)),
                "orders".into(),
            ),
            ("cache".into(), None, "miss".into()),
        ],
        alt_svc: Some("h3=\":443\"; ma=86400".into()),
        keep_alive: true,
        ..HttpFacts::default()
    }
}

/// A redirect to `cold`, over clear text, then the same request.
pub(crate) fn redirected() -> Vec<Exchange> {
    let mut first = Exchange {
        url: "http://shop.example/catalogue?page=2".into(),
        used: "h1+clear".parse().unwrap(),
        rtt: Some(Duration::from_secs_f64(R / 1e3)),
        tcp: Some(TcpFacts {
            local: Some(local()),
            peer: Some(([192, 0, 2, 7], 80).into()),
            mss: 1448,
            ..TcpFacts::default()
        }),
        http: Some(HttpFacts {
            method: "GET".into(),
            version: "1.1".into(),
            status: 301,
            reason: "Moved Permanently".into(),
            request_bytes: 90,
            header_bytes: 180,
            redirect: Some("https://shop.example/catalogue?page=2".into()),
            ..HttpFacts::default()
        }),
        ..Exchange::default()
    };
    push(
        &mut first,
        &[
            (0.1, Event::LookupStarted),
            (3.0, Event::LookupFinished),
            (3.0, Event::AttemptStarted { peer: peer() }),
            (
                53.2,
                Event::Connected {
                    peer: peer(),
                    deferred: false,
                },
            ),
            (53.3, Event::RequestStarted),
            (53.4, sent(90)),
            (53.4, Event::RequestSent),
            (104.0, received(180)),
            (104.0, Event::FirstByte),
            (104.1, Event::Finished),
        ],
    );
    let mut second = cold(32.0);
    second.hop = 1;
    vec![first, second]
}

/// An accepted 0-RTT request over QUIC, on a resumed session.
pub(crate) fn quic() -> Exchange {
    let mut e = Exchange {
        url: "https://shop.example/".into(),
        asked: "h3+0rtt".parse().unwrap(),
        used: "h3+0rtt".parse().unwrap(),
        rtt: Some(Duration::from_millis(50)),
        primed: true,
        quic: Some(QuicFacts {
            local: Some(local()),
            peer: Some(peer()),
            datagrams_sent: 6,
            datagrams_received: 9,
            mtu: 1452,
            ..QuicFacts::default()
        }),
        tls: Some(TlsFacts {
            resumed: true,
            early_data: EarlyData::Accepted,
            chain: None,
            alpn: Some("h3".into()),
            ..tls()
        }),
        http: Some(HttpFacts {
            version: "3".into(),
            ..http("GET", 200, 900)
        }),
        ..Exchange::default()
    };
    push(
        &mut e,
        &[
            (0.1, Event::LookupStarted),
            (0.2, Event::LookupFinished),
            (0.2, Event::AttemptStarted { peer: peer() }),
            (0.2, Event::HandshakeStarted),
            (0.9, Event::RequestStarted),
            (1.0, sent(1_500)),
            (1.0, Event::RequestSent),
            (53.0, received(1_200)),
            (53.0, Event::HandshakeFinished),
            (53.4, Event::FirstByte),
            (54.0, Event::Finished),
        ],
    );
    e
}

/// A refused connection, with advice.
pub(crate) fn refused() -> Exchange {
    let mut e = Exchange {
        url: "https://shop.example:8443/".into(),
        failure: Some(Failure {
            kind: FailureKind::Refused,
            phase: PhaseName::Tcp,
            message: "192.0.2.7:8443 refused the connection after 50.2 ms".into(),
            advice:
                "check that something listens on port 8443, and that no firewall answers for it"
                    .into(),
        }),
        ..Exchange::default()
    };
    push(
        &mut e,
        &[
            (0.1, Event::LookupStarted),
            (3.9, Event::LookupFinished),
            (3.9, Event::AttemptStarted { peer: peer() }),
            (54.1, Event::AttemptFailed { peer: peer() }),
            (54.1, Event::Finished),
        ],
    );
    e
}

/// Hostile values of everything that a peer can choose.
pub(crate) fn hostile() -> Exchange {
    let bad = "<script>alert(1)</script>\"'&\u{1b}[31m\u{202e}";
    let mut e = cold(1.0);
    e.url = format!("https://h.example/{bad}");
    e.notes = vec![bad.into()];
    e.findings = vec![Finding {
        id: "server-think-time",
        ms: 1.0,
        round_trips: 0,
        evidence: bad.into(),
        remedy: bad.into(),
        settings: Vec::new(),
    }];
    if let Some(http) = &mut e.http {
        http.method = bad.into();
        http.reason = bad.into();
        http.version = bad.into();
        http.alt_svc = Some(bad.into());
        http.redirect = Some(bad.into());
        http.server_timing = vec![(bad.into(), None, bad.into())];
        http.headers = vec![(bad.into(), bad.as_bytes().to_vec())];
    }
    if let Some(tls) = &mut e.tls {
        tls.version = bad.into();
        tls.alpn = Some(bad.into());
        if let Some(chain) = &mut tls.chain {
            for certificate in &mut chain.certificates {
                certificate.subject = bad.into();
                certificate.issuer = bad.into();
                certificate.key = bad.into();
            }
        }
    }
    if let Some(name) = &mut e.name {
        name.host = bad.into();
        name.aliases = vec![bad.into()];
        if let Some(record) = &mut name.https_record {
            record.target = bad.into();
            record.alpn = vec![bad.into()];
        }
    }
    e
}

/// `n` runs of the same request, all different; every tenth fails.
pub(crate) fn repeats(n: u32) -> Vec<Exchange> {
    (0..n)
        .map(|run| {
            let mut e = if run % 10 == 9 {
                refused()
            } else {
                cold(f64::from(run * 37 % 23) + if run % 7 == 3 { 40.0 } else { 0.0 })
            };
            if run % 10 != 9 {
                e.findings = found(run);
            }
            e.run = run;
            e.url = "https://shop.example/catalogue?page=2".into();
            e
        })
        .collect()
}

/// One cause that occurs each time, and one that occurs once.
fn found(run: u32) -> Vec<Finding> {
    let finding = |id, ms| Finding {
        id,
        ms,
        round_trips: 0,
        evidence: format!("what proves the {ms} ms"),
        remedy: "what removes it".into(),
        settings: Vec::new(),
    };
    let mut findings = vec![finding("server-think-time", 4.0 + f64::from(run))];
    findings.extend((run == 3).then(|| finding("request-segment-lost", 40.0)));
    findings
}

/// A finding with a note, as `explain` attaches them.
pub(crate) fn explained() -> Exchange {
    let mut e = cold(182.0);
    e.notes = vec!["fast open was asked for, but this machine has net.ipv4.tcp_fastopen=0".into()];
    e.findings = vec![Finding {
        id: "server-think-time",
        ms: 182.0,
        round_trips: 0,
        evidence: "the request was acknowledged after 50.1 ms, the first byte came 182 ms later"
            .into(),
        remedy: "profile the handler; Server-Timing says db took 21 ms of it".into(),
        settings: vec![
            Setting::new(
                "nginx",
                "log_format t '$request_time $upstream_response_time';",
            ),
            Setting::new("shell", "nice -n -5"),
        ],
    }];
    e
}

pub(crate) fn attempt() -> roundtrip_model::Attempt {
    roundtrip_model::Attempt {
        peer: peer(),
        over_quic: false,
        began: Moment::from_millis(3.0),
        ended: Moment::from_millis(53.0),
        outcome: roundtrip_model::AttemptOutcome::Won,
    }
}
