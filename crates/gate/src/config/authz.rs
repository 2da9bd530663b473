//! `[authz]`: the addresses at which other proxies ask, and which of them may.

use std::net::{Ipv4Addr, SocketAddr};

use serde::Deserialize;

use super::{Config, Network, Route, SecretFrom, Span};

/// The port of a gate that only answers proxies, if its file has no address for them.
const HTTP: u16 = 9190;
const GRPC: u16 = 9191;

#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Authz {
    /// HTTP/1.1 without TLS.
    pub http: Vec<SocketAddr>,
    /// HTTP/2 without TLS, as gRPC uses it.
    pub grpc: Vec<SocketAddr>,
    /// Addresses for both over TLS, with the certificates of `[tls]`.
    pub https: Vec<SocketAddr>,
    /// The networks of the proxies. An answer contains the session's login, so only they may ask.
    pub trusted: Vec<Network>,
    /// What proxies must send in `X-Gate-Secret`.
    pub secret: Option<SecretFrom>,
    /// How long a proxy may remember that a request may pass; 0: it must ask each time.
    pub remember: Span,
    /// How requests with fields that only a proxy may set are treated.
    pub identity_fields: IdentityFields,
}

/// Fields that say who sent a request, or from where. Most proxies cannot remove what an auth
/// server names.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum IdentityFields {
    /// The request is refused, unless the proxy can remove the fields.
    #[default]
    Refuse,
    /// The fields are let through, because the proxy removes them by its own configuration.
    Pass,
}

impl Default for Authz {
    fn default() -> Self {
        let loopback = ["127.0.0.0/8", "::1"];
        Self {
            http: Vec::new(),
            grpc: Vec::new(),
            https: Vec::new(),
            trusted: loopback.iter().filter_map(|n| Network::parse(n)).collect(),
            secret: None,
            remember: Span::seconds(0),
            identity_fields: IdentityFields::default(),
        }
    }
}

impl Authz {
    /// All addresses, with their keys.
    pub(crate) fn addresses(&self) -> [(&'static str, &[SocketAddr]); 3] {
        [
            ("authz.http", &self.http),
            ("authz.grpc", &self.grpc),
            ("authz.https", &self.https),
        ]
    }

    pub(crate) fn is_on(&self) -> bool {
        self.addresses().iter().any(|(_, list)| !list.is_empty())
    }
}

impl Config {
    /// Whether requests of clients are passed on, so that routes must lead to an upstream.
    pub(crate) fn forwards(&self) -> bool {
        !(self.listen.http.is_empty() && self.listen.https.is_empty())
    }

    /// Answers proxies and serves no clients. Without a route, every request needs a session.
    pub fn only_answer_proxies(&mut self) {
        self.listen.http.clear();
        self.listen.https.clear();
        if !self.authz.is_on() {
            self.authz.http = vec![(Ipv4Addr::LOCALHOST, HTTP).into()];
            self.authz.grpc = vec![(Ipv4Addr::LOCALHOST, GRPC).into()];
        }
        if self.route.is_empty() {
            self.route = vec![Route::default()];
        }
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv6Addr;

    use super::*;

    #[test]
    fn only_this_machine_may_ask_at_first() {
        let trusted = Authz::default().trusted;
        let is_trusted = |ip: std::net::IpAddr| trusted.iter().any(|n| n.contains(ip));
        assert!(is_trusted(Ipv4Addr::LOCALHOST.into()) && is_trusted(Ipv6Addr::LOCALHOST.into()));
        assert!(!is_trusted([192, 0, 2, 1].into()));
    }

    #[test]
    fn alone_it_serves_no_clients_and_every_request_needs_a_session() {
        let mut config = Config::parse("[listen]\nhttp = [\"127.0.0.1:80\"]", "test").unwrap();
        assert!(config.forwards());
        config.only_answer_proxies();
        assert!(!config.forwards() && config.authz.is_on());
        assert!(config.route.iter().all(|route| route.auth));
    }
}
