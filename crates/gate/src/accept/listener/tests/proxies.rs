//! PROXY headers: from proxies, and from clients that are not proxies.

use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::scene::{Scene, Setting, run};
use crate::config::Network;

fn behind(network: &str, within: Duration) -> Scene {
    let mut setting = Setting {
        within,
        ..Setting::default()
    };
    setting.listen.proxy_protocol_from = vec![Network::parse(network).unwrap()];
    Scene::start(&setting)
}

async fn say(scene: &Scene, parts: &[&[u8]]) -> String {
    let mut stream = TcpStream::connect(scene.http).await.unwrap();
    stream.set_nodelay(true).unwrap();
    for part in parts {
        stream.write_all(part).await.unwrap();
        tokio::task::yield_now().await;
    }
    let mut said = String::new();
    let _ = stream.read_to_string(&mut said).await;
    said
}

#[test]
fn a_proxy_s_word_counts_and_nothing_behind_it_is_lost() {
    run(async {
        let scene = behind("127.0.0.0/8", super::scene::WITHIN);
        let line: &[u8] = b"PROXY TCP4 192.0.2.1 198.51.100.7 56324 443\r\nask\n";
        let letters: Vec<&[u8]> = line.chunks(1).collect();
        for parts in [vec![line], letters] {
            let said = say(&scene, &parts).await;
            assert!(said.contains("peer=192.0.2.1:56324 "), "{said}");
            assert!(said.contains("heard=4"), "{said}");
        }
        let local = b"\r\n\r\n\0\r\nQUIT\n\x20\0\0\0ask\n";
        let said = say(&scene, &[local]).await;
        assert!(said.contains("peer=127.0.0.1:"), "{said}");
        assert!(scene.unmet.borrow().is_empty());
    });
}

#[test]
fn a_proxy_without_its_header_is_refused() {
    run(async {
        let scene = behind("127.0.0.0/8", super::scene::WITHIN);
        assert_eq!(say(&scene, &[b"GET / HTTP/1.1\r\n\r\n\n"]).await, "");
        assert_eq!(say(&scene, &[b"PROXY TCP4 nonsense\r\nask\n"]).await, "");
        let unmet = scene.unmet.borrow();
        assert!(
            unmet.len() == 2 && unmet.iter().all(|u| u.contains("PROXY")),
            "{unmet:?}"
        );
    });
}

#[test]
fn a_silent_client_is_not_waited_for_without_end() {
    run(async {
        let scene = behind("127.0.0.0/8", Duration::from_millis(50));
        assert_eq!(say(&scene, &[b"PROXY "]).await, "");
        assert!(scene.unmet.borrow()[0].contains("in time"));
    });
}

#[test]
fn from_other_clients_it_is_not_a_header() {
    run(async {
        let scene = behind("192.0.2.0/24", super::scene::WITHIN);
        let said = say(&scene, &[b"PROXY UNKNOWN\r\n"]).await;
        assert!(said.contains("heard=15"), "{said}");
    });
}
