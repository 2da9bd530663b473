//! The request and its route.

use std::time::Duration;

use roundtrip_model::{Answer, Event, Exchange, HttpFacts};

use crate::story::{R, Story, assert_only, assert_silent, ids, secured, tls};

#[test]
fn a_slow_server_is_confirmed_by_its_own_report() {
    for think in [5.0, 40.0, 300.0, 4_000.0] {
        let short = Story::over(0.5)
            .looked_up(Answer::Hosts, 0.1)
            .connected(0.0)
            .tls13();
        assert_only(
            &short.asked().told(think).end(),
            "server-think-time",
            think,
            0,
        );
    }
    let mut story = secured();
    story.e.http = Some(HttpFacts {
        server_timing: vec![("db".into(), Some(Duration::from_millis(210)), String::new())],
        ..HttpFacts::default()
    });
    let found = assert_only(
        &story.asked().told(300.0).end(),
        "server-think-time",
        300.0,
        0,
    );
    assert!(found.evidence.contains("db 210.0 ms"), "{}", found.evidence);
    assert_silent(&secured().asked().told(2.0).end());
}

#[test]
fn a_path_that_varies_is_not_a_slow_server() {
    let answered = |syn_ack: f64, think: f64| {
        let story = Story::new()
            .looked_up(Answer::Hosts, 0.1)
            .connected(syn_ack);
        ids(&story.asked().told(think).end())
    };
    assert_eq!(answered(0.1, 9.0), Vec::<&str>::new());
    assert_eq!(answered(0.1, 12.0), ["server-think-time"]);
    assert_eq!(answered(8.0, 12.0), Vec::<&str>::new());
    // A first packet that was very late (a radio that slept) does not excuse the server.
    assert_eq!(
        answered(400.0, 90.0),
        ["slow-first-packet", "server-think-time"]
    );
}

#[test]
fn a_server_is_slow_on_an_open_connection_too() {
    let mut story = Story::new();
    story.e.reused = true;
    story.e.tcp = Some(crate::story::tcp());
    assert_only(
        &story.asked().told(70.0).end(),
        "server-think-time",
        70.0,
        0,
    );
}

#[test]
fn a_request_that_was_never_acknowledged_after_an_idle_time() {
    let asked = |idle: u64, acknowledged: bool| {
        let mut story = Story::new();
        story.e.reused = true;
        story.e.tcp = Some(crate::story::tcp());
        story.e.kept = Some(roundtrip_model::KeptFacts {
            idle: Duration::from_secs(idle),
            bytes_received: 5_000,
        });
        story.e.failure = Some(roundtrip_model::Failure {
            kind: roundtrip_model::FailureKind::Timeout,
            phase: roundtrip_model::PhaseName::FirstByte,
            message: String::new(),
            advice: String::new(),
        });
        let story = story.asked().pass(R);
        let story = if acknowledged {
            story.acknowledged(R)
        } else {
            story
        };
        ids(&story.pass(20_000.0).event(Event::Finished).e)
    };
    for idle in [10, 60, 400] {
        assert_eq!(asked(idle, false), ["idle-connection-forgotten"], "{idle}");
    }
    assert_eq!(asked(2, false), Vec::<&str>::new());
    assert_eq!(asked(400, true), Vec::<&str>::new());
}

#[test]
fn no_answer_is_not_a_slow_server() {
    let mut story = secured().asked().pass(20_000.0);
    story.e.failure = Some(roundtrip_model::Failure {
        kind: roundtrip_model::FailureKind::Timeout,
        phase: roundtrip_model::PhaseName::FirstByte,
        message: String::new(),
        advice: String::new(),
    });
    assert_silent(&story.end());
}

/// An exchange through a proxy at distance `R`; the target is `beyond` ms behind it.
fn tunnelled(beyond: f64, think: f64) -> Exchange {
    Story::new()
        .looked_up(Answer::Hosts, 0.1)
        .connected(0.0)
        .event(Event::TunnelStarted)
        .sent(100)
        .answered(beyond, 39)
        .event(Event::TunnelReady)
        .hello()
        .answered(beyond, 3_000)
        .shook_hands(tls("TLSv1.3", 3_000))
        .asked()
        .told(beyond + think)
        .end()
}

#[test]
fn a_tunnel_costs_the_path_to_the_proxy_and_the_time_to_open_it() {
    assert_only(&tunnelled(30.0, 0.4), "proxy-connect", R + 30.0, 1);
    assert_silent(&secured().asked().told(0.4).end());
}

#[test]
fn the_path_behind_a_proxy_is_not_the_server_s_time() {
    assert_eq!(ids(&tunnelled(30.0, 0.4)), ["proxy-connect"]);
    let found = roundtrip_explain::findings(&tunnelled(30.0, 250.0));
    assert_eq!(found[0].id, "server-think-time");
    assert!((found[0].ms - 250.0).abs() < 5.0, "{found:?}");
}

#[test]
fn a_cache_reports_its_own_miss() {
    let told = |name: &str, value: &str, think| {
        let mut story = secured();
        story.e.http = Some(HttpFacts {
            status: 200,
            headers: vec![(name.into(), value.into())],
            ..HttpFacts::default()
        });
        story.asked().told(think).end()
    };
    for (name, value) in [
        ("Cache-Status", "edge; fwd=uri-miss; stored"),
        ("x-cache", "MISS from edge"),
        ("CF-Cache-Status", "MISS"),
    ] {
        assert_only(&told(name, value, 120.0), "cache-miss", 120.0, 0);
        assert_silent(&told(name, value, 0.5));
    }
    for value in ["edge; hit", "origin; fwd=miss, edge; hit"] {
        assert_only(
            &told("Cache-Status", value, 120.0),
            "server-think-time",
            120.0,
            0,
        );
    }
}
