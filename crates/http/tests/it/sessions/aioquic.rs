//! A server that shares nothing with ours: aioquic, if it is installed.

use std::io::{BufRead, BufReader, Lines};
use std::net::SocketAddr;
use std::process::{Child, ChildStdout, Command, Stdio};

use roundtrip_model::EarlyData;
use roundtrip_tls::Roots;
use tempfile::TempDir;

use super::Process;
use crate::skip;

struct Server {
    child: Child,
    lines: Lines<BufReader<ChildStdout>>,
    peer: SocketAddr,
    _files: TempDir,
}

impl Server {
    fn start(modules: &str, wish: &str) -> Self {
        let files = tempfile::tempdir().unwrap();
        let made = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap();
        std::fs::write(files.path().join("certificate.pem"), made.cert.pem()).unwrap();
        let key = made.signing_key.serialize_pem();
        std::fs::write(files.path().join("key.pem"), key).unwrap();
        let script = concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/tests/it/sessions/aioquic_server.py"
        );
        let mut child = Command::new("/usr/bin/python3")
            .args([script, wish])
            .current_dir(&files)
            .env("PYTHONPATH", modules)
            .env("PYTHONDONTWRITEBYTECODE", "1")
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let port = lines.next().unwrap().unwrap().parse().unwrap();
        Self {
            child,
            lines,
            peer: SocketAddr::from(([127, 0, 0, 1], port)),
            _files: files,
        }
    }

    /// The line that it prints about the next request.
    fn said(&mut self) -> String {
        self.lines.next().unwrap().unwrap()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

#[tokio::test]
async fn aioquic_serves_early_and_late_and_after_a_retry() {
    let Ok(modules) = skip::installed("install-aioquic") else {
        let test = "aioquic_serves_early_and_late_and_after_a_retry";
        return skip::lacking(test, "aioquic");
    };
    for wish in ["nothing", "retry"] {
        let mut server = Server::start(&modules, wish);
        let process = Process::trusting(Roots::Anything);
        for (resumed, early_data, said) in [
            (false, EarlyData::NotOffered, "late"),
            (true, EarlyData::Accepted, "early"),
        ] {
            let (status, facts) = process.visit_at(server.peer, Some(1)).await;
            assert_eq!((status, facts.resumed), (200, resumed), "{wish}");
            assert_eq!(facts.early_data, early_data, "{wish}");
            assert_eq!(server.said(), format!("{said} /bytes/3"), "{wish}");
        }
        // No request came twice.
        let (status, _) = process.visit_at(server.peer, None).await;
        assert_eq!((status, server.said()), (200, "late /bytes/3".into()));
    }
}
