//! Trailer fields: which of them may pass, and how many. RFC 9110 §6.5.
//!
//! Some recipients merge them into the head. So fields that affect framing, routing, identity or
//! the meaning of a message are removed, and malformed ones make the message fail.

use http::{HeaderMap, HeaderName, HeaderValue};
use roundtrip_wire::http1::{self, EMPTY_FIELD};
use roundtrip_wire::message::Pair;

use super::chunked::FramingError;
use crate::judge::request::{is_identity, overrides_method};

/// The largest number of fields in one section, including removed ones.
const MAX_FIELDS: usize = 64;
/// The largest number of bytes in one section.
pub(crate) const MAX_SECTION: usize = 16 * 1024;

/// The trailer fields that may pass, as HTTP/1.1 writes them.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(crate) struct Trailers(Vec<u8>);

impl Trailers {
    /// Parses a section with the empty line that ends it.
    pub(crate) fn read(section: &[u8]) -> Result<Self, FramingError> {
        let mut room = [EMPTY_FIELD; MAX_FIELDS];
        let Ok(Some(fields)) = http1::trailers(section, &mut room) else {
            return Err(FramingError);
        };
        let mut trailers = Self::default();
        for field in fields {
            trailers.add(field.name, field.value);
        }
        Ok(trailers)
    }

    /// Makes trailers from HTTP/2's map.
    pub(crate) fn from_map(fields: &HeaderMap) -> Result<Self, FramingError> {
        let fields = fields.iter();
        Self::from_lines(fields.map(|(name, value)| (name.as_str().as_bytes(), value.as_bytes())))
    }

    /// Makes trailers from the lines of HTTP/2 or HTTP/3.
    pub(crate) fn from_lines<'a>(
        lines: impl Iterator<Item = Pair<'a>>,
    ) -> Result<Self, FramingError> {
        let mut trailers = Self::default();
        let (mut count, mut size) = (0, 0);
        for (name, value) in lines {
            count += 1;
            size += name.len() + value.len() + 4;
            if count > MAX_FIELDS || size > MAX_SECTION {
                return Err(FramingError);
            }
            trailers.add(std::str::from_utf8(name).map_err(|_| FramingError)?, value);
        }
        Ok(trailers)
    }

    fn add(&mut self, name: &str, value: &[u8]) {
        if may_pass(name) {
            for part in [name.as_bytes(), b": ", value, b"\r\n"] {
                self.0.extend_from_slice(part);
            }
        }
    }

    /// Removes the fields whose names do not pass.
    pub(crate) fn retain(&mut self, passes: impl Fn(&str) -> bool) {
        if self.is_empty() {
            return;
        }
        let lines = self.0.split_inclusive(|b| *b == b'\n');
        let kept = lines.filter(|line| {
            let name = line.split(|b| *b == b':').next().unwrap_or_default();
            std::str::from_utf8(name).is_ok_and(&passes)
        });
        self.0 = kept.flatten().copied().collect();
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Names and values, in order.
    pub(crate) fn lines(&self) -> impl Iterator<Item = Pair<'_>> {
        let lines = self.0.split(|b| *b == b'\n');
        lines.filter_map(|line| {
            let line = line.strip_suffix(b"\r")?;
            let colon = memchr::memchr(b':', line)?;
            Some((line.get(..colon)?, line.get(colon + 2..)?))
        })
    }

    /// The trailers as a map for HTTP/2.
    pub(crate) fn map(&self) -> HeaderMap {
        let mut map = HeaderMap::new();
        for (name, value) in self.lines() {
            let name = HeaderName::from_bytes(name);
            if let (Ok(name), Ok(value)) = (name, HeaderValue::from_bytes(value)) {
                map.append(name, value);
            }
        }
        map
    }
}

/// Ends a chunked body. RFC 9112 §7.1.2.
pub(crate) fn write_last_chunk(out: &mut Vec<u8>, trailers: &Trailers) {
    out.extend_from_slice(b"0\r\n");
    out.extend_from_slice(&trailers.0);
    out.extend_from_slice(b"\r\n");
}

/// Whether a trailer may pass. Not allowed are fields for framing, routing, request modifiers,
/// authentication, control data and content processing (RFC 9110 §6.5.1), fields by which backends
/// identify users, and policies for browsers. Programs behind CGI cannot tell `_` and other
/// characters from `-` (RFC 3875 §4.1.18).
fn may_pass(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    let name = name.replace(|c: char| !c.is_ascii_alphanumeric(), "-");
    let begins = NEVER_BEGIN.iter().any(|start| name.starts_with(start));
    // RFC 9530 §2: a digest is known only after the content has been sent.
    let is_digest = name == "content-digest";
    let is_never =
        begins || NEVER.contains(&name.as_str()) || is_identity(&name) || overrides_method(&name);
    is_digest || !is_never
}

const NEVER_BEGIN: [&str; 9] = [
    "accept",
    "access-control-",
    "content-",
    "cross-origin-",
    "if-",
    "proxy",
    "sec-",
    "x-content-type-",
    "x-frame-",
];

const NEVER: [&str; 41] = [
    "age",
    "alt-svc",
    "alt-used",
    "authentication-info",
    "authorization",
    "cache-control",
    "clear-site-data",
    "connection",
    "cookie",
    "cookie2",
    "date",
    "early-data",
    "expect",
    "expires",
    "from",
    "host",
    "http2-settings",
    "keep-alive",
    "link",
    "location",
    "max-forwards",
    "origin",
    "permissions-policy",
    "pragma",
    "prefer",
    "priority",
    "range",
    "referer",
    "referrer-policy",
    "refresh",
    "retry-after",
    "set-cookie",
    "set-cookie2",
    "strict-transport-security",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
    "vary",
    "warning",
    "www-authenticate",
];

#[cfg(test)]
mod tests {
    use super::*;

    fn read(section: &str) -> Result<String, FramingError> {
        Trailers::read(section.as_bytes()).map(|t| String::from_utf8(t.0).unwrap())
    }

    #[test]
    fn trailers_that_describe_the_body_pass() {
        let section =
            "Grpc-Status: 0\r\nX-Sum:\t a b \r\nContent-Digest: sha-256=:x:\r\nETag: \"1\"\r\n";
        let passed =
            "Grpc-Status: 0\r\nX-Sum: a b\r\nContent-Digest: sha-256=:x:\r\nETag: \"1\"\r\n";
        assert_eq!(read(&format!("{section}\r\n")), Ok(passed.into()));
    }

    #[test]
    fn trailers_that_frame_route_or_identify_are_removed() {
        for name in NEVER.iter().copied().chain([
            "Content-Length",
            "CONTENT_LENGTH",
            "Content-Type",
            "Content-Encoding",
            "Transfer_Encoding",
            "Transfer.Encoding",
            "X-Forwarded-For",
            "X_Forwarded_Host",
            "X-Real-IP",
            "X-Remote-User",
            "X-Auth-Request-User",
            "Proxy-Authorization",
            "Proxy",
            "If-Match",
            "Sec-WebSocket-Key",
            "Access-Control-Allow-Origin",
            "X-HTTP-Method-Override",
        ]) {
            let section = format!("{name}: x\r\nX-A: b\r\n\r\n");
            assert_eq!(read(&section), Ok("X-A: b\r\n".into()), "{name}");
        }
    }

    #[test]
    fn a_route_may_leave_more_behind() {
        let mut trailers = Trailers::read(b"X-A: b\r\nX-C: d\r\nX-A: e\r\n\r\n").unwrap();
        trailers.retain(|name| name != "X-C");
        assert_eq!(trailers.0, b"X-A: b\r\nX-A: e\r\n");
        trailers.retain(|_| false);
        assert!(trailers.is_empty());
    }

    #[test]
    fn malformed_or_too_many_trailers_are_an_error() {
        for section in [
            "A\r\n\r\n",
            "A : b\r\n\r\n",
            "A: b\r\n c\r\n\r\n",
            "A: b\r\n",
        ] {
            assert_eq!(read(section), Err(FramingError), "{section:?}");
        }
        let many = "a: b\r\n".repeat(MAX_FIELDS + 1) + "\r\n";
        assert_eq!(read(&many), Err(FramingError));
        assert!(read(many.split_at(6).1).is_ok());
        let mut map = HeaderMap::new();
        for _ in 0..=MAX_FIELDS {
            map.append("a", HeaderValue::from_static("b"));
        }
        assert_eq!(Trailers::from_map(&map), Err(FramingError));
        let large = HeaderValue::from_str(&"b".repeat(MAX_SECTION)).unwrap();
        let map = HeaderMap::from_iter([(HeaderName::from_static("a"), large)]);
        assert_eq!(Trailers::from_map(&map), Err(FramingError));
    }

    #[test]
    fn every_protocol_has_the_same_fields() {
        let section = "X-A: b\r\nX-A: c: d\r\nX-Empty:\r\nHost: x\r\n\r\n";
        let trailers = Trailers::read(section.as_bytes()).unwrap();
        let map = trailers.map();
        let fields: Vec<_> = map
            .iter()
            .map(|(n, v)| (n.as_str(), v.as_bytes()))
            .collect();
        let expected: [(&str, &[u8]); 3] = [("x-a", b"b"), ("x-a", b"c: d"), ("x-empty", b"")];
        assert_eq!(fields, expected);
        let mut out = Vec::new();
        write_last_chunk(&mut out, &Trailers::from_map(&map).unwrap());
        let written = "0\r\nx-a: b\r\nx-a: c: d\r\nx-empty: \r\n\r\n";
        assert_eq!(String::from_utf8(out).unwrap(), written);
    }

    proptest::proptest! {
        #[test]
        fn no_bytes_panic_or_break_a_line(bytes: Vec<u8>) {
            if let Ok(trailers) = Trailers::read(&bytes) {
                let again = Trailers::read(&[&trailers.0, b"\r\n".as_slice()].concat());
                proptest::prop_assert_eq!(again, Ok(trailers));
            }
        }
    }
}
