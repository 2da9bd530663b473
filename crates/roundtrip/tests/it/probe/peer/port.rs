//! Ports: free ones, and waiting until something listens there.

use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::Path;

use crate::probe::run::Job;
use crate::process::await_some;

/// A port that was free a moment ago. Another process may bind it first: then the caller must try
/// another.
pub(crate) fn free_port() -> u16 {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    listener.local_addr().unwrap().port()
}

/// Waits until the server answers on a port of the loopback; false if it ended instead.
pub(crate) fn await_port(server: &mut Job, port: u16) -> bool {
    await_some("a server that listens", || {
        if TcpStream::connect((Ipv4Addr::LOCALHOST, port)).is_ok() {
            return Some(!server.has_ended());
        }
        server.has_ended().then_some(false)
    })
}

/// Waits until the server has written its process id, which it does once it listens: for places
/// where a connection would leave a trace.
pub(crate) fn await_pid(server: &mut Job, file: &Path) {
    await_some("a server that listens", || {
        assert!(!server.has_ended(), "the server ended: see its error.log");
        let written = std::fs::metadata(file).is_ok_and(|m| m.len() > 0);
        written.then_some(())
    });
}
