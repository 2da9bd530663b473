//! An answer's head in the form that the protocol crates take.

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};

use crate::forward::h1::Response;
use crate::judge::request::Field;

/// Converts the head without hop-by-hop fields. The values are copied once, together.
pub(in crate::accept::front) fn reply(
    response: &Response<'_>,
    more: &[Field<'_>],
) -> http::Response<()> {
    let fields = || response.end_to_end().chain(more);
    let mut text = Vec::with_capacity(fields().map(|field| field.value.len()).sum());
    for field in fields() {
        text.extend_from_slice(field.value);
    }
    let mut text = Bytes::from(text);
    let mut headers = HeaderMap::with_capacity(fields().count());
    for field in fields() {
        let value = HeaderValue::from_maybe_shared(text.split_to(field.value.len()));
        // Fields that were read are valid; others could not be sent.
        if let (Ok(name), Ok(value)) = (HeaderName::from_bytes(field.name.as_bytes()), value) {
            headers.append(name, value);
        }
    }
    let mut reply = http::Response::new(());
    *reply.status_mut() = StatusCode::from_u16(response.status).unwrap_or(StatusCode::BAD_GATEWAY);
    *reply.headers_mut() = headers;
    reply
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reply_has_the_fields_that_go_further() {
        let field = |name, value: &'static str| Field {
            name,
            value: value.as_bytes(),
        };
        let fields = [
            field("Content-Type", "text/plain"),
            field("Connection", "close, X-Hop"),
            field("X-Hop", "1"),
            field("Transfer-Encoding", "chunked"),
            field("Set-Cookie", "a=b"),
            field("Set-Cookie", "c=d"),
            field("X-Empty", ""),
        ];
        let response = Response {
            status: 207,
            reason: "",
            is_h10: false,
            fields: &fields,
        };
        let reply = reply(&response, &[field("Alt-Svc", "h3")]);
        assert_eq!(reply.status(), 207);
        let read: Vec<String> = reply
            .headers()
            .iter()
            .map(|(name, value)| format!("{name}: {}", value.to_str().unwrap()))
            .collect();
        let expected = [
            "content-type: text/plain",
            "set-cookie: a=b",
            "set-cookie: c=d",
            "x-empty: ",
            "alt-svc: h3",
        ];
        assert_eq!(read, expected);
    }
}
