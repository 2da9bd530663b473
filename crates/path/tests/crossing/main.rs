//! Real TCP and UDP across the path, from threads inside it; as root, and once more as an ordinary user.

// In a test, a helper that panics is a test that fails.
#![allow(clippy::unwrap_used, clippy::panic)]

mod fast_open;
mod kernel;
mod links;
mod loss;
mod ordinary_user;
mod recording;
mod tcp;
mod tun;
mod udp;

use std::net::SocketAddr;
use std::time::Duration;

use roundtrip_path::Namespace;

roundtrip_path::sandbox_before_main!();

#[test]
fn all_of_it_works_for_an_ordinary_user() {
    ordinary_user::run_all_but("all_of_it_works_for_an_ordinary_user");
}

/// Both addresses of a side, with this port.
fn addresses(side: &Namespace, port: u16) -> [SocketAddr; 2] {
    [
        (side.address_v4(), port).into(),
        (side.address_v6(), port).into(),
    ]
}

fn ratio(measured: Duration, asked: Duration) -> f64 {
    measured.as_secs_f64() / asked.as_secs_f64()
}
