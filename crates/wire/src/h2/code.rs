//! The error codes of HTTP/2, by name.

use std::fmt;

use crate::named_codes::named_codes;

/// Why a stream or a connection ends. RFC 9113 §7.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Code(u32);

/// Why the whole connection has to end. RFC 9113 §5.4.1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{why} ({code})")]
pub struct ConnectionError {
    pub code: Code,
    pub why: &'static str,
}

named_codes! {
    u32:
    NO_ERROR = 0,
    PROTOCOL_ERROR = 1,
    INTERNAL_ERROR = 2,
    FLOW_CONTROL_ERROR = 3,
    SETTINGS_TIMEOUT = 4,
    STREAM_CLOSED = 5,
    FRAME_SIZE_ERROR = 6,
    REFUSED_STREAM = 7,
    CANCEL = 8,
    COMPRESSION_ERROR = 9,
    CONNECT_ERROR = 10,
    ENHANCE_YOUR_CALM = 11,
    INADEQUATE_SECURITY = 12,
    HTTP_1_1_REQUIRED = 13,
}

impl Code {
    /// The error that ends the connection with this code.
    pub(super) fn because(self, why: &'static str) -> ConnectionError {
        ConnectionError { code: self, why }
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name() {
            Some(name) => f.write_str(name),
            None => write!(f, "{:#x}", self.0),
        }
    }
}
