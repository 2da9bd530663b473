//! `[listen]`: the addresses for clients.

use std::net::SocketAddr;

use serde::Deserialize;

use super::Network;

#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Listen {
    /// Clear text.
    pub http: Vec<SocketAddr>,
    /// TLS over TCP; and QUIC at the same ports, where `h3` is on.
    pub https: Vec<SocketAddr>,
    pub h3: bool,
    /// Length of the queue of fast-open connections; 0 is off.
    pub fast_open: u32,
    pub backlog: u32,
    /// Each with its own sockets, pools and caches; 0 is one for each processor.
    pub threads: u16,
    /// From these networks a connection begins with a PROXY header (v1 or v2); from others it must
    /// not.
    pub proxy_protocol_from: Vec<Network>,
    /// What these say in `Forwarded` and `X-Forwarded-*` is believed and passed on.
    pub trusted: Vec<Network>,
}

impl Default for Listen {
    fn default() -> Self {
        Self {
            http: Vec::new(),
            https: Vec::new(),
            h3: true,
            fast_open: 256,
            backlog: 4096,
            threads: 0,
            proxy_protocol_from: Vec::new(),
            trusted: Vec::new(),
        }
    }
}
