//! Real TCP and UDP across the path, from threads inside it; as root, and once more as an ordinary
//! user.

// In a test, a helper that panics is a test that fails.
#![allow(clippy::unwrap_used, clippy::panic)]

mod bare;
mod fast_open;
mod firewalls;
mod handshakes;
mod hole;
mod kernel;
mod links;
mod loss;
mod nat;
mod ordinary_user;
mod recording;
mod tcp;
mod tun;
mod udp;

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use roundtrip_path::{DirectionCounters, Namespace, Path};

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

/// A fast path with these boxes in it.
fn path_with(boxes: &[&str]) -> Path {
    let mut builder = Path::builder();
    builder.set("rtt", "10ms").unwrap();
    for middlebox in boxes {
        builder.set("middlebox", middlebox).unwrap();
    }
    builder.build().unwrap()
}

/// How many packets of a direction were lost to this cause.
fn lost_to(cause: &str, tally: &DirectionCounters) -> u64 {
    tally.causes.get(cause).copied().unwrap_or_default()
}

/// Waits until the condition holds, for up to half a minute on busy machines.
fn eventually(mut is_so: impl FnMut() -> bool) -> bool {
    let limit = Instant::now() + Duration::from_secs(30);
    while Instant::now() < limit {
        if is_so() {
            return true;
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    false
}

fn ratio(measured: Duration, asked: Duration) -> f64 {
    measured.as_secs_f64() / asked.as_secs_f64()
}
