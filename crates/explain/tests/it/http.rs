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

/// A cache may keep the header of another answer, and a total contains its parts.
#[test]
fn only_times_that_the_client_waited_for_are_believed() {
    let late = |late: f64, says: &[u64]| {
        let mut story = secured().asked().pass(R + late).acknowledged(R + late);
        story.r = 0.0;
        let mut story = story.told(0.0);
        let timing = says.iter().map(|ms| {
            let took = Some(Duration::from_millis(*ms));
            ("app".to_owned(), took, String::new())
        });
        let http = story.e.http.as_mut().unwrap();
        http.server_timing.extend(timing);
        ids(&story.end())
    };
    for (says, named) in [
        (&[28][..], "server-think-time"),
        (&[29, 28, 20], "server-think-time"),
        (&[900, 28], "server-think-time"),
        (&[90], "late-answer"),
        (&[900, 400], "late-answer"),
        (&[900, 1], "late-answer"),
    ] {
        assert_eq!(late(30.0, says), [named], "{says:?}");
    }
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
    // A line may carry an answer more slowly than its acknowledgement.
    assert_eq!(answered(0.1, 12.0), Vec::<&str>::new());
    assert_eq!(answered(0.1, 18.0), ["server-think-time"]);
    assert_eq!(answered(8.0, 12.0), Vec::<&str>::new());
    // A first packet that was very late (a radio that slept) does not excuse the server.
    assert_eq!(
        answered(300.0, 90.0),
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
            beyond: None,
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

/// A middlebox reset the connection one round trip after the ClientHello.
#[test]
fn a_refused_hello_does_not_make_a_path_that_varies() {
    let mut story = Story::new().connected(0.2).hello().pass(R).acknowledged(R);
    story.e.failure = Some(roundtrip_model::Failure {
        kind: roundtrip_model::FailureKind::Reset,
        phase: roundtrip_model::PhaseName::Tls,
        message: String::new(),
        advice: String::new(),
    });
    assert_silent(&story.pass(0.9).event(Event::Finished).e);
}

/// An exchange through a proxy at distance `R`; the target is `beyond` ms behind it.
fn tunnelled(beyond: f64, think: f64) -> Exchange {
    tunnelled_over(0.0, beyond, think)
}

/// The same, with a SYN-ACK that was `syn` ms late.
fn tunnelled_over(syn: f64, beyond: f64, think: f64) -> Exchange {
    Story::new()
        .looked_up(Answer::Hosts, 0.1)
        .connected(syn)
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

/// The proxy answered 4 ms late, and so did others.
#[test]
fn a_proxy_is_not_blamed_for_what_the_path_varies_by() {
    let account = roundtrip_explain::account(&tunnelled_over(3.0, 4.0, 0.0));
    let found = &account.findings[0];
    assert_eq!(found.id, "proxy-connect");
    assert!((found.ms - R).abs() < 1.0, "{found:?}");
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
    // An answer that is only late proves nothing, whatever a cache reports.
    let mut story = secured();
    story.e.http = Some(HttpFacts {
        status: 200,
        headers: vec![("x-cache".into(), "MISS from edge".into())],
        ..HttpFacts::default()
    });
    let mut story = story.asked().pass(R + 30.0).acknowledged(R + 30.0);
    story.r = 0.0;
    let found = assert_only(&story.told(0.0).end(), "late-answer", 30.0, 0);
    assert!(found.evidence.contains("x-cache"), "{}", found.evidence);
    for value in ["edge; hit", "origin; fwd=miss, edge; hit"] {
        assert_only(
            &told("Cache-Status", value, 120.0),
            "server-think-time",
            120.0,
            0,
        );
    }
}

/// A line of 1 Mbit/s needs 8.5 ms more for an answer of 1000 bytes than for an acknowledgement.
#[test]
fn a_slow_line_is_not_a_server_that_thinks() {
    let answered = |late: f64| {
        let story = Story::over(40.0)
            .looked_up(Answer::Hosts, 0.1)
            .connected(0.1);
        let story = story.asked().pass(40.0).acknowledged(40.0).pass(late);
        ids(&story.received(1_000).event(Event::FirstByte).end())
    };
    assert_eq!(answered(12.0), Vec::<&str>::new());
    assert_eq!(answered(40.0), ["server-think-time"]);
}

/// A radio that slept delayed the request, whose acknowledgement a new connection does not delay.
#[test]
fn a_late_acknowledgement_on_a_new_connection_was_late_on_the_path() {
    let answered = |reused: bool, late: f64, think: f64| {
        let mut story = Story::over(R).looked_up(Answer::Hosts, 0.1).connected(0.1);
        story.e.reused = reused;
        let story = story.asked().pass(R + late).acknowledged(R + late);
        let found = roundtrip_explain::findings(
            &story.pass(think).received(80).event(Event::FirstByte).end(),
        );
        let of_server = found.into_iter().find(|f| f.id == "server-think-time");
        of_server.map(|f| f.ms.round())
    };
    assert_eq!(answered(false, 50.0, 5.0), None);
    assert_eq!(answered(false, 50.0, 250.0), Some(250.0));
    // Later on, a receiver may delay it by 40 ms.
    assert_eq!(answered(true, 50.0, 250.0), Some(300.0));
}

/// The acknowledgement of what left before the request says nothing about the request.
#[test]
fn only_the_request_s_own_acknowledgement_is_a_witness() {
    let story = secured().pass(0.5).asked().pass(R - 0.5).acknowledged(R);
    let mut story = story.pass(60.5);
    story.r = 0.0;
    assert_eq!(ids(&story.told(0.0).end()), ["late-answer"]);
}

/// Its only segment may have been lost and sent again after a timeout.
#[test]
fn a_slow_server_whose_answer_may_have_been_lost_is_in_doubt() {
    for (think, doubtful) in [(250.0, false), (305.0, true), (360.0, false)] {
        let found = assert_only(
            &secured().asked().told(think).end(),
            "server-think-time",
            think,
            0,
        );
        let doubt = found.evidence.contains("its loss would look the same");
        assert_eq!(doubt, doubtful, "{}", found.evidence);
    }
}

/// A tunnel that ends near the client acknowledges at once, and each answer of the server comes as
/// much later as the server is farther away.
#[test]
fn a_tunnel_that_acknowledges_makes_no_server_slow() {
    let exchange = |syn: f64, greeting: f64, answer: f64, says: Option<u64>| {
        let mut story = Story::over(0.5)
            .looked_up(Answer::Hosts, 0.1)
            .connected(syn)
            .hello()
            .answered(greeting, 3_000)
            .shook_hands(tls("TLSv1.3", 3_000));
        let timing = says.map(|ms| ("app".into(), Some(Duration::from_millis(ms)), String::new()));
        story.e.http = Some(HttpFacts {
            server_timing: timing.into_iter().collect(),
            ..HttpFacts::default()
        });
        story.asked().told(answer).end()
    };
    for syn in [0.0, 60.0] {
        let found = ids(&exchange(syn, 61.0, 60.0, None));
        assert!(found.iter().all(|id| *id == "late-answer"), "{found:?}");
    }
    let think = ["server-think-time"];
    assert_eq!(ids(&exchange(0.0, 1.0, 60.0, None)), think);
    let both = ["server-think-time", "slow-tls-server"];
    assert_eq!(ids(&exchange(0.0, 40.0, 60.0, None)), both);
    assert_eq!(ids(&exchange(0.0, 59.0, 60.0, Some(59))), both);
}

/// The acknowledgement came with the answer, so that nothing but the report is a witness.
#[test]
fn a_report_of_a_part_is_a_witness_of_that_part() {
    let claimed = |says: u64| {
        let story = Story::over(20.0)
            .looked_up(Answer::Hosts, 0.1)
            .connected(0.1)
            .tls13();
        let mut story = story.asked().pass(70.0).acknowledged(70.0);
        story.r = 0.0;
        let timing = (
            "app".into(),
            Some(Duration::from_millis(says)),
            String::new(),
        );
        story.e.http = Some(HttpFacts {
            server_timing: vec![timing],
            ..HttpFacts::default()
        });
        let found = roundtrip_explain::findings(&story.told(0.0).end());
        let of_server = found.into_iter().find(|f| f.id == "server-think-time");
        of_server.map(|f| f.ms.round())
    };
    assert_eq!(claimed(45), Some(50.0));
    assert_eq!(claimed(28), Some(28.0));
}

/// Some hosts delay acknowledgements by 200 ms. One without data is never sent again.
#[test]
fn an_acknowledgement_alone_was_not_lost_with_the_answer() {
    let story = Story::over(2.0)
        .looked_up(Answer::Hosts, 0.1)
        .connected(0.1);
    let mut story = story.tls13().asked().pass(203.0).acknowledged(203.0);
    story = story.pass(30.0);
    story.r = 0.0;
    let found = ids(&story.told(0.0).end());
    assert!(!found.contains(&"response-segment-lost"), "{found:?}");
}

/// A server in clear text whose request is acknowledged this many ms late, and answered 200 ms
/// late.
fn thinks_in_clear_text(acknowledged: f64) -> Vec<(&'static str, i32)> {
    let story = Story::new().looked_up(Answer::Hosts, 0.1).connected(0.2);
    let mut story = story
        .asked()
        .pass(R + acknowledged)
        .acknowledged(R + acknowledged)
        .pass(200.0 - acknowledged);
    story.r = 0.0;
    costs(&story.told(0.0).end())
}

fn costs(e: &Exchange) -> Vec<(&'static str, i32)> {
    let found = roundtrip_explain::findings(e).into_iter();
    found.map(|f| (f.id, f.ms.round() as i32)).collect()
}

/// HAProxy asks its kernel to delay the first acknowledgement of a connection.
#[test]
fn the_first_acknowledgement_may_be_as_late_as_the_timer() {
    let think = "server-think-time";
    assert_eq!(thinks_in_clear_text(41.0), [(think, 200)]);
    assert_eq!(thinks_in_clear_text(0.0), [(think, 200)]);
    // Both were late on the path.
    for late in [28.0, 56.0] {
        let told = thinks_in_clear_text(late);
        assert!(!told.contains(&(think, 200)), "{late}: {told:?}");
    }
}

/// On a kept connection of a long path, Linux delays acknowledgements by up to a round trip.
#[test]
fn an_acknowledgement_of_a_kept_connection_is_delayed_by_up_to_a_round_trip() {
    let r = 150.0;
    let thinks = |acknowledged: f64| {
        let span = |ms: f64| Duration::from_secs_f64(ms / 1e3);
        let mut story = Story::over(r);
        let mut tcp = crate::story::tcp();
        tcp.handshake_rtt = Some(span(r));
        tcp.rtt = Some(span(r + acknowledged / 8.0));
        (story.e.tcp, story.e.reused) = (Some(tcp), true);
        let after = r + acknowledged;
        let story = story.asked().pass(after).acknowledged(after);
        let mut story = story.pass(600.0 - acknowledged);
        story.r = 0.0;
        costs(&story.told(0.0).end())
    };
    let think = "server-think-time";
    for acknowledged in [0.0, 41.0, 82.0, 151.0] {
        assert_eq!(thinks(acknowledged), [(think, 600)], "{acknowledged}");
    }
    assert_eq!(
        thinks(190.0).first().map(|(id, _)| *id),
        Some("path-varies")
    );
}

/// On the kept connection, something near acknowledges for a server that is 80 ms farther away.
fn kept_far(tunnelled: bool, think: f64) -> Vec<(&'static str, i32)> {
    let mut story = Story::over(1.0);
    (story.e.reused, story.e.tcp) = (true, Some(crate::story::tcp()));
    story.e.kept = Some(roundtrip_model::KeptFacts {
        beyond: Some(Duration::from_millis(80)),
        ..Default::default()
    });
    story.e.http = Some(HttpFacts {
        proxy_status: if tunnelled { 200 } else { 0 },
        ..HttpFacts::default()
    });
    costs(&story.asked().told(80.0 + think).end())
}

#[test]
fn a_kept_connection_knows_that_its_server_is_far() {
    assert_eq!(kept_far(true, 1.0), []);
    assert_eq!(kept_far(true, 300.0), [("server-think-time", 300)]);
    assert_eq!(kept_far(false, 1.0), [("late-answer", 81)]);
    assert_eq!(kept_far(false, 300.0), [("server-think-time", 380)]);
}
