//! What the command lines of the adapters have in common: one game of the matrix, and the documents
//! that its server has.
//!
//! `client CASE h3|hq-interop CA DIRECTORY HOST:PORT PATH...`, or
//! `server CASE HOST:PORT WWW CERTIFICATE KEY`

use std::error::Error;
use std::fs;
use std::net::SocketAddr;
use std::path::{Component, Path, PathBuf};

pub(crate) type Result<T> = std::result::Result<T, Box<dyn Error + Send + Sync>>;

/// The longest request of HTTP/0.9.
pub(crate) const MAX_LINE: usize = 4096;

pub(crate) enum Game {
    Client(ClientGame),
    Server(ServerGame),
}

pub(crate) struct ClientGame {
    pub(crate) case: String,
    pub(crate) protocol: String,
    pub(crate) authority: String,
    pub(crate) server: SocketAddr,
    pub(crate) paths: Vec<String>,
    directory: PathBuf,
}

pub(crate) struct ServerGame {
    pub(crate) case: String,
    pub(crate) address: SocketAddr,
    pub(crate) certificate: String,
    pub(crate) key: String,
    www: PathBuf,
}

impl Game {
    pub(crate) fn from_args() -> Result<Self> {
        let mut words = std::env::args().skip(1);
        let mut word = || words.next().ok_or("src/game.rs has the arguments");
        Ok(match word()?.as_str() {
            "client" => Self::Client(ClientGame {
                case: word()?,
                protocol: word()?,
                authority: word()?,
                directory: word()?.into(),
                server: word()?.parse()?,
                paths: words.collect(),
            }),
            _ => Self::Server(ServerGame {
                case: word()?,
                address: word()?.parse()?,
                www: word()?.into(),
                certificate: word()?,
                key: word()?,
            }),
        })
    }
}

impl ClientGame {
    /// What each connection fetches, in order.
    pub(crate) fn visits(&self) -> Vec<&[String]> {
        match self.case.as_str() {
            "resumption" | "zerortt" => vec![&self.paths[..1], &self.paths[1..]],
            "handshakeloss" | "handshakecorruption" => self.paths.chunks(1).collect(),
            _ => vec![&self.paths],
        }
    }

    pub(crate) fn save(&self, path: &str, body: &[u8]) -> Result<()> {
        let name = path.rsplit('/').next().unwrap_or_default();
        Ok(fs::write(self.directory.join(name), body)?)
    }
}

impl ServerGame {
    /// The document that a line of HTTP/0.9 requests.
    pub(crate) fn answer(&self, line: &[u8]) -> Option<Vec<u8>> {
        let line = std::str::from_utf8(line).ok()?;
        self.document(line.strip_prefix("GET ")?.trim_end())
    }

    pub(crate) fn document(&self, path: &str) -> Option<Vec<u8>> {
        let path = Path::new(path.trim_start_matches('/'));
        let is_below = path
            .components()
            .all(|part| matches!(part, Component::Normal(_)));
        is_below
            .then(|| fs::read(self.www.join(path)).ok())
            .flatten()
    }
}
