//! Both sides of a `Stream` over a pipe in memory: each flight leaves in one write, early data is
//! accepted or sent again.

use std::io;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::time::Duration;

use roundtrip_model::{Clock, Event, Moment, Recorder};
use roundtrip_tls::{Client, Offer, Roots, ServerStream, Stream};
use rustls::ServerConfig;
use rustls::pki_types::PrivateKeyDer;
use tokio::io::{
    AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, DuplexStream, ReadBuf, duplex,
};
use tokio::time::timeout;

struct Frozen;

impl Clock for Frozen {
    fn now(&self) -> Moment {
        Moment::ZERO
    }
}

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
    let recorder = Recorder::new(Arc::new(Frozen));
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
    let recorder = Recorder::new(Arc::new(Frozen));
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
    let recorder = Recorder::new(Arc::new(Frozen));
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
    let recorder = Recorder::new(Arc::new(Frozen));
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

/// The client gets an alert once if there is one, and the server nothing but errors, however often
/// it tries.
#[tokio::test]
async fn bytes_that_are_not_tls_end_a_server_s_stream() {
    let alert = |code| vec![21, 3, 3, 0, 2, 2, code];
    for (bytes, expected) in [
        (b"GET / HTTP/1.1\r\n\r\n".as_slice(), alert(50)),
        (&[22, 3, 1, 0, 4, 1, 0, 0, 0], alert(50)),
        (&[23, 3, 3, 0, 2, 1, 2], alert(10)),
        (&[22, 3, 1, 0, 4, 9, 9, 9, 9], vec![]),
    ] {
        let (mut near, far) = duplex(1 << 16);
        let mut server = ServerStream::new(far, peers(false).server.into()).unwrap();
        near.write_all(bytes).await.unwrap();
        assert!(server.handshake().await.is_err());
        for _ in 0..3 {
            near.write_all(bytes).await.unwrap();
            assert!(server.read(&mut [0; 9]).await.is_err());
            assert!(server.write(b"x").await.is_err());
            let _ = server.shutdown().await;
        }
        drop(server);
        let mut told = Vec::new();
        near.read_to_end(&mut told).await.unwrap();
        assert_eq!(told, expected, "{bytes:?}");
    }
}

/// A client's record that was damaged on the way, behind good ones.
#[tokio::test]
async fn a_damaged_record_ends_a_server_s_stream() {
    let p = peers(false);
    let (near, far) = duplex(1 << 16);
    let serving = tokio::spawn(async move {
        let mut stream = ServerStream::new(far, p.server.into()).unwrap();
        let mut heard = [0; 4];
        stream.read_exact(&mut heard).await.unwrap();
        assert!(stream.read(&mut heard).await.is_err());
        assert!(stream.read(&mut heard).await.is_err());
        let _ = stream.shutdown().await;
    });
    let recorder = Recorder::new(Arc::new(Frozen));
    let mut stream = p
        .client
        .connect(near, &offer(false), "localhost", &recorder);
    let stream = stream.as_mut().unwrap();
    stream.write_all(b"ping").await.unwrap();
    stream.flush().await.unwrap();
    let damaged = [&[23, 3, 3, 0, 40][..], &[7; 40]].concat();
    stream.get_mut().write_all(&damaged).await.unwrap();
    let error = stream.read(&mut [0; 9]).await.unwrap_err();
    assert!(error.to_string().contains("BadRecordMac"), "{error}");
    serving.await.unwrap();
}

/// A client's bytes, cut anywhere, with some of them changed, dropped or repeated: whatever comes,
/// the stream returns data or an error.
#[tokio::test]
async fn no_client_makes_a_server_s_stream_panic() {
    let rounds = std::env::var("ROUNDS").map_or(300, |rounds| rounds.parse().unwrap());
    let p = peers(true);
    let server: Arc<ServerConfig> = p.server.into();
    let mut random = Lcg(rounds);
    let (mut heard, mut failed) = (0, 0);
    for _ in 0..rounds {
        let (near, client_end) = duplex(1 << 16);
        let (server_end, far) = duplex(1 << 16);
        let mut server = ServerStream::new(far, server.clone()).unwrap();
        let (spoil, write_first) = (random.next() % 40, random.next().is_multiple_of(3));
        let seed = random.next();
        let talking = async {
            let recorder = Recorder::new(Arc::new(Frozen));
            let mut stream = p
                .client
                .connect(near, &offer(true), "localhost", &recorder)
                .unwrap();
            for size in [10, 3000, 40_000] {
                if stream.write_all(&vec![7; size]).await.is_err() || stream.flush().await.is_err()
                {
                    break;
                }
                let _ = timeout(PAUSE, stream.read(&mut [0; 100])).await;
            }
            let _ = stream.shutdown().await;
        };
        let serving = async {
            let mut buffer = vec![0; 20_000];
            let room = 1 + seed as usize % buffer.len();
            let _ = timeout(10 * PAUSE, async {
                if write_first {
                    let _ = server.write(b"first").await;
                }
                loop {
                    match server.read(&mut buffer[..room]).await {
                        Ok(0) => break,
                        Ok(_) => heard += 1,
                        Err(_) => {
                            failed += 1;
                            break;
                        }
                    }
                    let _ = server.write_all(b"answer").await;
                    let _ = server.flush().await;
                }
                let _ = server.shutdown().await;
            })
            .await;
            drop(server);
        };
        let carrying = carry(client_end, server_end, Lcg(seed), spoil);
        let _ = tokio::join!(talking, serving, timeout(20 * PAUSE, carrying));
    }
    assert!(
        heard > rounds && failed > rounds / 10,
        "{heard} reads, {failed} failures"
    );
}

const PAUSE: Duration = Duration::from_millis(2);

struct Lcg(u64);

impl Lcg {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005);
        self.0 = self.0.wrapping_add(1_442_695_040_888_963_407);
        self.0 >> 33
    }
}

/// Carries bytes both ways; what goes to the server comes in pieces, one of `spoil` of them
/// damaged.
async fn carry(client: DuplexStream, server: DuplexStream, mut random: Lcg, spoil: u64) {
    let (mut from_client, mut to_client) = tokio::io::split(client);
    let (mut from_server, mut to_server) = tokio::io::split(server);
    let up = async {
        let mut buffer = [0; 5000];
        while let Ok(count @ 1..) = from_client.read(&mut buffer).await {
            let mut rest = &mut buffer[..count];
            while !rest.is_empty() {
                let cut = 1 + random.next() as usize % rest.len();
                let (piece, later) = rest.split_at_mut(cut);
                let place = random.next() as usize % piece.len();
                match random.next() % (4 * spoil + 4) {
                    0 if spoil > 0 => piece[place] ^= 1 << (random.next() % 8),
                    1 if spoil > 0 => drop(to_server.write_all(&piece[..place]).await),
                    2 if spoil > 0 => drop(to_server.write_all(piece).await),
                    _ => {}
                }
                if to_server.write_all(piece).await.is_err() {
                    return;
                }
                tokio::task::yield_now().await;
                rest = later;
            }
        }
        let _ = to_server.shutdown().await;
    };
    let down = async {
        let _ = tokio::io::copy(&mut from_server, &mut to_client).await;
        let _ = to_client.shutdown().await;
    };
    tokio::join!(up, down);
}
