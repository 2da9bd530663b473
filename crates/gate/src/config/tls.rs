//! `[tls]`: certificates, tickets, early data.

use std::path::PathBuf;

use serde::Deserialize;

use super::{SecretFrom, Span};

#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Tls {
    /// Chosen by the name that the client asks for; the first one if no name matches. If the list
    /// is empty, gate makes a self-signed one.
    pub certificate: Vec<CertificateFiles>,
    pub resumption: Resumption,
    /// 0-RTT. Needs `resumption = "single-use"`.
    pub early_data: bool,
    /// 32 bytes, from which ticket keys, fast-open keys and QUIC token keys are derived: processes
    /// that share it can resume each other's sessions. `None`: a new one at each start.
    pub seed: Option<SecretFrom>,
    /// How long one ticket key is used; tickets of the previous epoch are still accepted.
    pub epoch: Span,
    /// The largest number of single-use sessions that this process stores in an epoch.
    pub stored_sessions: usize,
}

impl Default for Tls {
    fn default() -> Self {
        Self {
            certificate: Vec::new(),
            resumption: Resumption::Stateless,
            early_data: false,
            seed: None,
            epoch: Span::seconds(12 * 3600),
            stored_sessions: 256 * 1024,
        }
    }
}

/// PEM files; replaced files are loaded within seconds.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CertificateFiles {
    pub chain: PathBuf,
    pub key: PathBuf,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Resumption {
    /// Encrypted tickets, which any process with the same seed accepts.
    Stateless,
    /// Sessions in the store, each accepted once, as early data needs (RFC 8446 §8.1).
    SingleUse,
    Off,
}
