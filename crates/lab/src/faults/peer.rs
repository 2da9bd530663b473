//! Small faulty peers at the far end of the path, for behaviour that no setting of the origin
//! provides. Each runs on a thread that ends when the peer is dropped.

use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use roundtrip_wire::dns::Message;
use serde::Deserialize;
use tokio::io::{AsyncReadExt, AsyncWriteExt, copy_bidirectional};
use tokio::net::TcpStream;
use tokio::sync::oneshot;

use super::names;

/// The longest head of a request, in bytes; more than any client sends here.
const MAX_HEAD_BYTES: usize = 64 * 1024;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum PeerKind {
    /// A relay before the origin that holds its first bytes back.
    Hesitant,
    /// A cache that reports a miss, and answers late.
    Cache,
    /// Answers CORS preflights.
    Preflight,
    /// Closes its first connection when the second request is on its way.
    EndsOnce,
    /// A proxy that opens tunnels.
    Tunnel,
    /// A DNS resolver over HTTP, without TLS.
    Resolver,
}

/// A peer on its own thread, which ends when this is dropped.
pub(super) struct FaultyPeer {
    pub(super) place: SocketAddr,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

/// The addresses that a peer needs to know.
#[derive(Debug, Clone, Copy)]
pub(super) struct Surroundings {
    pub(super) origin: SocketAddr,
    pub(super) address: Ipv4Addr,
    pub(super) late: Duration,
}

impl FaultyPeer {
    /// Starts the peer. Must be called at the far end; the thread stays there.
    pub(super) fn spawn(kind: PeerKind, around: Surroundings) -> io::Result<Self> {
        let listener = TcpListener::bind((around.address, 0))?;
        let place = listener.local_addr()?;
        listener.set_nonblocking(true)?;
        let is_first = Arc::new(AtomicBool::new(true));
        Self::on_a_thread(place, async move {
            let Ok(listener) = tokio::net::TcpListener::from_std(listener) else {
                return;
            };
            while let Ok((stream, _)) = listener.accept().await {
                let once = is_first.swap(false, Ordering::Relaxed);
                // If the connection fails, the client reports it.
                tokio::spawn(async move { serve(kind, stream, around, once).await.ok() });
            }
        })
    }

    pub(super) fn on_a_thread(
        place: SocketAddr,
        serving: impl Future<Output = ()> + Send + 'static,
    ) -> io::Result<Self> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        let (stop, stopped) = oneshot::channel::<()>();
        let thread = std::thread::Builder::new()
            .name("roundtrip-faulty".into())
            .spawn(move || {
                runtime.block_on(async {
                    tokio::select! {
                        () = serving => {}
                        _ = stopped => {}
                    }
                });
            })?;
        Ok(Self {
            place,
            stop: Some(stop),
            thread: Some(thread),
        })
    }
}

impl Drop for FaultyPeer {
    fn drop(&mut self) {
        self.stop = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

async fn serve(
    kind: PeerKind,
    mut stream: TcpStream,
    around: Surroundings,
    is_first: bool,
) -> io::Result<()> {
    stream.set_nodelay(true)?;
    match kind {
        PeerKind::Hesitant => hesitate(stream, around).await,
        PeerKind::Tunnel => {
            read_head(&mut stream).await?;
            let mut origin = TcpStream::connect(around.origin).await?;
            origin.set_nodelay(true)?;
            stream.write_all(b"HTTP/1.1 200 OK\r\n\r\n").await?;
            copy_bidirectional(&mut stream, &mut origin).await.map(drop)
        }
        PeerKind::Cache => {
            let answer =
                "HTTP/1.1 200 OK\r\nCache-Status: edge; fwd=miss\r\nContent-Length: 2\r\n\r\nok";
            answer_all(&mut stream, answer, around.late).await
        }
        PeerKind::Preflight => {
            let answer = "HTTP/1.1 204 No Content\r\nAccess-Control-Allow-Origin: *\r\n\
                          Access-Control-Allow-Methods: PUT\r\n\r\n";
            answer_all(&mut stream, answer, Duration::ZERO).await
        }
        PeerKind::EndsOnce => {
            let answer = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
            loop {
                read_head(&mut stream).await?;
                stream.write_all(answer).await?;
                if is_first {
                    read_head(&mut stream).await?;
                    return Ok(());
                }
            }
        }
        PeerKind::Resolver => resolve(stream, around.address).await,
    }
}

/// Answers DNS over HTTPS (RFC 8484 §4.1), as far as needed here.
async fn resolve(mut stream: TcpStream, address: Ipv4Addr) -> io::Result<()> {
    loop {
        let (head, mut query) = read_head(&mut stream).await?;
        let read = query.len();
        query.resize(length_of_body(&head).max(read), 0);
        stream
            .read_exact(query.get_mut(read..).unwrap_or_default())
            .await?;
        let query = Message::parse(&query).map_err(io::Error::other)?;
        let reply = names::reply(&query, address);
        let body = reply.encode().map_err(io::Error::other)?;
        let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", body.len());
        stream.write_all(&[head.as_bytes(), &body].concat()).await?;
    }
}

/// Sleeps for `late`, if it is not zero: a timer takes at least a millisecond.
pub(super) async fn hold(late: Duration) {
    if !late.is_zero() {
        tokio::time::sleep(late).await;
    }
}

async fn answer_all(stream: &mut TcpStream, answer: &str, late: Duration) -> io::Result<()> {
    loop {
        read_head(stream).await?;
        hold(late).await;
        stream.write_all(answer.as_bytes()).await?;
    }
}

async fn hesitate(client: TcpStream, around: Surroundings) -> io::Result<()> {
    let server = TcpStream::connect(around.origin).await?;
    server.set_nodelay(true)?;
    let (mut from_client, mut to_client) = client.into_split();
    let (mut from_server, mut to_server) = server.into_split();
    let up = tokio::io::copy(&mut from_client, &mut to_server);
    let down = async {
        let mut buffer = vec![0; 32 * 1024];
        let first = from_server.read(&mut buffer).await?;
        hold(around.late).await;
        to_client
            .write_all(buffer.get(..first).unwrap_or_default())
            .await?;
        tokio::io::copy(&mut from_server, &mut to_client).await
    };
    tokio::try_join!(up, down).map(drop)
}

fn length_of_body(head: &[u8]) -> usize {
    let head = String::from_utf8_lossy(head).to_ascii_lowercase();
    let length = head.lines().find_map(|line| {
        let value = line.strip_prefix("content-length:")?;
        value.trim().parse().ok()
    });
    length.unwrap_or(0).min(MAX_HEAD_BYTES)
}

/// The head of the next request, and the part of the body that came with it.
async fn read_head(stream: &mut TcpStream) -> io::Result<(Vec<u8>, Vec<u8>)> {
    let mut head = Vec::new();
    loop {
        if let Some(end) = head.windows(4).position(|four| four == b"\r\n\r\n") {
            let body = head.split_off(end + 4);
            return Ok((head, body));
        }
        if head.len() > MAX_HEAD_BYTES || stream.read_buf(&mut head).await? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
    }
}
