//! Random numbers that a peer cannot guess, from a seed that the connection's owner provides.

use aws_lc_rs::hmac::{self, HMAC_SHA256, Key};
use roundtrip_wire::quic::ConnectionId;

#[derive(Debug)]
pub(crate) struct Random {
    key: Key,
    count: u64,
}

impl Random {
    pub(crate) fn new(seed: &[u8; 32]) -> Self {
        Self {
            key: Key::new(HMAC_SHA256, seed),
            count: 0,
        }
    }

    pub(crate) fn bytes(&mut self) -> [u8; 8] {
        self.count += 1;
        let tag = hmac::sign(&self.key, &self.count.to_be_bytes());
        tag.as_ref().first_chunk().copied().unwrap_or_default()
    }

    /// A seed for another generator, or for keys.
    pub(crate) fn seed(&mut self) -> [u8; 32] {
        self.count += 1;
        let tag = hmac::sign(&self.key, &self.count.to_be_bytes());
        tag.as_ref().first_chunk().copied().unwrap_or_default()
    }

    /// A connection id to use until the peer has chosen one. RFC 9000 §7.2.
    pub(crate) fn id(&mut self) -> ConnectionId {
        ConnectionId::new(&self.bytes()).unwrap_or_default()
    }

    pub(crate) fn number(&mut self) -> u64 {
        u64::from_be_bytes(self.bytes())
    }
}
