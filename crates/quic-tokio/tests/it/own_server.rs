//! Our own QUIC engine at both ends, on loopback: HTTP/3 and HTTP/0.9, early data, key updates,
//! abandoned requests, and what they all leave behind.

use std::future::poll_fn;
use std::net::UdpSocket;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use roundtrip_origin::{EarlyData, Knobs, Origin, QuicEngine, Running};
use roundtrip_quic::{ClientConfig, CloseReason, Endpoint as Engine, Transport};
use roundtrip_quic_tokio::{
    Connection, Endpoint, H3Requests, MessagePart, StreamError, connect, request_lines,
    response_head,
};
use roundtrip_wire::h3::SectionLimits;
use rustls::RootCertStore;
use rustls::crypto::aws_lc_rs;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;

/// The time limit for what must happen.
const PATIENCE: Duration = Duration::from_mins(1);

async fn origin(set: impl FnOnce(&mut Knobs)) -> Running {
    let mut knobs = Knobs::default();
    knobs.listen.quic_engine = QuicEngine::Own;
    knobs.tls.early_data = EarlyData::On;
    knobs.http.max_body = 64 << 20;
    set(&mut knobs);
    Origin::start(knobs).await.unwrap()
}

fn config(origin: &Running, protocol: &str) -> ClientConfig {
    let mut roots = RootCertStore::empty();
    let ca = CertificateDer::from_pem_slice(origin.ca_pem.as_bytes()).unwrap();
    roots.add(ca).unwrap();
    let provider = Arc::new(aws_lc_rs::default_provider());
    let mut tls = rustls::ClientConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&rustls::version::TLS13])
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    tls.alpn_protocols = vec![protocol.as_bytes().to_vec()];
    tls.enable_early_data = true;
    ClientConfig::new(Arc::new(tls), Arc::new(Transport::default()))
}

fn endpoint() -> Endpoint {
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    Endpoint::new(socket, Engine::new(None, [7; 32])).unwrap()
}

fn call(endpoint: &Endpoint, origin: &Running, config: &ClientConfig) -> Connection {
    endpoint.connect(config, origin.https, "localhost").unwrap()
}

async fn speak(connection: &Connection) -> H3Requests {
    let limits = SectionLimits {
        fields: 100,
        size: 1 << 16,
    };
    let (requests, mut driver) = connect(connection, limits).await.unwrap();
    tokio::spawn(async move { poll_fn(|cx| driver.poll(cx)).await });
    requests
}

async fn ask(requests: H3Requests, path: &str, body: Option<Bytes>) -> (u16, usize) {
    let request = http::Request::builder()
        .method(if body.is_some() { "POST" } else { "GET" })
        .uri(format!("https://localhost{path}"))
        .body(())
        .unwrap();
    let (mut sender, mut response) = requests.open().await.unwrap();
    sender.section(request_lines(&request));
    if let Some(body) = body {
        sender.send_data(body).await.unwrap();
    }
    sender.finish().await.unwrap();
    let head = response_head(&response.head().await.unwrap()).unwrap();
    let mut length = 0;
    while let Some(part) = response.next(1 << 16).await.unwrap() {
        if let MessagePart::Data(data) = part {
            length += data.len();
        }
    }
    (head.status().as_u16(), length)
}

/// The length of the body of a bare answer, or why there is none.
async fn fetch(connection: &Connection, path: &str) -> Result<usize, StreamError> {
    let (mut sending, mut receiving) = connection.open_bi().await?;
    sending
        .write_chunk(format!("GET {path}\r\n").into())
        .await?;
    sending.finish()?;
    let mut length = 0;
    while let Some(bytes) = receiving.read_chunk().await? {
        length += bytes.len();
    }
    Ok(length)
}

async fn carry_bodies(endpoint: Endpoint, connection: Connection) {
    connection.connected().await.unwrap();
    let sender = speak(&connection).await;
    assert_eq!(ask(sender.clone(), "/bytes/1", None).await, (200, 1));
    let large = 20_000_000;
    let answer = ask(sender.clone(), "/bytes/20000000", None).await;
    assert_eq!(answer, (200, large));
    let body = Some(Bytes::from(vec![5; large]));
    assert_eq!(ask(sender, "/echo", body).await, (200, large));
    endpoint.close(0x100, b"");
    endpoint.closed().await;
}

#[tokio::test]
async fn bodies_go_both_ways() {
    let origin = origin(|_| {}).await;
    let endpoint = endpoint();
    let connection = call(&endpoint, &origin, &config(&origin, "h3"));
    carry_bodies(endpoint, connection).await;
}

/// The driver is on one thread and the user of the connection on another, as on a runtime with
/// several threads.
#[tokio::test]
async fn bodies_go_both_ways_between_threads() {
    let origin = origin(|_| {}).await;
    let endpoint = endpoint();
    let connection = call(&endpoint, &origin, &config(&origin, "h3"));
    let elsewhere = tokio::task::spawn_blocking(|| {
        let runtime = tokio::runtime::Builder::new_current_thread().build();
        runtime
            .unwrap()
            .block_on(carry_bodies(endpoint, connection));
    });
    elsewhere.await.unwrap();
}

#[tokio::test]
async fn many_streams_share_a_connection() {
    let origin = origin(|knobs| knobs.http.streams = 16).await;
    let endpoint = endpoint();
    let connection = call(&endpoint, &origin, &config(&origin, "h3"));
    let sender = speak(&connection).await;
    let mut running = tokio::task::JoinSet::new();
    for i in 0..100 {
        let sender = sender.clone();
        let path = format!("/bytes/{}", i * 1000);
        running.spawn(async move { (i, ask(sender, &path, None).await) });
    }
    while let Some(ended) = running.join_next().await {
        let (i, answer) = ended.unwrap();
        assert_eq!(answer, (200, i * 1000));
    }
    assert_eq!(origin.stats().h3_requests, 100);
    assert_eq!(origin.stats().quic_connections, 1);
}

#[tokio::test]
async fn keys_are_updated_in_mid_body() {
    let origin = origin(|_| {}).await;
    let endpoint = endpoint();
    let connection = call(&endpoint, &origin, &config(&origin, "hq-interop"));
    connection.connected().await.unwrap();
    let updates = 3;
    for _ in 0..updates {
        // The next update has to wait until the last one is known to have arrived, and a while
        // longer. RFC 9001 §6.1 and §6.5.
        let once_more = async {
            while !connection.update_keys() {
                assert_eq!(fetch(&connection, "/bytes/1000").await, Ok(1000));
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        tokio::time::timeout(PATIENCE, once_more).await.unwrap();
        assert_eq!(fetch(&connection, "/bytes/1000000").await, Ok(1_000_000));
    }
    assert_eq!(connection.stats().unwrap().key_updates, updates);
    drop(connection);
    let counted = async {
        while origin.stats().quic_key_updates != updates {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    };
    tokio::time::timeout(PATIENCE, counted).await.unwrap();
}

#[tokio::test]
async fn a_second_connection_begins_with_its_request() {
    for (takes, accepted) in [(EarlyData::On, true), (EarlyData::Refused, false)] {
        let origin = origin(|knobs| knobs.tls.early_data = takes).await;
        let endpoint = endpoint();
        let mut config = config(&origin, "hq-interop");
        let first = call(&endpoint, &origin, &config);
        assert_eq!(fetch(&first, "/bytes/10").await, Ok(10));
        config.token = first.next_token().await;
        assert!(config.token.is_some());
        first.close(0, b"");
        // Tokens that have come are returned, and no other is waited for.
        while first.next_token().await.is_some() {}
        let second = call(&endpoint, &origin, &config);
        let body = fetch(&second, "/bytes/300000");
        assert!(!second.is_connected());
        assert_eq!(body.await, Ok(300_000));
        assert_eq!(second.early_accepted(), Some(accepted));
        let stats = origin.stats();
        assert_eq!(
            (stats.early_requests, stats.quic_resumed),
            (u64::from(accepted), 1)
        );
        assert_eq!((stats.hq_requests, stats.quic_tokens_taken), (2, 1));
    }
}

#[tokio::test]
async fn abandoned_requests_harm_no_others() {
    let origin = origin(|knobs| knobs.http.streams = 16).await;
    let endpoint = endpoint();
    let connection = call(&endpoint, &origin, &config(&origin, "hq-interop"));
    for _ in 0..50 {
        // More streams than may be open at once: dropped ones make room.
        let (mut sending, mut receiving) = connection.open_bi().await.unwrap();
        sending
            .write_chunk("GET /bytes/100000000\r\n".into())
            .await
            .unwrap();
        sending.finish().unwrap();
        assert!(receiving.read_chunk().await.unwrap().is_some());
    }
    // A request that is cut off does not count.
    let (mut sending, receiving) = connection.open_bi().await.unwrap();
    sending.write_chunk("GET /bytes/1".into()).await.unwrap();
    drop(sending);
    drop(receiving);
    assert_eq!(fetch(&connection, "/bytes/100").await, Ok(100));
    assert!(fetch(&connection, "/truncated/1000").await.is_err());
    assert_eq!(fetch(&connection, "/bytes/100").await, Ok(100));
}

#[tokio::test]
async fn both_ends_learn_that_it_is_over() {
    let origin = origin(|_| {}).await;
    let endpoint = endpoint();
    let connection = call(&endpoint, &origin, &config(&origin, "hq-interop"));
    let (_sending, mut receiving) = connection.open_bi().await.unwrap();
    let reading = tokio::spawn(async move { receiving.read_chunk().await });
    assert_eq!(fetch(&connection, "/bytes/1").await, Ok(1));
    origin.stop().await;
    let reason = tokio::time::timeout(PATIENCE, connection.closed())
        .await
        .unwrap();
    let said = CloseReason::Application {
        code: 0,
        reason: String::new(),
    };
    assert_eq!(reason, said);
    assert_eq!(
        reading.await.unwrap(),
        Err(StreamError::ConnectionLost(said.clone()))
    );
    assert_eq!(
        fetch(&connection, "/").await,
        Err(StreamError::ConnectionLost(said))
    );
}

#[tokio::test]
async fn an_endpoint_that_nobody_holds_closes_its_socket() {
    let origin = origin(|_| {}).await;
    let endpoint = endpoint();
    let address = endpoint.local_addr();
    let connection = call(&endpoint, &origin, &config(&origin, "hq-interop"));
    drop(endpoint);
    // Connections continue.
    assert_eq!(fetch(&connection, "/bytes/100").await, Ok(100));
    drop(connection);
    let freed = async {
        while UdpSocket::bind(address).is_err() {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        while origin.stats().quic_over == 0 {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    };
    tokio::time::timeout(PATIENCE, freed).await.unwrap();
}
