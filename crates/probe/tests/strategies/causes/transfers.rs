//! Bodies whose bytes are late.

use std::time::Duration;

use roundtrip_model::PhaseName;
use roundtrip_origin::Knobs;
use roundtrip_path::Path;
use roundtrip_probe::Options;

use super::{assert_named, trip};
use crate::scene::{RTT, Scene};

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
fn a_window_that_shrank_while_nobody_asked() {
    let path = Path::builder().rtt(RTT).build().unwrap();
    // Some algorithms keep a pace of their own after a pause.
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
    // Asked again at once, the window is as it was left.
    let at_once = ask(Duration::ZERO);
    assert!(
        at_once
            .findings
            .iter()
            .all(|f| f.id != "slow-start-after-idle")
    );
}
