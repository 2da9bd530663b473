//! The configuration as its file has it: plain values with their defaults. An unknown key is an error with line and column.
//!
//! What the values mean together (keys that can be read, upstreams that exist) is found out where they are put to use.

mod admin;
mod limits;
mod listen;
mod scalar;
mod session;
mod tls;
mod token;
mod upstream;

use serde::Deserialize;

pub use admin::{Access, Admin, Log};
pub use limits::Limits;
pub use listen::Listen;
pub use scalar::{Bytes, Network, SecretFrom, Span};
pub use session::{CbcKey, RedisTls, SealKey, SessionStore};
pub use tls::{Certificate, Resumption, Tls};
pub use token::{Jwks, SigningKey, TokenForm, Tokens};
pub use upstream::{Balance, HealthCheck, Protocol, Route, Upstream};

/// The whole file.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    pub listen: Listen,
    pub tls: Tls,
    pub token: Tokens,
    pub session: SessionStore,
    /// By name; routes say which.
    pub upstream: std::collections::BTreeMap<String, Upstream>,
    /// The longest path that matches wins; a route with a host goes before one without.
    pub route: Vec<Route>,
    pub limits: Limits,
    pub admin: Admin,
    pub log: Log,
}
