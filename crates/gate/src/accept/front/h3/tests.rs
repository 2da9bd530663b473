//! Exchanges over HTTP/3 on loopback, with the client of the `h3` crate over its own transport.

mod buffered;
mod heads;
mod limits;
mod rules;

use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::rc::Rc;
use std::sync::Arc;

use bytes::{Buf, Bytes};
use h3::client::{RequestStream, SendRequest};
use h3::error::Code;
use h3_quinn::{BidiStream, OpenStreams};
use http::{Request, StatusCode};
use quinn::crypto::rustls::QuicClientConfig;
use quinn::{ClientConfig, Endpoint};
use roundtrip_quic::{ServerConfig, Transport};
use roundtrip_quic_tokio::Endpoint as OwnEndpoint;
use rustls::pki_types::PrivateKeyDer;
use tokio::task::{JoinHandle, spawn_local};

use crate::accept::front::scene::{LARGE, Scene, run};
use crate::accept::front::signal::Signal;
use crate::accept::stream::Peer;
use crate::forward::exchange::ExchangeError;

type Client = SendRequest<OpenStreams, Bytes>;
type Stream = RequestStream<BidiStream<Bytes>, Bytes>;

/// A connection, seen from the client.
struct AcceptedConnection {
    client: Client,
    quic: quinn::Connection,
    served: JoinHandle<Result<(), ExchangeError>>,
    /// Tells gate that the handshake has ended.
    confirmed: Rc<Signal>,
    _endpoint: Endpoint,
}

/// A connection whose client does not speak HTTP/3 yet.
struct BareConnection {
    quic: quinn::Connection,
    served: JoinHandle<Result<(), ExchangeError>>,
    confirmed: Rc<Signal>,
    endpoint: Endpoint,
}

async fn meet(scene: &Scene) -> AcceptedConnection {
    let bare = meet_bare(scene).await;
    let (mut driver, client) = h3::client::new(h3_quinn::Connection::new(bare.quic.clone()))
        .await
        .unwrap();
    spawn_local(async move { std::future::poll_fn(|cx| driver.poll_close(cx)).await });
    AcceptedConnection {
        client,
        quic: bare.quic,
        served: bare.served,
        confirmed: bare.confirmed,
        _endpoint: bare.endpoint,
    }
}

async fn meet_bare(scene: &Scene) -> BareConnection {
    let (server, client) = configs();
    let at: SocketAddr = (Ipv4Addr::LOCALHOST, 0).into();
    let server = roundtrip_quic::Endpoint::new(Some(server), [5; 32]);
    let gate = OwnEndpoint::new(UdpSocket::bind(at).unwrap(), server).unwrap();
    let endpoint = Endpoint::client(at).unwrap();
    let connecting = endpoint.connect_with(client, gate.local_addr(), "a.example");
    let (quic, met) = tokio::join!(connecting.unwrap(), async {
        let link = gate.accept().await.unwrap().accept();
        link.connected().await.unwrap();
        link
    });
    let (thread, confirmed) = (scene.thread.clone(), Rc::<Signal>::default());
    let signal = confirmed.clone();
    let serving = spawn_local(async move {
        let _endpoint = gate;
        let peer = Peer {
            address: [192, 0, 2, 7].into(),
            secure: true,
            resumed: false,
            asks: false,
        };
        super::serve(met, signal.wait(), peer, &thread).await
    });
    BareConnection {
        quic: quic.unwrap(),
        served: serving,
        confirmed,
        endpoint,
    }
}

/// Makes a client that has completed its handshake.
async fn client(scene: &Scene) -> AcceptedConnection {
    let met = meet(scene).await;
    met.confirmed.give();
    met
}

fn configs() -> (ServerConfig, ClientConfig) {
    let made = rcgen::generate_simple_self_signed(["a.example".to_owned()]).unwrap();
    let certificate = made.cert.der().clone();
    let key = PrivateKeyDer::Pkcs8(made.signing_key.serialize_der().into());
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let mut server = rustls::ServerConfig::builder_with_provider(provider.clone())
        .with_protocol_versions(&[&rustls::version::TLS13])
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certificate.clone()], key)
        .unwrap();
    server.alpn_protocols = vec![b"h3".to_vec()];
    let mut roots = rustls::RootCertStore::empty();
    roots.add(certificate).unwrap();
    let mut client = rustls::ClientConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&rustls::version::TLS13])
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    client.alpn_protocols = vec![b"h3".to_vec()];
    let client = QuicClientConfig::try_from(client).unwrap();
    let transport = Transport {
        window: 1 << 20,
        ..Transport::default()
    };
    (
        ServerConfig::new(Arc::new(server), Arc::new(transport)),
        ClientConfig::new(Arc::new(client)),
    )
}

fn get(path: &str) -> Request<()> {
    Request::get(format!("https://a.example{path}"))
        .body(())
        .unwrap()
}

fn post(path: &str) -> Request<()> {
    Request::post(format!("https://a.example{path}"))
        .body(())
        .unwrap()
}

async fn ask(client: &mut Client, request: Request<()>) -> Stream {
    let mut stream = client.send_request(request).await.unwrap();
    stream.finish().await.unwrap();
    stream
}

/// Reads the rest of the answer.
async fn rest(stream: &mut Stream) -> Result<Vec<u8>, h3::error::StreamError> {
    let mut all = Vec::new();
    while let Some(mut data) = stream.recv_data().await? {
        all.extend_from_slice(&data.copy_to_bytes(data.remaining()));
    }
    Ok(all)
}

async fn text(stream: &mut Stream) -> String {
    assert_eq!(stream.recv_response().await.unwrap().status(), 200);
    String::from_utf8(rest(stream).await.unwrap()).unwrap()
}

#[test]
fn a_request_comes_to_the_backend_as_one_of_http_1() {
    run(
        |_| (),
        async |scene: Scene| {
            let mut met = client(&scene).await;
            let mut request = get("/x?y");
            let fields = request.headers_mut();
            fields.append("cookie", "a=b".parse().unwrap());
            fields.append("cookie", "c=d".parse().unwrap());
            fields.append("x-request-id", "r1".parse().unwrap());
            let seen = text(&mut ask(&mut met.client, request).await).await;
            let expected = "GET /x?y HTTP/1.1\r\nHost: a.example\r\ncookie: a=b; c=d\r\n\
                            X-Forwarded-For: 192.0.2.7\r\nX-Forwarded-Proto: https\r\nX-Request-Id: r1\r\n\r\n";
            assert_eq!(seen, expected);
        },
    );
}

#[test]
fn a_body_comes_back_as_it_went() {
    run(
        |_| (),
        async |scene: Scene| {
            let met = client(&scene).await;
            for (length, announced) in [(5, true), (5, false), (700_000, true), (700_000, false)] {
                let body = vec![b'y'; length];
                let mut request = post("/body");
                if announced {
                    let fields = request.headers_mut();
                    fields.insert("content-length", length.to_string().parse().unwrap());
                }
                let mut client = met.client.clone();
                let mut stream = client.send_request(request).await.unwrap();
                stream.send_data(body.clone().into()).await.unwrap();
                stream.finish().await.unwrap();
                assert_eq!(stream.recv_response().await.unwrap().status(), 200);
                assert!(rest(&mut stream).await.unwrap() == body);
            }
        },
    );
}

/// Otherwise a backend would wait for missing bytes, or take surplus ones for the next request.
#[test]
fn a_body_is_as_long_as_it_says_or_refused() {
    run(
        |_| (),
        async |scene: Scene| {
            let mut met = client(&scene).await;
            for announced in [4, 6] {
                let mut request = post("/body");
                let fields = request.headers_mut();
                fields.insert("content-length", announced.into());
                let mut stream = met.client.send_request(request).await.unwrap();
                stream.send_data("12345".into()).await.unwrap();
                stream.finish().await.unwrap();
                let answer = stream.recv_response().await.unwrap();
                assert_eq!(answer.status(), StatusCode::BAD_REQUEST);
            }
            let seen = text(&mut ask(&mut met.client, get("/")).await).await;
            assert!(seen.starts_with("GET / "), "{seen}");
        },
    );
}

/// The engine reports a frame without data in the same way as the body's end.
#[test]
fn a_frame_without_data_is_not_the_end() {
    run(
        |_| (),
        async |scene: Scene| {
            let mut met = client(&scene).await;
            let mut stream = met.client.send_request(post("/body")).await.unwrap();
            for piece in ["ab", "", "cd"] {
                stream.send_data(piece.into()).await.unwrap();
            }
            stream.finish().await.unwrap();
            assert_eq!(text(&mut stream).await, "abcd");
        },
    );
}

#[test]
fn a_large_answer_is_whole() {
    run(
        |_| (),
        async |scene: Scene| {
            let mut met = client(&scene).await;
            let mut stream = ask(&mut met.client, get("/large")).await;
            assert_eq!(text(&mut stream).await.len(), LARGE);
        },
    );
}

#[test]
fn each_event_arrives_before_the_next_is_sent() {
    run(
        |_| (),
        async |scene: Scene| {
            let mut met = client(&scene).await;
            let mut stream = ask(&mut met.client, get("/events")).await;
            stream.recv_response().await.unwrap();
            for number in 1..=3 {
                let mut event = stream.recv_data().await.unwrap().unwrap();
                let event = event.copy_to_bytes(event.remaining());
                assert_eq!(event, format!("data: {number}").as_bytes());
                scene.backend.event.notify_one();
            }
            assert!(stream.recv_data().await.unwrap().is_none());
        },
    );
}

#[test]
fn a_client_without_a_session_gets_401_and_may_ask_again() {
    run(
        |_| (),
        async |scene: Scene| {
            let mut met = client(&scene).await;
            let request = Request::post("https://guarded.example/").body(()).unwrap();
            // The request has a body that the backend does not read.
            let mut stream = met.client.send_request(request).await.unwrap();
            assert_eq!(stream.recv_response().await.unwrap().status(), 401);
            assert!(scene.backend.heads.borrow().is_empty());
            text(&mut ask(&mut met.client, get("/")).await).await;
        },
    );
}

#[test]
fn an_answer_that_breaks_off_is_no_whole_one() {
    run(
        |_| (),
        async |scene: Scene| {
            let mut met = client(&scene).await;
            let mut stream = ask(&mut met.client, get("/cut")).await;
            // The reset may overtake the part that was sent.
            if stream.recv_response().await.is_ok() {
                assert!(rest(&mut stream).await.is_err());
            }
            text(&mut ask(&mut met.client, get("/")).await).await;
        },
    );
}

/// A backend must not work for a client that has gone.
#[test]
fn a_client_that_wants_no_answer_ends_the_exchange_with_the_backend() {
    run(
        |_| (),
        async |scene: Scene| {
            let mut met = client(&scene).await;
            let mut stream = ask(&mut met.client, get("/never")).await;
            while scene.backend.heads.borrow().is_empty() {
                tokio::time::sleep(std::time::Duration::from_millis(1)).await;
            }
            stream.stop_sending(Code::H3_REQUEST_CANCELLED);
            scene.backend.left.notified().await;
            text(&mut ask(&mut met.client, get("/")).await).await;
        },
    );
}

#[test]
fn a_disconnect_ends_all_exchanges() {
    run(
        |_| (),
        async |scene: Scene| {
            let mut met = client(&scene).await;
            let _stream = ask(&mut met.client, get("/never")).await;
            while scene.backend.heads.borrow().is_empty() {
                tokio::time::sleep(std::time::Duration::from_millis(1)).await;
            }
            met.quic.close(0_u32.into(), b"");
            scene.backend.left.notified().await;
            let _ = met.served.await.unwrap();
        },
    );
}

#[test]
fn early_requests_wait_unless_they_are_safe() {
    run(
        |_| (),
        async |scene: Scene| {
            let mut met = meet(&scene).await;
            let mut client = met.client.clone();
            let mut posted = ask(&mut client, post("/")).await;
            let seen = text(&mut ask(&mut met.client, get("/")).await).await;
            assert!(seen.contains("Early-Data: 1\r\n"), "{seen}");
            assert_eq!(scene.backend.heads.borrow().len(), 1, "a POST went early");
            met.confirmed.give();
            let seen = text(&mut posted).await;
            assert!(seen.starts_with("POST ") && !seen.contains("Early-Data"));
        },
    );
}

#[test]
fn a_batch_of_reads_goes_early_if_it_is_as_long_as_it_says() {
    run(
        |_| (),
        async |scene: Scene| {
            let mut met = meet(&scene).await;
            for (more, status) in [(1, 400), (0, 200)] {
                let body = r#"{"using":[],"methodCalls":[["Email/get",{},"0"]]}"#;
                let request = Request::post("https://mail.example/body")
                    .header("content-type", "application/json")
                    .header("content-length", body.len() + more)
                    .body(())
                    .unwrap();
                let mut stream = met.client.send_request(request).await.unwrap();
                stream.send_data(body.into()).await.unwrap();
                stream.finish().await.unwrap();
                let answer = stream.recv_response().await.unwrap();
                assert_eq!(answer.status(), status);
            }
            let heads = scene.backend.heads.borrow();
            assert_eq!(heads.len(), 1);
            assert!(heads[0].contains("Early-Data: 1\r\n"), "{}", heads[0]);
        },
    );
}
