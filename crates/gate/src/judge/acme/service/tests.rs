//! What a replica does after its claim to an order has expired.

use roundtrip_store::Memory;

use super::*;
use crate::Secret;
use crate::config::Config;

fn service(store: &SharedStore) -> AcmeService {
    let text = "[acme]\ndirectory = \"http://127.0.0.1:1/d\"";
    let settings = Config::parse(text, "f").unwrap().acme.unwrap();
    let names = vec!["app.example".to_owned()];
    let mut vault = Vault::default();
    vault.add_key("k", &Secret::new(vec![1; 32])).unwrap();
    let client = AcmeClient::new(&settings).unwrap();
    let acme_store = AcmeStore::new(store.on_this_thread(), Arc::new(vault), String::new());
    let active = Arc::new(ActiveAcme::new(settings.challenge, &names));
    AcmeService::new(settings, names, client, acme_store, active)
}

/// The store was slow, so another replica has claimed the order meanwhile.
#[tokio::test(start_paused = true)]
async fn a_replica_that_is_late_does_not_remove_the_challenge_of_another() {
    let store = SharedStore::Memory(Memory::default());
    let (late, other) = (service(&store), service(&store));
    late.claimed.set(Some(Instant::now()));
    let soon = Instant::now() + Duration::from_mins(1);
    other.claimed.set(Some(soon));
    other.show("app.example", "t", "t.print").await.unwrap();
    let challenge = async || match other.acme_store.fleet_state().await.unwrap() {
        Stored::Found(fleet_state) => fleet_state.challenge,
        _ => None,
    };
    late.give_up().await.unwrap();
    assert!(challenge().await.is_some());
    other.give_up().await.unwrap();
    assert!(challenge().await.is_none());
}
