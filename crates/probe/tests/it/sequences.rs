//! Three requests as one: the cost of each manner and strategy as counted, as timed, and as the
//! server saw it.

pub(crate) mod without_a_path;

use std::time::Duration;

use roundtrip_model::{Event, Exchange, Moment};
use roundtrip_origin::{EarlyData, Knobs, QuicEngine, Stats};
use roundtrip_path::Path;
use roundtrip_probe::{ConnectionUse, Sequence};

use crate::scene::Scene;

/// Long enough that the computation of three handshakes does not look like a round trip.
const RTT: Duration = Duration::from_millis(40);
const PLACES: [&str; 3] = ["/bytes/100", "/bytes/200", "/bytes/300"];

fn scene(change: impl FnOnce(&mut Knobs)) -> Scene {
    let mut knobs = Knobs::default();
    knobs.tls.early_data = EarlyData::On;
    change(&mut knobs);
    Scene::over(Path::builder().rtt(RTT).build().unwrap(), knobs)
}

/// Makes the requests, and returns the server's counters, which cover only these if nothing was
/// primed.
fn ask(scene: &Scene, word: &str, manner: ConnectionUse) -> (Sequence, Stats) {
    let sequence = scene.sequence(word, &PLACES, manner);
    (sequence, scene.origin.stats())
}

/// A description for the message of a failed test.
fn told(sequence: &Sequence) -> String {
    let line = |e: &Exchange| {
        let phases: Vec<String> = e
            .phases()
            .iter()
            .map(|p| format!("{} {:.1} ms {}", p.name.as_str(), p.ms(), p.round_trips))
            .collect();
        format!("\n{} {phases:?} {:?} {:?}", e.used, e.notes, e.failure)
    };
    let lines: String = sequence.hops.iter().flatten().map(line).collect();
    let (trips, took) = (sequence.round_trips, sequence.took);
    format!(
        "{:?} {}: {trips} in {took:?}{lines}",
        sequence.manner, sequence.asked
    )
}

/// The counts are as expected and the clock agrees; the whole is at least as long as its parts.
fn assert_whole(sequence: &Sequence, trips: u32, connections: u32) {
    let told = told(sequence);
    assert!(sequence.ok(), "{told}");
    assert_eq!(sequence.round_trips, trips, "{told}");
    assert_eq!(sequence.connections, connections, "{told}");
    let measured = sequence.took.as_secs_f64() / RTT.as_secs_f64();
    assert!(
        measured >= f64::from(trips),
        "{measured} round trips: {told}"
    );
    let totals = sequence.hops.iter().flatten().map(Exchange::total);
    let least: Duration = match sequence.manner {
        ConnectionUse::AtOnce => totals.max().unwrap(),
        ConnectionUse::Each | ConnectionUse::Kept => totals.sum(),
    };
    assert!(sequence.took >= least, "{least:?} of {told}");
    let sizes: Vec<u64> = sequence
        .exchanges()
        .map(|e| e.http.as_ref().unwrap().downloaded)
        .collect();
    assert_eq!(sizes, [100, 200, 300]);
}

#[test]
fn each_opens_its_own() {
    for (word, trips) in [
        ("h1+tls1.3", 9),
        ("h2+tls1.2", 12),
        ("h3", 6),
        ("h1+clear", 6),
    ] {
        let scene = scene(|_| {});
        let (sequence, stats) = ask(&scene, word, ConnectionUse::Each);
        assert_whole(&sequence, trips, 3);
        assert_eq!(stats.tcp_connections + stats.quic_connections, 3, "{word}");
        assert!(sequence.exchanges().all(|e| !e.reused));
    }
}

#[test]
fn each_uses_the_requested_strategy() {
    let scene = scene(|_| {});
    for (word, trips) in [
        ("h1+tls1.3+resume", 9),
        // Two tickets were primed: the third is one that a finished connection brought meanwhile.
        ("h1+tls1.3+0rtt", 6),
        ("h2+tls1.3+0rtt", 6),
        ("h1+clear+tfo", 3),
    ] {
        assert_whole(&ask(&scene, word, ConnectionUse::Each).0, trips, 3);
    }
}

#[test]
fn kept_pays_for_one_handshake() {
    for (word, trips) in [
        ("h1+tls1.3", 5),
        ("h2+tls1.3", 5),
        ("h3", 4),
        ("h1+clear", 4),
    ] {
        let scene = scene(|_| {});
        let (sequence, stats) = ask(&scene, word, ConnectionUse::Kept);
        assert_whole(&sequence, trips, 1);
        assert_eq!(stats.tcp_connections + stats.quic_connections, 1, "{word}");
        let reused: Vec<bool> = sequence.exchanges().map(|e| e.reused).collect();
        assert_eq!(reused, [false, true, true]);
    }
}

#[test]
fn kept_continues_on_an_open_connection() {
    let scene = scene(|_| {});
    assert_whole(&ask(&scene, "h1+tls1.3+0rtt", ConnectionUse::Kept).0, 4, 1);
    assert_whole(&ask(&scene, "h2+tls1.3+reuse", ConnectionUse::Kept).0, 3, 0);
}

#[test]
fn at_once_waits_once() {
    for (word, trips) in [
        ("h2+tls1.3", 3),
        ("h2+tls1.2", 4),
        ("h2+clear", 2),
        ("h3", 2),
    ] {
        let scene = scene(|_| {});
        let (sequence, stats) = ask(&scene, word, ConnectionUse::AtOnce);
        assert_whole(&sequence, trips, 1);
        assert_eq!(stats.tcp_connections + stats.quic_connections, 1, "{word}");
        assert_eq!(stats.requests, 3);
        // Each exchange has all round trips, up to its own answer.
        assert!(sequence.exchanges().all(|e| e.round_trips() == trips));
    }
}

#[test]
fn at_once_with_a_ticket() {
    let scene = scene(|_| {});
    assert_whole(
        &ask(&scene, "h2+tls1.3+resume", ConnectionUse::AtOnce).0,
        3,
        1,
    );
    let before = scene.origin.stats().early_requests;
    for (word, trips) in [
        ("h2+tls1.3+0rtt", 2),
        ("h2+tls1.3+tfo+0rtt-pq", 1),
        ("h3+resume", 2),
        ("h3+0rtt", 1),
    ] {
        let (sequence, _) = ask(&scene, word, ConnectionUse::AtOnce);
        assert_whole(&sequence, trips, 1);
        for exchange in sequence.exchanges() {
            assert_eq!(exchange.used.to_string(), word, "{}", told(&sequence));
        }
    }
    // All three, three times.
    let stats = scene.origin.stats();
    assert_eq!(stats.early_requests - before, 9, "{stats:?}");
}

/// One write carries the hello, the preface and all three requests, and the SYN-ACK acknowledges
/// every byte.
#[test]
fn at_once_in_the_syn() {
    let scene = scene(|_| {});
    let (sequence, _) = ask(&scene, "h2+tls1.3+tfo+0rtt-pq", ConnectionUse::AtOnce);
    assert_whole(&sequence, 1, 1);
    let exchange = sequence.exchanges().last().unwrap();
    let fast_open = &exchange.tcp.as_ref().unwrap().fast_open;
    assert!(fast_open.data_sent > 0, "{fast_open:?}");
    assert_eq!(fast_open.data_acked, fast_open.data_sent);
    let received = |e: &Event| matches!(e, Event::Received { .. });
    let answered = exchange.timeline.first(received).unwrap();
    let sent = |(at, e): &&(Moment, Event)| *at < answered && matches!(e, Event::Sent { .. });
    let writes: Vec<_> = exchange.timeline.iter().filter(sent).collect();
    assert_eq!(writes.len(), 1, "{:?}", exchange.timeline);
    assert_eq!(scene.origin.stats().early_requests, 3);
}

#[test]
fn refused_early_data_goes_again_all_of_it() {
    for (word, trips, engine) in [
        ("h2+tls1.3+0rtt", 3, QuicEngine::Own),
        ("h3+0rtt", 2, QuicEngine::Own),
        ("h3+0rtt", 2, QuicEngine::Quinn),
    ] {
        let scene = scene(|knobs| {
            knobs.listen.quic_engine = engine;
            knobs.tls.early_data = EarlyData::Refused;
        });
        let (sequence, stats) = ask(&scene, word, ConnectionUse::AtOnce);
        assert_whole(&sequence, trips, 1);
        assert_eq!((stats.early_requests, stats.requests), (0, 4), "one primed");
        for exchange in sequence.exchanges() {
            let refused = |e: &Event| *e == Event::EarlyDataRefused;
            assert!(exchange.timeline.first(refused).is_some());
        }
    }
}

#[test]
fn too_early_goes_again_at_once_on_the_open_connection() {
    let scene = scene(|knobs| knobs.tls.early_data = EarlyData::TooEarly);
    let (sequence, stats) = ask(&scene, "h2+tls1.3+0rtt", ConnectionUse::AtOnce);
    assert_whole(&sequence, 3, 1);
    let code = |e: &Exchange| e.http.as_ref().map_or(0, |h| h.status);
    let answers = |hops: &Vec<Exchange>| hops.iter().map(code).collect::<Vec<u16>>();
    for hops in &sequence.hops {
        assert_eq!(answers(hops), [425, 200], "{}", told(&sequence));
    }
    assert_eq!(stats.requests, 7);
}
