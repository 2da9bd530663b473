//! A WebSocket that a client opens over a stream, and a backend over a connection (RFC 8441 §5): the key, which streams do
//! not have, is ours, and so is looking at what the backend makes of it (RFC 6455 §4.1).

use aws_lc_rs::digest::{SHA1_FOR_LEGACY_USE_ONLY, digest};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use crate::forward::h1::{BadResponse, Response};

pub(crate) const PROTOCOL: &str = "websocket";
const GUID: &[u8] = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11";

/// What the backend has to say.
#[derive(Debug)]
pub(crate) struct Opening(String);

impl Opening {
    /// With it comes the key. `None` where there is no randomness.
    pub(crate) fn new() -> Option<(Self, String)> {
        let mut nonce = [0; 16];
        aws_lc_rs::rand::fill(&mut nonce).ok()?;
        let key = STANDARD.encode(nonce);
        Some((Self::of(&key), key))
    }

    fn of(key: &str) -> Self {
        let text = [key.as_bytes(), GUID].concat();
        let hash = digest(&SHA1_FOR_LEGACY_USE_ONLY, &text);
        Self(STANDARD.encode(hash.as_ref()))
    }

    /// Does this answer open it? One that does not must not look to the client as if it did.
    pub(crate) fn opens(&self, response: &Response<'_>) -> Result<bool, BadResponse> {
        match response.status {
            101 => {
                let is = |name, wanted: &str, same: fn(&[u8], &[u8]) -> bool| {
                    let mut values = response.values(name);
                    let value = values.next().map(<[u8]>::trim_ascii);
                    value.is_some_and(|value| same(value, wanted.as_bytes()))
                        && values.next().is_none()
                };
                let opens = is("upgrade", PROTOCOL, <[u8]>::eq_ignore_ascii_case)
                    && is("sec-websocket-accept", &self.0, |a, b| a == b);
                if opens {
                    Ok(true)
                } else {
                    Err(BadResponse::Socket)
                }
            }
            200..=299 => Err(BadResponse::Socket),
            _ => Ok(false),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::forward::h1;

    fn opens(head: &str) -> Result<bool, BadResponse> {
        // RFC 6455 §1.3.
        let opening = Opening::of("dGhlIHNhbXBsZSBub25jZQ==");
        let read = h1::response(format!("HTTP/1.1 {head}\r\n\r\n").as_bytes(), |response| {
            opening.opens(response)
        });
        read.unwrap().unwrap().0
    }

    #[test]
    fn only_the_right_answer_opens() {
        const SWITCH: &str = "101 S\r\nConnection: upgrade\r\nUpgrade: WebSocket";
        const ACCEPT: &str = "Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=";
        assert_eq!(opens(&format!("{SWITCH}\r\n{ACCEPT}")), Ok(true));
        assert_eq!(opens("404 N"), Ok(false));
        for bad in [
            SWITCH.to_owned(),
            format!("{SWITCH}\r\n{}", ACCEPT.to_ascii_lowercase()),
            format!("{SWITCH}\r\n{ACCEPT}\r\n{ACCEPT}"),
            format!("101 S\r\nUpgrade: echo\r\n{ACCEPT}"),
            format!("101 S\r\n{ACCEPT}"),
            format!("200 OK\r\nUpgrade: websocket\r\n{ACCEPT}"),
        ] {
            assert_eq!(opens(&bad), Err(BadResponse::Socket), "{bad}");
        }
    }

    #[test]
    fn keys_differ() {
        let ((_, one), (_, other)) = (Opening::new().unwrap(), Opening::new().unwrap());
        assert_eq!((one.len(), one == other), (24, false));
    }
}
