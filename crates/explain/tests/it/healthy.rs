//! Exchanges that are as quick as possible have no cause.

use roundtrip_model::{Answer, Event, Exchange};

use crate::story::{Story, assert_silent, quic, tls};

/// Round trips in milliseconds, from loopback to a satellite.
const PATHS: [f64; 8] = [0.02, 0.15, 0.5, 5.0, 20.0, 90.0, 150.0, 600.0];

fn cold(r: f64, jitter: f64) -> Exchange {
    Story::over(r)
        .looked_up(Answer::Server(([127, 0, 0, 53], 53).into()), 0.4)
        .connected(jitter)
        .hello()
        .answered(jitter, 3_000)
        .shook_hands(tls("TLSv1.3", 3_000))
        .asked()
        .told(jitter)
        .end()
}

#[test]
fn cold_exchanges_over_tls_1_3() {
    for r in PATHS {
        assert_silent(&cold(r, 0.02));
        // The path varies a little, and the server does its work.
        assert_silent(&cold(r, 0.4 + r / 50.0));
    }
}

#[test]
fn exchanges_in_clear() {
    for r in PATHS {
        let story = Story::over(r).looked_up(Answer::Hosts, 0.05).connected(0.1);
        assert_silent(&story.asked().told(0.3).end());
    }
}

#[test]
fn exchanges_over_quic() {
    for r in PATHS {
        let story = quic(r)
            .answered(0.4, 3_000)
            .shook_hands(tls("TLSv1.3", 2_500));
        assert_silent(&story.asked().told(0.3).end());
    }
}

#[test]
fn on_loopback_even_a_detour_costs_nothing() {
    let story = Story::over(0.15)
        .looked_up(Answer::Hosts, 0.05)
        .connected(0.0)
        .hello();
    let story = story.answered(0.2, 3_000).sent(300).answered(0.05, 300);
    assert_silent(
        &story
            .shook_hands(tls("TLSv1.2", 3_300))
            .asked()
            .told(0.3)
            .end(),
    );
}

#[test]
fn an_exchange_that_never_began() {
    assert_silent(&Exchange::default());
}

#[test]
fn a_healthy_exchange_is_accounted_for_to_the_last_millisecond() {
    for r in PATHS {
        let account = roundtrip_explain::account(&cold(r, 0.02));
        // The cost of the path is TCP and TLS; irreducible are the request's round trip, the
        // server's time and the name lookup.
        assert!((account.way - 2.0 * r).abs() < 0.5, "{account:?}");
        assert!((account.irreducible - r).abs() < 1.0, "{account:?}");
        assert!(account.unexplained < 0.5, "{account:?}");
    }
}

#[test]
fn time_without_a_reason_is_unexplained() {
    let e = Story::new()
        .looked_up(Answer::Hosts, 0.05)
        .connected(0.0)
        .pass(200.0)
        .tls13()
        .asked()
        .told(0.3)
        .end();
    let account = roundtrip_explain::account(&e);
    assert!((account.unexplained - 200.0).abs() < 1.0, "{account:?}");
    assert_eq!(account.findings, []);
}

#[test]
fn bytes_in_transit_and_echoes_are_accounted_for() {
    let mut story = Story::new().looked_up(Answer::Hosts, 0.1).connected(0.0);
    story = story.asked().told(0.3);
    for _ in 0..20 {
        story = story.pass(8.0).received(10_000);
    }
    story.e.http.as_mut().unwrap().downloaded = 200_000;
    let account = roundtrip_explain::account(&story.end());
    assert!((account.carried - 160.0).abs() < 5.0, "{account:?}");
    assert!(account.unexplained < 1.0, "{account:?}");
    let mut echo = Story::new().looked_up(Answer::Hosts, 0.1).connected(0.0);
    echo.e.echo = Some(roundtrip_model::EchoFacts::default());
    echo = echo
        .event(Event::RequestStarted)
        .sent(6)
        .event(Event::RequestSent);
    echo = echo.answered(0.2, 6).event(Event::FirstByte);
    echo = echo.sent(6).answered(0.2, 6);
    let account = roundtrip_explain::account(&echo.end());
    assert!(account.unexplained < 1.0, "{account:?}");
}
