//! The time that a slow line needs for outgoing bytes.

use roundtrip_model::{Answer, Event, Exchange, HttpFacts, TcpFacts};

use crate::story::{MSS, R, Story, assert_only, assert_silent, tcp, tls};

/// A hello of two segments and a request of `request` bytes, over a line that needs `line` ms for
/// the hello, and proportionally long for the request.
fn asked(line: f64, request: u64, late: f64) -> Exchange {
    let story = Story::new().looked_up(Answer::Hosts, 0.1).connected(0.0);
    let story = story.hello().pass(R + line).acknowledged(R + line);
    let mut story = story.pass(0.3).received(3_000);
    story = story.shook_hands(tls("TLSv1.3", 3_000));
    story.e.tcp = Some(TcpFacts {
        delivery_rate: (2.0 * MSS as f64 / (R + line) * 1e3) as u64,
        delivery_app_limited: true,
        ..tcp()
    });
    let story = story.pass(5.0).event(Event::RequestStarted).sent(request);
    let story = story.event(Event::RequestSent).pass(R + late);
    let mut story = story.acknowledged(R + late).pass(1.2);
    story.r = 0.0;
    story.told(0.0).end()
}

#[test]
fn a_hello_of_two_segments() {
    let found = assert_only(
        &asked(14.0, 300, 14.0 * 300.0 / 1700.0),
        "slow-uplink",
        14.0,
        0,
    );
    assert!(found.evidence.contains("kB/s"), "{}", found.evidence);
    assert_silent(&asked(0.3, 300, 0.1));
}

/// One acknowledgement was late. The line may be slow, or the path may vary.
#[test]
fn one_late_flight_alone_is_not_a_slow_line() {
    for late in [0.0, 9.0] {
        let found = roundtrip_explain::findings(&asked(14.0, 300, late));
        assert!(found.iter().all(|f| f.id != "slow-uplink"), "{found:?}");
    }
}

#[test]
fn a_request_of_many() {
    let mut story = Story::new().looked_up(Answer::Hosts, 0.1).connected(0.0);
    story.e.tcp = Some(TcpFacts {
        delivery_rate: 120_000,
        rtt: Some(std::time::Duration::from_millis(500)),
        ..tcp()
    });
    story.e.http = Some(HttpFacts {
        version: "1.1".into(),
        status: 200,
        request_bytes: 200,
        uploaded: 120_000,
        ..HttpFacts::default()
    });
    // No window drains within a round trip: none of it is slow start.
    let e = story.asked().told(1_001.7).end();
    assert_only(&e, "slow-uplink", 1_001.7, 0);
}
