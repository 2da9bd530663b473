//! Segments that get lost on an open connection: which end sent them, and what else was slow.

use std::time::Duration;

use roundtrip_explain::findings;
use roundtrip_model::{Event, Exchange, Moment, PhaseName, Target};
use roundtrip_origin::Knobs;
use roundtrip_path::Path;
use roundtrip_probe::{ConnectionUse, Options};

use super::{assert_named, trip};
use crate::peer::hesitating;
use crate::scene::{ENGINES, RTT, Scene};

fn losing(words: &[&str], knobs: Knobs) -> Scene {
    let mut path = Path::builder().rtt(RTT);
    for word in words {
        path.set("loss", word).unwrap();
    }
    Scene::over(path.build().unwrap(), knobs)
}

fn waited(exchange: &Exchange, of: PhaseName) -> (f64, f64) {
    let phases = exchange.phases();
    let phase = phases.iter().find(|p| p.name == of).unwrap();
    (phase.waited.loss, phase.waited.server)
}

/// The loss is named with the cost that the phase shows, and none of it is the server's time.
fn assert_lost(exchange: &Exchange, cause: &str, of: PhaseName, least: f64) {
    let (lost, server) = waited(exchange, of);
    assert!(lost >= least, "{:?}", exchange.phases());
    assert!(server < 0.5 * trip(), "{:?}", exchange.phases());
    assert_named(exchange, cause, lost, 0);
}

#[test]
fn a_segment_of_the_hello() {
    // The first of two segments: the acknowledgement of the second reveals the loss. Or the last:
    // only a timeout reveals it.
    for (word, least) in [("up:client-hello", trip()), ("up:last", 200.0)] {
        let exchange = losing(&[word], Knobs::default()).probe("h2+tls1.3", "/bytes/10");
        assert_lost(&exchange, "segment-lost", PhaseName::Tls, least);
    }
}

#[test]
fn a_segment_of_the_server_s_flight() {
    for (word, least) in [("down:data", 0.9 * trip()), ("down:last", 200.0)] {
        let exchange = losing(&[word], Knobs::default()).probe("h2+tls1.3", "/bytes/10");
        assert_lost(&exchange, "response-segment-lost", PhaseName::Tls, least);
    }
}

#[test]
fn a_segment_before_the_answer_s_first_byte() {
    // SYN-ACK, two acknowledgements and two segments of the handshake come first.
    let scene = losing(&["down:nth:6"], Knobs::default());
    let exchange = scene.probe("h1+tls1.3", "/bytes/14000");
    let whole = exchange.phases().iter().map(|p| p.waited.loss).sum();
    assert_named(&exchange, "response-segment-lost", whole, 0);
    assert!(whole >= 0.9 * trip(), "{:?}", exchange.phases());
}

/// Loss and server each have their time, in the same wait and in different ones.
#[test]
fn a_slow_server_at_the_end_of_a_lossy_path() {
    const SLOW: Duration = Duration::from_millis(600);
    let assert_both = |exchange: &Exchange, server: &str| {
        let found = findings(exchange);
        let price = |id: &str| found.iter().find(|f| f.id == id).map_or(0.0, |f| f.ms);
        let told = || format!("{found:?} {:?}", exchange.timeline);
        // A round trip, a quarter, and the delays of timers and a busy machine.
        let lost = price("segment-lost");
        assert!((trip()..2.0 * trip()).contains(&lost), "{}", told());
        assert!(
            price(server) >= 0.95 * SLOW.as_secs_f64() * 1e3,
            "{}",
            told()
        );
    };
    let scene = losing(&["up:client-hello"], Knobs::default());
    let late = hesitating(&scene, scene.origin.https, SLOW);
    let options = scene.trusting(Options {
        strategy: "h1+tls1.3".parse().unwrap(),
        ..Options::default()
    });
    let target = Target::parse(&format!("https://{late}/bytes/10")).unwrap();
    assert_both(&scene.ask(1, options, target).remove(0), "slow-tls-server");

    let mut knobs = Knobs::default();
    knobs.http.think = SLOW;
    let thought = losing(&["up:client-hello"], knobs).probe("h1+tls1.3", "/bytes/10");
    assert_both(&thought, "server-think-time");
}

/// The largest delay by a busy relay that does not change the flights, as a share of the path's
/// round trip.
const LATE: f64 = 0.03;

/// The first exchange whose packets the relay released in time: otherwise the flights would be
/// different. On a machine that is too busy for that, the last exchange.
fn in_time(control: &str, word: &str, place: &str) -> Option<Exchange> {
    let mut last = None;
    for _ in 0..12 {
        let path = Path::builder().rtt(RTT).build().unwrap();
        // Some kernels lack one of these controls, or do not allow the choice.
        let server = path.server();
        server
            .sysctl("net.ipv4.tcp_congestion_control", control)
            .ok()?;
        let scene = Scene::over(path, Knobs::default());
        let exchange = scene.probe(word, place);
        let counters = scene.path.counters();
        let late = counters.up.lateness.max.max(counters.down.lateness.max);
        last = Some(exchange);
        if late < RTT.mul_f64(LATE) {
            break;
        }
    }
    last
}

/// The number of flights, for each pace and each kind of small segments in the first flight.
#[test]
fn flights_of_a_growing_window() {
    for (control, word, place, stalls) in [
        ("reno", "h1+tls1.3", "/bytes/60000", 2),
        ("reno", "h2+tls1.3", "/bytes/13500", 1),
        ("reno", "h2+tls1.3", "/bytes/60000", 2),
        ("bbr", "h2+tls1.3", "/bytes/13500", 1),
        ("bbr", "h1+tls1.3", "/bytes/200000", 4),
    ] {
        let Some(exchange) = in_time(control, word, place) else {
            continue;
        };
        let cost = f64::from(stalls) * trip();
        assert_named(&exchange, "slow-start", cost, stalls);
        let (_, server) = waited(&exchange, PhaseName::Body);
        assert!(server < 0.3 * trip(), "{:?}", exchange.phases());
    }
}

#[test]
fn a_body_sent_in_pieces_does_not_wait_for_a_window() {
    for word in ["h1+clear", "h1+tls1.3", "h2+tls1.3"] {
        let mut knobs = Knobs::default();
        knobs.http.body_piece = 5_000;
        // In step with the path, it would look like a window.
        knobs.http.body_every = RTT * 6 / 5;
        let exchange = Scene::new(knobs).probe(word, "/bytes/40000");
        let named = exchange.findings.iter().any(|f| f.id == "slow-start");
        assert!(!named, "{word}: {:?}", exchange.phases());
        let (_, server) = waited(&exchange, PhaseName::Body);
        assert!(server >= 5.0 * trip(), "{word}: {:?}", exchange.phases());
    }
}

#[test]
fn a_stall_that_all_requests_wait_for() {
    let mut knobs = Knobs::default();
    knobs.tls.chain_bytes = 8_000;
    let places = ["/bytes/10", "/bytes/20", "/bytes/30"];
    let sequence = Scene::new(knobs).sequence("h3", &places, ConnectionUse::AtOnce);
    let exchange = sequence.exchanges().next().unwrap();
    assert_named(exchange, "quic-amplification-stall", trip(), 1);
    let (_, server) = waited(exchange, PhaseName::Quic);
    assert!(server < 0.3 * trip(), "{:?}", exchange.phases());
}

/// A datagram in the middle of a body is lost: those behind it wait for its contents.
#[test]
fn a_datagram_of_a_body_over_quic() {
    for engine in ENGINES {
        let mut knobs = Knobs::default();
        knobs.listen.quic_engine = engine;
        // The datagram that begins the body depends on the server's engine.
        let lost = [10, 12, 14].map(|n| {
            let scene = losing(&[&format!("down:nth:{n}")], knobs.clone());
            scene.probe("h3", "/bytes/11000")
        });
        let mut found = 0;
        for exchange in &lost {
            assert!(exchange.ok(), "{:?}", exchange.failure);
            let (begun, late) = (body_begins(exchange), overtaken(exchange));
            let Some((_, late)) = late.filter(|(at, _)| *at > begun) else {
                continue;
            };
            found += 1;
            let quic = exchange.quic.as_ref().unwrap();
            assert!(quic.gaps > 0 && quic.missing_packets > 0, "{quic:?}");
            // A round trip, and the time until the server declares the loss.
            assert!(late >= RTT.mul_f64(0.8), "{engine:?} {late:?}");
        }
        assert!(found > 0, "{engine:?}: {lost:?}");
    }
}

fn body_begins(exchange: &Exchange) -> Moment {
    let first = exchange.timeline.first(|e| *e == Event::FirstByte);
    first.unwrap()
}

fn overtaken(exchange: &Exchange) -> Option<(Moment, Duration)> {
    exchange.timeline.iter().find_map(|(at, e)| match e {
        Event::Overtaken { late, .. } => Some((*at, *late)),
        _ => None,
    })
}

/// The acknowledgement of later data shows the loss, or the acknowledgement of the retransmission;
/// the test checks how long it took.
#[test]
fn a_request_over_quic_that_is_lost() {
    // The datagram that carries it depends on how acknowledgements were combined.
    let asked = [3, 4, 5, 6, 7].map(|n| {
        let scene = losing(&[&format!("up:nth:{n}")], Knobs::default());
        scene.probe("h3", "/bytes/10")
    });
    let resent = |exchange: &Exchange| {
        let asked = exchange.timeline.first(|e| *e == Event::RequestSent);
        exchange.timeline.iter().find_map(|(at, e)| match e {
            Event::Resent { unacked, .. } if Some(*at) > asked => Some(*unacked),
            _ => None,
        })
    };
    let unacked = asked.iter().filter_map(resent).max();
    // If a probe found the loss, the retransmission is acknowledged together with it.
    let late = asked.iter().flat_map(|e| e.timeline.iter());
    let late = late.filter_map(|(_, e)| match e {
        Event::Acknowledged { after, .. } => Some(*after),
        _ => None,
    });
    let told = unacked.is_some_and(|span| span >= RTT) || late.max() >= Some(2 * RTT);
    assert!(told, "{asked:?}");
}

#[test]
fn a_request_over_quic_is_acknowledged_before_the_server_has_thought() {
    for engine in ENGINES {
        let mut knobs = Knobs::default();
        knobs.listen.quic_engine = engine;
        let exchange = losing(&[], knobs).probe("h3", "/delay/400");
        let heard = exchange.timeline.iter().find_map(|(at, e)| match e {
            Event::Acknowledged { after, .. } => Some((*at, *after)),
            _ => None,
        });
        let (at, after) = heard.unwrap();
        assert!(after >= RTT.mul_f64(0.9) && after < RTT * 2, "{after:?}");
        let first = exchange.timeline.first(|e| *e == Event::FirstByte);
        assert!(at < first.unwrap(), "{engine:?}");
        // Senders occasionally skip a packet number.
        let quic = exchange.quic.as_ref().unwrap();
        assert!(quic.gaps == 0 && quic.missing_packets <= 1, "{quic:?}");
    }
}
