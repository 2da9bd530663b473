//! A WebSocket that a client opens over a stream, and the backend over a connection (RFC 8441 §5).
//! Streams have no key, so gate makes one, and checks the backend's answer to it (RFC 6455 §4.1).

use aws_lc_rs::digest::{SHA1_FOR_LEGACY_USE_ONLY, digest};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;

pub(crate) const PROTOCOL: &str = "websocket";
const GUID: &[u8] = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11";

/// The answer that the backend has to give.
#[derive(Debug)]
pub(crate) struct WebSocketAccept(String);

impl WebSocketAccept {
    /// Returns it with the key. `None` if the system has no randomness.
    pub(crate) fn new() -> Option<(Self, String)> {
        let mut nonce = [0; 16];
        aws_lc_rs::rand::fill(&mut nonce).ok()?;
        let key = STANDARD.encode(nonce);
        Some((Self::from_key(&key), key))
    }

    pub(crate) fn from_key(key: &str) -> Self {
        let text = [key.as_bytes(), GUID].concat();
        let hash = digest(&SHA1_FOR_LEGACY_USE_ONLY, &text);
        Self(STANDARD.encode(hash.as_ref()))
    }

    /// The expected `Sec-WebSocket-Accept`.
    pub(crate) fn accept(&self) -> &str {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_differ() {
        let ((_, one), (_, other)) = (
            WebSocketAccept::new().unwrap(),
            WebSocketAccept::new().unwrap(),
        );
        assert_eq!((one.len(), one == other), (24, false));
    }
}
