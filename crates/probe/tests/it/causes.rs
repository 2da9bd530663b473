//! A fault injected into a real exchange is the first finding, with the right cost; without a fault
//! there are no findings.

mod detours;
mod kept;
mod lookups;
mod losses;
mod paths;
mod tls;
mod transfers;
mod uploads;

use roundtrip_model::{Exchange, Finding, Target};
use roundtrip_origin::{EarlyData, Group, Knobs, Quic, Tickets, TlsVersions};
use roundtrip_path::{Direction, Path};
use roundtrip_probe::Options;

use crate::scene::{RTT, Scene};

/// The first finding is `id` with about `ms`: the injected time, and at most the scheduler's delay
/// in addition.
fn assert_named(exchange: &Exchange, id: &str, ms: f64, round_trips: u32) {
    let told = || format!("{:?} {:?}", exchange.findings, exchange.phases());
    let first: Option<&Finding> = exchange.findings.first();
    assert!(first.is_some(), "there are no findings: {}", told());
    let first = first.unwrap();
    assert_eq!(
        (first.id, first.round_trips),
        (id, round_trips),
        "{}",
        told()
    );
    assert!((ms * 0.9..ms * 2.0).contains(&first.ms), "{}", told());
}

fn trip() -> f64 {
    RTT.as_secs_f64() * 1e3
}

fn probe_with(turn: impl FnOnce(&mut Knobs), word: &str) -> Exchange {
    let mut knobs = Knobs::default();
    turn(&mut knobs);
    let exchange = Scene::new(knobs).probe(word, "/bytes/10");
    assert!(exchange.ok(), "{:?}", exchange.failure);
    exchange
}

/// Causes that accuse the server.
const ACCUSATIONS: [&str; 5] = [
    "server-think-time",
    "cache-miss",
    "slow-tls-server",
    "nagle-delayed-ack",
    "body-stalls",
];

/// A busy machine may delay any single exchange by a time slice, but not each one by the same; and
/// such a delay rarely looks like one of the server.
fn assert_silent(scene: &Scene, word: &str) {
    let mut accused = Vec::new();
    let mut is_silent = |e: Exchange| {
        assert!(e.ok(), "{word}: {:?}", e.failure);
        let blames_server = |f: &&Finding| ACCUSATIONS.contains(&f.id);
        accused.extend(e.findings.iter().find(blames_server).cloned());
        e.findings.is_empty() && e.unexplained < 0.2 * trip()
    };
    let silent = (0..5).any(|_| is_silent(scene.probe(word, "/bytes/1000")));
    assert!(silent, "{word} names something each time: {accused:?}");
    assert!(accused.len() <= 2, "{word}: {accused:?}");
}

/// Every strategy costs what its arithmetic says, and has no findings.
#[test]
fn healthy_exchanges_name_nothing() {
    let mut knobs = Knobs::default();
    knobs.tls.early_data = EarlyData::On;
    let scene = Scene::new(knobs);
    for word in [
        "auto",
        "h1+clear",
        "h2+clear",
        "h1+tls1.3",
        "h1+tls1.3-pq",
        "h2+tls1.3",
        "h3",
        "h1+tls1.2+resume",
        "h1+tls1.3+resume",
        "h2+tls1.3+resume",
        "h3+resume",
        "h1+tls1.3+0rtt",
        "h2+tls1.3+0rtt",
        "h3+0rtt",
        "h1+clear+tfo",
        "h1+tls1.3+tfo-pq",
        "h1+tls1.3+tfo+0rtt-pq",
        "h1+clear+reuse",
        "h1+tls1.2+reuse",
        "h2+tls1.3+reuse",
        "h3+reuse",
    ] {
        assert_silent(&scene, word);
    }
}

/// Requests and answers of some size, on connections that have room for them.
#[test]
fn requests_that_fit_a_window_have_no_findings() {
    let scene = Scene::new(Knobs::default());
    let quiet = |word: &str, bytes: usize, place: &str| {
        let options = Options {
            strategy: word.parse().unwrap(),
            body: vec![b'x'; bytes].into(),
            ..Options::default()
        };
        let runs = scene.probe_times(5, options, place);
        let quietest = runs.iter().find(|e| e.findings.is_empty());
        assert!(
            quietest.is_some(),
            "{word}: {:?}",
            runs.last().unwrap().findings
        );
    };
    for word in ["h1+clear", "h1+tls1.3", "h2+tls1.3", "h3"] {
        quiet(word, 8_000, "/bytes/8000");
        quiet(word, 0, "/gzip?bytes=5000");
    }
}

#[test]
fn exchanges_without_a_path_have_no_findings() {
    let scene = Scene::over(Path::builder().build().unwrap(), Knobs::default());
    for word in ["h1+clear", "h1+tls1.3", "h2+tls1.3", "h3"] {
        assert_silent(&scene, word);
    }
}

#[test]
fn hello_retry_request() {
    for word in ["h1+tls1.3", "h3"] {
        let exchange = probe_with(|k| k.tls.groups = vec![Group::Secp384r1], word);
        assert_named(&exchange, "hello-retry-request", trip(), 1);
    }
}

#[test]
fn a_full_handshake_of_tls_1_2() {
    let exchange = probe_with(|k| k.tls.versions = TlsVersions::Tls12, "auto");
    assert_named(&exchange, "tls12-full-handshake", trip(), 1);
}

#[test]
fn a_chain_over_the_window() {
    let exchange = probe_with(|k| k.tls.chain_bytes = 24_000, "h1+tls1.3");
    assert_named(&exchange, "server-flight-over-window", trip(), 1);
    let exchange = probe_with(|k| k.tls.chain_bytes = 8_000, "h3");
    assert_named(&exchange, "quic-amplification-stall", trip(), 1);
}

#[test]
fn refused_early_data() {
    for word in ["h1+tls1.3+0rtt", "h2+tls1.3+0rtt", "h3+0rtt"] {
        let exchange = probe_with(|k| k.tls.early_data = EarlyData::Refused, word);
        assert_named(&exchange, "early-data-refused", trip(), 1);
    }
}

#[test]
fn think_time() {
    let scene = Scene::new(Knobs::default());
    for word in ["h1+tls1.3", "h2+tls1.3", "h3", "h1+clear+reuse"] {
        let exchange = scene.probe(word, "/delay/300");
        assert_named(&exchange, "server-think-time", 300.0, 0);
        let evidence = &exchange.findings.first().unwrap().evidence;
        assert!(evidence.contains("Server-Timing"), "{evidence}");
    }
}

#[test]
fn a_lost_syn() {
    let path = Path::builder()
        .rtt(RTT)
        .drop_nth(Direction::Up, 1)
        .build()
        .unwrap();
    let exchange = Scene::over(path, Knobs::default()).probe("h1+clear", "/bytes/10");
    assert_named(&exchange, "syn-lost", 1_000.0, 0);
}

#[test]
fn fast_open_that_saves_nothing() {
    let post_quantum = probe_with(|_| (), "h1+tls1.3+tfo");
    assert_named(&post_quantum, "fast-open-flight-too-large", trip(), 1);
    let path = Path::builder()
        .rtt(RTT)
        .middlebox("strip-fast-open".parse().unwrap())
        .build()
        .unwrap();
    let stripped = Scene::over(path, Knobs::default()).probe("h1+clear+tfo", "/bytes/10");
    assert_named(&stripped, "fast-open-no-cookie", trip(), 1);
}

#[test]
fn a_growing_window() {
    let scene = Scene::new(Knobs::default());
    let exchange = scene.probe("h1+clear", "/bytes/100000");
    let body: u32 = exchange
        .phases()
        .iter()
        .filter(|p| p.name == roundtrip_model::PhaseName::Body)
        .map(|p| p.round_trips)
        .sum();
    assert_named(&exchange, "slow-start", f64::from(body) * trip(), body);
}

#[test]
fn udp_that_is_silent() {
    let mut knobs = Knobs::default();
    knobs.listen.h3 = Quic::Silent;
    let scene = Scene::new(knobs);
    // The first run learns of h3 from Alt-Svc, the second tries it without success.
    let runs = scene.probe_times(2, Options::default(), "/bytes/10");
    assert_named(&runs[1], "udp-blocked", 300.0, 0);
}

#[test]
fn quic_retry() {
    let exchange = probe_with(|k| k.listen.quic_retry = true, "h3");
    assert_named(&exchange, "quic-retry", trip(), 1);
}

#[test]
fn tickets_without_effect_cost_tls_1_2_a_round_trip() {
    for (tickets, id) in [
        (Tickets::Refused, "ticket-refused"),
        (Tickets::Off, "no-ticket"),
    ] {
        let exchange = probe_with(|k| k.tls.tickets = tickets, "h1+tls1.2+resume");
        assert_named(&exchange, id, trip(), 1);
    }
}

/// A cookie that the server issued once and no longer accepts.
#[test]
fn a_cookie_that_is_no_longer_accepted() {
    let scene = Scene::new(Knobs::default());
    let ask = |place| {
        let options = Options {
            strategy: "h1+clear+tfo".parse().unwrap(),
            cold: true,
            ..Options::default()
        };
        scene.probe_times(1, options, place).remove(0)
    };
    assert_named(&ask("/bytes/10"), "fast-open-no-cookie", trip(), 1);
    let taken = ask("/bytes/10").tcp.unwrap().fast_open;
    assert_eq!(taken.saved_round_trips, 1, "{taken:?}");
    let server = scene.path.server();
    server.sysctl("net.ipv4.tcp_fastopen", "1").unwrap();
    let ignored = ask("/bytes/10");
    assert_named(&ignored, "fast-open-data-ignored", trip(), 1);
    assert_eq!(ignored.tcp.as_ref().unwrap().syn_retransmits, 0);
    assert_named(&ask("/delay/300"), "server-think-time", 300.0, 0);
}

#[test]
fn an_address_that_is_dead() {
    let scene = Scene::new(Knobs::default());
    let alive = scene.path.server().address_v4();
    let dead = std::net::Ipv4Addr::from(u32::from(alive) + 1);
    let port = scene.origin.http.port();
    let options = Options {
        strategy: "h1+clear".parse().unwrap(),
        overrides: vec![format!("shop.test:{port}:{dead},{alive}").parse().unwrap()],
        ..Options::default()
    };
    let target = Target::parse(&format!("http://shop.test:{port}/bytes/10")).unwrap();
    let exchange = scene.ask(1, options, target).remove(0);
    assert_named(&exchange, "dead-address", 250.0, 0);
}

#[test]
fn an_address_that_refuses() {
    let scene = Scene::new(Knobs::default());
    // The origin listens on one of its host's two addresses.
    let (alive, closed) = (
        scene.path.server().address_v4(),
        scene.path.server().address_v6(),
    );
    let port = scene.origin.http.port();
    let options = Options {
        strategy: "h1+clear".parse().unwrap(),
        overrides: vec![
            format!("shop.test:{port}:[{closed}],{alive}")
                .parse()
                .unwrap(),
        ],
        ..Options::default()
    };
    let target = Target::parse(&format!("http://shop.test:{port}/bytes/10")).unwrap();
    let exchange = scene.ask(1, options, target).remove(0);
    assert_named(&exchange, "address-refused", trip(), 1);
}
