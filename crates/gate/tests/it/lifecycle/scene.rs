//! A whole gate, as `gate run` starts it, in front of a backend that names itself and can be slow.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, SystemTime};

use roundtrip_gate::config::Config;
use roundtrip_gate::manage::{SessionManager, Token, TokenRequest, TokenTransport};
use roundtrip_gate::{Gate, News, Secret};
use tempfile::TempDir;

use crate::runtime;

/// Long enough for any machine; passing tests do not wait for it.
pub(crate) const PATIENCE: Duration = Duration::from_mins(1);

pub(crate) struct Scene {
    pub(crate) gate: Option<Gate>,
    pub(crate) config: Config,
    pub(crate) news: Receiver<News>,
    pub(crate) folder: TempDir,
}

impl Scene {
    /// A gate with sessions in a file; `more` is TOML.
    pub(crate) fn new(backend: SocketAddr, more: &str) -> Self {
        Self::tuned(backend, more, |_| ())
    }

    /// The same, for settings that `more` cannot repeat.
    pub(crate) fn tuned(backend: SocketAddr, more: &str, tune: impl FnOnce(&mut Config)) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let mut config = Self::config(&folder, backend, more);
        tune(&mut config);
        let (tell, news) = channel();
        let gate = Gate::start(config.clone(), move |told| drop(tell.send(told))).unwrap();
        Self {
            gate: Some(gate),
            config,
            news,
            folder,
        }
    }

    pub(crate) fn config(folder: &TempDir, backend: SocketAddr, more: &str) -> Config {
        let key = secret(folder, "token.key", &"k".repeat(64));
        let seal = secret(folder, "seal.key", &"5".repeat(64));
        let sessions = folder.path().join("sessions.redb");
        let text = format!(
            "[listen]\nhttp = [\"127.0.0.1:0\"]\nthreads = 2\n\
             [admin]\nlisten = \"127.0.0.1:0\"\n\
             [[token.key]]\nalgorithm = \"HS512\"\nfrom = {{ file = \"{}\" }}\n\
             [session]\nstore = \"redb:{}\"\n[[session.seal]]\nid = \"k1\"\nfrom = {{ file = \"{}\" }}\n\
             [upstream.backend]\nservers = [\"http://{backend}\"]\n\
             [[route]]\nupstream = \"backend\"\n{more}",
            key.display(),
            sessions.display(),
            seal.display(),
        );
        Config::parse(&text, "test").unwrap()
    }

    pub(crate) fn gate(&self) -> &Gate {
        self.gate.as_ref().unwrap()
    }

    /// Stores a session, and returns the field with its token.
    pub(crate) fn session(&self, sid: &str, login: &str) -> String {
        session(&self.config, sid, login)
    }

    pub(crate) fn client(&self) -> Client {
        Client::to(self.gate().addresses().http[0])
    }

    /// The admin server's answer: status and body.
    pub(crate) fn admin(&self, path: &str) -> (u16, String) {
        let mut client = Client::to(self.gate().addresses().admin.unwrap());
        client.send(&format!(
            "GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
        ));
        client.answer()
    }
}

pub(crate) fn session(config: &Config, sid: &str, login: &str) -> String {
    let runtime = runtime();
    let login = Secret::new(login.as_bytes().to_vec());
    let put = async {
        SessionManager::open(config)
            .unwrap()
            .put(sid, &login, None)
            .await
    };
    tokio::task::LocalSet::new()
        .block_on(&runtime, put)
        .unwrap();
    let order = TokenRequest {
        subject: "somebody",
        sid,
        lifetime: Duration::from_hours(1),
        transport: TokenTransport::Cookie,
        key: None,
    };
    let token = Token::sign(config, &order, SystemTime::now()).unwrap();
    String::from_utf8(token.field.expose().to_vec()).unwrap()
}

pub(crate) fn secret(folder: &TempDir, name: &str, text: &str) -> PathBuf {
    let path = folder.path().join(name);
    std::fs::write(&path, text).unwrap();
    std::fs::set_permissions(&path, PermissionsExt::from_mode(0o600)).unwrap();
    path
}

/// An HTTP/1.1 client for answers with a length.
pub(crate) struct Client {
    stream: TcpStream,
    buffer: Vec<u8>,
    id: Option<String>,
    told_to_leave: bool,
}

impl Client {
    pub(crate) fn to(address: SocketAddr) -> Self {
        let stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        Self {
            stream,
            buffer: Vec::new(),
            id: None,
            told_to_leave: false,
        }
    }

    pub(crate) fn send(&mut self, text: &str) {
        self.stream.write_all(text.as_bytes()).unwrap();
    }

    /// `None` if the connection ended without an answer.
    pub(crate) fn try_get(&mut self, path: &str, field: &str) -> Option<(u16, String)> {
        let request = format!("GET {path} HTTP/1.1\r\nHost: a.example\r\n{field}\r\n\r\n");
        self.stream.write_all(request.as_bytes()).ok()?;
        let answer = self.answer();
        (answer.0 > 0).then_some(answer)
    }

    pub(crate) fn get(&mut self, path: &str, field: &str) -> (u16, String) {
        self.send(&format!(
            "GET {path} HTTP/1.1\r\nHost: a.example\r\n{field}\r\n\r\n"
        ));
        self.answer()
    }

    /// The last answer's `X-Request-Id`.
    pub(crate) fn id(&self) -> Option<String> {
        self.id.clone()
    }

    /// Whether the last answer said `Connection: close`.
    pub(crate) fn is_told_to_leave(&self) -> bool {
        self.told_to_leave
    }

    /// Status and body; 0 if the connection ended without an answer.
    pub(crate) fn answer(&mut self) -> (u16, String) {
        let (status, length) = self.head();
        while self.buffer.len() < length {
            assert!(self.fill(), "cut off");
        }
        let body = self.buffer.drain(..length).collect();
        (status, String::from_utf8(body).unwrap())
    }

    /// Status, and the length of the body that follows.
    pub(crate) fn head(&mut self) -> (u16, usize) {
        let head = loop {
            if let Some(end) = find(&self.buffer, b"\r\n\r\n") {
                break self.buffer.drain(..end + 4).collect::<Vec<u8>>();
            }
            if !self.fill() {
                return (0, 0);
            }
        };
        let head = String::from_utf8(head).unwrap().to_ascii_lowercase();
        let length: usize = head
            .split_once("content-length: ")
            .and_then(|(_, rest)| rest.split("\r\n").next())
            .map_or(0, |n| n.parse().unwrap());
        let id = head
            .lines()
            .find_map(|line| line.strip_prefix("x-request-id: "));
        self.id = id.map(str::to_owned);
        self.told_to_leave = head.lines().any(|line| line == "connection: close");
        (head[9..12].parse().unwrap(), length)
    }

    /// Whether gate has closed the connection.
    pub(crate) fn is_closed(&mut self) -> bool {
        !self.fill()
    }

    fn fill(&mut self) -> bool {
        let mut piece = [0; 4096];
        let n = self.stream.read(&mut piece).unwrap_or(0);
        self.buffer.extend_from_slice(&piece[..n]);
        n > 0
    }
}

/// Polls until it is true; tests do not depend on how long that takes.
pub(crate) fn eventually_true(mut is: impl FnMut() -> bool) {
    let began = std::time::Instant::now();
    while !is() {
        assert!(began.elapsed() < PATIENCE, "it never happened");
        thread::sleep(Duration::from_millis(10));
    }
}

fn find(bytes: &[u8], what: &[u8]) -> Option<usize> {
    bytes.windows(what.len()).position(|window| window == what)
}

/// Answers with its name and the `Authorization` that it got; `/slow` only when released.
pub(crate) fn backend(name: &'static str) -> (SocketAddr, std::sync::mpsc::Sender<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    (address, serving(name, listener))
}

/// The same, on this listener.
pub(crate) fn serving(name: &'static str, listener: TcpListener) -> std::sync::mpsc::Sender<()> {
    let (release, released) = channel();
    let released = std::sync::Arc::new(std::sync::Mutex::new(released));
    thread::spawn(move || {
        for stream in listener.incoming() {
            let released = released.clone();
            thread::spawn(move || answer(name, stream.unwrap(), &released));
        }
    });
    release
}

fn answer(name: &str, mut stream: TcpStream, released: &std::sync::Mutex<Receiver<()>>) {
    let mut buffer = Vec::new();
    let mut piece = [0; 4096];
    loop {
        while let Some(end) = find(&buffer, b"\r\n\r\n") {
            let head: Vec<u8> = buffer.drain(..end + 4).collect();
            let head = String::from_utf8(head).unwrap();
            if head.starts_with("GET /slow") {
                let _ = released.lock().unwrap().recv_timeout(PATIENCE);
            }
            let login = head.lines().find_map(|l| l.strip_prefix("Authorization: "));
            let id = head.lines().find_map(|l| l.strip_prefix("X-Request-Id: "));
            let said = if head.starts_with("GET /id") {
                id
            } else {
                login
            };
            let body = format!("{name} {}", said.unwrap_or("nobody"));
            let answer = format!(
                "HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{body}",
                body.len()
            );
            if stream.write_all(answer.as_bytes()).is_err() {
                return;
            }
        }
        match stream.read(&mut piece) {
            Ok(n) if n > 0 => buffer.extend_from_slice(&piece[..n]),
            _ => return,
        }
    }
}
