//! A path that drops UDP: TCP is used, and HTTP/3 is not tried for a while.

use std::time::{Duration, Instant};

use roundtrip_fetch::pool::{Alternative, OriginKnowledge, Pool, PoolRequest};
use roundtrip_origin::Quic;

use crate::round_trips::scene::Scene;

#[test]
fn tcp_is_used_if_quic_is_silent() {
    let scene = Scene::new(|knobs| knobs.listen.h3 = Quic::Silent);
    let mut settings = scene.settings("auto+reuse");
    let target = scene.target("/");
    settings.known = vec![OriginKnowledge {
        alt_svc: Some(Alternative {
            port: target.port,
            left: Duration::from_hours(1),
            persist: false,
        }),
        ..OriginKnowledge::new(target.origin())
    }];
    let took = scene.run(async move || {
        let pool = Pool::new(settings).unwrap();
        let mut took = Vec::new();
        for _ in 0..2 {
            let began = Instant::now();
            let reply = pool.fetch(&PoolRequest::new(target.clone())).await.unwrap();
            assert_eq!(reply.timing.version, "2");
            took.push(began.elapsed());
            pool.close().await;
        }
        took
    });
    // Only the first request waits for the head start.
    let [first, second] = took[..] else { panic!() };
    assert!(first >= second + Duration::from_millis(200), "{took:?}");
}
