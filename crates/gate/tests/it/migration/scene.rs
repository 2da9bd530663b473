//! A whole gate with a real redis-server, in front of a backend that repeats the head that it
//! received and sets two cookies.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::PathBuf;
use std::thread;
use std::time::Duration;

use roundtrip_gate::Gate;
use roundtrip_gate::config::Config;
use roundtrip_gate::manage::{Resealed, SessionManager};
use roundtrip_wire::resp::Value;
use tempfile::TempDir;
use tokio::runtime::Runtime;
use tokio::task::LocalSet;

use crate::lifecycle::scene::secret;
use crate::migration::token::KEY;
use crate::runtime;
use crate::server::Server;

/// Long enough for any machine; nothing waits for it to pass.
const PATIENCE: Duration = Duration::from_mins(1);

pub(crate) struct Scene {
    gate: Gate,
    config: Config,
    redis: Server,
    runtime: Runtime,
    folder: TempDir,
}

pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: String,
}

impl Answer {
    /// hyper-auth-proxy's errors have no body; ours begin with their status.
    pub(crate) fn words(&self) -> &str {
        self.body.split(' ').next().unwrap_or_default()
    }
}

impl Scene {
    /// Configured as the guide says. `None` if redis-server is not installed.
    pub(crate) fn start(test: &str, backend: SocketAddr) -> Option<Self> {
        let runtime = runtime();
        let redis = runtime.block_on(Server::start(&format!("gate: {test}"), &[]))?;
        let folder = tempfile::tempdir().unwrap();
        let toml = format!(
            "[listen]\nhttp = [\"127.0.0.1:0\"]\nh3 = false\nthreads = 1\n\
             [token]\nbearer = false\n[[token.key]]\nalgorithm = \"HS512\"\nfrom = {{ file = \"{}\" }}\n\
             [session]\nstore = \"unix:{}\"\nprefix = \"\"\nplain = true\n\
             [upstream.backend]\nservers = [\"http://{backend}\"]\n[[route]]\nupstream = \"backend\"\n",
            secret(&folder, "token.key", KEY).display(),
            redis.socket().display()
        );
        let config = Config::parse(&toml, "test").unwrap();
        Some(Self {
            gate: Gate::start(config.clone(), drop).unwrap(),
            config,
            redis,
            runtime,
            folder,
        })
    }

    pub(crate) fn redis(&mut self) -> &mut Server {
        &mut self.redis
    }

    /// Redis's answer to another client.
    pub(crate) fn ask(&self, parts: &[&str]) -> String {
        self.runtime.block_on(async {
            let mut client = self.redis.client().await;
            shown(&client.ask(parts).await)
        })
    }

    pub(crate) fn secret(&self, name: &str, text: &str) -> PathBuf {
        secret(&self.folder, name, text)
    }

    /// Threads follow soon, but not at once.
    pub(crate) fn reload(&mut self, change: impl FnOnce(&mut Config)) {
        change(&mut self.config);
        self.gate.reload(self.config.clone()).unwrap();
    }

    /// Seals all sessions, as `gate session seal` does.
    pub(crate) fn seal(&self) -> Resealed {
        let sealing = async {
            let manager = SessionManager::open(&self.config).unwrap();
            manager.seal(|sid, error| panic!("{sid}: {error}")).await
        };
        LocalSet::new().block_on(&self.runtime, sealing).unwrap()
    }

    pub(crate) fn get(&self, fields: &str) -> Answer {
        let at = self.gate.addresses().http.first().unwrap();
        let mut stream = TcpStream::connect(at).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let head = format!(
            "GET /jmap HTTP/1.1\r\nHost: a.example\r\nConnection: close\r\n{fields}\r\n\r\n"
        );
        stream.write_all(head.as_bytes()).unwrap();
        let mut all = String::new();
        stream.read_to_string(&mut all).unwrap();
        let (head, body) = all.split_once("\r\n\r\n").unwrap();
        Answer {
            status: head[9..12].parse().unwrap(),
            head: format!("{head}\r\n"),
            body: body.to_owned(),
        }
    }

    /// Repeats the request until the answer meets the condition.
    pub(crate) fn await_answer(&self, fields: &str, is: impl Fn(&Answer) -> bool) -> Answer {
        for _ in 0..6000 {
            let answer = self.get(fields);
            if is(&answer) {
                return answer;
            }
            thread::sleep(Duration::from_millis(5));
        }
        panic!("such an answer never came");
    }
}

fn shown(value: &Value) -> String {
    match value.bytes() {
        Some(bytes) => String::from_utf8(bytes.to_vec()).unwrap(),
        None => format!("{value:?}"),
    }
}

pub(crate) fn backend() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for stream in listener.incoming() {
            thread::spawn(move || repeat(stream.unwrap()));
        }
    });
    address
}

/// Serves one request at a time, without bodies, until the peer closes.
fn repeat(mut stream: TcpStream) {
    let mut heard = Vec::new();
    let mut piece = [0; 4096];
    while let Ok(n @ 1..) = stream.read(&mut piece) {
        heard.extend_from_slice(&piece[..n]);
        if !heard.ends_with(b"\r\n\r\n") {
            continue;
        }
        let answer = format!(
            "HTTP/1.1 200 OK\r\nSet-Cookie: a=1\r\nSet-Cookie: b=2\r\nContent-Length: {}\r\n\r\n",
            heard.len()
        );
        heard.splice(..0, answer.into_bytes());
        if stream.write_all(&heard).is_err() {
            return;
        }
        heard.clear();
    }
}
