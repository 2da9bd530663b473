//! A whole gate with a certificate for `localhost`, and programs before and behind it.

use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use rcgen::{CertifiedKey, generate_simple_self_signed};
use roundtrip_gate::Gate;
use roundtrip_gate::config::Config;
use serde_json::Value;
use tempfile::TempDir;

use crate::skip;

/// Seconds; long enough for any machine.
const PATIENCE: &str = "120";

pub(crate) struct Stage {
    pub(crate) gate: Gate,
    pub(crate) config: Config,
    pub(crate) folder: TempDir,
}

impl Stage {
    /// `more` is TOML: upstreams and routes.
    pub(crate) fn new(more: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let CertifiedKey { cert, signing_key } =
            generate_simple_self_signed(["localhost".to_owned(), "127.0.0.1".to_owned()]).unwrap();
        let chain = write(&folder, "chain.pem", &cert.pem());
        let key = write(&folder, "key.pem", &signing_key.serialize_pem());
        let token = write(&folder, "token.key", &"k".repeat(64));
        let text = format!(
            "[listen]\nhttp = [\"127.0.0.1:0\"]\nhttps = [\"127.0.0.1:0\"]\nthreads = 1\n\
             [admin]\nlisten = \"127.0.0.1:0\"\n\
             [[tls.certificate]]\nchain = \"{}\"\nkey = \"{}\"\n\
             [[token.key]]\nalgorithm = \"HS512\"\nfrom = {{ file = \"{}\" }}\n\
             [session]\nstore = \"redb:{}\"\n{more}",
            chain.display(),
            key.display(),
            token.display(),
            folder.path().join("sessions.redb").display(),
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

    /// The certificate that clients are to trust.
    pub(crate) fn chain(&self) -> PathBuf {
        self.folder.path().join("chain.pem")
    }
}

fn write(folder: &TempDir, name: &str, text: &str) -> PathBuf {
    let path = folder.path().join(name);
    std::fs::write(&path, text).unwrap();
    std::fs::set_permissions(&path, PermissionsExt::from_mode(0o600)).unwrap();
    path
}

/// A server that says its port on its first line, and ends with the test.
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

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A file beside the tests.
pub(crate) fn script(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/apps")
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

/// What a program writes as JSON.
pub(crate) fn json(command: &mut Command) -> Value {
    // Whatever does not end is ended from outside.
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

/// Is it there? That it is not is said.
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
