//! Hundreds of requests at once: within the server's limits, and without unbounded growth.

use crate::pool::scene::{Scene, at_once};

#[tokio::test]
async fn five_hundred_asks_share_one_connection() {
    let scene = Scene::new(|_| {});
    for (strategy, version) in [("h2+reuse", "2"), ("h3+reuse", "3")] {
        let pool = scene.pool(strategy);
        let asks = (0..500).map(|n| scene.ask(&format!("/bytes/{}?{n}", n % 50)));
        for (n, outcome) in at_once(&pool, asks).await.into_iter().enumerate() {
            let reply = outcome.unwrap();
            assert_eq!(
                (reply.body.len(), reply.timing.version.as_str()),
                (n % 50, version)
            );
        }
        let tally = pool.tally();
        assert_eq!(
            (tally.connections, tally.turned_away, tally.requests),
            (1, 0, 500)
        );
    }
}
