//! Clients cannot occupy scarce resources without sending requests: a connection to a backend is
//! only for complete requests of clients that are still connected, each client's share is bounded,
//! and useless frames are counted. nginx and HAProxy run next to gate in front of the same backend,
//! with as many connections: gate has to serve every client that they serve.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic
)] // a test may panic

mod backend;
mod cancelled;
mod concurrency;
mod downloads;
mod h2_frames;
mod other_proxies;
mod shares;
mod uploads;

use std::net::SocketAddr;
use std::thread::sleep;
use std::time::{Duration, Instant};

use crate::exchanges::raw_client;
use crate::lifecycle::scene;
use raw_client::RawClient;
use roundtrip_gate::config::{Bytes, Config, Span};
use scene::Scene;

/// Connections to the backend, for each proxy.
pub(crate) const CONNECTIONS: usize = 16;
/// The largest number of them that one client gets.
pub(crate) const OF_ONE_CLIENT: usize = CONNECTIONS - CONNECTIONS / 8;
/// Long enough for any machine; passing tests do not wait for it.
const SOON: Duration = Duration::from_secs(20);

/// Whether it becomes true.
pub(crate) fn soon(mut is: impl FnMut() -> bool) -> bool {
    let began = Instant::now();
    while !is() {
        if began.elapsed() > SOON {
            return false;
        }
        sleep(Duration::from_millis(5));
    }
    true
}

/// A gate with one thread and no authentication.
pub(crate) fn gate(backend: SocketAddr) -> Scene {
    gate_with(backend, |_| {})
}

/// The same, with more settings.
pub(crate) fn gate_with(backend: SocketAddr, more: impl FnOnce(&mut Config)) -> Scene {
    Scene::tuned(backend, "", |config| {
        config.listen.threads = 1;
        config.listen.https = vec!["127.0.0.1:0".parse().unwrap()];
        config.route[0].auth = false;
        // On a busy machine a client may be slower than it means to be.
        config.limits.body_rate = Bytes(1);
        config.limits.body_rate_most = Bytes(1);
        let upstream = config.upstream.get_mut("backend").unwrap();
        upstream.connections = CONNECTIONS;
        upstream.connect = Span::seconds(2);
        more(config);
    })
}

/// Sends an ordinary request on a new connection; returns its status.
pub(crate) fn get(address: SocketAddr, path: &str) -> u16 {
    let mut client = RawClient::to(address);
    client.send(&format!("GET {path} HTTP/1.1\r\nHost: a\r\n\r\n"));
    client.answer().status()
}

/// Exchanges in progress, by gate's own metrics.
pub(crate) fn exchanges(scene: &Scene) -> usize {
    let (_, metrics) = scene.admin("/metrics");
    let line = metrics
        .lines()
        .find_map(|line| line.strip_prefix("roundtrip_gate_exchanges "));
    line.unwrap().parse().unwrap()
}
