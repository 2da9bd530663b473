//! The protocol of Redis, versions 2 and 3: commands out, values in, as they arrive and within bounds.
//!
//! What a command means and which connection it goes over is for the store to know. Streamed values (of a length not
//! known in advance) no server sends; they are refused.

mod decode;
mod encode;

pub use decode::{Decoder, Limits};
pub use encode::command;

/// One value of either version. A null of version 2 (`$-1`, `*-1`) is the null of version 3.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    Null,
    Boolean(bool),
    Integer(i64),
    Double(f64),
    /// Digits, with a sign or without.
    BigNumber(String),
    Simple(Vec<u8>),
    Bulk(Vec<u8>),
    Verbatim {
        /// What the text is: `txt`, `mkd`.
        form: [u8; 3],
        text: Vec<u8>,
    },
    /// What the server refuses: a word in capitals, then a sentence.
    Error(Vec<u8>),
    Array(Vec<Value>),
    Set(Vec<Value>),
    Map(Vec<(Value, Value)>),
    /// Not the answer to any command.
    Push(Vec<Value>),
    /// A value that the server says something more about.
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

    /// The value itself, whatever was said about it.
    #[must_use]
    pub fn bare(self) -> Self {
        match self {
            Self::Attributed { value, .. } => value.bare(),
            value => value,
        }
    }
}
