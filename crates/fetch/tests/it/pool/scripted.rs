//! A server of HTTP/1.1 in clear text that follows a script for each connection.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use roundtrip_fetch::pool::{Pool, PoolRequest, Settings};
use roundtrip_model::Target;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// The reaction to one request.
#[derive(Debug, Clone)]
pub(crate) enum Step {
    /// Sends these bytes as the answer.
    Say(Vec<u8>),
    /// Sends these bytes, and closes the connection.
    Last(Vec<u8>),
    /// Sends nothing more, and leaves the connection open.
    Stall,
}

/// Each connection performs its steps, one per request, and closes at the next request without an
/// answer; the last script is used for all further connections.
pub(crate) struct Scripted {
    address: SocketAddr,
    connections: Arc<AtomicUsize>,
    requests: Arc<AtomicUsize>,
}

pub(crate) fn ok() -> Step {
    say("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
}

pub(crate) fn say(bytes: impl AsRef<[u8]>) -> Step {
    Step::Say(bytes.as_ref().to_vec())
}

/// Bytes, and then the end of the connection.
pub(crate) fn last(bytes: impl AsRef<[u8]>) -> Step {
    Step::Last(bytes.as_ref().to_vec())
}

/// A pool with one connection at a time.
pub(crate) fn pool() -> Pool {
    pool_with(|_| {})
}

pub(crate) fn pool_with(change: impl FnOnce(&mut Settings)) -> Pool {
    let mut settings = Settings {
        h1_connections: 1,
        ..Settings::default()
    };
    change(&mut settings);
    Pool::new(settings).unwrap()
}

impl Scripted {
    pub(crate) async fn start(scripts: Vec<Vec<Step>>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let server = Self {
            address: listener.local_addr().unwrap(),
            connections: Arc::default(),
            requests: Arc::default(),
        };
        let (connections, requests) = (server.connections.clone(), server.requests.clone());
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let nth = connections.fetch_add(1, Relaxed).min(scripts.len() - 1);
                tokio::spawn(play(stream, scripts[nth].clone(), requests.clone()));
            }
        });
        server
    }

    pub(crate) fn ask(&self, path: &str) -> PoolRequest {
        PoolRequest::new(Target::parse(&format!("http://{}{path}", self.address)).unwrap())
    }

    pub(crate) fn post(&self, path: &str, body: &'static str) -> PoolRequest {
        PoolRequest::post(self.ask(path).target, "text/plain", body)
    }

    /// The number of connections and requests so far.
    pub(crate) fn seen(&self) -> (usize, usize) {
        (self.connections.load(Relaxed), self.requests.load(Relaxed))
    }
}

async fn play(mut stream: TcpStream, script: Vec<Step>, requests: Arc<AtomicUsize>) {
    for step in script {
        if !request(&mut stream).await {
            return;
        }
        requests.fetch_add(1, Relaxed);
        match step {
            Step::Say(bytes) => stream.write_all(&bytes).await.unwrap(),
            Step::Last(bytes) => return stream.write_all(&bytes).await.unwrap(),
            Step::Stall => return std::future::pending().await,
        }
    }
    if request(&mut stream).await {
        requests.fetch_add(1, Relaxed);
    }
}

async fn request(stream: &mut TcpStream) -> bool {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        if !matches!(stream.read(&mut byte).await, Ok(1)) {
            return false;
        }
        head.push(byte[0]);
    }
    true
}
