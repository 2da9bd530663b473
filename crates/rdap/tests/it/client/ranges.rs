//! One answer about a network serves all addresses in it, if that is enabled.

use roundtrip_rdap::bootstrap::Registry;
use roundtrip_rdap::client::From;

use crate::client::scene::{Scene, look_up};
use crate::client::scripted::{Scripted, rdap};

/// A server whose answers are all about this network.
async fn about(start: &'static str, end: &'static str) -> Scripted {
    Scripted::start(move |_, _| {
        let body = format!(
            r#"{{"objectClassName":"ip network","ipVersion":"v4","startAddress":"{start}","endAddress":"{end}"}}"#
        );
        rdap("200 OK", "", &body)
    })
    .await
}

#[tokio::test]
async fn a_networks_answer_serves_its_addresses() {
    let scene = Scene::new();
    let client = scene.client_with(|parts| parts.options.by_range = true);
    let mut from = Vec::new();
    for address in [
        "192.0.2.1",
        "192.0.2.200",
        "192.0.3.1",
        "192.0.2.0/25",
        "192.0.2.0/23",
    ] {
        let outcome = look_up(&client, address).await;
        from.push(outcome.registry.unwrap().from);
    }
    let (asked, served) = (From::Network, From::Range);
    assert_eq!(from, [asked, served, asked, served, asked]);
    assert_eq!(scene.asked().await.len(), 3);
}

#[tokio::test]
async fn concurrent_queries_for_neighbours_cause_one_request() {
    let scene = Scene::new();
    let client = scene.client_with(|parts| parts.options.by_range = true);
    let mut names = Vec::new();
    for n in 0..200 {
        names.push(format!("198.51.100.{n}"));
        names.push(format!("2001:db8::{n:x}"));
    }
    let outcomes = crate::client::flights::at_once(&client, &names).await;
    assert_eq!(outcomes.len(), 400);
    assert!(outcomes.iter().all(|o| o.registry.is_some()));
    assert_eq!(scene.asked().await.len(), 2);
}

#[tokio::test]
async fn without_the_option_each_address_is_asked() {
    let scene = Scene::new();
    let client = scene.client();
    for address in ["192.0.2.1", "192.0.2.2"] {
        let outcome = look_up(&client, address).await;
        assert_eq!(outcome.registry.unwrap().from, From::Network);
    }
}

#[tokio::test]
async fn the_narrowest_network_counts() {
    let server = Scripted::start(|line, _| {
        let (end, name) = match line {
            line if line.contains("10.0.0.0/8") => ("10.255.255.255", "WIDE"),
            line if line.contains("10.0.0.0/24") => ("10.0.0.255", "NARROW"),
            _ => panic!("asked for {line}"),
        };
        let body = format!(
            r#"{{"objectClassName":"ip network","name":"{name}","ipVersion":"v4","startAddress":"10.0.0.0","endAddress":"{end}"}}"#
        );
        rdap("200 OK", "", &body)
    })
    .await;
    let scene = Scene::new();
    let client = scene.client_with(|parts| {
        parts.options.by_range = true;
        parts.options.server = Some(server.base());
    });
    // The narrow one first, because the wide one's answer would serve it.
    for network in ["10.0.0.0/24", "10.0.0.0/8"] {
        look_up(&client, network).await;
    }
    for (address, name) in [("10.0.0.7", "NARROW"), ("10.7.0.7", "WIDE")] {
        let source = look_up(&client, address).await.registry.unwrap();
        assert_eq!(source.from, From::Range);
        let body = String::from_utf8_lossy(&source.body).into_owned();
        assert!(body.contains(name), "{address}: {body}");
    }
}

#[tokio::test]
async fn an_answer_serves_no_query_of_another_server() {
    // Registries answer so about addresses that are not theirs.
    let all = about("0.0.0.0", "255.255.255.255").await;
    let other = about("198.51.100.0", "198.51.100.255").await;
    let scene = Scene::new();
    let client = scene.client_with(|parts| {
        parts.options.by_range = true;
        parts.options.server = None;
        let services = serde_json::json!({
            "version": "1.0", "publication": "2126-01-01T00:00:00Z",
            "services": [
                [["192.0.2.0/24"], [all.url()]],
                [["198.51.100.0/24"], [other.url()]],
            ],
        });
        let replaced = parts
            .bootstrap
            .replace(Registry::Ipv4, services.to_string().as_bytes());
        replaced.unwrap();
    });
    for address in ["192.0.2.1", "192.0.2.200", "198.51.100.1"] {
        look_up(&client, address).await;
    }
    assert_eq!((all.heads().len(), other.heads().len()), (1, 1));
}

#[tokio::test]
async fn an_answer_about_another_network_serves_no_query() {
    let server = about("203.0.113.0", "203.0.113.255").await;
    let scene = Scene::new();
    let client = scene.client_with(|parts| {
        parts.options.by_range = true;
        parts.options.server = Some(server.base());
    });
    for address in ["192.0.2.1", "203.0.113.1", "203.0.113.2"] {
        look_up(&client, address).await;
    }
    assert_eq!(server.heads().len(), 2);
}
