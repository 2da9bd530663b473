//! `[listen]`: the addresses for clients.

use std::net::SocketAddr;

use serde::Deserialize;

use super::{Network, Span};

/// Fields that say from where a request came and how, not who sent it.
const TRUSTED_FIELDS: [&str; 7] = [
    "Early-Data",
    "Forwarded",
    "X-Forwarded-For",
    "X-Forwarded-Host",
    "X-Forwarded-Port",
    "X-Forwarded-Proto",
    "X-Real-IP",
];

#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Listen {
    /// Clear text.
    pub http: Vec<SocketAddr>,
    /// TLS over TCP, and QUIC at the same ports if `h3` is on.
    pub https: Vec<SocketAddr>,
    pub h3: bool,
    /// The port of `https` from outside; 0 if it is the same.
    pub public_port: u16,
    /// The length of the queue of fast-open connections; 0 turns fast open off.
    pub fast_open: u32,
    pub backlog: u32,
    /// Threads, each with its own sockets, pools and caches; 0 means one for each processor.
    pub threads: u16,
    /// How long a thread looks for events before it sleeps.
    pub busy_poll: Span,
    /// Connections from these networks must begin with a PROXY header (v1 or v2); others must not.
    pub proxy_protocol_from: Vec<Network>,
    /// The networks from which `trusted_fields` are accepted and passed on.
    pub trusted: Vec<Network>,
    /// Fields that a trusted proxy sets in every request, or removes.
    pub trusted_fields: Vec<String>,
}

impl Default for Listen {
    fn default() -> Self {
        Self {
            http: Vec::new(),
            https: Vec::new(),
            h3: true,
            public_port: 0,
            fast_open: 256,
            backlog: 4096,
            threads: 0,
            busy_poll: Span::seconds(0),
            proxy_protocol_from: Vec::new(),
            trusted: Vec::new(),
            trusted_fields: TRUSTED_FIELDS.map(str::to_owned).to_vec(),
        }
    }
}

impl Listen {
    pub(crate) fn thread_count(&self) -> usize {
        match self.threads {
            0 => std::thread::available_parallelism().map_or(1, usize::from),
            count => count.into(),
        }
    }

    /// The port that clients connect to for this address of `https`.
    pub(crate) fn announced_port(&self, https: &SocketAddr) -> u16 {
        match self.public_port {
            0 => https.port(),
            port => port,
        }
    }

    /// `trusted_fields` in lower case.
    pub(crate) fn lowercase_trusted_fields(&self) -> Vec<String> {
        let names = self.trusted_fields.iter();
        names.map(|name| name.to_ascii_lowercase()).collect()
    }
}
