//! Servers of HTTP/3 that send what nobody asked for: it is given up, however much of it comes.

#![allow(clippy::unwrap_used, clippy::panic)]

use std::net::UdpSocket;
use std::sync::Arc;

use bytes::Bytes;
use roundtrip_http::{Connection, HttpError, Pen, Quic, Request, Tokens, Turn};
use roundtrip_model::{Clock, HttpFacts, Moment, Recorder, Target};
use roundtrip_quic::{ServerConfig, Transport};
use roundtrip_quic_tokio::{Connection as QuicConnection, Endpoint, StreamError};
use roundtrip_tls::{Client, Offer, Roots};
use rustls::crypto::aws_lc_rs;
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};

/// A frame that is as long as frames can be: type, and length in eight bytes. RFC 9114, section 7.1.
const ENDLESS: [u8; 8] = [0xff; 8];
const HEADERS: u8 = 0x01;
/// Reserved: it means nothing. Section 7.2.8.
const GREASE: u8 = 0x21;
/// HEADERS with `:status 200` of QPACK's static table.
const OK: [u8; 5] = [HEADERS, 3, 0, 0, 0xd9];
/// More than any client should take.
const FLOOD: usize = 64 << 20;

struct Frozen;

impl Clock for Frozen {
    fn now(&self) -> Moment {
        Moment::ZERO
    }
}

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

async fn ask(connection: &mut Connection, recorder: &Recorder) -> HttpError {
    let request = Request {
        method: "GET".into(),
        target: Target::parse("https://localhost/").unwrap(),
        headers: Vec::new(),
        body: Bytes::new(),
        absolute_form: false,
    };
    let (mut facts, mut body) = (HttpFacts::default(), Vec::new());
    let turn = Turn {
        request: &request,
        decode: false,
        pen: Pen::alone(recorder),
        sink: &mut body,
        facts: &mut facts,
    };
    connection.exchange(turn).await.unwrap_err()
}

async fn connect(server: &Endpoint, recorder: &Recorder) -> (Connection, QuicConnection) {
    let client = Client::new(Roots::Anything, None).unwrap();
    let offer = Offer {
        tls12: false,
        tls13: true,
        post_quantum: false,
        early_data: false,
        resume: false,
        alpn: vec!["h3"],
        quic: true,
    };
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    let tokens = Tokens::default();
    let (peer, host) = (server.local_addr(), "localhost");
    let begun = Quic::begin(peer, socket, host, &client, &offer, &tokens, recorder);
    let quic = begun.unwrap().opened();
    let answering = async { server.accept().await.unwrap().accept() };
    let (quic, met) = tokio::join!(quic, answering);
    (Connection::H3(quic.unwrap()), met)
}

#[tokio::test]
async fn a_frame_that_never_ends_is_not_gathered() {
    let server = server();
    let recorder = Recorder::new(Arc::new(Frozen));
    for (before, kind) in [(vec![], HEADERS), (vec![], GREASE), (OK.to_vec(), GREASE)] {
        let (mut connection, met) = connect(&server, &recorder).await;
        let is_head = before.is_empty();
        let answer = [before, vec![kind], ENDLESS.to_vec()].concat();
        let flooding = tokio::spawn(flood(met, answer));
        let error = ask(&mut connection, &recorder).await;
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
