//! Servers of HTTP/3 that send what nobody asked for: it is given up, however much of it comes.

use std::net::UdpSocket;
use std::sync::Arc;

use bytes::Bytes;
use roundtrip_http::{Connection, HttpError, Quic, Tokens};
use roundtrip_model::Recorder;
use roundtrip_quic::{ServerConfig, Transport};
use roundtrip_quic_tokio::{Connection as QuicConnection, Endpoint, StreamError};
use roundtrip_tls::{Client, Roots};
use rustls::crypto::aws_lc_rs;
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};

use crate::requests::{ask, h3_offer, recorder};

/// A frame that is as long as frames can be: type, and length in eight bytes. RFC 9114, section
/// 7.1.
const ENDLESS: [u8; 8] = [0xff; 8];
const HEADERS: u8 = 0x01;
/// Reserved: it means nothing. Section 7.2.8.
const GREASE: u8 = 0x21;
/// HEADERS with `:status 200` of QPACK's static table.
const OK: [u8; 5] = [HEADERS, 3, 0, 0, 0xd9];
/// More than any client should take.
const FLOOD: usize = 64 << 20;

fn server() -> Endpoint {
    let made = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap();
    let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(made.signing_key.serialize_der()));
    let provider = Arc::new(aws_lc_rs::default_provider());
    let mut tls = rustls::ServerConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&rustls::version::TLS13])
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![made.cert.der().clone()], key)
        .unwrap();
    tls.alpn_protocols = vec![b"h3".to_vec()];
    let config = ServerConfig::new(Arc::new(tls), Arc::new(Transport::default()));
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    let engine = roundtrip_quic::Endpoint::new(Some(config), [3; 32]);
    Endpoint::new(socket, engine).unwrap()
}

/// Answers with these bytes and, behind them, a flood; says how much of it was taken.
async fn flood(connection: QuicConnection, answer: Vec<u8>) -> usize {
    let (mut sending, _receiving) = connection.accept_bi().await.unwrap();
    sending.write_chunk(answer.into()).await.unwrap();
    let drop = Bytes::from(vec![0; 1 << 16]);
    let mut taken = 0;
    while taken < FLOOD {
        match sending.write_chunk(drop.clone()).await {
            Ok(()) => taken += drop.len(),
            Err(StreamError::Stopped(_)) => return taken,
            Err(other) => panic!("{other}"),
        }
    }
    taken
}

async fn connect(server: &Endpoint, recorder: &Recorder) -> (Connection, QuicConnection) {
    let client = Client::new(Roots::Anything, None).unwrap();
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    let tokens = Tokens::default();
    let (peer, host) = (server.local_addr(), "localhost");
    let begun = Quic::begin(peer, socket, host, &client, &h3_offer(), &tokens, recorder);
    let quic = begun.unwrap().opened();
    let answering = async { server.accept().await.unwrap().accept() };
    let (quic, met) = tokio::join!(quic, answering);
    (Connection::H3(quic.unwrap()), met)
}

#[tokio::test]
async fn a_frame_that_never_ends_is_not_gathered() {
    let server = server();
    let recorder = recorder();
    for (before, kind) in [(vec![], HEADERS), (vec![], GREASE), (OK.to_vec(), GREASE)] {
        let (mut connection, met) = connect(&server, &recorder).await;
        let is_head = before.is_empty();
        let answer = [before, vec![kind], ENDLESS.to_vec()].concat();
        let flooding = tokio::spawn(flood(met, answer));
        let asked = ask(&mut connection, "GET", "https://localhost/", &recorder).await;
        let error = asked.0.unwrap_err();
        assert_eq!(
            matches!(error, HttpError::HeadTooLarge { .. }),
            is_head,
            "{error}"
        );
        assert_eq!(
            error.to_string().contains("frame is longer"),
            !is_head,
            "{error}"
        );
        assert!(flooding.await.unwrap() < FLOOD);
        connection.close().await;
    }
}
