//! The protocol that a client wants to switch to (RFC 9110 §7.8), and the answer by which the
//! backend confirms the switch. After any other answer, the client's bytes would be requests that
//! gate has not judged.
//!
//! A WebSocket over a stream has no key, so gate makes one for the backend (RFC 8441 §5).

use aws_lc_rs::digest::{SHA1_FOR_LEGACY_USE_ONLY, digest};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use crate::judge::request::Request;

pub(crate) const PROTOCOL: &str = "websocket";
const GUID: &[u8] = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11";

/// The answer that the backend has to give.
#[derive(Debug)]
pub(crate) struct Upgrade {
    protocol: Box<[u8]>,
    /// The `Sec-WebSocket-Accept` for the client's key, or gate's. RFC 6455 §4.2.2.
    accept: Option<String>,
    /// The client asked over a stream, which has no 101.
    pub(crate) over_stream: bool,
}

impl Upgrade {
    /// Returns the upgrade with the key that gate made, if any. `None` if the system has no
    /// randomness.
    pub(crate) fn new(request: &Request<'_>, protocol: &[u8]) -> Option<(Self, Option<String>)> {
        let over_stream = request.protocol.is_some();
        let made = if over_stream { Some(new_key()?) } else { None };
        let accept = protocol
            .eq_ignore_ascii_case(PROTOCOL.as_bytes())
            .then(|| match &made {
                Some(key) => accept(key.as_bytes()),
                None => {
                    let sent = request.values("sec-websocket-key").next();
                    accept(sent.unwrap_or_default().trim_ascii())
                }
            });
        let upgrade = Self {
            protocol: protocol.into(),
            accept,
            over_stream,
        };
        Some((upgrade, made))
    }

    /// Whether an answer with these fields switches to the protocol.
    pub(crate) fn is_switch<'a>(&self, values: impl Fn(&'static str) -> Vec<&'a [u8]>) -> bool {
        let only = |name| match values(name)[..] {
            [value] => Some(value.trim_ascii()),
            _ => None,
        };
        let switches = only("upgrade").is_some_and(|to| to.eq_ignore_ascii_case(&self.protocol));
        let accepts = |wanted: &String| only("sec-websocket-accept") == Some(wanted.as_bytes());
        switches && self.accept.as_ref().is_none_or(accepts)
    }
}

fn new_key() -> Option<String> {
    let mut nonce = [0; 16];
    aws_lc_rs::rand::fill(&mut nonce).ok()?;
    Some(STANDARD.encode(nonce))
}

fn accept(key: &[u8]) -> String {
    let hash = digest(&SHA1_FOR_LEGACY_USE_ONLY, &[key, GUID].concat());
    STANDARD.encode(hash.as_ref())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_differ() {
        let (one, other) = (new_key().unwrap(), new_key().unwrap());
        assert_eq!((one.len(), one == other), (24, false));
    }
}
