//! Equal concurrent queries cause one request.

use roundtrip_rdap::client::{Client, Outcome};
use roundtrip_rdap::text::State;

use crate::client::scene::Scene;

/// Starts all lookups at once, on one thread.
pub(crate) async fn at_once(client: &Client, names: &[String]) -> Vec<Outcome> {
    let mut waiting: Vec<_> = names
        .iter()
        .map(|name| {
            let query = client.read(name).unwrap();
            Some(Box::pin(async move { client.look_up(&query).await }))
        })
        .collect();
    let mut outcomes = Vec::new();
    std::future::poll_fn(|context| {
        for place in &mut waiting {
            if let Some(future) = place
                && let std::task::Poll::Ready(outcome) = future.as_mut().poll(context)
            {
                outcomes.push(outcome);
                *place = None;
            }
        }
        if waiting.iter().all(Option::is_none) {
            std::task::Poll::Ready(())
        } else {
            std::task::Poll::Pending
        }
    })
    .await;
    outcomes
}

#[tokio::test]
async fn equal_concurrent_queries_cause_one_request() {
    let scene = Scene::new();
    let client = scene.client();
    let names = vec!["one.example".to_owned(); 50];
    let outcomes = at_once(&client, &names).await;
    assert!(outcomes.iter().all(|o| o.state() == State::Found));
    assert!(outcomes.iter().all(|o| matches!(o.registrar, Some(Ok(_)))));
    let asked = scene.asked().await;
    assert_eq!(asked["/rdap/domain/one.example"], 1);
    assert_eq!(asked["/registrar/domain/one.example"], 1);
    let coalesced = outcomes.iter().filter(|o| {
        let timing = o.registry.as_ref().unwrap().timing.as_ref();
        timing.unwrap().coalesced
    });
    assert_eq!(coalesced.count(), 49);
    // A later query causes another request.
    at_once(&client, &names[..1]).await;
    assert_eq!(scene.asked().await["/rdap/domain/one.example"], 2);
}

#[tokio::test]
async fn without_sharing_each_query_causes_a_request() {
    let scene = Scene::new();
    let client = scene.client_with(|parts| {
        parts.options.shares = false;
        parts.options.follow = false;
        let settings = roundtrip_fetch::pool::Settings {
            roots: roundtrip_tls::Roots::Pem(scene.origin.ca_pem.clone()),
            ..Default::default()
        };
        parts.pool = roundtrip_fetch::pool::Pool::new(settings.without_reuse()).unwrap();
    });
    let names = vec!["one.example".to_owned(); 5];
    at_once(&client, &names).await;
    assert_eq!(scene.asked().await["/rdap/domain/one.example"], 5);
    assert_eq!(client.pool().tally().connections, 5);
}

#[tokio::test]
async fn after_a_cancelled_lookup_the_next_one_asks() {
    let scene = Scene::new();
    let client = scene.client();
    let query = client.read("one.example").unwrap();
    let mut first = Box::pin(client.look_up(&query));
    let mut second = Box::pin(client.look_up(&query));
    // Both are in flight; the one that sent the request is cancelled.
    std::future::poll_fn(|context| {
        assert!(first.as_mut().poll(context).is_pending());
        assert!(second.as_mut().poll(context).is_pending());
        std::task::Poll::Ready(())
    })
    .await;
    drop(first);
    assert_eq!(second.await.state(), State::Found);
}

#[tokio::test]
async fn a_waiting_lookup_takes_little_memory() {
    let scene = Scene::new();
    let client = scene.client();
    let query = client.read("one.example").unwrap();
    let waiting = std::mem::size_of_val(&client.look_up(&query));
    assert!(waiting < 4096, "{waiting}");
    let ask = roundtrip_fetch::pool::PoolRequest::new(scene.server());
    let fetching = std::mem::size_of_val(&client.pool().fetch(&ask));
    assert!(fetching < 2048, "{fetching}");
}
