//! Converts heads between HTTP/1.1 and HTTP/2. RFC 9113 §8.2, §8.3.

use std::io;
use std::mem::MaybeUninit;

use http::header::CONTENT_LENGTH;
use http::uri::PathAndQuery;
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, Uri};
use roundtrip_wire::http1::{self, Strictness};
use roundtrip_wire::percent;

use super::invalid;
use crate::forward::h1::Chunked;

/// The largest number of fields: those of a client, and those that gate adds.
const MAX_FIELDS: usize = 256;

/// How the request's body is written.
pub(super) enum RequestFraming {
    None,
    Length(u64),
    Chunked(Chunked),
}

/// Converts a head that was composed for HTTP/1.1; `None` if it is incomplete. Returns it with its
/// length.
pub(super) fn request(
    bytes: &[u8],
    secure: bool,
) -> io::Result<Option<(Request<()>, RequestFraming, usize)>> {
    let mut room = [const { MaybeUninit::uninit() }; MAX_FIELDS];
    let read = http1::request(bytes, &mut room, Strictness::Tolerant);
    let Some(head) = read.map_err(|_| invalid("the head is malformed"))? else {
        return Ok(None);
    };
    let mut headers = HeaderMap::with_capacity(head.fields.len());
    let (mut authority, mut framing) = (None, RequestFraming::None);
    for field in head.fields {
        let is = |name: &str| field.name.eq_ignore_ascii_case(name);
        if is("host") {
            authority = Some(field.value);
        } else if is("transfer-encoding") {
            framing = RequestFraming::Chunked(Chunked::default());
        } else if is("te") {
            // RFC 9113 §8.2.2: the only value that is allowed.
            headers.insert(http::header::TE, HeaderValue::from_static("trailers"));
        } else if !is_of_one_hop(field.name) {
            if is("content-length") {
                framing = counted(field.value)?;
            }
            let name = HeaderName::from_bytes(field.name.as_bytes());
            let name = name.map_err(|_| invalid("a field's name is invalid"))?;
            let value = HeaderValue::from_bytes(field.value);
            headers.append(
                name,
                value.map_err(|_| invalid("a field's value is invalid"))?,
            );
        }
    }
    let uri = Uri::builder()
        .scheme(if secure { "https" } else { "http" })
        .authority(authority.ok_or_else(|| invalid("there is no Host"))?)
        .path_and_query(target(head.target)?)
        .build()
        .map_err(|_| invalid("the target is not valid in HTTP/2"))?;
    let mut request = Request::new(());
    *request.method_mut() = Method::from_bytes(head.method.as_bytes())
        .map_err(|_| invalid("the method is not valid in HTTP/2"))?;
    *request.uri_mut() = uri;
    *request.headers_mut() = headers;
    Ok(Some((request, framing, head.length)))
}

/// The target. Characters that have no place in a URL, though clients send them, are
/// percent-encoded.
fn target(text: &str) -> io::Result<PathAndQuery> {
    let encoded = || {
        percent::encode(text.as_bytes(), |byte| {
            byte.is_ascii_graphic() && !b"\"<>`{}|^".contains(&byte)
        })
    };
    // The parser takes letters that are not ASCII, but some servers end all exchanges of a
    // connection at such a target.
    let as_it_is = text.is_ascii().then(|| text.parse().ok()).flatten();
    let target = as_it_is.map_or_else(|| encoded().parse(), Ok);
    target.map_err(|_| invalid("the target is not valid in HTTP/2"))
}

fn counted(value: &[u8]) -> io::Result<RequestFraming> {
    let number = std::str::from_utf8(value)
        .ok()
        .and_then(|text| text.trim().parse().ok());
    match number {
        None => Err(invalid("the length is not a number")),
        Some(0) => Ok(RequestFraming::None),
        Some(length) => Ok(RequestFraming::Length(length)),
    }
}

/// Writes an answer's head, and returns whether the body is chunked. It is chunked if it has no
/// length, so that trailers may follow.
pub(super) fn answer(status: u16, fields: &HeaderMap, out: &mut Vec<u8>) -> bool {
    out.extend_from_slice(b"HTTP/1.1 ");
    out.extend_from_slice(status.to_string().as_bytes());
    out.extend_from_slice(b" \r\n");
    for (name, value) in fields {
        // Over HTTP/2 these fields would mislead us about where the body ends. RFC 9113 §8.2.2.
        if !is_of_one_hop(name.as_str()) {
            out.extend_from_slice(name.as_str().as_bytes());
            out.extend_from_slice(b": ");
            out.extend_from_slice(value.as_bytes());
            out.extend_from_slice(b"\r\n");
        }
    }
    let chunks = status >= 200 && !fields.contains_key(CONTENT_LENGTH);
    if chunks {
        out.extend_from_slice(b"transfer-encoding: chunked\r\n");
    }
    out.extend_from_slice(b"\r\n");
    chunks
}

fn is_of_one_hop(name: &str) -> bool {
    const OF_ONE_HOP: [&str; 6] = [
        "connection",
        "keep-alive",
        "proxy-connection",
        "te",
        "transfer-encoding",
        "upgrade",
    ];
    OF_ONE_HOP
        .iter()
        .any(|other| name.eq_ignore_ascii_case(other))
}
