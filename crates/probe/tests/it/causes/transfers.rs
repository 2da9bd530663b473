//! Bodies whose bytes are late.

use std::io::Write;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use roundtrip_model::{PhaseName, Target};
use roundtrip_origin::Knobs;
use roundtrip_path::Path;
use roundtrip_probe::Options;

use super::{assert_named, trip};
use crate::peer::{peer, read_head};
use crate::scene::{RTT, Scene};

/// A radio that sleeps for three seconds, and then carries 12 Mbit/s.
fn sleeping_radio(file: &std::path::Path) -> Path {
    let chances: Vec<String> = (3_000..60_000).map(|ms: u32| ms.to_string()).collect();
    std::fs::write(file, chances.join("\n")).unwrap();
    let mut path = Path::builder().rtt(RTT);
    path.set("rate", &format!("up:trace:{}", file.display()))
        .unwrap();
    path.build().unwrap()
}

#[test]
fn a_first_packet_that_wakes_a_radio_up() {
    let trace = tempfile::NamedTempFile::new().unwrap();
    let path = sleeping_radio(trace.path());
    let built = Instant::now();
    let scene = Scene::over(path, Knobs::default());
    // Early enough to wait, and late enough that the kernel does not repeat the SYN.
    std::thread::sleep(Duration::from_millis(2_500).saturating_sub(built.elapsed()));
    // A handshake more, because a queue, too, would have been empty when the next packet came.
    let exchange = scene.probe("h1+tls1.3", "/bytes/10");
    let connect = exchange
        .phases()
        .into_iter()
        .find(|p| p.name == PhaseName::Tcp)
        .unwrap();
    let late = connect.ms() - trip();
    assert!(late > 100.0, "{connect:?}");
    assert_named(&exchange, "slow-first-packet", late, 0);
}

/// Head and body leave in two small writes, and Nagle's algorithm is on. RFC 896.
#[test]
fn two_small_writes_that_meet_a_delayed_acknowledgement() {
    let scene = Scene::new(Knobs::default());
    let answering = |whole: bool| {
        peer(&scene, move |mut stream| {
            let (head, body) = ("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n", "ok");
            while read_head(&stream).is_some() {
                let written = if whole {
                    stream.write_all([head, body].concat().as_bytes())
                } else {
                    let head = stream.write_all(head.as_bytes());
                    head.and_then(|()| stream.write_all(body.as_bytes()))
                };
                if written.is_err() {
                    return;
                }
            }
        })
    };
    let ask = |at: SocketAddr| {
        let options = Options {
            strategy: "h1+clear+reuse".parse().unwrap(),
            ..Options::default()
        };
        let target = Target::parse(&format!("http://{at}/")).unwrap();
        // Some kernels acknowledge at once until a connection has exchanged data a few times.
        scene.ask(6, options, target).remove(5)
    };
    let exchange = ask(answering(false));
    assert_named(&exchange, "nagle-delayed-ack", trip() + 40.0, 0);
    let whole = ask(answering(true));
    assert!(whole.findings.iter().all(|f| f.id != "nagle-delayed-ack"));
}

#[test]
fn a_segment_of_the_answer_that_is_lost() {
    let mut path = Path::builder().rtt(RTT);
    path.set("loss", "down:nth:5").unwrap();
    let scene = Scene::over(path.build().unwrap(), Knobs::default());
    let exchange = scene.probe("h1+clear", "/bytes/12000");
    assert!(
        exchange.tcp.as_ref().unwrap().out_of_order > 0,
        "{exchange:?}"
    );
    assert_named(&exchange, "response-segment-lost", trip(), 0);
}

#[test]
fn a_request_that_is_lost() {
    let mut path = Path::builder().rtt(RTT);
    path.set("loss", "up:data").unwrap();
    let scene = Scene::over(path.build().unwrap(), Knobs::default());
    let exchange = scene.probe("h1+clear", "/bytes/10");
    let lost: f64 = exchange.phases().iter().map(|p| p.waited.loss).sum();
    assert!(lost >= 100.0, "{:?}", exchange.phases());
    assert_named(&exchange, "segment-lost", lost, 0);
}

#[test]
fn a_first_datagram_that_is_lost() {
    let mut path = Path::builder().rtt(RTT);
    path.set("loss", "up:nth:1+2").unwrap();
    let scene = Scene::over(path.build().unwrap(), Knobs::default());
    let exchange = scene.probe("h3", "/bytes/10");
    let lost: f64 = exchange.phases().iter().map(|p| p.waited.loss).sum();
    assert!(lost >= 500.0, "{:?}", exchange.phases());
    assert_named(&exchange, "quic-handshake-loss", lost, 0);
}

/// The SYN with the data is lost, as if a box dropped it; the kernel sends the next one without
/// data.
#[test]
fn a_syn_with_data_that_is_lost() {
    let mut path = Path::builder().rtt(RTT);
    path.set("outage", "3s-3500ms").unwrap();
    let path = path.build().unwrap();
    let built = Instant::now();
    let scene = Scene::over(path, Knobs::default());
    let options = Options {
        strategy: "h1+clear+tfo".parse().unwrap(),
        cold: true,
        ..Options::default()
    };
    let first = scene.probe_times(1, options.clone(), "/bytes/10").remove(0);
    assert!(first.ok(), "this leaves a cookie: {:?}", first.failure);
    std::thread::sleep(Duration::from_millis(3_100).saturating_sub(built.elapsed()));
    let exchange = scene.probe_times(1, options, "/bytes/10").remove(0);
    assert_named(&exchange, "fast-open-syn-dropped", 1_000.0, 0);
}

#[test]
fn a_window_that_shrank_while_idle() {
    let path = Path::builder().rtt(RTT).build().unwrap();
    // Some algorithms pace the sender after a pause.
    let server = path.server();
    server
        .sysctl("net.ipv4.tcp_congestion_control", "reno")
        .unwrap();
    let scene = Scene::over(path, Knobs::default());
    let options = Options {
        strategy: "h1+clear+reuse".parse().unwrap(),
        ..Options::default()
    };
    let target = scene.target(options.strategy, "/bytes/100000");
    let ask = |pause| {
        let runs = scene.ask_pausing(2, options.clone(), target.clone(), pause);
        runs.into_iter().nth(1).unwrap()
    };
    let idle = ask(Duration::from_secs(2));
    let phases = idle.phases();
    let body = phases.iter().find(|p| p.name == PhaseName::Body).unwrap();
    let stalls = body.round_trips;
    assert!(idle.reused && stalls > 0, "{phases:?}");
    let cost = f64::from(stalls) * trip();
    assert_named(&idle, "slow-start-after-idle", cost, stalls);
    // If the next request follows at once, the window is unchanged.
    let at_once = ask(Duration::ZERO);
    assert!(
        at_once
            .findings
            .iter()
            .all(|f| f.id != "slow-start-after-idle")
    );
}
