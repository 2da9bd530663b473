//! JWK Sets that appear, change, and cannot be read.

use std::cell::RefCell;
use std::net::SocketAddr;
use std::rc::Rc;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::task::LocalSet;

use super::*;

const ED25519: &str =
    r#"{"kty":"OKP","crv":"Ed25519","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}"#;
const P256: &str = r#"{"kty":"EC","crv":"P-256","x":"MKBCTNIcKUSDii11ySs3526iDZ8AiTo7Tu6KPAqv7D4","y":"4Etl6SRW2YiLUrN5vfvVHuhp7x8PxltmWWlbbM4IFyM"}"#;

/// Answers each connection with the present content of `answer`.
async fn server(answer: Rc<RefCell<Vec<u8>>>) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let at = listener.local_addr().unwrap();
    tokio::task::spawn_local(async move {
        loop {
            let (mut stream, _) = listener.accept().await.unwrap();
            let _ = stream.read(&mut [0; 4096]).await;
            let answer = answer.borrow().clone();
            let _ = stream.write_all(&answer).await;
        }
    });
    at
}

fn ok(body: &str) -> Vec<u8> {
    let length = body.len();
    format!("HTTP/1.1 200 OK\r\nContent-Length: {length}\r\n\r\n{body}").into_bytes()
}

fn config(at: SocketAddr) -> Config {
    Config::parse(&format!("[token.jwks]\nurl = \"http://{at}/keys\""), "test").unwrap()
}

fn locally(test: impl Future<Output = ()>) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    LocalSet::new().block_on(&runtime, test);
}

#[test]
fn a_set_is_fetched_and_the_old_one_stays_while_it_cannot_be() {
    locally(async {
        let set = |keys: &str| ok(&format!(r#"{{"keys":[{keys}]}}"#));
        let answer = Rc::new(RefCell::new(set(ED25519)));
        let keyring = Keyring::open(&config(server(answer.clone()).await)).unwrap();
        let mut rules = keyring.rules();
        assert!(rules.borrow_and_update().keys.is_empty());
        let read = keyring.refresh().await.unwrap();
        assert_eq!((read.keys, read.changed), (1, true));
        assert_eq!(rules.borrow_and_update().keys.len(), 1);
        // An unchanged set makes no new rules, so guards keep what they have verified.
        assert!(!keyring.refresh().await.unwrap().changed);
        assert!(!rules.has_changed().unwrap());
        let huge = "x".repeat(300_000);
        for bad in [
            b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n".to_vec(),
            b"HTTP/1.1 302 Found\r\nLocation: /other\r\nContent-Length: 0\r\n\r\n".to_vec(),
            Vec::new(),
            ok("not JSON"),
            ok(r#"{"keys":[]}"#),
            ok(&huge),
            set(r#"{"kty":"oct","k":"c2VjcmV0IGNhbmFyeSwgYW5kIGxvbmcgZW5vdWdoIHRvIGJlIG9uZQ"}"#),
        ] {
            *answer.borrow_mut() = bad;
            let error = keyring.refresh().await.unwrap_err().to_string();
            assert!(
                error.contains("127.0.0.1") && !error.contains("canary"),
                "{error}"
            );
            assert!(!rules.has_changed().unwrap());
        }
        *answer.borrow_mut() = set(&format!("{ED25519},{P256}"));
        assert_eq!(keyring.refresh().await.unwrap().keys, 2);
        assert_eq!(rules.borrow_and_update().keys.len(), 2);
    });
}

/// A reload of the configuration does not make clients wait for the same set again.
#[test]
fn a_fetched_set_outlives_a_reload_where_its_url_does() {
    locally(async {
        let answer = Rc::new(RefCell::new(ok(ED25519)));
        let config = config(server(answer).await);
        let first = Keyring::open(&config).unwrap();
        assert!(first.rules().borrow().awaits_keys);
        first.refresh().await.unwrap();
        let before = first.rules().borrow().clone();
        assert!(!before.awaits_keys);
        let again = Keyring::reopen(&config, &before).unwrap();
        let after = again.rules().borrow().clone();
        assert_eq!((after.keys.len(), after.awaits_keys), (1, false));
        assert!(!again.refresh().await.unwrap().changed);
        let elsewhere = Config::parse("[token.jwks]\nurl = \"http://[::1]:9/\"", "test");
        let other = Keyring::reopen(&elsewhere.unwrap(), &before).unwrap();
        let other = other.rules().borrow().clone();
        assert_eq!((other.keys.len(), other.awaits_keys), (0, true));
    });
}

#[test]
fn run_reads_at_once_and_tells() {
    locally(async {
        let answer = Rc::new(RefCell::new(ok(ED25519)));
        let keyring = Keyring::open(&config(server(answer).await)).unwrap();
        let (tell, mut heard) = tokio::sync::mpsc::unbounded_channel();
        tokio::select! {
            () = keyring.run(|read| tell.send(read.as_ref().is_ok_and(|r| r.changed)).unwrap()) => {}
            first = heard.recv() => assert_eq!(first, Some(true)),
        }
    });
}

#[test]
fn a_file_is_read_again() {
    locally(async {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("keys.json");
        std::fs::write(&path, ED25519).unwrap();
        let text = format!("[token.jwks]\nfile = \"{}\"", path.display());
        let keyring = Keyring::open(&Config::parse(&text, "test").unwrap()).unwrap();
        let mut rules = keyring.rules();
        assert_eq!(rules.borrow_and_update().keys.len(), 1);
        assert!(!keyring.refresh().await.unwrap().changed);
        std::fs::write(&path, format!(r#"{{"keys":[{ED25519},{P256}]}}"#)).unwrap();
        assert!(keyring.refresh().await.unwrap().changed);
        assert_eq!(rules.borrow_and_update().keys.len(), 2);
        std::fs::write(&path, "{").unwrap();
        assert!(keyring.refresh().await.is_err());
        assert_eq!(rules.borrow().keys.len(), 2);
    });
}

#[test]
fn keys_do_not_come_in_clear_text_from_elsewhere() {
    for (url, holds) in [
        ("http://issuer.example/keys", false),
        ("http://127.0.0.1.example/keys", false),
        ("https://u:canary@issuer.example/keys", false),
        ("https://issuer.example/keys", true),
        ("http://[::1]:8080/keys", true),
        ("http://localhost/keys", true),
    ] {
        let config = Config::parse(&format!("[token.jwks]\nurl = \"{url}\""), "test").unwrap();
        let opened = Keyring::open(&config);
        assert_eq!(opened.is_ok(), holds, "{url}");
        let error = opened.err().map(|e| e.to_string()).unwrap_or_default();
        assert!(!error.contains("canary"), "{error}");
    }
}
