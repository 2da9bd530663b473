//! Reads the head of a response, and determines where the body ends. RFC 9112 §6.3.

use std::mem::MaybeUninit;

use roundtrip_model::HttpFacts;
use roundtrip_wire::http1::{self, Field, HeadError, ResponseHead, Strictness};

use crate::HttpError;
use crate::error::shown;

/// The largest number of headers. No server sends more in good faith.
const MAX_HEADERS: usize = 1024;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParsedHead {
    pub status: u16,
    version: u8,
    reason: String,
    headers: Vec<(String, Vec<u8>)>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum AnswerLength {
    None,
    Length(u64),
    Chunked,
    UntilClose,
}

/// Reads a head from the front of `bytes` and returns it with its length, or `None` while more is
/// needed.
pub fn response_head(bytes: &[u8]) -> Result<Option<(ParsedHead, usize)>, HttpError> {
    let told = bytes.get(..5.min(bytes.len())).unwrap_or_default();
    if !b"HTTP/".starts_with(told) {
        return Err(HttpError::NotHttp(shown(bytes)));
    }
    let mut most = 64;
    loop {
        let mut room = vec![MaybeUninit::uninit(); most];
        return match http1::response(bytes, &mut room, Strictness::AsCurl) {
            Ok(None) => Ok(None),
            Ok(Some(head)) => Ok(Some((ParsedHead::from(&head), head.length))),
            Err(HeadError::TooManyFields) if most < MAX_HEADERS => {
                most *= 4;
                continue;
            }
            Err(HeadError::Version) => Err(HttpError::NotHttp(shown(bytes))),
            Err(HeadError::TooManyFields) => Err(HttpError::Malformed("too many headers")),
            Err(HeadError::Status) => Err(HttpError::Malformed("the status line")),
            Err(_) => Err(HttpError::Malformed("a header line")),
        };
    }
}

impl From<&ResponseHead<'_, '_>> for ParsedHead {
    fn from(head: &ResponseHead<'_, '_>) -> Self {
        let field = |field: &Field<'_>| (field.name.to_owned(), field.value.to_vec());
        Self {
            status: head.status,
            version: u8::from(!head.is_http10),
            reason: head.reason.to_owned(),
            headers: head.fields.iter().map(field).collect(),
        }
    }
}

impl ParsedHead {
    pub fn reason(&self) -> &str {
        &self.reason
    }

    /// Whether no other head follows as an answer to this request. After 101, the connection
    /// belongs to another protocol. RFC 9110 §15.2.2.
    pub fn is_final(&self) -> bool {
        self.status >= 200 || self.status == 101
    }

    /// All values of a header, with its lists split.
    fn list<'a>(&'a self, name: &'a str) -> impl Iterator<Item = String> + 'a {
        self.headers
            .iter()
            .filter(move |(n, _)| n.eq_ignore_ascii_case(name))
            .flat_map(|(_, v)| {
                let text = String::from_utf8_lossy(v).into_owned();
                text.split(',')
                    .map(|part| part.trim().to_ascii_lowercase())
                    .collect::<Vec<_>>()
            })
    }

    pub(super) fn framing(&self, method: &str) -> Result<AnswerLength, HttpError> {
        let success = (200..300).contains(&self.status);
        if method == "HEAD"
            || matches!(self.status, 100..=199 | 204 | 304)
            || (method == "CONNECT" && success)
        {
            return Ok(AnswerLength::None);
        }
        let codings: Vec<String> = self.list("transfer-encoding").collect();
        if let Some(last) = codings.last() {
            // Without `chunked` as the last coding, only the close of the connection ends the body.
            // RFC 9112 §6.1.
            return Ok(if last == "chunked" {
                AnswerLength::Chunked
            } else {
                AnswerLength::UntilClose
            });
        }
        let mut lengths: Vec<String> = self.list("content-length").collect();
        lengths.dedup();
        match lengths.as_slice() {
            [] => Ok(AnswerLength::UntilClose),
            [one] if !one.is_empty() && one.bytes().all(|b| b.is_ascii_digit()) => one
                .parse()
                .map(AnswerLength::Length)
                .map_err(|_| HttpError::Malformed("Content-Length")),
            _ => Err(HttpError::Malformed("Content-Length")),
        }
    }

    pub(super) fn describe(self, facts: &mut HttpFacts, framing: &AnswerLength) {
        let says = |what: &str| self.list("connection").any(|c| c == what);
        facts.keep_alive = *framing != AnswerLength::UntilClose
            && if self.version == 1 {
                !says("close")
            } else {
                says("keep-alive")
            };
        facts.version = if self.version == 1 {
            "1.1".into()
        } else {
            "1.0".into()
        };
        facts.status = self.status;
        facts.reason = self.reason;
        facts.headers = self.headers;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn head(text: &str) -> ParsedHead {
        response_head(text.as_bytes()).unwrap().unwrap().0
    }

    #[test]
    fn bodies_end_where_the_head_says() {
        let cases = [
            (
                "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n",
                "GET",
                AnswerLength::Length(5),
            ),
            (
                "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n",
                "HEAD",
                AnswerLength::None,
            ),
            (
                "HTTP/1.1 200 OK\r\nContent-Length: 5, 5\r\n\r\n",
                "GET",
                AnswerLength::Length(5),
            ),
            (
                "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n",
                "GET",
                AnswerLength::Chunked,
            ),
            ("HTTP/1.1 200 OK\r\n\r\n", "GET", AnswerLength::UntilClose),
            (
                "HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n",
                "GET",
                AnswerLength::None,
            ),
        ];
        for (text, method, framing) in cases {
            assert_eq!(head(text).framing(method).unwrap(), framing, "{text}");
        }
        for bad in ["5, 6", "-1", "x", "", "99999999999999999999999"] {
            let text = format!("HTTP/1.1 200 OK\r\nContent-Length: {bad}\r\n\r\n");
            assert!(head(&text).framing("GET").is_err(), "{bad}");
        }
    }

    #[test]
    fn other_protocols_are_named_at_once() {
        assert!(matches!(
            response_head(b"SSH-2.0-Open"),
            Err(HttpError::NotHttp(_))
        ));
        assert!(matches!(
            response_head(b"\x15\x03\x01"),
            Err(HttpError::NotHttp(_))
        ));
        assert!(matches!(response_head(b"HT"), Ok(None)));
        assert!(response_head(b"HTTP/1.1 abc\r\n\r\n").is_err());
    }

    proptest::proptest! {
        #[test]
        fn no_bytes_panic(bytes: Vec<u8>, tail: Vec<u8>) {
            let _ = response_head(&bytes);
            let _ = response_head(&[b"HTTP/1.1 200 OK\r\n".as_slice(), &tail].concat());
        }
    }
}
