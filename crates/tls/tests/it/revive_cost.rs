//! The cost of reviving: `cargo test --release -p roundtrip-tls --test it -- --ignored --nocapture
//! cost`.

use std::fs;
use std::time::{Duration, SystemTime};

use roundtrip_tls::StoredSession;

use crate::peers::{HOST, Server, kept};

const TIMES: u32 = 2000;

/// The processor time of this thread.
fn on_cpu() -> Duration {
    let text = fs::read_to_string("/proc/thread-self/schedstat").unwrap();
    let nanos = text.split(' ').next().unwrap();
    Duration::from_nanos(nanos.parse().unwrap())
}

#[tokio::test]
#[ignore = "prints times and asserts none"]
async fn cost_of_reading_and_reviving() {
    let server = Server::new();
    let stored = kept(&server, &server.shared()).await.pop().unwrap();
    let (client, now, bytes) = (server.client(), SystemTime::now(), stored.encode());
    let mean = |what: &str, work: &dyn Fn()| {
        work();
        let began = on_cpu();
        (0..TIMES).for_each(|_| work());
        println!("{what}: {:?}", on_cpu().saturating_sub(began) / TIMES);
    };
    mean("decode", &|| drop(StoredSession::decode(&bytes).unwrap()));
    mean("revive", &|| {
        client.revive(false, HOST, &stored, now).unwrap();
    });
    mean("encode", &|| drop(stored.encode()));
}
