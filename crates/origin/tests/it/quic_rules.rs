//! Our engine, seen by clients that hold the keys and break rules of QUIC.

#[path = "../../../quic/tests/world/key_holder.rs"]
#[allow(dead_code)] // other tests need more of it
mod key_holder;
#[path = "../../../../tests/quic_cases.rs"]
mod quic_cases;
#[path = "../../../../tests/quic_client.rs"]
#[allow(dead_code)] // other tests need more of it
mod quic_client;

use roundtrip_origin::{Knobs, Origin, QuicEngine};

#[tokio::test]
async fn what_no_client_may_send_ends_its_connection_with_the_code_of_the_rule() {
    let mut knobs = Knobs::default();
    knobs.listen.quic_engine = QuicEngine::Own;
    let origin = Origin::start(knobs).await.unwrap();
    let server = origin.https;
    let played = tokio::task::spawn_blocking(move || quic_cases::play(server));
    let (wrong, count) = played.await.unwrap();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(count > 50, "{count}");
}
