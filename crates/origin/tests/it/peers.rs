//! A running origin whose authority is on disk, and the programs that talk to it.

use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

use roundtrip_origin::{Knobs, Origin, Running};

pub(crate) struct Peer {
    pub(crate) origin: Running,
    directory: tempfile::TempDir,
}

pub(crate) struct ProgramOutput {
    pub(crate) code: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Peer {
    pub(crate) fn start(knobs: Knobs) -> Self {
        let origin = Origin::spawn_thread(knobs).unwrap();
        let directory = tempfile::tempdir().unwrap();
        std::fs::write(directory.path().join("ca.pem"), &origin.ca_pem).unwrap();
        std::fs::write(directory.path().join("client.pem"), &origin.client_pem).unwrap();
        Self { origin, directory }
    }

    /// A well-behaved origin, except for the knobs that `set` changes.
    pub(crate) fn with(set: impl FnOnce(&mut Knobs)) -> Self {
        let mut knobs = Knobs::default();
        set(&mut knobs);
        Self::start(knobs)
    }

    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    pub(crate) fn http(&self, path: &str) -> String {
        format!("http://localhost:{}{path}", self.origin.http.port())
    }

    pub(crate) fn https(&self, path: &str) -> String {
        format!("https://localhost:{}{path}", self.origin.https.port())
    }

    pub(crate) fn curl(&self, arguments: &[&str]) -> ProgramOutput {
        let mut command = Command::new("curl");
        command
            .args(["-q", "-sS", "-4", "--max-time", "20", "--noproxy", "*"])
            .arg("--cacert")
            .arg(self.file("ca.pem"))
            .args(arguments);
        said(&command.output().expect("curl is installed"))
    }

    /// `openssl s_client` to the TLS port, with `input` on its standard input.
    pub(crate) fn s_client(&self, arguments: &[&str], input: &[u8]) -> ProgramOutput {
        let mut child = Command::new("openssl")
            .args(["s_client", "-servername", "localhost", "-connect"])
            .arg(self.origin.https.to_string())
            .arg("-CAfile")
            .arg(self.file("ca.pem"))
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("openssl is installed");
        child.stdin.take().unwrap().write_all(input).unwrap();
        said(&child.wait_with_output().unwrap())
    }
}

fn said(output: &Output) -> ProgramOutput {
    ProgramOutput {
        code: output.status.code().unwrap_or(-1),
        out: String::from_utf8_lossy(&output.stdout).into_owned(),
        err: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}
