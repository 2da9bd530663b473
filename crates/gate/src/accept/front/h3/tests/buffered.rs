//! Bodies that are read whole first (`buffer_request`).

use http::StatusCode;

use super::{client, post, text};
use crate::accept::front::scene::{Scene, run};
use crate::config::{Bytes, Config};

const MOST: usize = 100_000;

fn buffers(config: &mut Config) {
    for route in &mut config.route {
        route.buffer_request = Bytes(MOST as u64);
    }
}

#[test]
fn the_backend_gets_a_whole_body_with_its_length() {
    run(buffers, async |scene: Scene| {
        let mut met = client(&scene).await;
        let mut stream = met.client.send_request(post("/x")).await.unwrap();
        stream.send_data(vec![b'x'; 1000].into()).await.unwrap();
        // Another exchange ends meanwhile; the backend still knows of nothing.
        let mut other = met.client.send_request(post("/y")).await.unwrap();
        other.finish().await.unwrap();
        let seen = text(&mut other).await;
        assert!(seen.starts_with("POST /y "), "{seen}");
        assert_eq!(scene.backend.heads.borrow().len(), 1);
        stream
            .send_data(vec![b'x'; MOST - 1000].into())
            .await
            .unwrap();
        stream.finish().await.unwrap();
        let seen = text(&mut stream).await;
        let length = format!("\r\nContent-Length: {MOST}\r\n\r\n");
        assert!(seen.ends_with(&length), "{seen}");
        assert!(!seen.contains("Transfer-Encoding"), "{seen}");
    });
}

#[test]
fn larger_bodies_are_refused() {
    run(buffers, async |scene: Scene| {
        let mut met = client(&scene).await;
        let mut stream = met.client.send_request(post("/x")).await.unwrap();
        stream.send_data(vec![b'x'; MOST + 1].into()).await.unwrap();
        let answer = stream.recv_response().await.unwrap();
        assert_eq!(answer.status(), StatusCode::PAYLOAD_TOO_LARGE);
        assert!(scene.backend.heads.borrow().is_empty());
    });
}
