//! For tests of the fronts: a gate in memory, and a backend on loopback that does what the path
//! says.
#![allow(clippy::unwrap_used, clippy::panic)] // a test may panic

mod backend;

use std::cell::Cell;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::{Duration, SystemTime};

use roundtrip_wire::jwt::Algorithm;
use tokio::io::{AsyncRead, AsyncWrite, DuplexStream, ReadBuf, duplex};
use tokio::task::{JoinHandle, LocalSet, spawn_local};
use tokio::time::timeout;

use crate::accept::stream::{Peer, Stream};
use crate::accept::thread::Thread;
use crate::config::{self, Config};
use crate::forward::exchange::ExchangeError;
use crate::forward::site::Site;
use crate::forward::upstream::{Group, Upstream};
use crate::judge::credentials::Vault;
use crate::judge::guard::{Found, Guard, Keys, Rules, SessionError, Sessions};
use crate::record::{Ledgers, Limit, Reason};
use crate::{Authenticator, Secret};
pub(super) use backend::{Backend, LARGE};

/// Long enough for any machine; no test waits for it.
const SCENE_TIMEOUT: Duration = Duration::from_mins(1);

/// Knows no session.
pub(super) struct NoKnownSessions;

impl Sessions for NoKnownSessions {
    async fn find(&self, _: &str) -> Result<Option<Found>, SessionError> {
        Ok(None)
    }
}

pub(super) struct Scene {
    pub(super) thread: Rc<Thread<NoKnownSessions>>,
    pub(super) backend: Rc<Backend>,
    book: Ledgers,
}

/// Runs a scene to its end. `guarded.example` needs a session, and `mail.example` takes early JMAP.
pub(super) fn run(change: impl FnOnce(&mut Config), play: impl AsyncFnOnce(Scene)) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    LocalSet::new().block_on(&runtime, async {
        let scene = Scene::new(change).await;
        timeout(SCENE_TIMEOUT, play(scene)).await.unwrap();
    });
}

/// Like [`run`], but in virtual time, which advances whenever all tasks wait.
pub(super) fn run_in_virtual_time(change: impl FnOnce(&mut Config), play: impl AsyncFnOnce(Scene)) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .start_paused(true)
        .build()
        .unwrap();
    LocalSet::new().block_on(&runtime, async { play(Scene::new(change).await).await });
}

impl Scene {
    async fn new(change: impl FnOnce(&mut Config)) -> Self {
        let (backend, at) = Backend::start().await;
        let route = |host: &str, auth, safe_jmap| config::Route {
            host: host.into(),
            upstream: "backend".into(),
            auth,
            safe_jmap,
            ..config::Route::default()
        };
        let mut config = Config {
            route: vec![
                route("", false, false),
                route("guarded.example", true, false),
                route("mail.example", false, true),
            ],
            ..Config::default()
        };
        change(&mut config);
        let book = Ledgers::new(1);
        let thread = Rc::new(Thread::new(
            site(&config, at),
            book.ledger(0),
            None,
            Arc::default(),
        ));
        let ticking = thread.clone();
        spawn_local(async move { ticking.deadlines.run().await });
        Self {
            thread,
            backend,
            book,
        }
    }

    /// How often this limit was reached.
    pub(super) fn met(&self, limit: Limit) -> u64 {
        self.book.snapshot().get(limit)
    }

    /// How often gate gave its own answer, or broke off, for this reason.
    pub(super) fn refused(&self, reason: Reason) -> u64 {
        self.book.snapshot().get(reason)
    }

    /// The client's end of a connection that `serve` serves.
    pub(super) fn connect(&self) -> (DuplexStream, JoinHandle<Result<(), ExchangeError>>) {
        let (client, gate) = duplex(64 * 1024);
        (client, self.serve(gate, true))
    }

    /// A client that sends before its handshake is complete.
    pub(super) fn connect_early(&self) -> (DuplexStream, Rc<Handshake>) {
        let (client, gate, handshake) = early();
        self.serve(gate, true);
        (client, handshake)
    }

    /// Like the function above, over HTTP/1.1.
    pub(super) fn connect_h1_early(&self) -> DuplexStream {
        let (client, gate, _) = early();
        self.serve_h1(gate);
        client
    }

    pub(super) fn serve(
        &self,
        stream: impl Stream + 'static,
        secure: bool,
    ) -> JoinHandle<Result<(), ExchangeError>> {
        let thread = self.thread.clone();
        let peer = Peer {
            address: [192, 0, 2, 7].into(),
            secure,
            resumed: false,
            asks: false,
        };
        spawn_local(async move { super::h2::serve(stream, peer, &thread).await })
    }

    /// The client's end of a connection over HTTP/1.1.
    pub(super) fn connect_h1(&self) -> DuplexStream {
        let (client, gate) = duplex(64 * 1024);
        self.serve_h1(gate);
        client
    }

    fn serve_h1(&self, stream: impl Stream + 'static) {
        let thread = self.thread.clone();
        let peer = Peer {
            address: [192, 0, 2, 7].into(),
            secure: false,
            resumed: false,
            asks: false,
        };
        spawn_local(async move { super::h1::serve(stream, peer, &thread).await });
    }
}

fn early() -> (DuplexStream, EarlyStream, Rc<Handshake>) {
    let (client, stream) = duplex(64 * 1024);
    let handshake = Rc::<Handshake>::default();
    let gate = EarlyStream {
        stream,
        handshake: handshake.clone(),
    };
    (client, gate, handshake)
}

fn site(config: &Config, at: SocketAddr) -> Site<NoKnownSessions> {
    let mut keys = Keys::default();
    let secret = Secret::new(vec![7; 64]);
    keys.add_secret(Algorithm::Hs512, None, &secret).unwrap();
    let rules = Arc::new(Rules::new(keys, Vault::default()));
    let guard = Guard::new(rules, Box::new(SystemTime::now)).unwrap();
    let settings = config::Upstream {
        servers: vec![format!("http://{at}")],
        ..config.upstream.get("backend").cloned().unwrap_or_default()
    };
    let group = Group::new("backend", 0, &settings).unwrap();
    let upstream = Upstream::new(&group);
    let upstreams = [("backend".to_owned(), upstream)].into();
    Site::new(
        config,
        Authenticator::new(guard, NoKnownSessions),
        Arc::default(),
        &upstreams,
        None,
    )
    .unwrap()
}

impl Stream for DuplexStream {}

/// A handshake that the test ends.
#[derive(Default)]
pub(super) struct Handshake {
    ended: Cell<bool>,
    waker: Cell<Option<Waker>>,
}

impl Handshake {
    pub(super) fn end(&self) {
        self.ended.set(true);
        if let Some(waker) = self.waker.take() {
            waker.wake();
        }
    }
}

struct EarlyStream {
    stream: DuplexStream,
    handshake: Rc<Handshake>,
}

impl Stream for EarlyStream {
    fn is_early(&self) -> bool {
        !self.handshake.ended.get()
    }

    fn poll_confirmed(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.handshake.ended.get() {
            return Poll::Ready(Ok(()));
        }
        self.handshake.waker.set(Some(cx.waker().clone()));
        Poll::Pending
    }
}

impl AsyncRead for EarlyStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, buf)
    }
}

impl AsyncWrite for EarlyStream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}
