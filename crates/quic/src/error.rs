//! Why a connection ended, and what a peer did wrong.

use std::io::ErrorKind;

use roundtrip_wire::quic::Version;
use thiserror::Error;

/// A transport error code. RFC 9000 §20.1, RFC 9001 §4.8.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Code(pub u64);

impl Code {
    pub const NO_ERROR: Self = Self(0x00);
    pub const INTERNAL_ERROR: Self = Self(0x01);
    pub const CONNECTION_REFUSED: Self = Self(0x02);
    pub const FLOW_CONTROL_ERROR: Self = Self(0x03);
    pub const STREAM_LIMIT_ERROR: Self = Self(0x04);
    pub const STREAM_STATE_ERROR: Self = Self(0x05);
    pub const FINAL_SIZE_ERROR: Self = Self(0x06);
    pub const FRAME_ENCODING_ERROR: Self = Self(0x07);
    pub const TRANSPORT_PARAMETER_ERROR: Self = Self(0x08);
    pub const CONNECTION_ID_LIMIT_ERROR: Self = Self(0x09);
    pub const PROTOCOL_VIOLATION: Self = Self(0x0a);
    pub const INVALID_TOKEN: Self = Self(0x0b);
    pub const APPLICATION_ERROR: Self = Self(0x0c);
    pub const CRYPTO_BUFFER_EXCEEDED: Self = Self(0x0d);
    pub const KEY_UPDATE_ERROR: Self = Self(0x0e);
    pub const AEAD_LIMIT_REACHED: Self = Self(0x0f);
    /// RFC 9368 §10.2.
    pub const VERSION_NEGOTIATION_ERROR: Self = Self(0x11);

    /// A TLS alert. RFC 9001 §4.8.
    pub fn alert(alert: u8) -> Self {
        Self(0x100 + u64::from(alert))
    }
}

/// What the peer did wrong; the connection ends with this code.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{why} (transport error {:#x})", .code.0)]
pub(crate) struct TransportError {
    pub(crate) code: Code,
    /// The type of the frame at fault, 0 if there is none.
    pub(crate) frame: u64,
    pub(crate) why: &'static str,
}

impl TransportError {
    pub(crate) fn new(code: Code, why: &'static str) -> Self {
        Self {
            code,
            frame: 0,
            why,
        }
    }
}

/// Why a connection ended.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum CloseReason {
    #[error("this side closed it with code {code:#x}")]
    Local { code: u64 },
    #[error("the peer broke a rule of QUIC: {why} (code {:#x})", .code.0)]
    Violated { code: Code, why: String },
    #[error("the TLS handshake failed: {why}")]
    Handshake { code: Code, why: String },
    #[error("the peer closed the connection with transport error {:#x}{}", .code.0, said(.reason))]
    Transport { code: Code, reason: String },
    #[error("the peer closed the connection with code {code:#x}{}", said(.reason))]
    Application { code: u64, reason: String },
    #[error("nothing came from the peer within the idle timeout")]
    TimedOut,
    /// ICMP or the routing table reported it before anything had arrived from the peer.
    #[error("{0}")]
    Unreachable(ErrorKind),
    #[error("the peer has forgotten the connection (stateless reset)")]
    Reset,
    #[error("the peer supports none of our versions, only {}", list(.offered))]
    Versions { offered: Vec<Version> },
}

impl CloseReason {
    /// The peer broke a rule, or `tls` has failed.
    pub(crate) fn by_rule(error: &TransportError, tls: Option<&rustls::Error>) -> Self {
        let code = error.code;
        match tls {
            Some(tls) => Self::Handshake {
                code,
                why: tls.to_string(),
            },
            None => Self::Violated {
                code,
                why: error.why.to_owned(),
            },
        }
    }

    /// The peer has sent CONNECTION_CLOSE.
    pub(crate) fn by_peer(code: u64, is_application: bool, reason: &[u8]) -> Self {
        let reason = String::from_utf8_lossy(reason).into_owned();
        if is_application {
            Self::Application { code, reason }
        } else {
            Self::Transport {
                code: Code(code),
                reason,
            }
        }
    }
}

fn said(reason: &str) -> String {
    if reason.is_empty() {
        String::new()
    } else {
        format!(": {reason}")
    }
}

fn list(versions: &[Version]) -> String {
    let names: Vec<String> = versions.iter().map(|v| format!("{:#x}", v.0)).collect();
    names.join(", ")
}

/// Why a connection could not be begun.
#[derive(Debug, Error)]
pub enum ConnectError {
    #[error("'{0}' is neither a host name nor an address, so no certificate can be for it")]
    Name(String),
    #[error("QUIC version {:#010x} is not supported; use 1 or 2", .0.0)]
    Version(Version),
    #[error("TLS cannot begin with this configuration: {0}")]
    Tls(#[from] rustls::Error),
    #[error("this endpoint has reached its limit of connections")]
    TooMany,
}
