//! `[upstream.NAME]` and `[[route]]`: the backends, and the requests that each one gets.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::Deserialize;

use super::{Cors, Span};

#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Upstream {
    /// `http://host:port` or `https://host:port`, all of one kind.
    pub servers: Vec<String>,
    pub protocol: Protocol,
    /// PEM of the authority that vouches for https servers; else the system's.
    pub ca: Option<PathBuf>,
    /// Is the request in the SYN, where the kernel has the server's cookie?
    pub fast_open: bool,
    pub balance: Balance,
    /// Connections to each server that each thread has open at most, and may keep unused.
    pub connections: usize,
    pub idle: usize,
    /// Of its connections those that requests may hold whose body is still on its way; 0 is half of
    /// them.
    pub uploads: usize,
    /// Requests that may wait in each thread while all connections are in use; they wait no longer
    /// than for `connect`.
    pub waiting: usize,
    /// Opened before they are needed.
    pub warm: usize,
    /// A little under the server's own, so that it is we who close first.
    pub idle_time: Span,
    pub age: Span,
    pub connect: Span,
    /// From the request's last byte to the answer's first.
    pub first_byte: Span,
    /// Between two pieces of an answer; event streams may be silent for longer where the route says
    /// so.
    pub silence: Span,
    /// The time for interim answers (102, 103) before the final one; 0 means no limit.
    pub interim: Span,
    /// The time for a whole exchange; 0 means no limit.
    pub total: Span,
    /// Retries, in hundredths of all requests.
    pub retry_budget: u16,
    /// Failures in a row after which a server is left alone, and for how long.
    pub eject_after: u32,
    pub eject_for: Span,
    pub health: Option<HealthCheck>,
}

impl Default for Upstream {
    fn default() -> Self {
        Self {
            servers: Vec::new(),
            protocol: Protocol::H1,
            ca: None,
            fast_open: false,
            balance: Balance::LeastRequests,
            connections: 256,
            idle: 64,
            uploads: 0,
            waiting: 256,
            warm: 0,
            idle_time: Span::seconds(50),
            age: Span::seconds(600),
            connect: Span::seconds(5),
            first_byte: Span::seconds(60),
            silence: Span::seconds(60),
            interim: Span::seconds(3600),
            total: Span::seconds(0),
            retry_budget: 20,
            eject_after: 5,
            eject_for: Span::seconds(10),
            health: None,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Protocol {
    H1,
    H2,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Balance {
    LeastRequests,
    InTurn,
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HealthCheck {
    pub path: String,
    #[serde(default = "every")]
    pub every: Span,
}

fn every() -> Span {
    Span::seconds(5)
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Route {
    /// Without a port; empty: every host.
    pub host: String,
    /// What the path begins with, at a `/`.
    pub path: String,
    pub upstream: String,
    /// Does it want a session? Without one the client's own `Authorization` is passed on.
    pub auth: bool,
    /// WebSocket and other upgrades.
    pub upgrades: bool,
    /// May this be silent for as long as it likes (event streams)?
    pub streams: bool,
    /// May a client end its side of the connection, and still wait for its answer?
    pub half_close: bool,
    /// Requests other than GET and HEAD that may be answered from early data: `POST` of a JMAP
    /// batch that only reads.
    pub safe_jmap: bool,
    /// Does the client see where the time went?
    pub server_timing: bool,
    /// Fields of the request that are set, whatever the client says in them, and that are taken
    /// away.
    pub set: BTreeMap<String, String>,
    pub remove: Vec<String>,
    /// Fields that say who asks, and that clients may say all the same.
    pub keep: Vec<String>,
    /// Pages of other origins.
    pub cors: Cors,
}

impl Route {
    /// As hosts are compared: in lower case, without the full stop at its end.
    pub(crate) fn bare_host(&self) -> String {
        self.host.trim_end_matches('.').to_ascii_lowercase()
    }
}

impl Default for Route {
    fn default() -> Self {
        Self {
            host: String::new(),
            path: "/".into(),
            upstream: String::new(),
            auth: true,
            upgrades: false,
            streams: false,
            half_close: false,
            safe_jmap: false,
            server_timing: false,
            set: BTreeMap::new(),
            remove: Vec::new(),
            keep: Vec::new(),
            cors: Cors::default(),
        }
    }
}
