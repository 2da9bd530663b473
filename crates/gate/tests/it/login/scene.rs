//! Gates in front of a backend that answers with what it got, before a provider, with one store.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::thread;

use roundtrip_gate::Gate;
use roundtrip_gate::config::Config;
use tempfile::TempDir;

use super::browser::{Answer, Browser};
use super::provider::Provider;
use crate::lifecycle::scene::secret;

pub(crate) struct Scene {
    pub(crate) gates: Vec<Gate>,
    pub(crate) browser: Browser,
    pub(crate) config: Config,
    _folder: TempDir,
}

impl Scene {
    /// One gate with sessions in a file; `login` and `route` are TOML.
    pub(crate) fn new(issuer: &str, login: &str, route: &str) -> Self {
        Self::with_store(issuer, login, route, None, 1)
    }

    pub(crate) fn with_store(
        issuer: &str,
        login: &str,
        route: &str,
        store: Option<&str>,
        gates: usize,
    ) -> Self {
        Self::tuned(issuer, login, route, store, gates, |_| ())
    }

    /// The same, for settings that are no TOML here.
    pub(crate) fn tuned(
        issuer: &str,
        login: &str,
        route: &str,
        store: Option<&str>,
        gates: usize,
        tune: impl FnOnce(&mut Config),
    ) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let seal = secret(&folder, "seal.key", &"5".repeat(64));
        let client = secret(&folder, "client.key", SECRET);
        let file = format!("redb:{}", folder.path().join("sessions.redb").display());
        let text = format!(
            "[listen]\nhttp = [\"127.0.0.1:0\"]\nthreads = 2\n[admin]\nlisten = \"127.0.0.1:0\"\n\
             [session]\nstore = \"{}\"\n[[session.seal]]\nid = \"k1\"\nfrom = {{ file = \"{}\" }}\n\
             [login]\nissuer = \"{issuer}\"\nclient_id = \"gate\"\nclient_secret = {{ file = \"{}\" }}\n{login}\n\
             [upstream.backend]\nservers = [\"http://{}\"]\n\
             [[route]]\nupstream = \"backend\"\nlogin = true\nstreams = true\n{route}",
            store.unwrap_or(&file),
            seal.display(),
            client.display(),
            backend(),
        );
        let mut config = Config::parse(&text, "test").unwrap();
        tune(&mut config);
        let start = |_| Gate::start(config.clone(), |_| ()).unwrap();
        let gates: Vec<Gate> = (0..gates).map(start).collect();
        let browser = Browser {
            replicas: gates.iter().map(|gate| gate.addresses().http[0]).collect(),
            ..Browser::default()
        };
        Self {
            gates,
            browser,
            config,
            _folder: folder,
        }
    }

    pub(crate) fn url(&self, gate: usize, path: &str) -> String {
        format!("http://{}{path}", self.gates[gate].addresses().http[0])
    }

    /// A page of the first gate.
    pub(crate) fn page(&mut self, path: &str) -> Answer {
        let url = self.url(0, path);
        self.browser.page(&url)
    }

    /// A program's request, with the browser's cookies.
    pub(crate) fn program(&mut self, gate: usize, path: &str) -> Answer {
        let url = self.url(gate, path).parse().unwrap();
        self.browser
            .send(&url, "GET", "Accept: application/json\r\n", "")
    }

    /// Asks for a page, and comes back from the provider; returns the answer to the callback.
    pub(crate) fn log_in(&mut self, provider: &Provider, path: &str) -> Answer {
        let sent = self.page(path);
        assert_eq!(sent.status, 302, "{sent:?}");
        provider.expect(&sent.parameter("nonce"), &sent.parameter("code_challenge"));
        let state = sent.parameter("state");
        self.page(&format!("/.gate/callback?code=c&state={state}"))
    }

    /// A login by a browser that has a session already.
    pub(crate) fn log_in_again(&mut self, provider: &Provider, path: &str) -> Answer {
        self.browser.cookies.remove("replicas");
        self.log_in(provider, path)
    }

    /// The cookie of the session.
    pub(crate) fn session(&self) -> Option<String> {
        self.browser.cookie(&self.url(0, "/"), "__Host-gate")
    }

    /// The number behind a line of the figures, in all gates.
    pub(crate) fn figure(&self, line: &str) -> u64 {
        let of_gate = |gate: &Gate| {
            let url = format!("http://{}/metrics", gate.addresses().admin.unwrap());
            let answer = Browser::default().send(&url.parse().unwrap(), "GET", "", "");
            let found = answer
                .body
                .lines()
                .find_map(|known| known.strip_prefix(line));
            let found = found.and_then(|rest| rest.trim().parse::<u64>().ok());
            found.unwrap_or_else(|| panic!("no {line} in {}", answer.body))
        };
        self.gates.iter().map(of_gate).sum()
    }
}

/// 40 bytes.
pub(crate) const SECRET: &str = "a-secret/of forty bytes+that is encoded:";

/// Answers with the head that it got. It sets another cookie and, although it should not, the
/// cookie of gate; `/events` gets one event and stays open.
fn backend() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let at = listener.local_addr().unwrap();
    thread::spawn(move || {
        for stream in listener.incoming() {
            thread::spawn(move || answer(stream.unwrap()));
        }
    });
    at
}

fn answer(mut stream: TcpStream) {
    let mut bytes = Vec::new();
    let mut piece = [0; 4096];
    loop {
        while let Some(end) = bytes.windows(4).position(|window| window == b"\r\n\r\n") {
            let head: Vec<u8> = bytes.drain(..end + 4).collect();
            let head = String::from_utf8(head).unwrap();
            let answer = if head.starts_with("GET /events") {
                "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nevent\r\n".to_owned()
            } else {
                let length = head.len();
                format!(
                    "HTTP/1.1 200 OK\r\nContent-Length: {length}\r\nSet-Cookie: app=1\r\n\
                     Set-Cookie: __Host-gate=planted; Path=/; Secure\r\n\r\n{head}"
                )
            };
            if stream.write_all(answer.as_bytes()).is_err() {
                return;
            }
        }
        match stream.read(&mut piece) {
            Ok(n) if n > 0 => bytes.extend_from_slice(&piece[..n]),
            _ => return,
        }
    }
}
