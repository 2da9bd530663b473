//! Sequences whose connection ends in the middle, or one of whose answers fails: the other answers
//! are kept, or their requests are repeated, and the report says so.

use std::time::Duration;

use roundtrip_model::{Exchange, FailureKind};
use roundtrip_origin::Knobs;
use roundtrip_path::Path;
use roundtrip_probe::{ConnectionUse, Options, Sequence};

use crate::scene::{ENGINES, Scene};

const RTT: Duration = Duration::from_millis(30);
const THREE: [&str; 3] = ["/bytes/100", "/bytes/200", "/bytes/300"];

fn scene(change: impl FnOnce(&mut Knobs)) -> Scene {
    let mut knobs = Knobs::default();
    change(&mut knobs);
    Scene::over(Path::builder().rtt(RTT).build().unwrap(), knobs)
}

fn outcomes(sequence: &Sequence) -> Vec<bool> {
    sequence.exchanges().map(Exchange::ok).collect()
}

/// Whether these exchanges report that one of them needed a new connection.
fn says_so(hops: &[Exchange]) -> bool {
    let mut notes = hops.iter().flat_map(|e| &e.notes);
    notes.any(|n| n.contains("opened a new one") || n.contains("sent again"))
}

#[test]
fn a_connection_that_is_closed_as_announced_is_followed_by_another() {
    for (word, first, trips) in [("h1+tls1.3", 3, 7), ("h1+clear", 2, 5), ("h3", 2, 5)] {
        let scene = scene(|knobs| knobs.http.close_after = Some(2));
        let sequence = scene.sequence(word, &THREE, ConnectionUse::Kept);
        assert!(sequence.ok(), "{word}: {sequence:?}");
        assert_eq!(sequence.connections, 2, "{word}");
        let told: Vec<u32> = sequence.exchanges().map(Exchange::round_trips).collect();
        assert_eq!(told, [first, 1, first], "{word}");
        // The rejected request took one more round trip.
        assert!(
            (trips..=trips + 1).contains(&sequence.round_trips),
            "{word}"
        );
        let said: Vec<bool> = sequence.hops.iter().map(|hops| says_so(hops)).collect();
        assert_eq!(said, [false, false, true], "{word}");
        let stats = scene.origin.stats();
        assert_eq!(stats.tcp_connections + stats.quic_connections, 2, "{word}");
    }
}

#[test]
fn a_connection_that_is_closed_unannounced_is_followed_by_another() {
    let scene = scene(|knobs| {
        knobs.http.close_after = Some(2);
        knobs.http.silent_close = true;
    });
    let sequence = scene.sequence("h1+tls1.3", &THREE, ConnectionUse::Kept);
    assert!(sequence.ok(), "{sequence:?}");
    assert_eq!(sequence.connections, 2);
    assert!(says_so(&sequence.hops[2]), "{sequence:?}");
    // The end of the connection may cross the third request, or arrive before it.
    assert!((7..=8).contains(&sequence.round_trips), "{sequence:?}");
}

#[test]
fn one_answer_fails_alone() {
    let places = ["/bytes/100", "/truncated/1000", "/bytes/300"];
    let scene = scene(|_| {});
    for (word, manner, connections) in [
        ("h1+tls1.3", ConnectionUse::Each, 3),
        ("h1+tls1.3", ConnectionUse::Kept, 2),
        ("h2+tls1.3", ConnectionUse::AtOnce, 1),
        ("h3", ConnectionUse::AtOnce, 1),
    ] {
        let sequence = scene.sequence(word, &places, manner);
        assert_eq!(
            outcomes(&sequence),
            [true, false, true],
            "{word} {sequence:?}"
        );
        assert_eq!(sequence.connections, connections, "{word} {manner:?}");
        let failed = sequence.exchanges().nth(1).unwrap();
        let kind = failed.failure.as_ref().unwrap().kind;
        // The origin resets the stream if there are several.
        let expected = if manner == ConnectionUse::AtOnce {
            FailureKind::Reset
        } else {
            FailureKind::BodyCutShort
        };
        assert_eq!(kind, expected, "{word} {manner:?}");
        assert!(sequence.hops.iter().all(|hops| hops.len() == 1));
    }
}

#[test]
fn one_answer_that_never_comes_ends_at_the_time_limit() {
    let scene = scene(|_| {});
    let places = ["/bytes/100", "/delay/60000", "/bytes/300"];
    for word in ["h2+tls1.3", "h3"] {
        let options = Options {
            max_time: Duration::from_secs(2),
            strategy: word.parse().unwrap(),
            ..Options::default()
        };
        let sequence = scene.sequence_with(options, &places, ConnectionUse::AtOnce);
        assert_eq!(
            outcomes(&sequence),
            [true, false, true],
            "{word} {sequence:?}"
        );
        let failure = sequence.exchanges().nth(1).unwrap().failure.as_ref();
        assert!(failure.unwrap().message.contains("no answer within"));
        let ends: Vec<Duration> = sequence.exchanges().map(Exchange::total).collect();
        assert!(ends[0] < ends[1] && ends[2] < ends[1], "{ends:?}");
        assert!(sequence.took >= ends[1], "{sequence:?}");
    }
}

#[test]
fn requests_turned_away_by_goaway_go_again_over_quic() {
    for engine in ENGINES {
        let scene = scene(|knobs| {
            knobs.listen.quic_engine = engine;
            knobs.http.close_after = Some(1);
        });
        let sequence = scene.sequence("h3", &THREE, ConnectionUse::AtOnce);
        assert!(sequence.ok(), "{sequence:?}");
        for (place, hops) in sequence.hops.iter().enumerate() {
            assert_eq!(says_so(hops), hops.len() > 1, "{place}: {sequence:?}");
        }
        let quic = scene.origin.stats().quic_connections;
        assert_eq!(u64::from(sequence.connections), quic);
        let attempts: usize = sequence.hops.iter().map(Vec::len).max().unwrap();
        assert_eq!(sequence.round_trips, 2 * attempts as u32, "{sequence:?}");
    }
}

#[test]
fn redirects_are_followed_after_the_simultaneous_requests() {
    let scene = scene(|_| {});
    let options = Options {
        follow: true,
        strategy: "h2+tls1.3".parse().unwrap(),
        ..Options::default()
    };
    let places = ["/redirect/2", "/bytes/200", "/bytes/300"];
    let sequence = scene.sequence_with(options, &places, ConnectionUse::AtOnce);
    assert!(sequence.ok(), "{sequence:?}");
    let hops: Vec<usize> = sequence.hops.iter().map(Vec::len).collect();
    assert_eq!(hops, [3, 1, 1]);
    assert_eq!((sequence.round_trips, sequence.connections), (5, 1));
}
