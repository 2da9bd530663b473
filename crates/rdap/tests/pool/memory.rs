//! Tickets, early data, and what is worth remembering.

use crate::scene::Scene;

#[tokio::test]
async fn a_ticket_carries_the_next_ask_in_early_data() {
    use roundtrip_origin::EarlyData;
    for strategy in ["auto+0rtt+reuse", "h1+0rtt+reuse", "h3+0rtt+reuse"] {
        let scene = Scene::new(|knobs| {
            knobs.tls.early_data = EarlyData::On;
            knobs.http.alt_svc = Some("none".into());
        });
        let pool = scene.pool(strategy);
        let first = pool.fetch(&scene.ask("/")).await.unwrap().timing;
        assert!(!first.resumed && !first.early, "{strategy}");
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
        pool.close().await;
        let second = pool.fetch(&scene.ask("/")).await.unwrap().timing;
        assert!(
            second.resumed && second.early && !second.reused,
            "{strategy}: {second:?}"
        );
        assert_eq!(scene.origin.stats().early_requests, 1, "{strategy}");
        let third = pool.fetch(&scene.ask("/")).await.unwrap().timing;
        assert!(third.reused && !third.early, "{strategy}");
    }
}
