//! A relay to measure: `relay LISTEN BACKEND`.

#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

fn main() {
    let words: Vec<String> = std::env::args().collect();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let local = tokio::task::LocalSet::new();
    local.block_on(&runtime, async {
        let listener = tokio::net::TcpListener::bind(&words[1]).await.unwrap();
        roundtrip_gate::relay(listener, words[2].parse().unwrap())
            .await
            .unwrap();
    });
}
