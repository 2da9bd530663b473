//! An origin on a separate thread, and a pool that trusts it.

use roundtrip_fetch::pool::{Pool, PoolError, PoolRequest, Reply, Settings};
use roundtrip_model::Target;
use roundtrip_origin::{Knobs, Origin, Running};
use roundtrip_tls::Roots;
use tokio::task::JoinSet;

pub(crate) struct Scene {
    pub(crate) origin: Running,
}

impl Scene {
    pub(crate) fn new(change: impl FnOnce(&mut Knobs)) -> Self {
        let mut knobs = Knobs::default();
        change(&mut knobs);
        let origin = Origin::spawn_thread(knobs).unwrap();
        Self { origin }
    }

    pub(crate) fn pool(&self, strategy: &str) -> Pool {
        self.pool_with(strategy, |_| {})
    }

    pub(crate) fn pool_with(&self, strategy: &str, change: impl FnOnce(&mut Settings)) -> Pool {
        let mut settings = self.settings(strategy);
        change(&mut settings);
        Pool::new(settings).unwrap()
    }

    pub(crate) fn settings(&self, strategy: &str) -> Settings {
        Settings {
            strategy: strategy.parse().unwrap(),
            roots: Roots::Pem(self.origin.ca_pem.clone()),
            ..Settings::default()
        }
    }

    pub(crate) fn ask(&self, path: &str) -> PoolRequest {
        PoolRequest::new(self.target(path))
    }

    pub(crate) fn clear(&self, path: &str) -> PoolRequest {
        PoolRequest::new(Target::parse(&format!("http://{}{path}", self.origin.http)).unwrap())
    }

    pub(crate) fn target(&self, path: &str) -> Target {
        Target::parse(&format!("https://{}{path}", self.origin.https)).unwrap()
    }
}

/// Sends all requests at once, from separate tasks; returns the outcomes in the order of the
/// requests.
pub(crate) async fn at_once(
    pool: &Pool,
    asks: impl IntoIterator<Item = PoolRequest>,
) -> Vec<Result<Reply, PoolError>> {
    let mut running = JoinSet::new();
    for (place, ask) in asks.into_iter().enumerate() {
        let pool = pool.clone();
        running.spawn(async move { (place, pool.fetch(&ask).await) });
    }
    let mut outcomes = running.join_all().await;
    outcomes.sort_by_key(|(place, _)| *place);
    outcomes.into_iter().map(|(_, outcome)| outcome).collect()
}
