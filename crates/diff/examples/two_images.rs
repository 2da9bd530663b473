//! Measures the two images of docs/diff.md over an emulated path, and leaves their reports:
//! `cargo run -p roundtrip-diff --example two_images -- DIRECTORY [ROUND-TRIP in ms]`.

#![allow(clippy::unwrap_used)]

#[path = "../tests/it/images/scene.rs"]
mod scene;

use std::path::PathBuf;
use std::time::Duration;

fn main() {
    // Before there is any other thread: afterwards this is impossible.
    roundtrip_path::enter_sandbox().unwrap();
    let mut words = std::env::args().skip(1);
    let directory = PathBuf::from(words.next().unwrap_or_else(|| ".".into()));
    let rtt = words.next().and_then(|word| word.parse().ok());
    let rtt = Duration::from_secs_f64(rtt.unwrap_or(0.3) / 1e3);
    let [old, new] = scene::Scene::set(rtt).ask([scene::OLD, scene::NEW], 10);
    std::fs::write(directory.join("old.json"), old).unwrap();
    std::fs::write(directory.join("new.json"), new).unwrap();
}
