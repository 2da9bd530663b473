//! Hundreds of lookups wait at once: the memory of each is bounded.

use crate::client::scene::Scene;

#[tokio::test]
async fn a_waiting_lookup_takes_little_memory() {
    let client = Scene::new().client();
    let query = client.read("a.example").unwrap();
    let size = size_of_val(&client.look_up(&query));
    assert!(size <= 1024, "{size}");
}
