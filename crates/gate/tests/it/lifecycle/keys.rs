//! Published keys that are replaced: a token that names a new key makes gate read the set at once,
//! but a flood of tokens does not make gate read it often.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Instant;

use aws_lc_rs::signature::{Ed25519KeyPair, KeyPair};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use crate::lifecycle::scene::{PATIENCE, Scene, backend};

struct Publisher {
    address: SocketAddr,
    set: Arc<Mutex<String>>,
    asked: Arc<AtomicUsize>,
}

struct Signer {
    kid: &'static str,
    pair: Ed25519KeyPair,
}

impl Publisher {
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let publisher = Self {
            address: listener.local_addr().unwrap(),
            set: Arc::default(),
            asked: Arc::default(),
        };
        let (set, asked) = (publisher.set.clone(), publisher.asked.clone());
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let mut stream = stream.unwrap();
                let _ = stream.read(&mut [0; 4096]);
                let body = set.lock().unwrap().clone();
                let length = body.len();
                asked.fetch_add(1, Ordering::SeqCst);
                let _ = write!(
                    stream,
                    "HTTP/1.1 200 OK\r\nContent-Length: {length}\r\n\r\n{body}"
                );
            }
        });
        publisher
    }

    fn publish(&self, signers: &[&Signer]) {
        let keys: Vec<String> = signers.iter().map(|signer| signer.jwk()).collect();
        *self.set.lock().unwrap() = format!("{{\"keys\":[{}]}}", keys.join(","));
    }

    fn asked(&self) -> usize {
        self.asked.load(Ordering::SeqCst)
    }
}

impl Signer {
    fn new(kid: &'static str) -> Self {
        let pair = Ed25519KeyPair::generate().unwrap();
        Self { kid, pair }
    }

    fn jwk(&self) -> String {
        let x = URL_SAFE_NO_PAD.encode(self.pair.public_key());
        let kid = self.kid;
        format!("{{\"kty\":\"OKP\",\"crv\":\"Ed25519\",\"kid\":\"{kid}\",\"x\":\"{x}\"}}")
    }

    /// A token of the session with a late expiry.
    fn field(&self, sid: &str) -> String {
        let header = format!("{{\"alg\":\"EdDSA\",\"kid\":\"{}\"}}", self.kid);
        let claims = format!("{{\"sub\":\"s\",\"sid\":\"{sid}\",\"iat\":1,\"exp\":4000000000}}");
        let signed = [header, claims]
            .map(|part| URL_SAFE_NO_PAD.encode(part))
            .join(".");
        let signature = URL_SAFE_NO_PAD.encode(self.pair.sign(signed.as_bytes()));
        format!("Authorization: Bearer {signed}.{signature}")
    }
}

fn scene(publisher: &Publisher, at: SocketAddr, unknown_kid: &str) -> Scene {
    let scene = Scene::new(
        at,
        &format!(
            "[token.jwks]\nurl = \"http://{}/keys\"\nevery = \"1h\"\nunknown_kid = \"{unknown_kid}\"\n",
            publisher.address
        ),
    );
    scene.session("s1", "somebody:secret");
    scene
}

/// Waits until the token is admitted, which takes one read of the set.
fn is_let_in(scene: &Scene, signer: &Signer) {
    let began = Instant::now();
    loop {
        let (status, why) = scene.client().get("/", &signer.field("s1"));
        match status {
            200 => return,
            status => assert_eq!(status, 503, "{why}"),
        }
        assert!(began.elapsed() < PATIENCE);
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
}

#[test]
fn a_new_key_is_fetched_when_a_token_names_it() {
    let (at, _release) = backend("one");
    let (publisher, old, new) = (Publisher::start(), Signer::new("old"), Signer::new("new"));
    publisher.publish(&[&old]);
    let scene = scene(&publisher, at, "0s");
    is_let_in(&scene, &old);
    assert_eq!(publisher.asked(), 1);
    publisher.publish(&[&old, &new]);
    is_let_in(&scene, &new);
    assert_eq!(publisher.asked(), 2);
    assert_eq!(scene.client().get("/", &old.field("s1")).0, 200);
    // A known name with an invalid signature does not make gate read the set.
    let forged = Signer::new("new").field("s1");
    assert_eq!(scene.client().get("/", &forged).0, 401);
    assert_eq!(publisher.asked(), 2);
}

#[test]
fn names_that_somebody_made_up_do_not_have_it_fetched_often() {
    let (at, _release) = backend("one");
    let (publisher, old) = (Publisher::start(), Signer::new("old"));
    publisher.publish(&[&old]);
    let scene = scene(&publisher, at, "1h");
    is_let_in(&scene, &old);
    let made_up = Signer::new("made-up").field("s1");
    for _ in 0..50 {
        assert_eq!(scene.client().get("/", &made_up).0, 401);
    }
    assert_eq!(publisher.asked(), 1);
}
