//! One question to a name server. The caller supplies the id, because this crate draws no random
//! numbers.

use super::{Kind, Message, Name, Question, Rcode};
use crate::Result;

/// The size in bytes that fits into one unfragmented datagram on nearly every path. DNS flag day
/// 2020, RFC 9715 §3.
pub const UDP_SIZE: u16 = 1232;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Query {
    pub id: u16,
    pub name: Name,
    pub kind: Kind,
    pub recursion_desired: bool,
    /// The size announced with EDNS(0), in bytes; `None` for servers that do not understand EDNS.
    pub udp_size: Option<u16>,
}

impl Query {
    pub fn new(id: u16, name: Name, kind: Kind) -> Self {
        Self {
            id,
            name,
            kind,
            recursion_desired: true,
            udp_size: Some(UDP_SIZE),
        }
    }

    pub fn encode(&self) -> Result<Vec<u8>> {
        self.message().encode()
    }

    fn message(&self) -> Message {
        Message {
            id: self.id,
            response: false,
            authoritative: false,
            truncated: false,
            recursion_desired: self.recursion_desired,
            recursion_available: false,
            rcode: Rcode::NO_ERROR,
            questions: vec![Question {
                name: self.name.clone(),
                kind: self.kind,
            }],
            answers: Vec::new(),
            authorities: Vec::new(),
            additionals: Vec::new(),
            udp_size: self.udp_size,
        }
    }
}
