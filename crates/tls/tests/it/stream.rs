//! Both sides of a `Stream` over a pipe in memory: each flight leaves in one write, early data is
//! accepted or sent again.

mod refused;

use std::io;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};

use roundtrip_model::{Event, Moment, Recorder};
use roundtrip_tls::{Client, Offer, Roots, ServerStream, Stream};
use rustls::ServerConfig;
use rustls::pki_types::PrivateKeyDer;
use tokio::io::{
    AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, DuplexStream, ReadBuf, duplex,
};

/// A pipe that counts writes and keeps the first.
struct Counting {
    pipe: DuplexStream,
    writes: Arc<AtomicUsize>,
    first: Arc<Mutex<usize>>,
}

impl AsyncRead for Counting {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.pipe).poll_read(cx, buf)
    }
}

impl AsyncWrite for Counting {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        data: &[u8],
    ) -> Poll<io::Result<usize>> {
        let n = std::task::ready!(Pin::new(&mut self.pipe).poll_write(cx, data))?;
        if self.writes.fetch_add(1, Ordering::Relaxed) == 0 {
            *self.first.lock().unwrap() = n;
        }
        Poll::Ready(Ok(n))
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.pipe).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.pipe).poll_shutdown(cx)
    }
}

struct Peers {
    client: Client,
    server: ServerConfig,
}

fn peers(server_takes_early_data: bool) -> Peers {
    let key = rcgen::generate_simple_self_signed(vec!["localhost".into()]).unwrap();
    let directory = std::env::temp_dir().join(format!(
        "roundtrip-tls-{}-{:p}",
        std::process::id(),
        &raw const key
    ));
    std::fs::write(&directory, key.cert.pem()).unwrap();
    let client = Client::new(Roots::File(directory.clone()), None).unwrap();
    std::fs::remove_file(&directory).unwrap();
    let provider = rustls::crypto::aws_lc_rs::default_provider();
    let mut server = ServerConfig::builder_with_provider(provider.into())
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(
            vec![key.cert.der().clone()],
            PrivateKeyDer::try_from(key.signing_key.serialize_der()).unwrap(),
        )
        .unwrap();
    if server_takes_early_data {
        server.max_early_data_size = 16 * 1024;
        server.send_half_rtt_data = true;
    }
    Peers { client, server }
}

fn offer(early_data: bool) -> Offer {
    Offer {
        tls12: true,
        tls13: true,
        post_quantum: true,
        early_data,
        resume: true,
        alpn: vec![],
        quic: false,
    }
}

struct Run {
    stream: Stream<Counting>,
    answer: Vec<u8>,
    writes: Arc<AtomicUsize>,
    first_write: usize,
    recorder: Recorder,
}

/// One connection: the client sends "ping", the server answers "pong:ping".
async fn run(client: &Client, server: Arc<ServerConfig>, early: bool) -> Run {
    let (near, far) = duplex(1 << 16);
    let serving = tokio::spawn(async move {
        let mut stream = ServerStream::new(far, server).unwrap();
        let mut heard = [0; 4];
        if stream.read_exact(&mut heard).await.is_ok() {
            stream.write_all(b"pong:").await.unwrap();
            stream.write_all(&heard).await.unwrap();
            stream.flush().await.unwrap();
            let _ = stream.read(&mut [0; 1]).await;
        }
    });
    let recorder = Recorder::new(Arc::new(Moment::ZERO));
    let (writes, first) = (Arc::new(AtomicUsize::new(0)), Arc::new(Mutex::new(0)));
    let io = Counting {
        pipe: near,
        writes: writes.clone(),
        first: first.clone(),
    };
    let mut stream = client
        .connect(io, &offer(early), "localhost", &recorder)
        .unwrap();
    if !stream.takes_early_data() {
        stream.handshake().await.unwrap();
    }
    stream.write_all(b"ping").await.unwrap();
    stream.flush().await.unwrap();
    let mut answer = vec![0; 9];
    stream.read_exact(&mut answer).await.unwrap();
    assert!(
        stream.facts().get().is_some(),
        "an answer without the handshake's facts"
    );
    let first_write = *first.lock().unwrap();
    let done = Run {
        stream,
        answer,
        writes,
        first_write,
        recorder,
    };
    let mut done = done;
    done.stream.shutdown().await.unwrap();
    serving.await.unwrap();
    done
}

#[tokio::test]
async fn a_handshake_leaves_in_two_writes_and_records_its_facts() {
    let p = peers(false);
    let run = run(&p.client, p.server.into(), false).await;
    assert_eq!(run.answer, b"pong:ping");
    // ClientHello; then Finished and the request together; then close_notify.
    assert_eq!(run.writes.load(Ordering::Relaxed), 3);
    let facts = run.stream.facts().get().unwrap().clone();
    assert_eq!(
        (facts.version.as_str(), facts.group.as_str()),
        ("TLSv1.3", "X25519MLKEM768")
    );
    assert!(facts.cipher.starts_with("TLS_"), "{}", facts.cipher);
    assert!(!facts.resumed && !facts.hello_retry && facts.client_hello_bytes > 1200);
    let verified = |e: &Event| {
        matches!(
            e,
            Event::Worked {
                task: roundtrip_model::Task::Verify,
                ..
            }
        )
    };
    assert!(
        run.recorder.snapshot().first(verified).is_some(),
        "verification is shown"
    );
    assert_eq!(facts.chain.unwrap().certificates.len(), 1);
    assert!(
        run.recorder
            .snapshot()
            .first(|e| *e == Event::HandshakeFinished)
            .is_some()
    );
}

#[tokio::test]
async fn facts_delay_no_flight_and_exist_even_if_none_leaves() {
    let p = peers(false);
    let (near, far) = duplex(1 << 16);
    let serving = tokio::spawn(async move {
        let server = ServerStream::new(far, p.server.into());
        let _ = server.unwrap().handshake().await;
    });
    let recorder = Recorder::new(Arc::new(Moment::ZERO));
    let mut stream = p
        .client
        .connect(near, &offer(false), "localhost", &recorder)
        .unwrap();
    let facts = stream.facts();
    stream.handshake().await.unwrap();
    assert!(facts.get().is_none());
    drop(stream);
    assert_eq!(facts.get().unwrap().version, "TLSv1.3");
    serving.await.unwrap();
}

#[tokio::test]
async fn early_data_shares_the_first_write_and_is_answered_at_once() {
    let p = peers(true);
    let server = Arc::new(p.server);
    let first = run(&p.client, server.clone(), true).await;
    assert_eq!(
        first.stream.early_data_accepted(),
        None,
        "no ticket, no early data"
    );
    assert!(p.client.tickets(false).received() > 0);
    let second = run(&p.client, server, true).await;
    assert_eq!(second.answer, b"pong:ping");
    let facts = second.stream.facts().get().unwrap().clone();
    assert!(facts.resumed);
    assert_eq!(facts.early_data, roundtrip_model::EarlyData::Accepted);
    assert!(
        second.first_write as u64 > facts.client_hello_bytes,
        "hello and early data leave together"
    );
}

#[tokio::test]
async fn refused_early_data_is_sent_again() {
    let p = peers(true);
    let mut refusing = p.server.clone();
    refusing.max_early_data_size = 0;
    run(&p.client, p.server.into(), true).await;
    let second = run(&p.client, refusing.into(), true).await;
    assert_eq!(second.answer, b"pong:ping");
    assert_eq!(
        second.stream.facts().get().unwrap().clone().early_data,
        roundtrip_model::EarlyData::Refused
    );
    assert!(
        second
            .recorder
            .snapshot()
            .first(|e| *e == Event::EarlyDataRefused)
            .is_some()
    );
}

#[tokio::test]
async fn more_data_than_the_library_buffers_arrives() {
    const SIZE: usize = 300_000;
    let p = peers(false);
    let (near, far) = duplex(1 << 20);
    let server = Arc::new(p.server);
    let serving = tokio::spawn(async move {
        let mut stream = ServerStream::new(far, server).unwrap();
        stream.handshake().await.unwrap();
        stream.write_all(&vec![7; SIZE]).await.unwrap();
        stream.shutdown().await.unwrap();
    });
    let recorder = Recorder::new(Arc::new(Moment::ZERO));
    let mut stream = p
        .client
        .connect(near, &offer(false), "localhost", &recorder)
        .unwrap();
    stream.handshake().await.unwrap();
    let mut all = Vec::new();
    stream.read_to_end(&mut all).await.unwrap();
    serving.await.unwrap();
    assert_eq!(all, vec![7; SIZE]);
}

#[tokio::test]
async fn an_untrusted_certificate_is_refused_with_the_reason() {
    let (here, elsewhere) = (peers(false), peers(false));
    let (near, far) = duplex(1 << 16);
    tokio::spawn(async move {
        let mut stream = ServerStream::new(far, elsewhere.server.into()).unwrap();
        let _ = stream.read(&mut [0; 1]).await;
    });
    let recorder = Recorder::new(Arc::new(Moment::ZERO));
    let mut stream = here
        .client
        .connect(near, &offer(false), "localhost", &recorder)
        .unwrap();
    let error = stream.handshake().await.unwrap_err();
    assert!(
        matches!(
            error,
            roundtrip_tls::TlsError::Protocol(rustls::Error::InvalidCertificate(_))
        ),
        "{error:?}"
    );
    assert_ne!(stream.facts().get().unwrap().clone().verify_result, 0);
}
