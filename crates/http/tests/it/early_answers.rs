//! Servers that answer before they have read the whole request: the answer counts, and ends the
//! request. RFC 9112 §9.3, RFC 9113 §8.1, RFC 9114 §4.1.

use std::io::{self, Cursor};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use roundtrip_http::{Connection, HttpError, open_tunnel};
use roundtrip_model::{Clock, Event, Exchange, Moment, Recorder, Target};
use roundtrip_net::SystemClock;
use tokio::io::{
    AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, DuplexStream, ReadBuf, duplex,
};
use tokio::time::timeout;

use crate::hostile_servers::{connect, server};
use crate::requests::{recorder, upload};

/// More than any window or buffer here.
const LARGE: usize = 1 << 20;
/// What an upload begins with.
const HEAD: &[u8] = b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1048576\r\n\r\n";
const PIPE: usize = 64 << 10;
const REFUSAL: &[u8] = b"HTTP/1.1 413 Content Too Large\r\nContent-Length: 3\r\n\r\nno\n";
/// The clock of these tests stands still while anything can run.
const PATIENCE: Duration = Duration::from_mins(1);

/// Each look at it is later than the one before.
#[derive(Default)]
struct Counter(AtomicU64);

impl Clock for Counter {
    fn now(&self) -> Moment {
        Moment(self.0.fetch_add(1, Ordering::Relaxed))
    }
}

/// Records what passes, as a socket does.
struct Recorded {
    pipe: DuplexStream,
    recorder: Recorder,
}

impl AsyncRead for Recorded {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        ready!(Pin::new(&mut self.pipe).poll_read(cx, into))?;
        let bytes = into.filled().len() as u64;
        self.recorder.record(Event::Received { bytes });
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Recorded {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        data: &[u8],
    ) -> Poll<io::Result<usize>> {
        let sent = ready!(Pin::new(&mut self.pipe).poll_write(cx, data))?;
        self.recorder.record(Event::Sent { bytes: sent as u64 });
        Poll::Ready(Ok(sent))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

/// A client's stream that records, and the server's end.
fn pipe() -> (Recorded, DuplexStream) {
    let (pipe, server) = duplex(PIPE);
    let recorder = Recorder::new(Arc::new(Counter::default()));
    (Recorded { pipe, recorder }, server)
}

/// The request ended before its answer began, and the phases cover the whole.
fn assert_in_order(recorder: &Recorder) {
    recorder.record(Event::Finished);
    let timeline = recorder.snapshot();
    let place = |event: Event| timeline.iter().position(|(_, e)| *e == event).unwrap();
    let left = place(Event::RequestSent);
    assert!(left < place(Event::FirstByte), "{timeline:?}");
    assert!(
        place(Event::FirstByte) < place(Event::Answered),
        "{timeline:?}"
    );
    let exchange = Exchange {
        timeline,
        ..Exchange::default()
    };
    let phases: Duration = exchange.phases().iter().map(|p| p.end.since(p.start)).sum();
    assert_eq!(phases, exchange.total());
}

#[tokio::test(start_paused = true)]
async fn an_answer_ends_an_upload_over_http1() {
    let (stream, mut server) = pipe();
    let recorder = stream.recorder.clone();
    server.write_all(REFUSAL).await.unwrap();
    let mut connection = Connection::h1(stream);
    let asked = timeout(PATIENCE, upload(&mut connection, LARGE, &recorder)).await;
    let (outcome, facts, body) = asked.expect("the answer was not read");
    outcome.unwrap();
    assert_eq!((facts.status, body.as_slice()), (413, &b"no\n"[..]));
    assert!(facts.uploaded < LARGE as u64, "{}", facts.uploaded);
    assert!(!facts.keep_alive);
    assert_in_order(&recorder);
}

#[tokio::test(start_paused = true)]
async fn an_interim_response_does_not_end_an_upload() {
    let (stream, mut server) = pipe();
    let recorder = stream.recorder.clone();
    let serve = async {
        let interim = b"HTTP/1.1 103 Early Hints\r\n\r\n";
        server.write_all(interim).await.unwrap();
        let mut seen = vec![0; HEAD.len() + LARGE];
        server.read_exact(&mut seen).await.unwrap();
        server.write_all(REFUSAL).await.unwrap();
        server
    };
    let mut connection = Connection::h1(stream);
    let asking = upload(&mut connection, LARGE, &recorder);
    let (asked, _server) = tokio::join!(timeout(PATIENCE, asking), serve);
    let (outcome, facts, _) = asked.unwrap();
    outcome.unwrap();
    assert_eq!((facts.status, facts.uploaded), (413, LARGE as u64));
    assert!(facts.keep_alive && facts.interim == [103]);
    assert_in_order(&recorder);
}

#[tokio::test(start_paused = true)]
async fn a_flood_of_interim_responses_ends_an_upload() {
    let (stream, mut server) = pipe();
    let recorder = stream.recorder.clone();
    let flood = async {
        while server
            .write_all(b"HTTP/1.1 103 Early Hints\r\n\r\n")
            .await
            .is_ok()
        {}
    };
    let mut connection = Connection::h1(stream);
    let asked = tokio::select! {
        asked = timeout(PATIENCE, upload(&mut connection, LARGE, &recorder)) => asked.unwrap(),
        () = flood => panic!("the stream ended"),
    };
    let error = asked.0.unwrap_err();
    assert!(matches!(error, HttpError::TooManyInterim(_)), "{error}");
}

/// Takes a few bytes, and then gives the error of a connection that was reset.
struct ResetWriter(usize);

impl AsyncWrite for ResetWriter {
    fn poll_write(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
        data: &[u8],
    ) -> Poll<io::Result<usize>> {
        let taken = self.0.min(data.len());
        self.0 -= taken;
        Poll::Ready(match taken {
            0 => Err(io::ErrorKind::ConnectionReset.into()),
            taken => Ok(taken),
        })
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

/// Gives nothing at first, as long as something can be written.
struct LateReader(Cursor<Vec<u8>>, bool);

impl AsyncRead for LateReader {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if std::mem::take(&mut self.1) {
            return Poll::Pending;
        }
        Pin::new(&mut self.0).poll_read(cx, into)
    }
}

#[tokio::test]
async fn an_answer_before_a_reset_is_read() {
    let ask = async |answer: &[u8]| {
        let reader = LateReader(Cursor::new(answer.to_vec()), true);
        let stream = tokio::io::join(reader, ResetWriter(500));
        upload(&mut Connection::h1(stream), LARGE, &recorder()).await
    };
    let (outcome, facts, body) = ask(REFUSAL).await;
    outcome.unwrap();
    assert_eq!((facts.status, body.as_slice()), (413, &b"no\n"[..]));
    let (outcome, ..) = ask(b"").await;
    assert!(matches!(outcome, Err(HttpError::Io(_))), "{outcome:?}");
    // The end of a body without a length is not shown by a reset.
    let (outcome, ..) = ask(b"HTTP/1.1 413 X\r\n\r\nno").await;
    let reset = matches!(outcome, Err(HttpError::BodyReset { got: 2, .. }));
    assert!(reset, "{outcome:?}");
}

/// A frame of HTTP/2 on the first stream, or on none. RFC 9113 §4.1.
fn frame(kind: u8, flags: u8, stream: u8, payload: &[u8]) -> Vec<u8> {
    let length = u8::try_from(payload.len()).unwrap();
    let header = [0, 0, length, kind, flags, 0, 0, 0, stream];
    [&header, payload].concat()
}

/// SETTINGS, and their acknowledgement. RFC 9113 §6.5.
fn greeting() -> Vec<u8> {
    [frame(4, 0, 0, &[]), frame(4, 1, 0, &[])].concat()
}

/// The whole head of a response with this status: its field is literal. RFC 7541 §6.2.2.
fn head(status: &str, flags: u8) -> Vec<u8> {
    let section = [&[8, 3], status.as_bytes()].concat();
    frame(1, flags | 4, 1, &section)
}

/// Reads what the client sends, and returns no credit.
async fn greet(server: &mut DuplexStream) {
    let mut seen = Vec::new();
    while seen.len() < 200 {
        server.read_buf(&mut seen).await.unwrap();
    }
    server.write_all(&greeting()).await.unwrap();
}

async fn drain(server: &mut (impl AsyncRead + Unpin)) {
    let mut seen = [0; 4096];
    while matches!(server.read(&mut seen).await, Ok(1..)) {}
}

#[tokio::test(start_paused = true)]
async fn an_answer_ends_an_upload_over_http2() {
    let stop = frame(3, 0, 1, &[0, 0, 0, 0]);
    for rest in [vec![], stop] {
        let (stream, mut server) = pipe();
        let recorder = stream.recorder.clone();
        let serve = async {
            greet(&mut server).await;
            let answer = [head("413", 1), rest].concat();
            server.write_all(&answer).await.unwrap();
            drain(&mut server).await;
        };
        let mut connection = Connection::h2(stream).await.unwrap();
        let asked = tokio::select! {
            asked = timeout(PATIENCE, upload(&mut connection, LARGE, &recorder)) => asked,
            () = serve => panic!("the connection ended"),
        };
        let (outcome, facts, _) = asked.expect("the answer was not read");
        outcome.unwrap();
        assert_eq!(facts.status, 413);
        assert!(facts.uploaded < LARGE as u64, "{}", facts.uploaded);
        assert_in_order(&recorder);
    }
}

#[tokio::test(start_paused = true)]
async fn a_flood_of_interim_responses_ends_an_upload_over_http2() {
    let (stream, server) = pipe();
    let recorder = stream.recorder.clone();
    let flood = async {
        let (mut reader, mut writer) = tokio::io::split(server);
        let mut seen = Vec::new();
        while seen.len() < 200 {
            reader.read_buf(&mut seen).await.unwrap();
        }
        writer.write_all(&greeting()).await.unwrap();
        let flooding = async {
            while writer.write_all(&head("103", 0)).await.is_ok() {
                // A client that does not count them would run out of memory.
                tokio::task::yield_now().await;
            }
        };
        tokio::join!(flooding, drain(&mut reader));
    };
    let mut connection = Connection::h2(stream).await.unwrap();
    let asking = upload(&mut connection, LARGE, &recorder);
    let asked = tokio::select! {
        asked = asking => asked,
        () = async { flood.await; std::future::pending().await } => unreachable!(),
    };
    let error = asked.0.unwrap_err();
    assert!(matches!(error, HttpError::TooManyInterim(_)), "{error}");
}

/// The server neither reads the request nor stops it.
#[tokio::test]
async fn an_answer_ends_an_upload_over_http3() {
    let recorder = Recorder::new(Arc::new(SystemClock::start()));
    let server = server();
    let (mut connection, met) = connect(&server, &recorder).await;
    let serve = async {
        let (mut sending, _receiving) = met.accept_bi().await.unwrap();
        // HEADERS with `:status 413`. RFC 9204 §4.5.4.
        let answer: &[u8] = &[1, 8, 0, 0, 0x5f, 9, 3, b'4', b'1', b'3'];
        sending.write_chunk(answer.to_vec().into()).await.unwrap();
        sending.finish().unwrap();
        std::future::pending::<()>().await;
    };
    let (outcome, facts, _) = tokio::select! {
        asked = upload(&mut connection, 64 * LARGE, &recorder) => asked,
        () = serve => unreachable!(),
    };
    outcome.unwrap();
    assert_eq!(facts.status, 413);
    assert!(facts.uploaded < 64 * LARGE as u64, "{}", facts.uploaded);
    assert_in_order(&recorder);
}

#[tokio::test]
async fn a_proxy_may_send_interim_responses_before_its_answer() {
    let interim = b"HTTP/1.1 103 Early Hints\r\n\r\n";
    let answer = [&interim[..], b"HTTP/1.1 200 OK\r\n\r\n"].concat();
    for (answer, is_open) in [(answer, true), (interim.repeat(100), false)] {
        let mut stream = tokio::io::join(Cursor::new(answer), tokio::io::sink());
        let target = Target::parse("https://a.example/").unwrap();
        let opened = open_tunnel(&mut stream, &target, &[], &recorder()).await;
        assert_eq!(opened.is_ok(), is_open, "{opened:?}");
    }
}
