//! An origin, a directory, and the binary that uses them.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use roundtrip_origin::{Knobs, Origin, Running, Stats};
use serde_json::Value;
use tempfile::TempDir;

use crate::process::{ROUNDTRIP, Said};

pub(crate) struct Scene {
    pub(crate) origin: Running,
    pub(crate) directory: TempDir,
}

impl Scene {
    pub(crate) fn new() -> Self {
        Self::with(|_| {})
    }

    pub(crate) fn with(change: impl FnOnce(&mut Knobs)) -> Self {
        let mut knobs = Knobs::default();
        change(&mut knobs);
        let scene = Self {
            origin: Origin::spawn_thread(knobs).unwrap(),
            directory: tempfile::tempdir().unwrap(),
        };
        std::fs::write(scene.path("ca.pem"), &scene.origin.ca_pem).unwrap();
        scene
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, text: impl AsRef<[u8]>) -> String {
        std::fs::write(self.path(name), text).unwrap();
        self.path(name).display().to_string()
    }

    pub(crate) fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).unwrap()
    }

    pub(crate) fn server(&self) -> String {
        format!("https://{}/rdap/", self.origin.https)
    }

    /// Queries the registry, as fast as it can, and remembers in the scene's directory.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = self.plain(&["--rate", "off", "--server", &self.server()]);
        command.arg("--memory").arg(self.path("memory"));
        command.args(arguments);
        command
    }

    /// Only sets which certificates to trust.
    pub(crate) fn plain(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(ROUNDTRIP);
        command.env_clear().stdin(Stdio::null());
        command.current_dir(self.directory.path());
        command.arg("rdap").arg("--cacert").arg(self.path("ca.pem"));
        command.args(arguments);
        command
    }

    pub(crate) fn run(&self, arguments: &[&str]) -> Said {
        said(self.command(arguments))
    }

    pub(crate) fn stats(&self) -> Stats {
        self.origin.stats()
    }

    /// How often each path of the registry and the registrar was requested.
    pub(crate) fn asked(&self) -> BTreeMap<String, u32> {
        let mut stream = TcpStream::connect(self.origin.http).unwrap();
        let request = "GET /rdap-asked HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let (_, body) = answer.split_once("\r\n\r\n").unwrap();
        serde_json::from_str(body).unwrap()
    }

    pub(crate) fn asked_name(&self, name: &str) -> u32 {
        let asked = self.asked();
        asked
            .get(&format!("/rdap/domain/{name}"))
            .copied()
            .unwrap_or_default()
    }
}

pub(crate) fn said(command: Command) -> Said {
    finish(start(command))
}

pub(crate) fn start(mut command: Command) -> Child {
    command
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

/// Waits for the end; the deadline is that of the lookups and of the test's own polls.
pub(crate) fn finish(child: Child) -> Said {
    let output = child.wait_with_output().unwrap();
    let is_text = |bytes: &[u8]| str::from_utf8(bytes).is_ok();
    assert!(
        is_text(&output.stdout) && is_text(&output.stderr),
        "{output:?}"
    );
    Said::from(output)
}

/// Asserts that each line parses and has the schema.
pub(crate) fn documents(text: &str) -> Vec<Value> {
    let lines = text.lines().map(|line| {
        let value: Value = serde_json::from_str(line).unwrap();
        assert_eq!(value["schema"], "roundtrip/rdap/1");
        value
    });
    lines.collect()
}
