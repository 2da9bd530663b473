//! A gate whose process is measured, and a backend that answers with one word.

use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener};
use std::thread::{self, sleep};
use std::time::Duration;

use roundtrip_gate::Gate;
use roundtrip_gate::config::Config;

use crate::clients::Kind;

/// More than the time after which an idle connection has freed what it does not need.
const REST: Duration = Duration::from_millis(3500);

/// A gate without authentication.
pub(crate) fn gate(backend: SocketAddr, more: &str) -> Gate {
    let text = format!(
        "[listen]\nhttp = [\"127.0.0.1:0\"]\nhttps = [\"127.0.0.1:0\"]\nh3 = true\nthreads = 1\n\
         [admin]\nlisten = \"127.0.0.1:0\"\n\
         [limits]\nconnections_per_client = 100000\nidle_time = \"1h\"\n\
         [upstream.backend]\nservers = [\"http://{backend}\"]\n{more}\
         [[route]]\nupstream = \"backend\"\nauth = false\n"
    );
    Gate::start(Config::parse(&text, "here").unwrap(), |_| ()).unwrap()
}

pub(crate) fn address(gate: &Gate, kind: Kind) -> SocketAddr {
    match kind {
        Kind::Clear => gate.addresses().http[0],
        Kind::Secure | Kind::H2 | Kind::H3 => gate.addresses().https[0],
    }
}

/// Resident memory in bytes, once all connections are idle.
pub(crate) fn resident_at_rest() -> u64 {
    sleep(REST);
    resident()
}

/// proc_pid_status(5).
pub(crate) fn resident() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let (_, rest) = status.split_once("VmRSS:").unwrap();
    let kib: u64 = rest.split_whitespace().next().unwrap().parse().unwrap();
    kib * 1024
}

/// A backend that keeps its connections.
pub(crate) fn right() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for stream in listener.incoming() {
            thread::spawn(move || {
                let mut lines = BufReader::new(stream.unwrap());
                let mut line = String::new();
                while lines.read_line(&mut line).unwrap_or(0) > 0 {
                    let answer = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nright";
                    if line == "\r\n" && lines.get_mut().write_all(answer).is_err() {
                        return;
                    }
                    line.clear();
                }
            });
        }
    });
    address
}
