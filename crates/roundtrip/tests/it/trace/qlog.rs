//! `--qlog` and `QLOGDIR`: both ends of a QUIC connection write logs, which agree, and which
//! `trace` reads.

use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::process::{Process, ROUNDTRIP, await_some};
use crate::trace::{roundtrip, text};

/// An origin, which is killed when this is dropped.
struct Server {
    _process: Process,
    at: String,
}

impl Server {
    fn start(logs: &Path) -> Self {
        let mut child = Command::new(ROUNDTRIP)
            .args(["origin", "--json"])
            .env("QLOGDIR", logs)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        let mut out = BufReader::new(child.stdout.take().unwrap());
        out.read_line(&mut line).unwrap();
        let addresses: Value = serde_json::from_str(&line).unwrap();
        let at = addresses["h3"].as_str().unwrap().to_owned();
        Self {
            _process: Process(child),
            at,
        }
    }
}

/// The only file in a directory, once it tells how the connection ended.
fn log(folder: &Path) -> (PathBuf, Vec<Value>) {
    let files = fs::read_dir(folder).unwrap();
    let files: Vec<PathBuf> = files.map(|file| file.unwrap().path()).collect();
    let [file] = &files[..] else {
        panic!("{files:?}");
    };
    let content = await_some("the end of the connection", || {
        let content = fs::read_to_string(file).unwrap();
        content
            .contains("quic:connection_closed")
            .then_some(content)
    });
    let records = content.split('\u{1e}').skip(1);
    let records = records.map(|record| serde_json::from_str(record).unwrap());
    (file.clone(), records.collect())
}

/// The packets of such events, by kind and number.
fn packets(records: &[Value], name: &str) -> BTreeSet<(String, u64)> {
    let events = records.iter().filter(|record| record["name"] == name);
    let headers = events.map(|event| &event["data"]["header"]);
    let packets = headers.map(|header| {
        let kind = header["packet_type"].as_str().unwrap().to_owned();
        (kind, header["packet_number"].as_u64().unwrap())
    });
    packets.collect()
}

#[test]
fn both_ends_of_a_connection_write_logs_that_agree() {
    let folder = tempfile::tempdir().unwrap();
    let [client, server] = ["client", "server"].map(|side| folder.path().join(side));
    let origin = Server::start(&server);
    let url = format!("https://{}/bytes/300000", origin.at);
    let path = client.to_str().unwrap();
    let output = roundtrip(&["probe", "-qk", "--http3", "--qlog", path, &url]);
    assert!(output.status.success(), "{output:?}");
    let (client, seen) = log(&client);
    let (server, answered) = log(&server);
    let stem = |file: &Path| {
        let name = file.file_name().unwrap().to_str().unwrap().to_owned();
        name.split_once('_').unwrap().0.to_owned()
    };
    assert_eq!(stem(&client), stem(&server));
    // Each packet that arrived had been sent, and over a local path nearly all arrive.
    for (from, to) in [(&seen, &answered), (&answered, &seen)] {
        let sent = packets(from, "quic:packet_sent");
        let came = packets(to, "quic:packet_received");
        assert!(came.is_subset(&sent), "{:?}", came.difference(&sent));
        assert!(
            came.len() * 2 > sent.len(),
            "{} of {}",
            came.len(),
            sent.len()
        );
    }
    assert!(packets(&answered, "quic:packet_sent").len() > 200);
    // Another verb understands it.
    let output = roundtrip(&["trace", server.to_str().unwrap()]);
    let shown = text(&output.stdout);
    assert!(shown.contains("qlog, 0 requests, 1 connection"), "{shown}");
}

#[test]
fn a_directory_that_cannot_be_made_is_wrong_usage() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let inside = file.path().join("logs");
    let directory = inside.to_str().unwrap();
    let output = roundtrip(&["probe", "--qlog", directory, "http://127.0.0.1:1/"]);
    assert_eq!(output.status.code(), Some(2));
    let said = text(&output.stderr);
    assert!(
        said.starts_with(&format!("roundtrip: --qlog {directory}: ")),
        "{said}"
    );
}
