//! An origin at the far end of a path, and pools at the near end.

use std::time::Duration;

use roundtrip_fetch::pool::{PoolRequest, Settings};
use roundtrip_model::Target;
use roundtrip_origin::{EarlyData, Knobs, Origin, Running};
use roundtrip_path::{Builder, Path};
use roundtrip_tls::Roots;

pub(crate) const RTT: Duration = Duration::from_millis(100);

pub(crate) struct Scene {
    path: Path,
    pub(crate) origin: Running,
}

impl Scene {
    pub(crate) fn new(change: impl FnOnce(&mut Knobs)) -> Self {
        Self::over(Path::builder().rtt(RTT), change)
    }

    pub(crate) fn over(path: Builder, change: impl FnOnce(&mut Knobs)) -> Self {
        let path = path.build().unwrap();
        for side in [path.client(), path.server()] {
            side.sysctl("net.ipv4.tcp_fastopen", "3").unwrap();
        }
        let address = path.server().address_v4();
        let mut knobs = Knobs::default();
        knobs.listen.bind = vec![address.into()];
        knobs.listen.fast_open = 64;
        knobs.tls.names = vec![address.to_string()];
        knobs.tls.early_data = EarlyData::On;
        knobs.http.alt_svc = Some("none".into());
        change(&mut knobs);
        let start = move || Origin::spawn_thread(knobs);
        let origin = path.server().run(start).unwrap().unwrap();
        Self { path, origin }
    }

    pub(crate) fn settings(&self, strategy: &str) -> Settings {
        Settings {
            strategy: strategy.parse().unwrap(),
            roots: Roots::Pem(self.origin.ca_pem.clone()),
            ..Settings::default()
        }
    }

    pub(crate) fn target(&self, path: &str) -> Target {
        Target::parse(&format!("https://{}{path}", self.origin.https)).unwrap()
    }

    pub(crate) fn asks(&self, n: usize) -> Vec<PoolRequest> {
        let ask = |n| PoolRequest::new(self.target(&format!("/bytes/{n}")));
        (0..n).map(ask).collect()
    }

    /// Runs `work` at the near end.
    pub(crate) fn run<T: Send>(&self, work: impl AsyncFnOnce() -> T + Send) -> T {
        let runtime = || {
            tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()
                .unwrap()
        };
        let client = self.path.client();
        client.run(move || runtime().block_on(work())).unwrap()
    }
}
