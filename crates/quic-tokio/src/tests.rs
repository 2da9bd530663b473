//! Dropped futures and streams leave nothing behind, and every waiting task learns of the end.

mod observer;
#[path = "../../quic/tests/world/strangers.rs"]
mod strangers;

use std::future::poll_fn;
use std::net::UdpSocket;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::{Duration, SystemTime};

use roundtrip_quic::{
    ClientConfig, Dir, Endpoint as Engine, Retry, ServerConfig, StreamId, Transport,
};
use roundtrip_wire::quic::ConnectionId;
use rustls::RootCertStore;
use rustls::crypto::aws_lc_rs;

use crate::state::Shared;
use crate::wait::Wait;
use crate::wakers::Interest;
use crate::{Connection, Endpoint, RecvStream, SendStream};

fn client_tls() -> rustls::ClientConfig {
    let provider = Arc::new(aws_lc_rs::default_provider());
    rustls::ClientConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&rustls::version::TLS13])
        .unwrap()
        .with_root_certificates(RootCertStore::empty())
        .with_no_client_auth()
}

fn config() -> ClientConfig {
    ClientConfig::new(Arc::new(client_tls()), Arc::new(Transport::default()))
}

/// A connection to an address that never answers.
fn connection() -> (Endpoint, UdpSocket, Connection) {
    let silent = UdpSocket::bind("127.0.0.1:0").unwrap();
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    let endpoint = Endpoint::new(socket, Engine::new(None, [9; 32])).unwrap();
    let to = silent.local_addr().unwrap();
    let connection = endpoint.connect(&config(), to, "localhost").unwrap();
    (endpoint, silent, connection)
}

fn held(connection: &Connection) -> Option<usize> {
    connection.handle().wakers(|wakers| wakers.held())
}

fn nobody_waits(connection: &Connection) -> Option<bool> {
    connection.handle().wakers(|wakers| wakers.whole.is_empty())
}

/// A TCP listener as a UDP socket: creating it works and it becomes readable, but reading it fails.
#[tokio::test]
async fn a_socket_that_cannot_be_read_now_is_not_given_up() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let at = listener.local_addr().unwrap();
    let socket = UdpSocket::from(std::os::fd::OwnedFd::from(listener));
    let endpoint = Endpoint::new(socket, Engine::new(None, [9; 32])).unwrap();
    let connection = endpoint.connect(&config(), at, "localhost").unwrap();
    for _ in 0..3 {
        let _readable = std::net::TcpStream::connect(at).unwrap();
        let soon = Duration::from_millis(50);
        let closed = tokio::time::timeout(soon, endpoint.closed()).await;
        assert!(closed.is_err());
        assert_eq!(connection.close_reason(), None);
    }
    endpoint.close(0, b"");
    endpoint.closed().await;
}

fn server_tls() -> Arc<rustls::ServerConfig> {
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let key = rustls::pki_types::PrivateKeyDer::try_from(made.signing_key.serialize_der());
    let provider = Arc::new(aws_lc_rs::default_provider());
    let tls = rustls::ServerConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&rustls::version::TLS13])
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![made.cert.der().clone()], key.unwrap());
    Arc::new(tls.unwrap())
}

/// A connection that has ended is not kept, whether the server accepts it or not.
#[tokio::test]
async fn clients_that_end_before_they_are_accepted_leave_nothing_behind() {
    let mut config = ServerConfig::new(server_tls(), Arc::new(Transport::default()));
    config.retry = Retry::Never;
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    let engine = Engine::new(Some(config), [9; 32]);
    let endpoint = Endpoint::new(socket, engine).unwrap();
    let client = tokio::net::UdpSocket::bind("127.0.0.1:0").await.unwrap();
    client.connect(endpoint.local_addr()).await.unwrap();
    let hello = strangers::hello(&client_tls());
    let of_themselves = [strangers::Kind::Closing, strangers::Kind::Failing];
    let kinds = strangers::KINDS.into_iter();
    let kinds = kinds.filter(|kind| of_themselves.contains(kind)).cycle();
    for (number, kind) in (0..40_u64).zip(kinds) {
        let id = ConnectionId::new(&number.to_be_bytes()).unwrap();
        let datagram = strangers::first(&id, &kind.frames(&hello));
        client.send(&datagram).await.unwrap();
        if kind == strangers::Kind::Failing {
            // It is informed of the reason.
            let mut told = [0; 2000];
            let told = tokio::time::timeout(Duration::from_mins(1), client.recv(&mut told));
            told.await.unwrap().unwrap();
        }
    }
    assert_eq!(endpoint.kept(), 0);
}

/// Two connected endpoints in one process.
async fn pair() -> ([Endpoint; 2], [Connection; 2]) {
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let key = rustls::pki_types::PrivateKeyDer::try_from(made.signing_key.serialize_der());
    let certificate = made.cert.der().clone();
    let provider = Arc::new(aws_lc_rs::default_provider());
    let tls = rustls::ServerConfig::builder_with_provider(provider.clone())
        .with_protocol_versions(&[&rustls::version::TLS13])
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certificate.clone()], key.unwrap());
    let mut roots = RootCertStore::empty();
    roots.add(certificate).unwrap();
    let client_tls = rustls::ClientConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&rustls::version::TLS13])
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    let transport = Arc::new(Transport::default());
    let server = ServerConfig::new(Arc::new(tls.unwrap()), transport.clone());
    let start = |engine| Endpoint::new(UdpSocket::bind("127.0.0.1:0").unwrap(), engine).unwrap();
    let server = start(Engine::new(Some(server), [8; 32]));
    let client = start(Engine::new(None, [9; 32]));
    let config = ClientConfig::new(Arc::new(client_tls), transport);
    let calling = client
        .connect(&config, server.local_addr(), "localhost")
        .unwrap();
    let accepting = server.accept().await.unwrap().accept();
    calling.connected().await.unwrap();
    ([server, client], [accepting, calling])
}

/// The request and STOP_SENDING come together: nobody has accepted the stream yet. The second time,
/// even the reset in answer to it was acknowledged before.
#[tokio::test]
async fn a_stream_that_was_stopped_before_it_was_accepted_is_stopped() {
    let (_endpoints, [server, client]) = pair().await;
    for rounds in [0, 3] {
        let (mut sending, mut receiving) = client.open_bi().await.unwrap();
        sending.write_chunk("x".into()).await.unwrap();
        sending.finish().unwrap();
        receiving.stop(7);
        sending.delivered().await.unwrap();
        for _ in 0..rounds {
            let mut more = client.open_uni().await.unwrap();
            more.write_chunk("x".into()).await.unwrap();
            more.finish().unwrap();
            more.delivered().await.unwrap();
        }
        let (mut answering, _asked) = server.accept_bi().await.unwrap();
        let stopped = poll_fn(|cx| answering.poll_stopped(cx));
        tokio::time::timeout(Duration::from_mins(1), stopped)
            .await
            .unwrap();
        assert!(answering.write_chunk("y".into()).await.is_err());
    }
}

/// Sends as much as this on a new stream, and returns how much came.
async fn carry(from: &Connection, to: &Connection, size: usize) -> usize {
    let (mut sending, _) = from.open_bi().await.unwrap();
    let send = async {
        sending.write_chunk(vec![7; size].into()).await.unwrap();
        sending.finish().unwrap();
    };
    let receive = async {
        let (_, mut receiving) = to.accept_bi().await.unwrap();
        let mut came = 0;
        while let Some(bytes) = receiving.read_chunk().await.unwrap() {
            came += bytes.len();
        }
        came
    };
    tokio::join!(send, receive).1
}

#[tokio::test]
async fn a_client_continues_on_another_socket() {
    const SIZE: usize = 300_000;
    let ([server_endpoint, client_endpoint], [server, client]) = pair().await;
    let socket = || UdpSocket::bind("127.0.0.1:0").unwrap();
    assert!(server_endpoint.rebind(socket()).is_err());
    for round in 1..4 {
        let before = client_endpoint.local_addr();
        assert_eq!(server.remote_address(), Some(before));
        // Not before the handshake is confirmed, and another id has come.
        while client_endpoint.rebind(socket()).is_err() {
            assert_eq!(client_endpoint.local_addr(), before);
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        assert_ne!(client_endpoint.local_addr(), before);
        assert_eq!(carry(&client, &server, SIZE).await, SIZE);
        assert_eq!(carry(&server, &client, SIZE).await, SIZE);
        let now = client_endpoint.local_addr();
        assert_eq!(server.remote_address(), Some(now));
        for connection in [&client, &server] {
            assert_eq!(connection.stats().unwrap().migrations, round);
        }
        // The old port is free again.
        drop(UdpSocket::bind(before).unwrap());
    }
}

#[tokio::test]
async fn a_task_that_stops_waiting_leaves_nothing_behind() {
    let (_endpoint, _silent, connection) = connection();
    let cx = &mut Context::from_waker(Waker::noop());
    for dir in [Dir::Bidi, Dir::Uni] {
        let interests = [Interest::Open(dir), Interest::Accept(dir)];
        let mut waits = interests.map(|interest| Wait::new(connection.handle(), interest));
        assert!(
            waits
                .iter_mut()
                .all(|wait| wait.poll_stream(cx).is_pending())
        );
        assert_eq!(nobody_waits(&connection), Some(false));
    }
    for _ in 0..3 {
        let soon = Duration::from_millis(1);
        assert!(
            tokio::time::timeout(soon, connection.closed())
                .await
                .is_err()
        );
        assert!(
            tokio::time::timeout(soon, connection.connected())
                .await
                .is_err()
        );
    }
    assert_eq!(nobody_waits(&connection), Some(true));
}

#[tokio::test]
async fn a_dropped_stream_leaves_nothing_behind() {
    let (_endpoint, _silent, connection) = connection();
    let id = StreamId(0);
    let streams = (
        SendStream::new(connection.handle(), id),
        RecvStream::new(connection.handle(), id),
    );
    assert_eq!(held(&connection), Some(2));
    drop(streams);
    assert_eq!(held(&connection), Some(0));
}

#[tokio::test]
async fn an_endpoint_that_is_closed_says_so_to_all_who_wait() {
    let (endpoint, _silent, connection) = connection();
    let waiting = [
        tokio::spawn({
            let endpoint = endpoint.clone();
            async move { endpoint.accept().await.is_none() }
        }),
        tokio::spawn({
            let connection = connection.clone();
            async move { connection.connected().await.is_err() && connection.open_uni().await.is_err() }
        }),
    ];
    tokio::task::yield_now().await;
    endpoint.close(7, b"enough");
    endpoint.closed().await;
    for task in waiting {
        assert!(task.await.unwrap());
    }
    assert!(connection.close_reason().is_some());
}

#[tokio::test]
async fn a_task_that_waits_for_the_end_of_a_stream_is_woken() {
    let (endpoint, _silent, connection) = connection();
    let mut streams: Vec<SendStream> = (0..2)
        .map(|n| SendStream::new(connection.handle(), StreamId(4 * n)))
        .collect();
    let waiting: Vec<_> = (0..3)
        .map(|n| {
            let connection = connection.clone();
            tokio::spawn(async move { connection.stopped(4 * n).await })
        })
        .collect();
    tokio::task::yield_now().await;
    let over = |n: usize| waiting[n].is_finished();
    assert_eq!((over(0), over(1), over(2)), (false, false, true));
    drop(streams.pop());
    tokio::task::yield_now().await;
    assert_eq!((over(0), over(1)), (false, true));
    endpoint.close(0, b"");
    for task in waiting {
        task.await.unwrap();
    }
}

#[tokio::test]
async fn a_handshake_that_fails_confirms_nothing() {
    let (_endpoint, _silent, connection) = connection();
    let waiting =
        |connection: Connection| tokio::spawn(async move { connection.confirmed().await });
    let before = waiting(connection.clone());
    connection.close(0, b"");
    // No task has been informed yet.
    let mut idle = Context::from_waker(Waker::noop());
    let connected = pin!(connection.connected()).poll(&mut idle);
    assert!(!matches!(connected, Poll::Ready(Ok(()))), "{connected:?}");
    connection.closed().await;
    let after = waiting(connection);
    for _ in 0..10 {
        tokio::task::yield_now().await;
    }
    assert!(!before.is_finished() && !after.is_finished());
}

#[tokio::test]
async fn an_endpoint_is_idle_once_its_connections_are_over() {
    let (endpoint, _silent, connection) = connection();
    let idle = tokio::spawn({
        let endpoint = endpoint.clone();
        async move { endpoint.wait_idle().await }
    });
    tokio::task::yield_now().await;
    assert!(!idle.is_finished());
    connection.close(0, b"");
    idle.await.unwrap();
    endpoint.wait_idle().await;
}

/// With different times, an endpoint would refuse the address tokens of endpoints that began before
/// it.
#[test]
fn endpoints_have_one_time() {
    let local = ([127, 0, 0, 1], 1).into();
    let shared = Shared::new(Engine::new(None, [1; 32]), local);
    let since_1970 = SystemTime::UNIX_EPOCH.elapsed().unwrap();
    let told = Duration::from_nanos(shared.lock().now().0);
    assert!(told.abs_diff(since_1970) < Duration::from_mins(1));
}
