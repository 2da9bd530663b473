//! A backend that speaks HTTP/1.1 and does what the path says.

use std::cell::{Cell, RefCell};
use std::net::SocketAddr;
use std::rc::Rc;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Notify;
use tokio::task::spawn_local;

use crate::forward::h1::Chunked;

/// The length of `/large`.
pub(crate) const LARGE: usize = 1024 * 1024;

#[derive(Default)]
pub(crate) struct Backend {
    /// The heads of all requests.
    pub(crate) heads: RefCell<Vec<String>>,
    /// Notified when the next event may be sent.
    pub(crate) event: Notify,
    /// Notified when gate closed a connection before the answer.
    pub(crate) left: Notify,
    /// The number of body bytes that have arrived.
    pub(crate) came: Cell<usize>,
}

impl Backend {
    pub(super) async fn start() -> (Rc<Self>, SocketAddr) {
        let backend = Rc::<Self>::default();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let at = listener.local_addr().unwrap();
        let all = backend.clone();
        spawn_local(async move {
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                spawn_local(all.clone().serve(stream));
            }
        });
        (backend, at)
    }

    async fn serve(self: Rc<Self>, stream: TcpStream) {
        let mut peer = Peer {
            stream,
            buffer: Vec::new(),
        };
        while let Some(head) = peer.head().await {
            self.heads.borrow_mut().push(head.clone());
            let path = head.split(' ').nth(1).unwrap();
            let answered = match path.split('?').next().unwrap() {
                "/events" => self.events(&mut peer).await,
                "/never" => {
                    let _ = peer.read().await;
                    self.left.notify_one();
                    None
                }
                "/refusing" => {
                    // It answers without reading the body.
                    peer.answer("413 No", b"no").await;
                    None
                }
                "/cut" => {
                    let begun = "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc";
                    peer.stream.write_all(begun.as_bytes()).await.ok();
                    None
                }
                "/hints" => {
                    let hints = "HTTP/1.1 103 Hints\r\nLink: </a>\r\n\r\n";
                    peer.stream.write_all(hints.as_bytes()).await.unwrap();
                    self.event.notified().await;
                    peer.answer("200 OK", b"later").await
                }
                "/large" => peer.answer("200 OK", &vec![b'x'; LARGE]).await,
                "/too-early" if head.contains("Early-Data: 1") => {
                    peer.answer("425 Too Early", b"").await
                }
                "/always-too-early" => peer.answer("425 Too Early", b"").await,
                "/body" => {
                    let body = peer.body(&head, &self.came).await;
                    peer.answer("200 OK", &body.unwrap_or_default()).await
                }
                _ => {
                    peer.body(&head, &self.came).await;
                    peer.answer("200 OK", head.as_bytes()).await
                }
            };
            if answered.is_none() {
                return;
            }
        }
    }

    async fn events(&self, peer: &mut Peer) -> Option<()> {
        let head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
        peer.stream.write_all(head.as_bytes()).await.ok()?;
        for number in 1..=3 {
            let event = format!("7\r\ndata: {number}\r\n");
            peer.stream.write_all(event.as_bytes()).await.ok()?;
            self.event.notified().await;
        }
        peer.stream.write_all(b"0\r\n\r\n").await.ok()
    }
}

struct Peer {
    stream: TcpStream,
    buffer: Vec<u8>,
}

impl Peer {
    async fn read(&mut self) -> Option<usize> {
        let n = self.stream.read_buf(&mut self.buffer).await.ok()?;
        (n > 0).then_some(n)
    }

    async fn head(&mut self) -> Option<String> {
        loop {
            if let Some(at) = self.buffer.windows(4).position(|w| w == b"\r\n\r\n") {
                let head = self.buffer.drain(..at + 4).collect();
                return Some(String::from_utf8(head).unwrap());
            }
            self.read().await?;
        }
    }

    async fn body(&mut self, head: &str, came: &Cell<usize>) -> Option<Vec<u8>> {
        let mut body = Vec::new();
        if head.contains("Transfer-Encoding: chunked") {
            let mut coding = Chunked::default();
            while !coding.is_done() {
                let used = coding.take(&self.buffer, |data| body.extend_from_slice(data));
                self.buffer.drain(..used.unwrap());
                came.set(body.len());
                if !coding.is_done() {
                    self.read().await?;
                }
            }
        } else if let Some((_, after)) = head.to_ascii_lowercase().split_once("content-length: ") {
            let length: usize = after.split_once('\r').unwrap().0.parse().unwrap();
            while self.buffer.len() < length {
                self.read().await?;
                came.set(self.buffer.len());
            }
            body.extend(self.buffer.drain(..length));
        }
        Some(body)
    }

    async fn answer(&mut self, status: &str, body: &[u8]) -> Option<()> {
        let head = format!(
            "HTTP/1.1 {status}\r\nContent-Length: {}\r\n\r\n",
            body.len()
        );
        let mut all = head.into_bytes();
        all.extend_from_slice(body);
        self.stream.write_all(&all).await.ok()
    }
}
