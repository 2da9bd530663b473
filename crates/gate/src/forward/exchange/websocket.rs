//! Checks the backend's answer to a WebSocket that a client opens over a stream (RFC 6455 §4.1).

use crate::forward::h1::{Response, ResponseError};
use crate::judge::WebSocketAccept;
use crate::judge::websocket::PROTOCOL;

/// Whether this answer opens the WebSocket. Otherwise the client must not see success.
pub(super) fn opens(
    opening: &WebSocketAccept,
    response: &Response<'_>,
) -> Result<bool, ResponseError> {
    match response.status {
        101 => {
            let is = |name, wanted: &str, same: fn(&[u8], &[u8]) -> bool| {
                let mut values = response.values(name);
                let value = values.next().map(<[u8]>::trim_ascii);
                value.is_some_and(|value| same(value, wanted.as_bytes())) && values.next().is_none()
            };
            let opens = is("upgrade", PROTOCOL, <[u8]>::eq_ignore_ascii_case)
                && is("sec-websocket-accept", opening.accept(), |a, b| a == b);
            if opens {
                Ok(true)
            } else {
                Err(ResponseError::Socket)
            }
        }
        200..=299 => Err(ResponseError::Socket),
        _ => Ok(false),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::forward::h1;

    fn opens(head: &str) -> Result<bool, ResponseError> {
        // RFC 6455 §1.3.
        let opening = WebSocketAccept::from_key("dGhlIHNhbXBsZSBub25jZQ==");
        let read = h1::response(format!("HTTP/1.1 {head}\r\n\r\n").as_bytes(), |response| {
            super::opens(&opening, response)
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
            assert_eq!(opens(&bad), Err(ResponseError::Socket), "{bad}");
        }
    }
}
