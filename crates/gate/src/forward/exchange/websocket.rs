//! Checks the backend's answer to a client that wants to switch to another protocol.

use crate::forward::h1::{Response, ResponseError};
use crate::judge::Upgrade;

/// Whether this answer switches to the protocol. Otherwise the client must not see success.
pub(super) fn switches(upgrade: &Upgrade, response: &Response<'_>) -> Result<bool, ResponseError> {
    match response.status {
        101 if upgrade.is_switch(|name| response.values(name).collect()) => Ok(true),
        101 => Err(ResponseError::Switch),
        // To a client with a stream, this would be an open WebSocket.
        200..=299 if upgrade.over_stream => Err(ResponseError::Switch),
        _ => Ok(false),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::forward::h1;
    use crate::judge::request::{Field, Request};

    /// The answer to a client that asks for this protocol, with the key of RFC 6455 §1.3.
    fn switches(protocol: &str, over_stream: bool, head: &str) -> Result<bool, ResponseError> {
        let key = Field {
            name: "Sec-WebSocket-Key",
            value: b"dGhlIHNhbXBsZSBub25jZQ==",
        };
        let (mut upgrade, made) = Upgrade::new(&Request::get(&[key]), protocol.as_bytes()).unwrap();
        assert_eq!(made, None);
        upgrade.over_stream = over_stream;
        let read = h1::response(format!("HTTP/1.1 {head}\r\n\r\n").as_bytes(), |response| {
            super::switches(&upgrade, response)
        });
        read.unwrap().unwrap().0
    }

    #[test]
    fn only_the_right_answer_opens_a_websocket() {
        const SWITCH: &str = "101 S\r\nConnection: upgrade\r\nUpgrade: WebSocket";
        const ACCEPT: &str = "Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=";
        for over_stream in [false, true] {
            let switches = |head: &str| switches("websocket", over_stream, head);
            assert_eq!(switches(&format!("{SWITCH}\r\n{ACCEPT}")), Ok(true));
            assert_eq!(switches("404 N"), Ok(false));
            for bad in [
                SWITCH.to_owned(),
                format!("{SWITCH}\r\n{}", ACCEPT.to_ascii_lowercase()),
                format!("{SWITCH}\r\n{ACCEPT}\r\n{ACCEPT}"),
                format!("101 S\r\nUpgrade: echo\r\n{ACCEPT}"),
                format!("101 S\r\nUpgrade: websocket\r\nUpgrade: h2c\r\n{ACCEPT}"),
                format!("101 S\r\n{ACCEPT}"),
            ] {
                assert_eq!(switches(&bad), Err(ResponseError::Switch), "{bad}");
            }
            let plain = switches(&format!("200 OK\r\nUpgrade: websocket\r\n{ACCEPT}"));
            assert_eq!(plain.is_err(), over_stream);
        }
    }

    #[test]
    fn another_protocol_is_named_by_the_answer() {
        let switches = |head: &str| switches("echo", false, head);
        assert_eq!(switches("101 S\r\nUpgrade: Echo"), Ok(true));
        for bad in ["101 S", "101 S\r\nUpgrade: websocket"] {
            assert_eq!(switches(bad), Err(ResponseError::Switch), "{bad}");
        }
    }
}
