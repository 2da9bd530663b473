//! A whole gate with a certificate for `localhost`, with programs on both sides of it.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, SystemTime};

use rcgen::{CertifiedKey, generate_simple_self_signed};
use roundtrip_gate::config::Config;
use roundtrip_gate::manage::{SessionManager, Token, TokenRequest, TokenTransport};
use roundtrip_gate::{Gate, Secret};
use serde_json::Value;
use tempfile::TempDir;

use crate::lifecycle::scene::secret;
use crate::runtime;
use crate::skip;

/// In seconds; long enough for any machine.
const PATIENCE: &str = "120";

pub(crate) struct Stage {
    pub(crate) gate: Gate,
    pub(crate) config: Config,
    pub(crate) folder: TempDir,
}

impl Stage {
    /// `more` is TOML: upstreams and routes.
    pub(crate) fn new(more: &str) -> Self {
        Self::with_store(None, more)
    }

    /// Starts a gate with its sessions in this store; if `None`, in a file.
    pub(crate) fn with_store(store: Option<&str>, more: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let CertifiedKey { cert, signing_key } =
            generate_simple_self_signed(["localhost".to_owned(), "127.0.0.1".to_owned()]).unwrap();
        let chain = secret(&folder, "chain.pem", &cert.pem());
        let key = secret(&folder, "key.pem", &signing_key.serialize_pem());
        let token = secret(&folder, "token.key", &"k".repeat(64));
        let text = format!(
            "[listen]\nhttp = [\"127.0.0.1:0\"]\nhttps = [\"127.0.0.1:0\"]\nh3 = true\nthreads = 1\n\
             [admin]\nlisten = \"127.0.0.1:0\"\n\
             [[tls.certificate]]\nchain = \"{}\"\nkey = \"{}\"\n\
             [[token.key]]\nalgorithm = \"HS512\"\nfrom = {{ file = \"{}\" }}\n\
             [session]\nstore = \"{}\"\n{more}",
            chain.display(),
            key.display(),
            token.display(),
            store.map_or_else(
                || format!("redb:{}", folder.path().join("sessions.redb").display()),
                str::to_owned
            ),
        );
        let config = Config::parse(&text, "test").unwrap();
        let gate = Gate::start(config.clone(), |_| ()).unwrap();
        Self {
            gate,
            config,
            folder,
        }
    }

    pub(crate) fn http(&self) -> SocketAddr {
        self.gate.addresses().http[0]
    }

    pub(crate) fn https(&self) -> SocketAddr {
        self.gate.addresses().https[0]
    }

    /// The certificate that clients have to trust.
    pub(crate) fn chain(&self) -> PathBuf {
        self.folder.path().join("chain.pem")
    }

    pub(crate) fn metrics(&self) -> String {
        get(self.gate.addresses().admin.unwrap(), "/metrics")
    }

    /// The value of a metric; `row` is its name without the common prefix.
    pub(crate) fn metric(&self, row: &str) -> u64 {
        let row = format!("roundtrip_gate_{row} ");
        let metrics = self.metrics();
        let line = metrics.lines().find_map(|line| line.strip_prefix(&row));
        line.unwrap_or_else(|| panic!("no {row}in {metrics}"))
            .parse()
            .unwrap()
    }
}

fn get(at: SocketAddr, path: &str) -> String {
    let mut stream = TcpStream::connect(at).unwrap();
    let ask = format!("GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
    stream.write_all(ask.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer.split_once("\r\n\r\n").unwrap().1.to_owned()
}

/// A server that prints its port on its first line, and ends with the test.
pub(crate) struct Server {
    pub(crate) port: u16,
    child: Child,
}

impl Server {
    pub(crate) fn start(command: &mut Command) -> Self {
        let mut child = command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        let told = BufReader::new(child.stdout.take().unwrap()).read_line(&mut line);
        let port = told.ok().and_then(|_| line.trim().parse().ok());
        Self {
            port: port.unwrap_or_else(|| panic!("no port but {line:?}")),
            child,
        }
    }
}

impl Server {
    /// Requests JSON directly from the server.
    pub(crate) fn get(&self, path: &str) -> Value {
        serde_json::from_str(&get(([127, 0, 0, 1], self.port).into(), path)).unwrap()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A file next to the tests.
pub(crate) fn script(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/it/applications")
        .join(name)
}

pub(crate) fn node(name: &str) -> Command {
    let mut command = Command::new("node");
    command.arg(script(name));
    command
}

pub(crate) fn python(name: &str) -> Command {
    let mut command = Command::new("/usr/bin/python3");
    command.arg(script(name));
    command
}

/// A program's output as JSON.
pub(crate) fn json(command: &mut Command) -> Value {
    // `timeout` ends programs that hang.
    let mut bounded = Command::new("timeout");
    bounded.arg(PATIENCE).arg(command.get_program());
    bounded.args(command.get_args());
    let output = bounded.stdin(Stdio::null()).output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    serde_json::from_str(&said).unwrap_or_else(|_| {
        panic!(
            "{:?}: {said:?} {}",
            command.get_args().collect::<Vec<_>>(),
            String::from_utf8_lossy(&output.stderr)
        )
    })
}

/// Whether it is installed; if not, says so.
pub(crate) fn has(test: &str, what: &str, mut command: Command) -> bool {
    let ran = command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    let there = ran.is_ok_and(|status| status.success());
    if !there {
        skip::lacking(test, what);
    }
    there
}

pub(crate) fn has_node(test: &str) -> bool {
    let mut command = Command::new("node");
    command.arg("--version");
    has(test, "node", command)
}

pub(crate) fn has_python(test: &str, module: &str) -> bool {
    let mut command = Command::new("/usr/bin/python3");
    command.args(["-c", &format!("import {module}")]);
    has(test, module, command)
}

/// Stores a session and returns its token: as a cookie with its name, or bare.
pub(crate) fn token(config: &Config, transport: TokenTransport) -> String {
    let runtime = runtime();
    let login = Secret::new(b"alice:secret".to_vec());
    let put = async {
        SessionManager::open(config)
            .unwrap()
            .put("s", &login, None)
            .await
    };
    tokio::task::LocalSet::new()
        .block_on(&runtime, put)
        .unwrap();
    let order = TokenRequest {
        subject: "alice",
        sid: "s",
        lifetime: Duration::from_hours(1),
        transport,
        key: None,
    };
    let token = Token::sign(config, &order, SystemTime::now()).unwrap();
    let field = String::from_utf8(token.field.expose().to_vec()).unwrap();
    let (_, value) = field.split_once(": ").unwrap();
    value.trim_start_matches("Bearer ").to_owned()
}

/// Chromium, for one page.
pub(crate) struct Browser {
    profile: PathBuf,
}

impl Browser {
    pub(crate) fn new(stage: &Stage) -> Self {
        Self {
            profile: stage.folder.path().join("profile"),
        }
    }

    /// The result of the page's script; `None` if no browser is installed.
    pub(crate) fn visit(&self, url: &str) -> Option<Value> {
        let mut command = Command::new("timeout");
        command
            .args([PATIENCE, "chromium", "--headless", "--no-sandbox"])
            .args(["--disable-gpu", "--disable-dev-shm-usage", "--no-first-run"])
            .args(["--no-proxy-server", "--disable-background-networking"])
            .args(["--disable-component-update", "--disable-sync"])
            .args(["--disable-quic", "--ignore-certificate-errors"])
            .arg(format!("--user-data-dir={}", self.profile.display()))
            .args(["--dump-dom", url]);
        let output = command.stdin(Stdio::null()).output().ok()?;
        if output.status.code() == Some(127) {
            return None;
        }
        let dom = String::from_utf8_lossy(&output.stdout);
        let errors = String::from_utf8_lossy(&output.stderr);
        let (_, rest) = dom
            .split_once("<pre>")
            .unwrap_or_else(|| panic!("{dom}{errors}"));
        let (said, _) = rest.split_once("</pre>").unwrap();
        let said = said
            .replace("&gt;", ">")
            .replace("&lt;", "<")
            .replace("&amp;", "&");
        Some(serde_json::from_str(&said).unwrap_or_else(|_| panic!("{said:?} {errors}")))
    }
}
