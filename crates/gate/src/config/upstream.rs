//! `[upstream.NAME]` and `[[route]]`: the backends, and the requests that each one gets.

use std::collections::BTreeMap;
use std::net::Ipv6Addr;
use std::path::PathBuf;

use serde::Deserialize;

use super::{Bytes, Cors, Span};

#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Upstream {
    /// `http://host:port` or `https://host:port`, all with the same scheme.
    pub servers: Vec<String>,
    pub protocol: UpstreamProtocol,
    /// The CA certificate in PEM for https servers; otherwise the system's CAs.
    pub ca: Option<PathBuf>,
    /// Whether the request is sent in the SYN if the kernel has the server's cookie.
    pub fast_open: bool,
    pub balance: Balance,
    /// The largest number of connections to each server that each thread may have, and may keep
    /// unused.
    pub connections: usize,
    pub idle: usize,
    /// The largest number of connections that requests may hold while their bodies are arriving; 0
    /// means half of all.
    pub uploads: usize,
    /// The largest number of tunnels (WebSocket) and streams to each server in each thread, besides
    /// `connections`.
    pub tunnels: usize,
    /// Requests that may wait in each thread while all connections are in use; they wait no longer
    /// than `connect`.
    pub waiting: usize,
    /// Connections that are opened before requests need them.
    pub warm: usize,
    /// How long a connection may be unused: slightly shorter than the server's own limit, so that
    /// gate closes first.
    pub idle_time: Span,
    pub age: Span,
    pub connect: Span,
    /// The time limit from the request's last byte to the answer's first.
    pub first_byte: Span,
    /// The time limit for the server to read more of a request, for the next piece of an answer to
    /// arrive, and for the client to read one; event streams may be silent for longer if the route
    /// allows it.
    pub silence: Span,
    /// The time for interim answers (102, 103) before the final one; 0 means no limit.
    pub interim: Span,
    /// The time for a whole exchange; 0 means no limit.
    pub total: Span,
    /// Retries, in hundredths of all requests.
    pub retry_budget: u16,
    /// Failures in a row after which a server is ejected, and for how long.
    pub eject_after: u32,
    pub eject_for: Span,
    pub health: Option<HealthCheck>,
}

impl Default for Upstream {
    fn default() -> Self {
        Self {
            servers: Vec::new(),
            protocol: UpstreamProtocol::H1,
            ca: None,
            fast_open: false,
            balance: Balance::LeastRequests,
            connections: 256,
            idle: 64,
            uploads: 0,
            tunnels: 1024,
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
pub enum UpstreamProtocol {
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
    /// The host without a port; empty means every host.
    pub host: String,
    /// The beginning of the path, up to a `/`.
    pub path: String,
    pub upstream: String,
    /// Whether a request on this route needs a session. If not, the client's own `Authorization` is
    /// passed on.
    pub auth: bool,
    /// Whether people may log in with a browser.
    pub login: bool,
    /// Claims that a login must have: for each claim, one of these values.
    pub require: BTreeMap<String, Vec<String>>,
    /// WebSocket and other upgrades.
    pub upgrades: bool,
    /// Whether answers may be silent for any time (event streams).
    pub streams: bool,
    /// Whether a client may close its sending side and still wait for its answer.
    pub half_close: bool,
    /// Bodies of up to this size are read whole before a connection is requested; larger ones are
    /// refused. 0: no body is.
    pub buffer_request: Bytes,
    /// Whether a `POST` of a JMAP batch that only reads may be answered from early data, like GET
    /// and HEAD.
    pub safe_jmap: bool,
    /// Whether the client sees how the time was spent.
    pub server_timing: bool,
    /// Request fields that gate sets, whatever the client sends, and fields that it removes.
    pub set: BTreeMap<String, String>,
    pub remove: Vec<String>,
    /// Identity fields that clients may send although they would otherwise be removed.
    pub keep: Vec<String>,
    /// Pages of other origins.
    pub cors: Cors,
}

impl Route {
    /// The host as it is compared: in lower case, without a trailing dot; an IPv6 address in its
    /// usual form.
    pub(crate) fn bare_host(&self) -> String {
        let host = self.host.trim_end_matches('.').to_ascii_lowercase();
        let bare = host.trim_start_matches('[').trim_end_matches(']');
        match bare.parse::<Ipv6Addr>() {
            Ok(address) => format!("[{address}]"),
            Err(_) => host,
        }
    }
}

impl Default for Route {
    fn default() -> Self {
        Self {
            host: String::new(),
            path: "/".into(),
            upstream: String::new(),
            auth: true,
            login: false,
            require: BTreeMap::new(),
            upgrades: false,
            streams: false,
            half_close: false,
            buffer_request: Bytes(0),
            safe_jmap: false,
            server_timing: false,
            set: BTreeMap::new(),
            remove: Vec::new(),
            keep: Vec::new(),
            cors: Cors::default(),
        }
    }
}
