//! HTTP/3 over either engine, with quinn and h3 as the client.

mod rules;

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use bytes::{Buf, Bytes};
use quinn::crypto::rustls::QuicClientConfig;
use roundtrip_origin::{EarlyData, Knobs, Origin, Quic, QuicEngine, Running, Tickets};
use rustls::crypto::aws_lc_rs;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{ClientConfig, RootCertStore};

use rules::requests_and_streams_are_judged_by_the_rfcs;

/// Runs the same test with each engine.
macro_rules! with_each_engine {
    ($($test:ident,)*) => {
        mod own {
            $(#[tokio::test]
            async fn $test() {
                super::$test(roundtrip_origin::QuicEngine::Own).await;
            })*
        }

        mod theirs {
            $(#[tokio::test]
            async fn $test() {
                super::$test(roundtrip_origin::QuicEngine::Quinn).await;
            })*
        }
    };
}

with_each_engine! {
    answers_are_those_of_the_other_protocols,
    a_retry_comes_before_the_handshake,
    a_client_that_was_given_a_token_is_not_doubted_again,
    early_data_is_taken_or_refused,
    connections_end_after_so_many_requests,
    faults_strike_where_they_are_told_to,
    a_truncated_body_is_noticed,
    connections_are_refused_or_ignored,
    both_sides_ask_for_fewer_acknowledgements,
    a_stopped_origin_frees_its_ports,
    requests_and_streams_are_judged_by_the_rfcs,
}

type Sender = h3::client::SendRequest<h3_quinn::OpenStreams, Bytes>;

struct Client {
    endpoint: quinn::Endpoint,
    server: SocketAddr,
}

struct Answer {
    status: u16,
    body: Vec<u8>,
    headers: http::HeaderMap,
}

impl Client {
    fn new(origin: &Running) -> Self {
        let mut roots = RootCertStore::empty();
        let ca = CertificateDer::from_pem_slice(origin.ca_pem.as_bytes()).unwrap();
        roots.add(ca).unwrap();
        let provider = Arc::new(aws_lc_rs::default_provider());
        let mut tls = ClientConfig::builder_with_provider(provider)
            .with_protocol_versions(&[&rustls::version::TLS13])
            .unwrap()
            .with_root_certificates(roots)
            .with_no_client_auth();
        tls.alpn_protocols = vec![b"h3".to_vec()];
        tls.enable_early_data = true;
        let quic = QuicClientConfig::try_from(tls).unwrap();
        let mut config = quinn::ClientConfig::new(Arc::new(quic));
        let mut transport = quinn::TransportConfig::default();
        transport.ack_frequency_config(Some(quinn::AckFrequencyConfig::default()));
        transport.max_idle_timeout(Some(Duration::from_secs(2).try_into().unwrap()));
        config.transport_config(Arc::new(transport));
        let mut endpoint = quinn::Endpoint::client((Ipv4Addr::LOCALHOST, 0).into()).unwrap();
        endpoint.set_default_client_config(config);
        let server = origin.https;
        Self { endpoint, server }
    }

    fn connecting(&self) -> quinn::Connecting {
        self.endpoint.connect(self.server, "localhost").unwrap()
    }

    async fn open(&self) -> (quinn::Connection, Sender) {
        let quic = self.connecting().await.unwrap();
        let sender = speak(quic.clone()).await;
        (quic, sender)
    }
}

async fn speak(quic: quinn::Connection) -> Sender {
    let (mut driver, sender) = h3::client::new(h3_quinn::Connection::new(quic))
        .await
        .unwrap();
    tokio::spawn(async move { driver.wait_idle().await });
    sender
}

async fn ask(sender: &mut Sender, path: &str, body: Option<&[u8]>) -> Result<Answer, String> {
    let request = http::Request::builder()
        .method(if body.is_some() { "POST" } else { "GET" })
        .uri(format!("https://localhost{path}"))
        .body(())
        .unwrap();
    let said = |error: &dyn std::fmt::Display| error.to_string();
    let mut stream = sender.send_request(request).await.map_err(|e| said(&e))?;
    if let Some(body) = body {
        let bytes = Bytes::copy_from_slice(body);
        stream.send_data(bytes).await.map_err(|e| said(&e))?;
    }
    stream.finish().await.map_err(|e| said(&e))?;
    let mut head = stream.recv_response().await.map_err(|e| said(&e))?;
    while head.status().is_informational() {
        head = stream.recv_response().await.map_err(|e| said(&e))?;
    }
    let mut body = Vec::new();
    while let Some(mut data) = stream.recv_data().await.map_err(|e| said(&e))? {
        body.extend_from_slice(&data.copy_to_bytes(data.remaining()));
    }
    Ok(Answer {
        status: head.status().as_u16(),
        body,
        headers: head.headers().clone(),
    })
}

async fn start(engine: QuicEngine, set: impl FnOnce(&mut Knobs)) -> (Running, Client) {
    let mut knobs = Knobs::default();
    knobs.listen.quic_engine = engine;
    set(&mut knobs);
    let origin = Origin::start(knobs).await.unwrap();
    let client = Client::new(&origin);
    (origin, client)
}

async fn answers_are_those_of_the_other_protocols(engine: QuicEngine) {
    let (origin, client) = start(engine, |knobs| knobs.http.early_hints = true).await;
    let (_quic, mut sender) = client.open().await;
    let whole = ask(&mut sender, "/bytes/300000", None).await.unwrap();
    assert_eq!((whole.status, whole.body.len()), (200, 300_000));
    let dripped = ask(&mut sender, "/drip?bytes=1000&every=1", None)
        .await
        .unwrap();
    assert_eq!(dripped.body, whole.body[..1000]);
    let echoed = ask(&mut sender, "/echo", Some(&vec![7; 100_000]))
        .await
        .unwrap();
    assert_eq!(echoed.body, vec![7; 100_000]);
    let padded = ask(&mut sender, "/headers/9000", None).await.unwrap();
    assert!(
        padded
            .headers
            .values()
            .map(http::HeaderValue::len)
            .sum::<usize>()
            > 8_000
    );
    let waited = ask(&mut sender, "/delay/20", None).await.unwrap();
    let timing = waited.headers["server-timing"].to_str().unwrap();
    let delay = timing.strip_prefix("think;dur=").unwrap();
    assert!(delay.parse::<f64>().unwrap() >= 20.0, "{delay}");
    let stats = origin.stats();
    assert_eq!((stats.h3_requests, stats.quic_connections), (5, 1));
    assert_eq!((stats.quic_retries, stats.early_requests), (0, 0));
}

async fn a_retry_comes_before_the_handshake(engine: QuicEngine) {
    let (origin, client) = start(engine, |knobs| knobs.listen.quic_retry = true).await;
    let (_quic, mut sender) = client.open().await;
    assert_eq!(ask(&mut sender, "/", None).await.unwrap().status, 200);
    let stats = origin.stats();
    assert_eq!((stats.quic_retries, stats.quic_connections), (1, 1));
}

async fn a_client_that_was_given_a_token_is_not_doubted_again(engine: QuicEngine) {
    for (tokens, retries) in [(2, 1), (0, 3)] {
        let (origin, client) = start(engine, |knobs| {
            knobs.listen.quic_retry = true;
            knobs.listen.quic_tokens = tokens;
        })
        .await;
        let (_quic, mut sender) = client.open().await;
        assert_eq!(ask(&mut sender, "/", None).await.unwrap().status, 200);
        let (one, other) = tokio::join!(client.connecting(), client.connecting());
        assert!(one.is_ok() && other.is_ok());
        let stats = origin.stats();
        let taken = u64::from(tokens);
        assert_eq!(
            (stats.quic_retries, stats.quic_tokens_taken),
            (retries, taken)
        );
    }
}

/// Visits, waits for a ticket, and visits again with early data. Returns whether that was accepted,
/// and the status.
async fn visit_early(origin: &Running, client: &Client) -> Option<(bool, u16)> {
    let (quic, mut sender) = client.open().await;
    ask(&mut sender, "/", None).await.unwrap();
    quic.close(0_u32.into(), b"");
    let (quic, accepted) = client.connecting().into_0rtt().ok()?;
    let mut sender = speak(quic.clone()).await;
    let early = ask(&mut sender, "/bytes/3", None).await;
    let accepted = accepted.await;
    let status = match early {
        Ok(answer) => answer.status,
        Err(_) => {
            let mut again = speak(quic).await;
            ask(&mut again, "/bytes/3", None).await.unwrap().status
        }
    };
    assert_eq!(origin.stats().h3_requests, 2);
    Some((accepted, status))
}

async fn early_data_is_taken_or_refused(engine: QuicEngine) {
    for (early_data, tickets, outcome, counted, resumed) in [
        (EarlyData::On, Tickets::Stateful, Some((true, 200)), 1, 1),
        (
            EarlyData::TooEarly,
            Tickets::Stateful,
            Some((true, 425)),
            1,
            1,
        ),
        (
            EarlyData::Refused,
            Tickets::Stateful,
            Some((false, 200)),
            0,
            1,
        ),
        (
            EarlyData::Refused,
            Tickets::Refused,
            Some((false, 200)),
            0,
            0,
        ),
        (EarlyData::Off, Tickets::Stateful, None, 0, 0),
    ] {
        let (origin, client) = start(engine, |knobs| {
            knobs.tls.early_data = early_data;
            knobs.tls.tickets = tickets;
        })
        .await;
        let seen = visit_early(&origin, &client).await;
        assert_eq!(seen, outcome, "{early_data:?} {tickets:?}");
        let stats = origin.stats();
        assert_eq!(
            (stats.early_requests, stats.quic_resumed),
            (counted, resumed)
        );
    }
}

async fn connections_end_after_so_many_requests(engine: QuicEngine) {
    let (origin, client) = start(engine, |knobs| knobs.http.close_after = Some(2)).await;
    let (_quic, mut sender) = client.open().await;
    for _ in 0..2 {
        let answer = ask(&mut sender, "/bytes/100000", None).await.unwrap();
        assert_eq!(answer.body.len(), 100_000);
    }
    assert!(ask(&mut sender, "/", None).await.is_err());
    assert_eq!(origin.stats().requests, 2);
}

async fn faults_strike_where_they_are_told_to(engine: QuicEngine) {
    for fault in [
        "reset@request",
        "reset@body",
        "close@body",
        "stall@head",
        "stall@body",
    ] {
        let (origin, client) =
            start(engine, |knobs| knobs.fault = Some(fault.parse().unwrap())).await;
        let (_quic, mut sender) = client.open().await;
        let answer = ask(&mut sender, "/bytes/100000", None).await;
        assert!(answer.is_err(), "{fault}");
        let error = answer.err().unwrap().to_lowercase();
        let timed_out = error.contains("timeout") || error.contains("timed out");
        assert_eq!(timed_out, fault.starts_with("stall"), "{fault}: {error}");
        assert_eq!(origin.stats().faults, 1);
    }
}

async fn a_truncated_body_is_noticed(engine: QuicEngine) {
    let (_origin, client) = start(engine, |_| {}).await;
    let (_quic, mut sender) = client.open().await;
    assert!(ask(&mut sender, "/truncated/1000", None).await.is_err());
    assert!(ask(&mut sender, "/bytes/1", None).await.is_ok());
}

async fn connections_are_refused_or_ignored(engine: QuicEngine) {
    for (fault, quic) in [
        (Some("reset@accept"), Quic::On),
        (Some("stall@accept"), Quic::On),
        (None, Quic::Silent),
    ] {
        let (origin, client) = start(engine, |knobs| {
            knobs.fault = fault.map(|fault| fault.parse().unwrap());
            knobs.listen.h3 = quic;
        })
        .await;
        let outcome = client.connecting().await;
        let refused = matches!(outcome, Err(quinn::ConnectionError::ConnectionClosed(_)));
        assert_eq!(refused, fault == Some("reset@accept"), "{outcome:?}");
        assert!(outcome.is_err());
        assert_eq!(origin.stats().quic_connections, 0);
    }
}

async fn both_sides_ask_for_fewer_acknowledgements(engine: QuicEngine) {
    let (_origin, client) = start(engine, |_| {}).await;
    let (quic, mut sender) = client.open().await;
    let body = vec![7; 100_000];
    let echoed = ask(&mut sender, "/echo", Some(&body)).await.unwrap();
    assert_eq!(echoed.body, body);
    let (asked, told) = (quic.stats().frame_tx, quic.stats().frame_rx);
    assert!(asked.ack_frequency > 0, "{asked:?}");
    assert!(told.ack_frequency > 0, "{told:?}");
    assert_eq!(quic.close_reason(), None);
}

async fn a_stopped_origin_frees_its_ports(engine: QuicEngine) {
    // Another test may take a freed port before this one does, but not five times.
    for _ in 0..5 {
        let (origin, _client) = start(engine, |_| {}).await;
        let address = origin.https;
        origin.stop().await;
        if std::net::TcpListener::bind(address).is_ok()
            && std::net::UdpSocket::bind(address).is_ok()
        {
            return;
        }
    }
    unreachable!("a stopped origin keeps its ports");
}
