//! Single-use sessions, and the early data that comes with them.

use std::sync::Arc;
use std::time::Duration;

use roundtrip_store::{Memory, RedisSettings, SharedStore};
use roundtrip_tls::Offer;

use super::scene::{Scene, Setting, offer, run, s_client};
use crate::accept::listener::SingleUseCounts;
use crate::config::{Resumption, Tls};

fn single(place: Option<SharedStore>) -> Setting {
    Setting {
        tls: Tls {
            resumption: Resumption::SingleUse,
            early_data: true,
            ..Tls::default()
        },
        place,
        ..Setting::default()
    }
}

fn early() -> Offer {
    Offer {
        early_data: true,
        ..offer()
    }
}

/// Waits until sessions are stored; they are still on their way when the client has its ticket.
async fn settled() {
    for _ in 0..20 {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

#[test]
fn early_data_is_answered_before_the_handshake_is_over() {
    run(async {
        let scene = Scene::start(&single(None));
        let client = scene.client();
        let first = scene.ask(&client, &early()).await;
        assert!(
            first.contains("resumed=false accepted=false early=false"),
            "{first}"
        );
        settled().await;
        let second = scene.ask(&client, &early()).await;
        assert!(
            second.contains("resumed=true accepted=true early=true heard=4"),
            "{second}"
        );
        assert!(second.ends_with("confirmed"), "{second}");
        let expected = SingleUseCounts {
            taken: 1,
            absent: 0,
            failed: 0,
        };
        assert_eq!(scene.tls.counts(), expected);
    });
}

#[test]
fn without_early_data_the_handshake_comes_first() {
    run(async {
        let scene = Scene::start(&single(None));
        let client = scene.client();
        scene.ask(&client, &offer()).await;
        settled().await;
        let second = scene.ask(&client, &offer()).await;
        assert!(
            second.contains("resumed=true accepted=false early=false"),
            "{second}"
        );
    });
}

/// Two processes share a store: early data that one has accepted is not accepted again by the
/// other.
#[test]
fn the_same_early_data_is_taken_once_in_all() {
    run(async {
        let place = SharedStore::Memory(Memory::default());
        let one = Scene::start(&single(Some(place.clone())));
        let other = Scene::start(&single(Some(place)));
        let session = one.ca().with_extension("session");
        let path = session.to_str().unwrap();
        let request = one.ca().with_extension("request");
        std::fs::write(&request, "ask\n").unwrap();
        let early = request.to_str().unwrap();

        let first = s_client(&one, &["-sess_out", path], "ask\n").await;
        assert!(first.contains("resumed=false"), "{first}");
        settled().await;
        // The other process first: it gets the session from the store, although the client does not
        // trust its certificate.
        let replay = ["-sess_in", path, "-early_data", early];
        let second = s_client(&other, &replay, "").await;
        assert!(
            second.contains("resumed=true accepted=true early=true"),
            "{second}"
        );
        for scene in [&other, &one] {
            // Early data that was not accepted is sent again after the handshake, as clients do.
            let again = s_client(scene, &replay, "ask\n").await;
            assert!(
                !again.contains("resumed=true") && !again.contains("early=true"),
                "{again}"
            );
            assert_eq!(scene.tls.counts().absent, 1);
        }
    });
}

#[test]
fn a_store_that_does_not_answer_costs_a_full_handshake_and_no_more() {
    run(async {
        // It listens, and never sends anything.
        let silent = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("redis://{}/0", silent.local_addr().unwrap());
        let settings = Arc::new(RedisSettings::from_url(&url).unwrap());
        let scene = Scene::start(&single(Some(SharedStore::Redis(settings))));
        let client = scene.client();
        scene.ask(&client, &early()).await;
        assert!(client.tickets(false).received() > 0);
        let second = scene.ask(&client, &early()).await;
        assert!(
            second.contains("resumed=false accepted=false early=false heard=4"),
            "{second}"
        );
        assert_eq!(scene.tls.counts().failed, 1);
    });
}

#[test]
fn a_network_that_has_its_share_of_the_store_gets_no_tickets() {
    run(async {
        let scene = Scene::start(&single(None));
        let client = scene.client();
        scene.ask(&client, &offer()).await;
        assert_eq!(client.tickets(false).received(), 2);
        settled().await;
        let spend = |peer: [u8; 4]| {
            let prefetch = scene.tls.prefetch().unwrap();
            let full = || prefetch.tickets(peer.into(), None);
            std::iter::from_fn(|| Some(full()).filter(|tickets| *tickets > 0)).sum::<usize>()
        };
        let share = spend([127, 0, 0, 1]);
        assert!((3000..4200).contains(&share), "{share}");
        // A session that the client brings is replaced by one.
        let again = scene.ask(&client, &offer()).await;
        assert!(again.contains("resumed=true"), "{again}");
        assert_eq!(client.tickets(false).received(), 3);
        let stranger = scene.client();
        let asked = scene.ask(&stranger, &offer()).await;
        assert!(asked.contains("resumed=false"), "{asked}");
        assert_eq!(stranger.tickets(false).received(), 0);
        assert!(spend([127, 0, 0, 2]) > 500, "another network has its own");
        // What others store takes nothing from a client that has a session.
        settled().await;
        let again = scene.ask(&client, &offer()).await;
        assert!(again.contains("resumed=true"), "{again}");
        assert_eq!(client.tickets(false).received(), 4);
    });
}
