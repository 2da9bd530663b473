//! Starts programs that listen, asks them, and reads the metrics that they answer with.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Command, Stdio};

use crate::process::{Process, ROUNDTRIP, TIMEOUT};

/// A program that ends with its test.
pub(crate) struct Running {
    _process: Process,
    /// What it said when it was ready.
    pub(crate) said: Vec<String>,
}

/// Starts a verb, and reads lines until one contains `ready`.
pub(crate) fn start(arguments: &[&str], ready: &str) -> Running {
    started(Command::new(ROUNDTRIP).args(arguments), ready)
}

fn started(command: &mut Command, ready: &str) -> Running {
    command.stdout(Stdio::piped()).stdin(Stdio::null());
    let mut child = command.spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut said = Vec::new();
    while !said.iter().any(|line: &String| line.contains(ready)) {
        said.push(lines.next().expect("it ended too early").unwrap());
    }
    Running {
        _process: Process(child),
        said,
    }
}

/// The exporter with this configuration, and where it listens.
pub(crate) fn exporter(config: &Path) -> (Running, SocketAddr) {
    listening(Command::new(ROUNDTRIP).args(EXPORTER).arg(config))
}

/// The exporter, with a limit of open files.
pub(crate) fn exporter_with_files(most: usize, config: &Path) -> (Running, SocketAddr) {
    let script = format!("ulimit -n {most} && exec \"$0\" \"$@\"");
    let mut command = Command::new("sh");
    command.arg("-c").arg(script).arg(ROUNDTRIP).args(EXPORTER);
    listening(command.arg(config))
}

const EXPORTER: [&str; 4] = ["exporter", "--listen", "127.0.0.1:0", "--config"];

fn listening(command: &mut Command) -> (Running, SocketAddr) {
    let running = started(command, "exporter");
    let at = running.said[0]
        .trim_start_matches("exporter http://")
        .trim_end_matches('/');
    let at = at.parse().unwrap();
    (running, at)
}

/// An origin whose authority is in `ca`; its addresses for http and https.
pub(crate) fn origin(ca: &Path, more: &[&str]) -> (Running, String, String) {
    let mut arguments = vec!["origin", "--ca-out", ca.to_str().unwrap()];
    arguments.extend(more);
    let running = start(&arguments, "h3 ");
    let of = |scheme: &str| {
        let line = running
            .said
            .iter()
            .find(|line| line.starts_with(scheme))
            .unwrap();
        line.split_whitespace()
            .nth(1)
            .unwrap()
            .trim_end_matches('/')
            .to_owned()
    };
    let (http, https) = (of("http "), of("https "));
    (running, http, https)
}

pub(crate) fn write(folder: &Path, name: &str, text: &str) -> std::path::PathBuf {
    let file = folder.join(name);
    fs::write(&file, text).unwrap();
    file
}

/// A port that nobody uses at present.
pub(crate) fn free() -> SocketAddr {
    TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap()
}

/// The answer to a request: its status and its body. HTTP/1.0 has no chunks.
pub(crate) fn ask(at: SocketAddr, method: &str, path: &str, fields: &str) -> (u16, String) {
    let mut stream = TcpStream::connect(at).unwrap();
    stream.set_read_timeout(Some(TIMEOUT)).unwrap();
    let head =
        format!("{method} {path} HTTP/1.0\r\nHost: {at}\r\n{fields}Connection: close\r\n\r\n");
    stream.write_all(head.as_bytes()).unwrap();
    let mut all = Vec::new();
    stream.read_to_end(&mut all).unwrap();
    let all = String::from_utf8(all).unwrap();
    let (head, body) = all.split_once("\r\n\r\n").unwrap();
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    (status, body.to_owned())
}

pub(crate) fn get(at: SocketAddr, path: &str) -> (u16, String) {
    ask(at, "GET", path, "")
}

/// The samples of a text, by name and labels.
pub(crate) fn samples(text: &str) -> BTreeMap<String, f64> {
    let lines = text
        .lines()
        .filter(|line| !line.starts_with('#') && !line.is_empty());
    lines
        .map(|line| {
            let (name, value) = line.rsplit_once(' ').unwrap();
            (name.to_owned(), value.parse().unwrap())
        })
        .collect()
}

/// A probe of a target by a module.
pub(crate) fn probe(at: SocketAddr, module: &str, target: &str) -> BTreeMap<String, f64> {
    let (status, text) = get(at, &format!("/probe?module={module}&target={target}"));
    assert_eq!(status, 200, "{text}");
    samples(&text)
}
