//! Pebble, which finds all names at one address, and gates that ask it.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use std::thread;
use std::time::Duration;

use roundtrip_gate::config::Config;
use roundtrip_gate::{Gate, News};
use serde_json::json;
use tempfile::TempDir;

use crate::lifecycle::scene::{PATIENCE, eventually_true, secret};
use crate::skip;

pub(super) struct Pebble {
    child: Child,
    pub(super) directory: String,
    pub(super) ca: PathBuf,
    ports: (u16, u16),
    _folder: TempDir,
}

/// The settings with which a gate is started.
pub(super) struct Setting {
    pub(super) https: SocketAddr,
    pub(super) http: SocketAddr,
    pub(super) store: String,
    pub(super) names: String,
    /// TOML in `[acme]`.
    pub(super) acme: String,
    folder: std::sync::Arc<TempDir>,
}

pub(super) struct AcmeGate {
    gate: Option<Gate>,
    setting: Setting,
    lines: std::sync::Arc<Mutex<Vec<String>>>,
}

/// A port that was free just now.
pub(super) fn free_port() -> u16 {
    let socket = TcpListener::bind("127.0.0.1:0").unwrap();
    socket.local_addr().unwrap().port()
}

/// A name server that knows every name.
pub(super) fn names_of_loopback() -> SocketAddr {
    names_at(Ipv4Addr::LOCALHOST)
}

/// Over TCP, as Pebble asks.
pub(super) fn names_at(address: Ipv4Addr) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let at = listener.local_addr().unwrap();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            thread::spawn(move || while answer_name(&mut stream, address).is_some() {});
        }
    });
    at
}

/// Answers one question, whose length comes first. `None` once the connection has ended.
fn answer_name(stream: &mut TcpStream, address: Ipv4Addr) -> Option<()> {
    let mut length = [0; 2];
    stream.read_exact(&mut length).ok()?;
    let mut bytes = vec![0; usize::from(u16::from_be_bytes(length))];
    stream.read_exact(&mut bytes).ok()?;
    let question = bytes.get(12..)?;
    let end = question.iter().position(|b| *b == 0)?;
    let question = question.get(..end + 5)?;
    let is_a = question.get(end + 1..end + 3)? == [0, 1];
    let mut answer = bytes.get(..2)?.to_vec();
    answer.extend([0x81, 0x80, 0, 1, 0, u8::from(is_a), 0, 0, 0, 0]);
    answer.extend(question);
    if is_a {
        answer.extend([0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 0, 0, 4]);
        answer.extend(address.octets());
    }
    let length = u16::try_from(answer.len()).ok()?.to_be_bytes();
    stream.write_all(&[&length[..], &answer].concat()).ok()
}

/// Makes the certificate of Pebble itself.
pub(super) fn make_certificate(folder: &TempDir) -> PathBuf {
    let key = rcgen::KeyPair::generate().unwrap();
    let names = ["127.0.0.1".to_owned(), "localhost".to_owned()];
    let made = rcgen::CertificateParams::new(names).unwrap();
    let made = made.self_signed(&key).unwrap();
    let path = folder.path().join("ca.pem");
    std::fs::write(&path, made.pem()).unwrap();
    std::fs::write(folder.path().join("key.pem"), key.serialize_pem()).unwrap();
    path
}

impl Pebble {
    pub(super) fn start(test: &str, environment: &[(&str, &str)]) -> Option<Self> {
        Self::start_for(test, 3600, environment)
    }

    /// Starts a scene with certificates that are valid for `life` seconds.
    pub(super) fn start_for(test: &str, life: u32, environment: &[(&str, &str)]) -> Option<Self> {
        let ports = (free_port(), free_port());
        let (folder, dns) = (tempfile::tempdir().unwrap(), names_of_loopback());
        make_certificate(&folder);
        Self::start_at(test, free_port(), dns, ports, folder, life, environment)
    }

    /// It validates at these ports, for TLS and for HTTP.
    pub(super) fn start_at(
        test: &str,
        port: u16,
        dns: SocketAddr,
        ports: (u16, u16),
        folder: TempDir,
        life: u32,
        environment: &[(&str, &str)],
    ) -> Option<Self> {
        let found = skip::installed("install-pebble");
        // `scripts/test` reports that it cannot be installed.
        let found = found.inspect_err(|why| eprintln!("SKIPPED {test}: {why}"));
        let program = found.ok()?;
        let ca = folder.path().join("ca.pem");
        let config = json!({"pebble": {
            "listenAddress": format!("127.0.0.1:{port}"),
            "managementListenAddress": format!("127.0.0.1:{}", free_port()),
            "certificate": ca, "privateKey": folder.path().join("key.pem"),
            "tlsPort": ports.0, "httpPort": ports.1,
            "ocspResponderURL": "", "externalAccountBindingRequired": false,
            "retryAfter": {"authz": 1, "order": 1}, "keyAlgorithm": "ecdsa",
            "profiles": {"default": {"description": "d", "validityPeriod": life}},
        }});
        let path = folder.path().join("pebble.json");
        std::fs::write(&path, config.to_string()).unwrap();
        let child = Command::new(program)
            .args(["-dnsserver", &dns.to_string(), "-config"])
            .arg(&path)
            .env("PEBBLE_VA_NOSLEEP", "1")
            .envs(environment.iter().copied())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let pebble = Self {
            child,
            directory: format!("https://127.0.0.1:{port}/dir"),
            ca,
            ports,
            _folder: folder,
        };
        eventually_true(|| TcpStream::connect(("127.0.0.1", port)).is_ok());
        Some(pebble)
    }
}

impl Drop for Pebble {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Setting {
    pub(super) fn new(pebble: &Pebble) -> Self {
        let mut setting = Self::for_directory(&pebble.directory);
        setting.trust(&pebble.ca);
        setting.https.set_port(pebble.ports.0);
        setting.http.set_port(pebble.ports.1);
        setting
    }

    /// The CA's own certificate.
    pub(super) fn trust(&mut self, ca: &Path) {
        let line = ["ca = \"", &ca.display().to_string(), "\"\n"].concat();
        self.acme.push_str(&line);
    }

    pub(super) fn for_directory(url: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("sessions.redb");
        Self {
            https: ([127, 0, 0, 1], free_port()).into(),
            http: ([127, 0, 0, 1], free_port()).into(),
            store: format!("redb:{}", file.display()),
            names: "\"a.example\"".into(),
            acme: format!("directory = \"{url}\"\nterms_agreed = true\norder_time = \"20s\"\n"),
            folder: std::sync::Arc::new(folder),
        }
    }

    /// The same gate at another address of this machine.
    pub(super) fn at(&self, address: Ipv4Addr) -> Self {
        Self {
            https: (address, self.https.port()).into(),
            http: (address, self.http.port()).into(),
            store: self.store.clone(),
            names: self.names.clone(),
            acme: self.acme.clone(),
            folder: self.folder.clone(),
        }
    }

    pub(super) fn text(&self) -> String {
        let token = secret(&self.folder, "token.key", &"k".repeat(64));
        let seal = secret(&self.folder, "seal.key", &"5".repeat(64));
        format!(
            "[listen]\nhttp = [\"{}\"]\nhttps = [\"{}\"]\nthreads = 2\n[admin]\nlisten = \"127.0.0.1:0\"\n\
             [[token.key]]\nalgorithm = \"HS512\"\nfrom = {{ file = \"{}\" }}\n\
             [session]\nstore = \"{}\"\n[[session.seal]]\nid = \"k1\"\nfrom = {{ file = \"{}\" }}\n\
             [upstream.backend]\nservers = [\"http://127.0.0.1:9\"]\n[[route]]\nupstream = \"backend\"\n\
             [acme]\nnames = [{}]\n{}",
            self.http,
            self.https,
            token.display(),
            self.store,
            seal.display(),
            self.names,
            self.acme
        )
    }

    pub(super) fn start(&self) -> AcmeGate {
        let config = Config::parse(&self.text(), "test").unwrap();
        let lines = std::sync::Arc::<Mutex<Vec<String>>>::default();
        let told = lines.clone();
        let tell = move |news| {
            if let News::Condition(line) = news {
                told.lock().unwrap().push(line);
            }
        };
        AcmeGate {
            gate: Some(Gate::start(config, tell).unwrap()),
            setting: self.at(match self.https {
                SocketAddr::V4(address) => *address.ip(),
                SocketAddr::V6(_) => Ipv4Addr::LOCALHOST,
            }),
            lines,
        }
    }
}

impl AcmeGate {
    pub(super) fn restart(mut self) -> Self {
        drop(self.gate.take());
        self.setting.start()
    }

    /// What OpenSSL says about a handshake, with the certificate and its issuer.
    pub(super) fn handshake(&self, name: Option<&str>) -> String {
        self.handshake_with(name, &[])
    }

    pub(super) fn handshake_with(&self, name: Option<&str>, more: &[&str]) -> String {
        let name = name.map_or(vec!["-noservername"], |name| vec!["-servername", name]);
        let output = Command::new("openssl")
            .args(["s_client", "-connect", &self.setting.https.to_string()])
            .args(name)
            .args(more)
            .stdin(Stdio::null())
            .output()
            .unwrap();
        let text = [output.stdout, output.stderr].concat();
        String::from_utf8_lossy(&text).into_owned()
    }

    pub(super) fn wait_for_certificate(&self, name: &str) {
        let began = std::time::Instant::now();
        while !self.handshake(Some(name)).contains("Pebble") {
            assert!(
                began.elapsed() < PATIENCE,
                "never; told: {:?}",
                self.lines()
            );
            thread::sleep(Duration::from_millis(50));
        }
    }

    pub(super) fn wait_for_line(&self, part: &str) {
        eventually_true(|| self.lines().iter().any(|line| line.contains(part)));
    }

    pub(super) fn lines(&self) -> Vec<String> {
        self.lines.lock().unwrap().clone()
    }

    pub(super) fn get(&self, path: &str) -> String {
        get(self.setting.http, path)
    }

    pub(super) fn event(&self, event: &str) -> u64 {
        let admin = self.gate.as_ref().unwrap().addresses().admin.unwrap();
        let text = get(admin, "/metrics");
        let line = format!("roundtrip_gate_acme_events_total{{event=\"{event}\"}} ");
        let found = text.lines().find_map(|known| known.strip_prefix(&line));
        found
            .unwrap_or_else(|| panic!("no {line} in {text}"))
            .trim()
            .parse()
            .unwrap()
    }
}

/// The certificate in the output of OpenSSL.
pub(super) fn certificate(output: &str) -> Option<&str> {
    let (_, rest) = output.split_once("-----BEGIN CERTIFICATE-----")?;
    Some(rest.split_once("-----END")?.0)
}

fn get(address: SocketAddr, path: &str) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    let head = format!("GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n");
    stream.write_all(head.as_bytes()).unwrap();
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer);
    String::from_utf8_lossy(&answer).into_owned()
}
