//! The Redis protocol (RESP), versions 2 and 3: writes commands, and parses values as they arrive
//! and within bounds.
//!
//! The store knows what a command means and which connection carries it. Streamed values (whose
//! length is not known in advance) are refused, because no server sends them.

mod cluster;
mod decode;
mod encode;

pub use cluster::{Redirect, SLOTS, key_slot};
pub use decode::{Decoder, RespLimits};
pub use encode::command;

/// One value of either version. A null of version 2 (`$-1`, `*-1`) is the null of version 3.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    Null,
    Boolean(bool),
    Integer(i64),
    Double(f64),
    /// Digits, with or without a sign.
    BigNumber(String),
    Simple(Vec<u8>),
    Bulk(Vec<u8>),
    Verbatim {
        /// The format of the text: `txt` or `mkd`.
        form: [u8; 3],
        text: Vec<u8>,
    },
    /// An error from the server: a word in capitals, then a sentence.
    Error(Vec<u8>),
    Array(Vec<Value>),
    Set(Vec<Value>),
    Map(Vec<(Value, Value)>),
    /// A message that does not answer a command.
    Push(Vec<Value>),
    /// A value with attributes from the server.
    Attributed {
        attributes: Vec<(Value, Value)>,
        value: Box<Value>,
    },
}

impl Value {
    /// The bytes of a string of any kind.
    pub fn bytes(&self) -> Option<&[u8]> {
        match self {
            Self::Simple(bytes) | Self::Bulk(bytes) | Self::Verbatim { text: bytes, .. } => {
                Some(bytes)
            }
            Self::Attributed { value, .. } => value.bytes(),
            _ => None,
        }
    }

    /// The value without its attributes.
    #[must_use]
    pub fn bare(self) -> Self {
        match self {
            Self::Attributed { value, .. } => value.bare(),
            value => value,
        }
    }
}
