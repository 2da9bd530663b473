//! A relay for measurements: `relay LISTEN BACKEND [h2]`.

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
        let to = words[2].parse().unwrap();
        if words.get(3).is_some_and(|word| word == "h2") {
            roundtrip_gate::measuring::relay_h2(listener, to)
                .await
                .unwrap();
        } else {
            roundtrip_gate::measuring::relay(listener, to)
                .await
                .unwrap();
        }
    });
}
