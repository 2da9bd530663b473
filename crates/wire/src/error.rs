//! Errors in the bytes. The caller adds which peer sent them and what to do about it.

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    #[error("{what} is cut short: {needed} more bytes are announced, {left} are left")]
    CutShort {
        what: &'static str,
        needed: usize,
        left: usize,
    },
    #[error("{what} is malformed: {why}")]
    Malformed {
        what: &'static str,
        why: &'static str,
    },
    #[error("{what} exceeds the limit of {limit}")]
    TooLarge { what: &'static str, limit: usize },
    #[error("'{name}' is not a domain name: {why}")]
    Name { name: String, why: &'static str },
    #[error("the aliases of '{name}' lead nowhere: more than {limit} in a row")]
    AliasLoop { name: String, limit: usize },
    #[error("QUIC version {0:#010x} is not one whose Initial packets can be read")]
    QuicVersion(u32),
    /// A packet could not be authenticated. The keys are derived from a connection id, so a wrong
    /// id is noticed here.
    #[error("the QUIC packet cannot be decrypted with the keys of this connection id")]
    Protected,
}

impl Error {
    pub(crate) const fn malformed(what: &'static str, why: &'static str) -> Self {
        Self::Malformed { what, why }
    }
}
