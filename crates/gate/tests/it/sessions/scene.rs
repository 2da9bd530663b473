//! A backend that answers with the head it received, a store in memory, and gates in front of the
//! backend, all in one thread.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::net::SocketAddr;
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use aws_lc_rs::hmac;
use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use roundtrip_gate::credentials::Vault;
use roundtrip_gate::guard::{Found, Guard, Keys, ManualWatch, Rules, SessionError, Sessions};
use roundtrip_gate::{Authenticator, Secret};
use roundtrip_wire::jwt::Algorithm;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Notify;
use tokio::task::{LocalSet, spawn_local};
use tokio::time::timeout;

use crate::runtime;

const SECRET: &[u8] = b"a secret of sixty-four bytes, which is what HS512 would like to have";
/// Long enough for any machine; no test waits for it.
const PATIENCE: Duration = Duration::from_mins(1);

#[derive(Clone)]
pub(crate) struct Scene {
    gate: SocketAddr,
    plain: SocketAddr,
    store: Store,
    backend: Rc<Backend>,
}

#[derive(Clone, Default)]
struct Store(Rc<Memory>);

type Known = (Result<String, SessionError>, Rc<ManualWatch>);

#[derive(Default)]
struct Memory {
    known: RefCell<HashMap<String, Known>>,
    asked: RefCell<Vec<String>>,
}

#[derive(Default)]
pub(crate) struct Backend {
    connections: Cell<usize>,
    event: Notify,
}

pub(crate) struct Client {
    stream: TcpStream,
    buffer: Vec<u8>,
}

/// Runs a scene to its end.
pub(crate) fn run(play: impl AsyncFnOnce(Scene)) {
    let runtime = runtime();
    LocalSet::new().block_on(&runtime, async {
        let scene = Scene::new().await;
        timeout(PATIENCE, play(scene)).await.unwrap();
    });
}

/// The field with a token for a session, as in hyper-auth-proxy.
pub(crate) fn cookie(session: &str) -> String {
    let now = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap()
        .as_secs();
    let claims = format!(
        r#"{{"sub":"u","sid":"{session}","iat":1,"exp":{}}}"#,
        now + 3600
    );
    let part = |text: &str| URL_SAFE_NO_PAD.encode(text);
    let input = format!("{}.{}", part(r#"{"alg":"HS512"}"#), part(&claims));
    let tag = hmac::sign(&hmac::Key::new(hmac::HMAC_SHA512, SECRET), input.as_bytes());
    let token = format!("\"{input}.{}\"", URL_SAFE_NO_PAD.encode(tag));
    format!("Cookie: Authorization={}", STANDARD.encode(token))
}

/// The key that signs the cookies; credentials are plain.
pub(crate) fn rules() -> Arc<Rules> {
    let mut keys = Keys::default();
    keys.add_secret(Algorithm::Hs512, None, &Secret::new(SECRET.to_vec()))
        .unwrap();
    Arc::new(Rules::new(keys, Vault::default()))
}

impl Scene {
    async fn new() -> Self {
        let store = Store::default();
        let guard = Guard::new(rules(), Box::new(SystemTime::now)).unwrap();
        let authenticator = Authenticator::new(guard, store.clone());
        let (backend, at) = Backend::start().await;
        let (gate, plain) = (listener().await, listener().await);
        let scene = Self {
            gate: gate.local_addr().unwrap(),
            plain: plain.local_addr().unwrap(),
            store,
            backend,
        };
        spawn_local(roundtrip_gate::measuring::guarded(gate, at, authenticator));
        spawn_local(roundtrip_gate::measuring::relay(plain, at));
        scene
    }

    pub(crate) async fn client(&self) -> Client {
        Client::to(self.gate).await
    }

    pub(crate) async fn plain_client(&self) -> Client {
        Client::to(self.plain).await
    }

    pub(crate) fn knows(&self, session: &str, login: &str) {
        self.store.set(session, Ok(STANDARD.encode(login)));
    }

    pub(crate) fn trouble(&self, session: &str, trouble: SessionError) {
        self.store.set(session, Err(trouble));
    }

    pub(crate) fn outdate(&self, session: &str) {
        let mut known = self.store.0.known.borrow_mut();
        let (_, watch) = known.get_mut(session).unwrap();
        // Holders of the old watch ask again, and get another.
        std::mem::take(watch).outdate();
    }

    pub(crate) fn changes(&self, session: &str, login: &str) {
        let before = self.store.0.known.borrow_mut().remove(session);
        self.knows(session, login);
        before.unwrap().1.outdate();
    }

    pub(crate) fn revoke(&self, session: &str) {
        let (_, watch) = self.store.0.known.borrow_mut().remove(session).unwrap();
        watch.outdate();
    }

    pub(crate) fn asked(&self) -> Vec<String> {
        self.store.0.asked.borrow().clone()
    }

    pub(crate) fn connections(&self) -> usize {
        self.backend.connections.get()
    }

    pub(crate) fn next_event(&self) {
        self.backend.next_event();
    }
}

impl Store {
    fn set(&self, session: &str, answer: Result<String, SessionError>) {
        self.0
            .known
            .borrow_mut()
            .insert(session.into(), (answer, Rc::default()));
    }
}

impl Sessions for Store {
    async fn find(&self, session: &str) -> Result<Option<Found>, SessionError> {
        self.0.asked.borrow_mut().push(session.into());
        // The answer comes later, as it does over a network.
        tokio::task::yield_now().await;
        let known = self.0.known.borrow();
        let Some((answer, watch)) = known.get(session) else {
            return Ok(None);
        };
        Ok(Some(Found {
            credentials: answer.clone()?.into_bytes(),
            expires: None,
            watch: watch.clone(),
        }))
    }
}

impl Backend {
    pub(crate) fn next_event(&self) {
        self.event.notify_one();
    }

    pub(crate) async fn start() -> (Rc<Self>, SocketAddr) {
        let backend = Rc::<Self>::default();
        let listener = listener().await;
        let at = listener.local_addr().unwrap();
        let all = backend.clone();
        spawn_local(async move {
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                all.connections.set(all.connections.get() + 1);
                spawn_local(all.clone().serve(stream));
            }
        });
        (backend, at)
    }

    /// Answers with the head of the request as the body; `/events` gets one event now and more when
    /// the test says so, `/slow` never ends.
    async fn serve(self: Rc<Self>, stream: TcpStream) {
        let mut peer = Client {
            stream,
            buffer: Vec::new(),
        };
        while let Some(head) = peer.head().await {
            if head.starts_with("GET /slow ") {
                peer.send("HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\nbegun")
                    .await;
                let _ = peer.head().await;
                return;
            }
            if head.starts_with("GET /events ") {
                peer.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n7\r\ndata: 1\r\n")
                    .await;
                self.event.notified().await;
                peer.send("7\r\ndata: 2\r\n").await;
                // It sends nothing more.
                let _ = peer.head().await;
                return;
            }
            peer.send(&format!(
                "HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{head}",
                head.len()
            ))
            .await;
        }
    }
}

impl Client {
    pub(crate) async fn to(address: SocketAddr) -> Self {
        let stream = TcpStream::connect(address).await.unwrap();
        Self {
            stream,
            buffer: Vec::new(),
        }
    }

    pub(crate) async fn send(&mut self, text: &str) {
        self.stream.write_all(text.as_bytes()).await.unwrap();
    }

    /// Opens another connection to the same gate.
    pub(crate) async fn reconnect(&mut self) {
        *self = Self::to(self.stream.peer_addr().unwrap()).await;
    }

    /// Head and body of the answer to a GET with one additional line.
    pub(crate) async fn get(&mut self, line: &str) -> String {
        self.send(&format!("GET / HTTP/1.1\r\nHost: a\r\n{line}\r\n\r\n"))
            .await;
        let mut answer = self.head().await.unwrap();
        let (_, after) = answer.split_once("Content-Length: ").unwrap();
        let length: usize = after.split_once('\r').unwrap().0.parse().unwrap();
        while self.buffer.len() < length {
            assert!(self.read().await > 0);
        }
        let body: Vec<u8> = self.buffer.drain(..length).collect();
        answer.push_str(&String::from_utf8(body).unwrap());
        answer
    }

    /// What arrived, up to and including this.
    pub(crate) async fn until(&mut self, what: &str) -> String {
        loop {
            let there = String::from_utf8(self.buffer.clone()).unwrap();
            if let Some(at) = there.find(what) {
                self.buffer.drain(..at + what.len());
                return there;
            }
            assert!(self.read().await > 0, "{there}");
        }
    }

    /// Everything up to the end.
    pub(crate) async fn rest(&mut self) -> String {
        while self.read().await > 0 {}
        String::from_utf8(std::mem::take(&mut self.buffer)).unwrap()
    }

    async fn head(&mut self) -> Option<String> {
        loop {
            let end = self.buffer.windows(4).position(|w| w == b"\r\n\r\n");
            if let Some(end) = end {
                let head = self.buffer.drain(..end + 4).collect();
                return Some(String::from_utf8(head).unwrap());
            }
            if self.read().await == 0 {
                return None;
            }
        }
    }

    /// A reset counts as the end.
    async fn read(&mut self) -> usize {
        self.stream.read_buf(&mut self.buffer).await.unwrap_or(0)
    }
}

pub(crate) async fn listener() -> TcpListener {
    TcpListener::bind("127.0.0.1:0").await.unwrap()
}
