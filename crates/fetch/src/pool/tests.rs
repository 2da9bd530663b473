//! A limit that cannot be observed from outside: a pool that has carried much keeps little.

use roundtrip_model::Target;
use roundtrip_origin::{Knobs, Origin};
use roundtrip_tls::Roots;
use tokio::task::JoinSet;

use super::*;

/// Sends `n` requests in rounds, and returns how many events, connections and waiting requests are
/// kept in all.
async fn held_after(pool: &Pool, base: &str, n: usize) -> usize {
    for round in 0..n / 50 {
        let mut running = JoinSet::new();
        for one in 0..50 {
            let url = format!("{base}/bytes/100?{round}.{one}");
            let (pool, ask) = (pool.clone(), PoolRequest::new(Target::parse(&url).unwrap()));
            running.spawn(async move { pool.fetch(&ask).await.unwrap() });
        }
        running.join_all().await;
    }
    let sites: Vec<_> = pool.0.sites().values().cloned().collect();
    let held: usize = sites.iter().map(|site| site.held()).sum();
    held + sites.len() + pool.0.flights.len()
}

#[tokio::test]
async fn memory_does_not_grow_with_the_number_of_requests() {
    let origin = Origin::spawn_thread(Knobs::default()).unwrap();
    let base = format!("https://{}", origin.https);
    for strategy in ["h1+reuse", "h2+reuse", "h3+reuse"] {
        let settings = Settings {
            strategy: strategy.parse().unwrap(),
            roots: Roots::Pem(origin.ca_pem.clone()),
            ..Settings::default()
        };
        let pool = Pool::new(settings).unwrap();
        // The largest number that each of six connections keeps, and the connections themselves.
        let most = 6 * (2 * lane::KEPT_FACTS + 1) + 10;
        for round in 0..3 {
            let held = held_after(&pool, &base, 1500).await;
            assert!(held <= most, "{strategy}, round {round}: {held} of {most}");
        }
    }
}
