//! A backend behind TLS whose answers have no length: they are complete only if the backend sent
//! close_notify.

use std::io::Write;
use std::sync::Arc;

use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned};

use crate::exchanges::backend::Backend;
use crate::exchanges::raw_client::{Answer, RawClient};
use crate::lifecycle::scene::Scene;

/// RFC 9112 §9.8: anybody on the path can end a TCP connection.
#[test]
fn an_answer_without_a_length_that_tls_did_not_end_is_cut() {
    let made = rcgen::generate_simple_self_signed(vec!["127.0.0.1".into()]).unwrap();
    let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(made.signing_key.serialize_der()));
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![made.cert.der().clone()], key)
        .unwrap();
    let config = Arc::new(config);
    let backend = Backend::start(move |client| {
        let tls = ServerConnection::new(config.clone()).unwrap();
        let mut stream = StreamOwned::new(tls, &*client.stream);
        let mut head = [0; 4096];
        let n = std::io::Read::read(&mut stream, &mut head).unwrap();
        stream.write_all(b"HTTP/1.1 200 OK\r\n\r\nhello").unwrap();
        if head[..n].starts_with(b"GET /orderly ") {
            stream.conn.send_close_notify();
        }
        stream.flush().unwrap();
    });
    let folder = tempfile::tempdir().unwrap();
    let authority = folder.path().join("ca.pem");
    std::fs::write(&authority, made.cert.pem()).unwrap();
    let scene = Scene::tuned(backend.at, "", |config| {
        config.route[0].auth = false;
        let upstream = config.upstream.get_mut("backend").unwrap();
        upstream.servers = vec![format!("https://{}", backend.at)];
        upstream.ca = Some(authority.clone());
    });
    let get = |path: &str| {
        let mut client = RawClient::to(scene.gate().addresses().http[0]);
        client.send(&format!("GET {path} HTTP/1.1\r\nHost: a\r\n\r\n"));
        client.answer()
    };
    assert_eq!(get("/orderly").whole(200).body, "hello");
    assert_eq!(get("/cut"), Answer::Cut);
}
