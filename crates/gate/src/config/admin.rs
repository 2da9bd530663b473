//! `[admin]` and `[log]`: what gate reports, and where.

use std::net::SocketAddr;
use std::path::PathBuf;

use serde::Deserialize;

use super::Span;

#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Admin {
    /// `/healthz`, `/readyz`, `/metrics` and the dashboard. None of it is protected, so do not make
    /// it public.
    pub listen: Option<SocketAddr>,
    /// Host names that are accepted, besides addresses and `localhost`.
    pub hosts: Vec<String>,
    /// How long open exchanges may continue when gate shuts down.
    pub drain: Span,
}

impl Default for Admin {
    fn default() -> Self {
        Self {
            listen: None,
            hosts: Vec::new(),
            drain: Span::seconds(30),
        }
    }
}

#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Log {
    pub access: Access,
}

/// `"off"`, `"stdout"`, or a file that is appended to, and reopened at SIGHUP.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(from = "String")]
pub enum Access {
    #[default]
    Off,
    Stdout,
    File(PathBuf),
}

impl From<String> for Access {
    fn from(text: String) -> Self {
        match text.as_str() {
            "off" | "" => Self::Off,
            "stdout" | "-" => Self::Stdout,
            path => Self::File(path.into()),
        }
    }
}
