//! The configuration as in the file: plain values with their defaults, one module for each table.
//! `reading` parses a file and reports an unknown key with line and column; `home` supplies the
//! configuration if there is no file; `meaning` loads what values refer to; `template` is a file
//! with all keys.
//!
//! Whether the values fit together (upstreams that exist, certificates that match their keys) is
//! checked by [`check`](crate::manage::check).

mod acme;
mod admin;
mod authz;
mod cors;
mod home;
mod limits;
mod listen;
mod login;
pub(crate) mod meaning;
mod nearest;
mod reading;
mod scalar;
mod session;
pub mod template;
mod tls;
mod token;
mod upstream;

use serde::Deserialize;

pub(crate) use acme::name_error;
pub use acme::{Acme, AcmeChallenge, ExternalAccount};
pub use admin::{Access, Admin, Log};
pub use authz::{Authz, IdentityFields};
pub use cors::{Cors, Preflight};
pub use home::{Home, make_signing_key};
pub use limits::Limits;
pub use listen::Listen;
pub(crate) use login::is_loopback;
pub use login::{IssuerUrl, Login, LoginToken, OwnPath};
pub use meaning::place;
pub(crate) use reading::line_and_column;
pub use scalar::{Bytes, Network, SecretFrom, Span};
pub use session::{CbcKey, RedisTls, SealKey, SentinelLogin, SessionStore};
pub use tls::{CertificateFiles, Resumption, Tls};
pub use token::{Jwks, SigningKey, TokenForm, Tokens};
pub use upstream::{Balance, HealthCheck, Route, Upstream, UpstreamProtocol};

/// The whole file.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    pub listen: Listen,
    pub tls: Tls,
    pub token: Tokens,
    pub session: SessionStore,
    /// The upstreams by name; routes refer to them.
    pub upstream: std::collections::BTreeMap<String, Upstream>,
    /// The longest path that matches wins; a route with a host precedes one without.
    pub route: Vec<Route>,
    pub login: Option<Login>,
    pub acme: Option<Acme>,
    pub authz: Authz,
    pub limits: Limits,
    pub admin: Admin,
    pub log: Log,
}
