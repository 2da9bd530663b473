//! `[session]`: where sessions are, and how their credentials are sealed.

use std::path::PathBuf;

use serde::Deserialize;

use super::{SecretFrom, Span};

#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SessionStore {
    /// `memory:`, `redb:/path/of/a/file`, `redis://host:6379/0`, `rediss://…` (TLS), `unix:/path`,
    /// `redis+cluster://host:6379,…`, `redis+sentinel://host:26379,…/master/0`.
    pub store: String,
    /// Redis: the password; the user is in the URL.
    pub password: Option<SecretFrom>,
    pub tls: RedisTls,
    pub sentinel: SentinelLogin,
    /// Redis: the prefix of each session's name.
    pub prefix: String,
    /// How long known sessions stay valid while the store is down.
    pub grace: Span,
    /// Sessions that each thread caches.
    pub remembered: usize,
    /// Unknown names that each thread caches, and for how long.
    pub absent: usize,
    pub absent_time: Span,
    /// The first key seals new credentials; every key can open them.
    pub seal: Vec<SealKey>,
    /// Whether stored credentials may be in clear text, as with hyper-auth-proxy.
    pub plain: bool,
    pub cbc: Option<CbcKey>,
}

impl Default for SessionStore {
    fn default() -> Self {
        Self {
            store: "memory:".into(),
            password: None,
            tls: RedisTls::default(),
            sentinel: SentinelLogin::default(),
            prefix: String::new(),
            grace: Span::seconds(30),
            remembered: 16 * 1024,
            absent: 1024,
            absent_time: Span::seconds(1),
            seal: Vec::new(),
            plain: true,
            cbc: None,
        }
    }
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RedisTls {
    /// The CA certificate in PEM for the server; otherwise the system's CAs.
    pub ca: Option<PathBuf>,
}

/// How to log in to sentinels.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SentinelLogin {
    /// Empty: the default user.
    pub user: String,
    pub password: Option<SecretFrom>,
}

/// 32 bytes: raw, in base64 or in hex.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SealKey {
    pub id: String,
    pub from: SecretFrom,
}

/// For migration: the key for reading AES-256-CBC without a MAC.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CbcKey {
    pub from: SecretFrom,
}
