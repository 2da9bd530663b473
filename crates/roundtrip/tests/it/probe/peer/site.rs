//! An origin with its certificates in files.

use std::path::PathBuf;

use roundtrip_origin::{Knobs, Origin, Running};

use crate::probe::report::{self, Report};
use crate::probe::run;
use crate::process::Said;

pub(crate) struct Site {
    pub(crate) origin: Running,
    directory: tempfile::TempDir,
}

impl Site {
    /// A well-behaved origin, except for what `set` does to its knobs.
    pub(crate) fn with(set: impl FnOnce(&mut Knobs)) -> Self {
        let mut knobs = Knobs::default();
        set(&mut knobs);
        let origin = Origin::spawn_thread(knobs).unwrap();
        let directory = tempfile::tempdir().unwrap();
        std::fs::write(directory.path().join("ca.pem"), &origin.ca_pem).unwrap();
        std::fs::write(directory.path().join("client.pem"), &origin.client_pem).unwrap();
        Self { origin, directory }
    }

    pub(crate) fn start() -> Self {
        Self::with(|_| ())
    }

    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// A file's path as an argument.
    pub(crate) fn path(&self, name: &str) -> String {
        self.file(name).display().to_string()
    }

    /// Writes a file next to the certificates.
    pub(crate) fn write(&self, name: &str, content: impl AsRef<[u8]>) -> String {
        std::fs::write(self.file(name), content).unwrap();
        self.path(name)
    }

    pub(crate) fn http(&self, path: &str) -> String {
        format!("http://localhost:{}{path}", self.origin.http.port())
    }

    pub(crate) fn https(&self, path: &str) -> String {
        format!("https://localhost:{}{path}", self.origin.https.port())
    }

    /// `probe --json`, trusting this origin.
    pub(crate) fn report(&self, arguments: &[&str]) -> Report {
        let ca = self.path("ca.pem");
        report::report(&[&["--cacert", &ca], arguments].concat())
    }

    /// `probe`, trusting this origin.
    pub(crate) fn probe(&self, arguments: &[&str]) -> Said {
        let ca = self.path("ca.pem");
        run::said(run::probe(&[&["--cacert", &ca], arguments].concat()))
    }

    /// The body that was received.
    pub(crate) fn body(&self, arguments: &[&str]) -> String {
        let said = self.probe(&[&["-q", "-o", "-"], arguments].concat());
        assert_eq!(said.code, 0, "{}", said.err);
        said.out
    }
}
