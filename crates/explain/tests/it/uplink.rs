//! What a slow line takes for the bytes that go out.

use roundtrip_model::{Answer, Exchange, HttpFacts, TcpFacts};

use crate::story::{MSS, R, Story, assert_only, assert_silent, tcp, tls};

/// A hello of two segments that is answered `late` ms after a round trip, and was acknowledged `line` ms after one.
fn greeted(late: f64, line: f64) -> Exchange {
    let mut story = Story::new()
        .looked_up(Answer::Hosts, 0.1)
        .connected(0.0)
        .hello()
        .answered(late, 3_000)
        .shook_hands(tls("TLSv1.3", 3_000));
    story.e.tcp = Some(TcpFacts {
        delivery_rate: (2.0 * MSS as f64 / (R + line) * 1e3) as u64,
        delivery_app_limited: true,
        ..tcp()
    });
    story.asked().told(1.2).end()
}

#[test]
fn a_hello_of_two_segments() {
    let found = assert_only(&greeted(14.3, 14.0), "slow-uplink", 15.0, 0);
    assert!(found.evidence.contains("kB/s"), "{}", found.evidence);
    assert_silent(&greeted(0.3, 0.3));
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
    // No window is empty within a round trip: nothing of it is slow start.
    let e = story.asked().told(1_001.7).end();
    assert_only(&e, "slow-uplink", 1_001.7, 0);
}
