//! A gate with a certificate and a session, in front of the backend of these tests; its counters;
//! and how clients are started.

use std::fs::{self, File};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

use aws_lc_rs::digest::{SHA256, digest};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rcgen::{CertificateParams, KeyPair, PublicKeyData as _};
use tempfile::TempDir;

use crate::gate_clients::backend;
use crate::process::{Process, TIMEOUT, eventually};

/// `alice:secret`, as the backend sees it.
pub(crate) const LOGIN: &str = "Basic YWxpY2U6c2VjcmV0";

pub(crate) struct Scene {
    // Ended before its folder is removed.
    _gate: Process,
    folder: TempDir,
    /// The hash of the certificate's public key, in the form that Chromium takes.
    pub(crate) key_hash: String,
    /// TLS and QUIC: `127.0.0.1:port`.
    pub(crate) at: String,
    admin: String,
}

impl Scene {
    /// `tls` is TOML.
    pub(crate) fn start(tls: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let key_hash = certificate(&folder);
        secret(&folder, "token.key", &"k".repeat(64));
        secret(&folder, "seal.key", &"5".repeat(64));
        let backend = listener.local_addr().unwrap().to_string();
        fs::write(
            folder.path().join("gate.toml"),
            config(&folder, &backend, tls),
        )
        .unwrap();
        let mut put = command(&folder, &["session", "put", "alice"]);
        put.args(["--credentials-env", "LOGIN"]);
        said(put.env("LOGIN", "alice:secret"));
        let cookie = token(&folder, "--cookie");
        let cookie = cookie.strip_prefix("Cookie: ").unwrap();
        backend::serve(listener, cookie);
        let err = folder.path().join("err");
        let gate = command(&folder, &["run"])
            .stderr(File::create(&err).unwrap())
            .spawn()
            .unwrap();
        let mut scene = Self {
            folder,
            _gate: Process(gate),
            key_hash,
            at: String::new(),
            admin: String::new(),
        };
        let introduction = scene.introduction();
        scene.at = between(&introduction, "gate: https://", " ");
        scene.admin = between(&introduction, "live: http://", "/");
        scene
    }

    fn introduction(&self) -> String {
        let told = || fs::read_to_string(self.path("err")).unwrap();
        let whole = || Some(told()).filter(|told| told.lines().count() >= 5);
        eventually(whole).unwrap_or_else(|| panic!("{}", told()))
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// A file with the field that carries a bearer's token.
    pub(crate) fn bearer(&self) -> PathBuf {
        let path = self.path("bearer");
        fs::write(&path, token(&self.folder, "--bearer")).unwrap();
        path
    }

    /// A client that may write only here, and that is always ended. `None` if it is not installed.
    pub(crate) fn client(&self, program: &str, tune: impl FnOnce(&mut Command)) -> Option<Output> {
        let mut command = Command::new("timeout");
        command
            .args(["-k", "10", "240", program])
            .current_dir(self.folder.path())
            .env("HOME", self.folder.path())
            .env("TMPDIR", self.folder.path())
            .stdin(Stdio::null());
        tune(&mut command);
        let output = command.output().unwrap();
        // It is missing, or it may be in a directory of PATH that we may not read. timeout(1).
        let is_absent = matches!(output.status.code(), Some(126 | 127));
        (!is_absent).then_some(output)
    }

    /// The sum of a counter's rows that have all these labels.
    pub(crate) fn counted(&self, name: &str, labels: &[&str]) -> u64 {
        let name = format!("roundtrip_gate_{name}_total");
        let metrics = self.metrics();
        let rows = metrics.lines().filter_map(|line| line.rsplit_once(' '));
        rows.filter(|(row, _)| row.split('{').next() == Some(&name))
            .filter(|(row, _)| labels.iter().all(|label| row.contains(label)))
            .map(|(_, value)| value.parse::<u64>().unwrap())
            .sum()
    }

    /// Asserts that there were this many exchanges in all, each by this protocol and with a 2xx,
    /// and none that failed. An exchange is counted once its answer has left.
    #[track_caller]
    pub(crate) fn has_served(&self, protocol: &str, requests: u64) {
        let protocol = format!("protocol=\"{protocol}\"");
        let served = || self.counted("requests", &[&protocol, "status=\"2xx\""]);
        eventually(|| (served() >= requests).then_some(()));
        assert_eq!(served(), requests, "{}", self.metrics());
        assert_eq!(self.counted("requests", &[]), requests);
        assert_eq!(self.counted("errors", &[]), 0);
        assert_eq!(self.counted("turned_away", &[]), 0);
    }

    pub(crate) fn metrics(&self) -> String {
        let mut stream = TcpStream::connect(&self.admin).unwrap();
        stream.set_read_timeout(Some(TIMEOUT)).unwrap();
        let request = "GET /metrics HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
        answer
    }
}

/// All output of a client, to explain a failure.
pub(crate) fn words(output: &Output) -> String {
    let said = [output.stdout.as_slice(), &output.stderr].concat();
    format!("{}\n{}", output.status, String::from_utf8_lossy(&said))
}

/// Only paths below `/mine` need a session. The page's picture is late on purpose, on a slow
/// machine by minutes.
fn config(folder: &TempDir, backend: &str, tls: &str) -> String {
    let at = |name: &str| folder.path().join(name).display().to_string();
    format!(
        "[listen]\nhttp = []\nhttps = [\"127.0.0.1:0\"]\nh3 = true\nthreads = 2\n[admin]\nlisten = \"127.0.0.1:0\"\n\
         [tls]\n{tls}[[tls.certificate]]\nchain = \"{}\"\nkey = \"{}\"\n\
         [[token.key]]\nalgorithm = \"HS512\"\nfrom = {{ file = \"{}\" }}\n\
         [session]\nstore = \"redb:{}\"\n[[session.seal]]\nid = \"k\"\nfrom = {{ file = \"{}\" }}\n\
         [upstream.b]\nservers = [\"http://{backend}\"]\nfirst_byte = \"5min\"\n\
         [[route]]\nupstream = \"b\"\nauth = false\n\
         [[route]]\npath = \"/mine\"\nupstream = \"b\"\nstreams = true\n",
        at("chain.pem"),
        at("chain.key"),
        at("token.key"),
        at("sessions.redb"),
        at("seal.key"),
    )
}

/// Creates a self-signed certificate and returns the hash of its key.
fn certificate(folder: &TempDir) -> String {
    let key = KeyPair::generate().unwrap();
    let params = CertificateParams::new(["127.0.0.1".to_owned()]).unwrap();
    let chain = params.self_signed(&key).unwrap().pem();
    fs::write(folder.path().join("chain.pem"), chain).unwrap();
    secret(folder, "chain.key", &key.serialize_pem());
    STANDARD.encode(digest(&SHA256, &key.subject_public_key_info()))
}

fn secret(folder: &TempDir, name: &str, text: &str) {
    let path = folder.path().join(name);
    fs::write(&path, text).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
}

fn command(folder: &TempDir, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_roundtrip"));
    command
        .arg("gate")
        .args(arguments)
        .args(["--config", "gate.toml"])
        .current_dir(folder.path())
        .stdin(Stdio::null());
    command
}

fn token(folder: &TempDir, worn: &str) -> String {
    let arguments = ["token", "--sub", "alice", "--sid", "alice", worn];
    said(&mut command(folder, &arguments)).trim().to_owned()
}

fn said(command: &mut Command) -> String {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", words(&output));
    String::from_utf8(output.stdout).unwrap()
}

#[track_caller]
fn between(text: &str, before: &str, after: &str) -> String {
    let found = text
        .split_once(before)
        .and_then(|(_, rest)| rest.split_once(after));
    found
        .unwrap_or_else(|| panic!("{before}: {text}"))
        .0
        .to_owned()
}
