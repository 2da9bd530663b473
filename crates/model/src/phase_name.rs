//! The phases of an exchange by name, each with what it waits for.

use serde::Serialize;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum PhaseName {
    /// Loading the configuration and the trusted certificates, before anything is sent.
    Setup,
    Name,
    Tcp,
    Proxy,
    Tls,
    Quic,
    Request,
    FirstByte,
    Body,
}

impl PhaseName {
    /// All phases, in order.
    pub const ALL: [Self; 9] = [
        Self::Setup,
        Self::Name,
        Self::Tcp,
        Self::Proxy,
        Self::Tls,
        Self::Quic,
        Self::Request,
        Self::FirstByte,
        Self::Body,
    ];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Setup => "setup",
            Self::Name => "name",
            Self::Tcp => "tcp",
            Self::Proxy => "proxy",
            Self::Tls => "tls",
            Self::Quic => "quic",
            Self::Request => "request",
            Self::FirstByte => "first_byte",
            Self::Body => "body",
        }
    }

    /// The name for people.
    pub fn title(self) -> &'static str {
        match self {
            Self::Setup => "client set-up",
            Self::Name => "name lookup",
            Self::Tcp => "TCP connect",
            Self::Proxy => "proxy tunnel",
            Self::Tls => "TLS handshake",
            Self::Quic => "QUIC handshake",
            Self::Request => "request sent",
            Self::FirstByte => "first byte",
            Self::Body => "body",
        }
    }
}
