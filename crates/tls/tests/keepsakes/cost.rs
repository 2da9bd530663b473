//! What planting costs, for who asks: `cargo test --release -p roundtrip-tls --test keepsakes -- --ignored --nocapture cost`.

use std::time::{Instant, SystemTime};

use roundtrip_tls::Keepsake;

use crate::peers::{HOST, Server, kept};

const TIMES: u32 = 2000;

#[tokio::test]
#[ignore = "prints times and asserts none"]
async fn cost_of_reading_and_planting() {
    let server = Server::new();
    let keepsake = kept(&server, &server.shared()).await.pop().unwrap();
    let (client, now, bytes) = (server.client(), SystemTime::now(), keepsake.encode());
    let mean = |what: &str, work: &dyn Fn()| {
        work();
        let began = Instant::now();
        (0..TIMES).for_each(|_| work());
        println!("{what}: {:?}", began.elapsed() / TIMES);
    };
    mean("decode", &|| drop(Keepsake::decode(&bytes).unwrap()));
    mean("plant", &|| {
        client.plant(false, HOST, &keepsake, now).unwrap();
    });
    mean("encode", &|| drop(keepsake.encode()));
}
