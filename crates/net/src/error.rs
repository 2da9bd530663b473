//! The reasons why a connection could not be established.

use std::io;
use std::net::SocketAddr;

#[derive(Debug, thiserror::Error)]
pub enum NetError {
    #[error("no address to connect to")]
    NoAddress,
    /// Every address was tried; contains the last error of each.
    #[error("{}", list(.0))]
    AllFailed(Vec<(SocketAddr, io::Error)>),
    #[error("cannot use {what}: {source}")]
    Bind { what: String, source: io::Error },
    #[error("cannot open a socket: {0}")]
    Socket(io::Error),
    #[error("cannot connect to {path}: {source}")]
    Unix { path: String, source: io::Error },
}

fn list(failures: &[(SocketAddr, io::Error)]) -> String {
    failures
        .iter()
        .map(|(peer, e)| format!("{peer}: {e}"))
        .collect::<Vec<_>>()
        .join("; ")
}
