//! Servers that behave as a test says, and upstreams in front of them, in one thread with real
//! sockets.

use std::cell::{Cell, RefCell};
use std::net::SocketAddr;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::{JoinHandle, LocalSet, spawn_local};
use tokio::time::timeout;

use crate::config;
use crate::forward::upstream::{Fate, Group, LeaseNeeds, Link, Upstream};

/// The needs of a request that is complete and may be sent again.
pub(super) const ANY: LeaseNeeds = LeaseNeeds {
    repeatable: true,
    upload: false,
    tunnel: false,
    large_head: false,
    client: None,
    until: None,
};

/// Long enough for any machine; nothing waits for it to pass.
const SCENE_TIMEOUT: Duration = Duration::from_mins(1);

pub(super) fn run(play: impl AsyncFnOnce()) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    LocalSet::new().block_on(&runtime, async {
        timeout(SCENE_TIMEOUT, play()).await.unwrap();
    });
}

/// What a server does with a connection after it gets a request on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Behaviour {
    /// Answers, and keeps the connection open.
    Well,
    /// Answers, and then sends unexpected bytes.
    Talkative,
    /// Answers, and closes.
    Once,
    /// Answers 503.
    Ill,
    /// Does not answer.
    Silent,
}

/// Echoes nothing, counts everything.
pub(super) struct Scripted {
    pub(super) address: SocketAddr,
    accepting: RefCell<Option<JoinHandle<()>>>,
    pub(super) behaviour: Cell<Behaviour>,
    pub(super) connections: Cell<usize>,
    pub(super) open: Cell<usize>,
    pub(super) requests: RefCell<Vec<String>>,
}

impl Scripted {
    pub(super) async fn start(behaviour: Behaviour) -> Rc<Self> {
        Self::serving(TcpListener::bind("127.0.0.1:0").await.unwrap(), behaviour)
    }

    pub(super) fn serving(listener: TcpListener, behaviour: Behaviour) -> Rc<Self> {
        let server = Rc::new(Self {
            address: listener.local_addr().unwrap(),
            accepting: RefCell::default(),
            behaviour: Cell::new(behaviour),
            connections: Cell::new(0),
            open: Cell::new(0),
            requests: RefCell::default(),
        });
        let serving = server.clone();
        let accepting = spawn_local(async move {
            while let Ok((stream, _)) = listener.accept().await {
                serving.connections.set(serving.connections.get() + 1);
                serving.open.set(serving.open.get() + 1);
                let serving = serving.clone();
                spawn_local(async move {
                    let _ = serving.serve(stream).await;
                    serving.open.set(serving.open.get() - 1);
                });
            }
        });
        *server.accepting.borrow_mut() = Some(accepting);
        server
    }

    /// Accepts no connections from now on.
    pub(super) async fn stop(&self) {
        let accepting = self.accepting.take();
        if let Some(accepting) = accepting {
            accepting.abort();
            let _ = accepting.await;
        }
    }

    pub(super) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    async fn serve(&self, mut stream: TcpStream) -> std::io::Result<()> {
        let mut buffer = Vec::new();
        loop {
            while !buffer.ends_with(b"\r\n\r\n") {
                if stream.read_buf(&mut buffer).await? == 0 {
                    return Ok(());
                }
            }
            let request = String::from_utf8(std::mem::take(&mut buffer)).unwrap();
            self.requests.borrow_mut().push(request);
            let answer = match self.behaviour.get() {
                Behaviour::Silent => std::future::pending().await,
                Behaviour::Ill => "HTTP/1.1 503 No\r\nContent-Length: 0\r\n\r\n",
                _ => "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n",
            };
            stream.write_all(answer.as_bytes()).await?;
            match self.behaviour.get() {
                Behaviour::Talkative => stream.write_all(b"HTTP/1.1 408 Too late\r\n").await?,
                Behaviour::Once => return Ok(()),
                _ => {}
            }
        }
    }
}

pub(super) fn upstream(
    servers: &[String],
    change: impl FnOnce(&mut config::Upstream),
) -> Rc<Upstream> {
    Upstream::new(&group(servers, change))
}

pub(super) fn group(servers: &[String], change: impl FnOnce(&mut config::Upstream)) -> Arc<Group> {
    let mut config = config::Upstream {
        servers: servers.to_vec(),
        ..config::Upstream::default()
    };
    change(&mut config);
    Group::new("app", 0, &config).unwrap()
}

/// Sends a request, and reads the answer's head.
pub(super) async fn ask(link: &mut Link) -> std::io::Result<String> {
    link.stream
        .write_all(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")
        .await?;
    link.stream.flush().await?;
    while !link.buffer.windows(4).any(|w| w == b"\r\n\r\n") {
        if link.stream.read_buf(&mut link.buffer).await? == 0 {
            return Err(std::io::ErrorKind::UnexpectedEof.into());
        }
    }
    let end = link
        .buffer
        .windows(4)
        .position(|w| w == b"\r\n\r\n")
        .unwrap()
        + 4;
    Ok(String::from_utf8(link.buffer.drain(..end).collect()).unwrap())
}

/// One exchange that ends well.
pub(super) async fn exchange(upstream: &Upstream) -> bool {
    let mut link = upstream.lease(ANY).await.unwrap();
    let reused = link.is_reused();
    ask(&mut link).await.unwrap();
    link.finish(Fate::Kept);
    reused
}

/// Lets other tasks run until this is true.
pub(super) async fn until(what: impl Fn() -> bool) {
    while !what() {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}
