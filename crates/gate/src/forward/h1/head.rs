//! Reads heads in place: no field is copied before its destination is known.

use std::mem::MaybeUninit;

use roundtrip_wire::http1::{self, HeadError, Strictness};

use crate::config::Limits;
use crate::judge::request::{BadRequestError, Field, Request, Version};

/// The parser has room for this many fields, whatever the limit is.
pub(crate) const MAX_FIELDS: usize = 100;
/// The largest head of a backend, including its fields.
const MAX_HEAD: usize = 64 * 1024;

/// Parses a request's head at the front of `bytes` and passes it to `take`; `None` if it is
/// incomplete. Returns the result of `take` with the head's length.
pub(crate) fn request<T>(
    bytes: &[u8],
    limits: &Limits,
    take: impl FnOnce(&Request<'_>) -> T,
) -> Result<Option<(T, usize)>, BadRequestError> {
    let mut room = [const { MaybeUninit::uninit() }; MAX_FIELDS];
    let most = limits.fields.min(MAX_FIELDS);
    let room = room.get_mut(..most).unwrap_or(&mut []);
    let largest = usize::try_from(limits.head.0).unwrap_or(usize::MAX);
    let head = match http1::request(bytes, room, Strictness::Strict) {
        Ok(Some(head)) if head.length <= largest => head,
        Ok(Some(_)) => return Err(BadRequestError::HeadTooLarge),
        Ok(None) if bytes.len() > largest => return Err(BadRequestError::HeadTooLarge),
        Ok(None) => return Ok(None),
        Err(HeadError::TooManyFields) => return Err(BadRequestError::TooManyFields),
        Err(HeadError::Version) => return Err(BadRequestError::NotHttp),
        Err(HeadError::BareLineFeed) => {
            let is_too_large = http1::end_of_head(bytes, 0) > Some(largest);
            return Err(if is_too_large {
                BadRequestError::HeadTooLarge
            } else {
                BadRequestError::BareLineFeed
            });
        }
        Err(HeadError::Status | HeadError::Malformed) => return Err(BadRequestError::Malformed),
    };
    let request = Request {
        method: head.method,
        target: head.target,
        authority: None,
        version: if head.is_http10 {
            Version::H10
        } else {
            Version::H11
        },
        ended: false,
        protocol: None,
        fields: head.fields,
    };
    Ok(Some((take(&request), head.length)))
}

/// Whether a head may end after the first `before` bytes: there is an empty line by any definition
/// of a line.
pub(crate) fn may_end(bytes: &[u8], before: usize) -> bool {
    http1::end_of_head(bytes, before.saturating_sub(2)).is_some()
}

/// The head of an answer, from a backend or from gate itself.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Response<'a> {
    pub(crate) status: u16,
    pub(crate) reason: &'a str,
    pub(crate) fields: &'a [Field<'a>],
    /// The bytes from which the fields were read, if any.
    source: &'a [u8],
    is_h10: bool,
    framing: Framing<'a>,
}

/// What the fields say about the body and the connection. They are read in one pass, because every
/// answer needs all of it.
#[derive(Debug, Clone, Copy, Default)]
struct Framing<'a> {
    length: Option<u64>,
    /// A `Content-Length` is not a number, or differs from another.
    is_length_unclear: bool,
    coding: Option<&'a [u8]>,
    is_coded_twice: bool,
    closes: bool,
    keeps_alive: bool,
    /// `Connection` names a field.
    names: bool,
    tells_caches: bool,
}

impl<'a> Framing<'a> {
    fn read(fields: &[Field<'a>]) -> Self {
        let mut framing = Self::default();
        for field in fields {
            let is = |name: &str| field.name.eq_ignore_ascii_case(name);
            // The lengths tell most names apart before any is compared.
            match field.name.len() {
                10 if is("connection") => framing.read_connection(field.value),
                14 if is_length(field.name) => {
                    let length = number(field.value);
                    framing.is_length_unclear |= length.is_none()
                        || framing.length.is_some_and(|other| Some(other) != length);
                    framing.length = length;
                }
                13 if is("cache-control") => {
                    framing.tells_caches |= options(field.value).any(is_for_shared_caches);
                }
                17 if is("transfer-encoding") => {
                    framing.is_coded_twice |= framing.coding.is_some();
                    framing.coding.get_or_insert(field.value);
                }
                _ => {}
            }
        }
        framing
    }

    fn read_connection(&mut self, value: &[u8]) {
        for option in options(value) {
            if option.eq_ignore_ascii_case(b"close") {
                self.closes = true;
            } else if option.eq_ignore_ascii_case(b"keep-alive") {
                self.keeps_alive = true;
            } else {
                self.names |= !option.is_empty();
            }
        }
    }
}

/// Whether a directive of `Cache-Control` says what shared caches may do with an answer to a
/// request with credentials. RFC 9111 §3.5, §5.2.2.
fn is_for_shared_caches(directive: &[u8]) -> bool {
    const THESE: [&[u8]; 4] = [b"private", b"no-store", b"public", b"must-revalidate"];
    let begins = |start: &[u8]| {
        let begin = directive.get(..start.len());
        begin.is_some_and(|begin| begin.eq_ignore_ascii_case(start))
    };
    // With a list of fields, `private` is about these fields only.
    let is = |name: &&[u8]| name.eq_ignore_ascii_case(directive);
    THESE.iter().any(is) || begins(b"s-maxage=")
}

/// The members of a list, such as `Connection`. RFC 9110 §5.6.1.
fn options(value: &[u8]) -> impl Iterator<Item = &[u8]> {
    value.split(|b| *b == b',').map(<[u8]>::trim_ascii)
}

/// Where a backend's body ends. RFC 9112 §6.3.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ResponseBody {
    None,
    Length(u64),
    Chunked,
    UntilClose,
}

/// The error in a backend's answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum ResponseError {
    #[error("the backend's answer is not HTTP")]
    NotHttp,
    #[error("the backend's answer has a head that is too large")]
    TooLarge,
    #[error("the end of the backend's answer is ambiguous")]
    Length,
    #[error("the backend's answer does not switch to the protocol that the client wants")]
    Switch,
}

/// Like [`request`], for responses.
pub(crate) fn response<T>(
    bytes: &[u8],
    take: impl FnOnce(&Response<'_>) -> T,
) -> Result<Option<(T, usize)>, ResponseError> {
    let mut room = [const { MaybeUninit::uninit() }; MAX_FIELDS];
    let head = match http1::response(bytes, &mut room, Strictness::Tolerant) {
        Ok(Some(head)) if head.status < 100 => return Err(ResponseError::NotHttp),
        Ok(Some(head)) => head,
        Ok(None) if bytes.len() > MAX_HEAD => return Err(ResponseError::TooLarge),
        Ok(None) => return Ok(None),
        Err(HeadError::TooManyFields) => return Err(ResponseError::TooLarge),
        Err(_) => return Err(ResponseError::NotHttp),
    };
    let response = Response {
        source: bytes,
        is_h10: head.is_http10,
        framing: Framing::read(head.fields),
        ..Response::new(head.status, head.reason, head.fields)
    };
    Ok(Some((take(&response), head.length)))
}

impl<'a> Response<'a> {
    /// Makes one of gate's own heads, whose fields say nothing about the body or the connection.
    pub(crate) fn new(status: u16, reason: &'a str, fields: &'a [Field<'a>]) -> Self {
        Self {
            status,
            reason,
            fields,
            source: &[],
            is_h10: false,
            framing: Framing::default(),
        }
    }

    /// Returns the same head with another status and some of its fields.
    pub(crate) fn with<'f>(&self, status: u16, fields: &'f [Field<'f>]) -> Response<'f>
    where
        'a: 'f,
    {
        Response {
            status,
            fields,
            ..*self
        }
    }

    /// Where the body ends; two fields that contradict each other are an error.
    pub(crate) fn body(&self, of_head: bool) -> Result<ResponseBody, ResponseError> {
        let Framing {
            length,
            is_length_unclear,
            coding,
            is_coded_twice,
            ..
        } = self.framing;
        // RFC 9112 §6.1: a server of HTTP/1.0 does not know the coding.
        let is_coding_unclear = length.is_some() || is_coded_twice || self.is_h10;
        if is_length_unclear || (coding.is_some() && is_coding_unclear) {
            return Err(ResponseError::Length);
        }
        // RFC 9112 §6.3: answers to HEAD, 204 and 304 announce a body that does not follow.
        if of_head || self.status < 200 || self.status == 204 || self.status == 304 {
            return Ok(ResponseBody::None);
        }
        match (coding, length) {
            (Some(coding), _) if coding.trim_ascii().eq_ignore_ascii_case(b"chunked") => {
                Ok(ResponseBody::Chunked)
            }
            (Some(_), _) => Err(ResponseError::Length),
            (None, Some(0)) => Ok(ResponseBody::None),
            (None, Some(length)) => Ok(ResponseBody::Length(length)),
            (None, None) => Ok(ResponseBody::UntilClose),
        }
    }

    /// Whether the backend keeps its connection open.
    pub(crate) fn keeps(&self) -> bool {
        if self.is_h10 {
            self.framing.keeps_alive
        } else {
            !self.framing.closes
        }
    }

    /// The fields, without hop-by-hop fields and fields that `Connection` names. RFC 9110 §7.6.1.
    /// `Content-Length` appears exactly once if there is a length, and not otherwise (RFC 9110
    /// §8.6).
    pub(crate) fn end_to_end(&self) -> impl Iterator<Item = &Field<'a>> {
        let names = self.framing.names;
        let counted = self.status >= 200 && self.status != 204;
        let mut lengths = 0;
        self.fields.iter().filter(move |field| {
            if field.name.len() == 14 && is_length(field.name) {
                lengths += 1;
                return counted && lengths == 1;
            }
            !(is_of_one_hop(field.name) || names && self.names(field.name))
        })
    }

    /// Writes the lines of these fields.
    pub(crate) fn write<'f>(&self, fields: impl Iterator<Item = &'f Field<'f>>, out: &mut Vec<u8>) {
        http1::write_fields(fields, self.source, out);
    }

    /// Whether it says what shared caches may do with an answer that is for one user.
    pub(crate) fn tells_shared_caches(&self) -> bool {
        let is_removed = self.framing.names && self.names("cache-control");
        self.framing.tells_caches && !is_removed
    }

    /// Whether `Connection` names fields; most contain only `close` or `keep-alive`.
    pub(crate) fn names_fields(&self) -> bool {
        self.framing.names
    }

    fn names(&self, name: &str) -> bool {
        self.values("connection")
            .flat_map(options)
            .any(|option| option.eq_ignore_ascii_case(name.as_bytes()))
    }

    pub(crate) fn values(&self, name: &'static str) -> impl Iterator<Item = &[u8]> {
        self.fields
            .iter()
            .filter(move |field| field.name.eq_ignore_ascii_case(name))
            .map(|field| field.value)
    }
}

fn is_length(name: &str) -> bool {
    name.eq_ignore_ascii_case("content-length")
}

fn is_of_one_hop(name: &str) -> bool {
    let is = |other: &str| name.eq_ignore_ascii_case(other);
    match name.len() {
        2 => is("te"),
        // `Alt-Svc` names the backend's protocols and ports, which are not gate's.
        7 => is("upgrade") || is("alt-svc"),
        10 => is("connection") || is("keep-alive"),
        // Gate sets this field itself.
        12 => is("x-request-id"),
        16 => is("proxy-connection"),
        17 => is("transfer-encoding"),
        _ => false,
    }
}

fn number(value: &[u8]) -> Option<u64> {
    let digits = value.trim_ascii();
    let add = |sum: u64, digit: &u8| {
        let digit = u64::from(digit.checked_sub(b'0').filter(|digit| *digit < 10)?);
        sum.checked_mul(10)?.checked_add(digit)
    };
    (!digits.is_empty()).then(|| digits.iter().try_fold(0, add))?
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Option<usize>, BadRequestError> {
        request(text.as_bytes(), &Limits::default(), |_| ())
            .map(|read| read.map(|((), length)| length))
    }

    #[test]
    fn a_head_is_whole_or_not_there_yet() {
        let text = "GET / HTTP/1.1\r\nHost: a\r\n\r\nrest";
        assert_eq!(read(text), Ok(Some(text.len() - 4)));
        for end in 0..text.len() - 4 {
            assert_eq!(read(&text[..end]), Ok(None), "{end}");
        }
    }

    #[test]
    fn ambiguous_heads_are_refused() {
        for (text, refusal) in [
            ("GET / HTTP/1.1\nHost: a\n\n", BadRequestError::BareLineFeed),
            (
                "GET / HTTP/1.1\r\nHost: a\n\r\n",
                BadRequestError::BareLineFeed,
            ),
            (
                "GET / HTTP/1.1\r\nHost : a\r\n\r\n",
                BadRequestError::Malformed,
            ),
            (
                "GET / HTTP/1.1\r\nHost: a\r\n b\r\n\r\n",
                BadRequestError::Malformed,
            ),
            (
                "GET / HTTP/1.1\r\n Host: a\r\n\r\n",
                BadRequestError::Malformed,
            ),
            (
                "GET / HTTP/1.1\r\nA: b\0c\r\n\r\n",
                BadRequestError::Malformed,
            ),
            (
                "GET / HTTP/1.1\r\nA: b\rc\r\n\r\n",
                BadRequestError::Malformed,
            ),
            ("GET / HTTP/2.0\r\n\r\n", BadRequestError::NotHttp),
            ("GET  / HTTP/1.1\r\n\r\n", BadRequestError::Malformed),
        ] {
            assert_eq!(read(text), Err(refusal), "{text:?}");
        }
        let many = format!(
            "GET / HTTP/1.1\r\n{}\r\n",
            "a: b\r\n".repeat(MAX_FIELDS + 1)
        );
        assert_eq!(read(&many), Err(BadRequestError::TooManyFields));
        let large = format!("GET / HTTP/1.1\r\na: {}", "b".repeat(64 * 1024));
        assert_eq!(read(&large), Err(BadRequestError::HeadTooLarge));
    }

    #[test]
    fn a_limit_beyond_the_parsers_room_refuses_no_usual_head() {
        let limits = Limits {
            fields: 10 * MAX_FIELDS,
            ..Limits::default()
        };
        let text = b"GET / HTTP/1.1\r\nHost: a\r\n\r\n";
        let read = request(text, &limits, |request| request.fields.len());
        assert_eq!(read, Ok(Some((1, text.len()))));
    }

    fn ends(text: &str, of_head: bool) -> Result<ResponseBody, ResponseError> {
        let text = format!("HTTP/1.1 {text}\r\n\r\n");
        let read = response(text.as_bytes(), |response| response.body(of_head));
        read.unwrap().unwrap().0
    }

    #[test]
    fn a_backends_body_ends_in_one_way() {
        assert_eq!(
            ends("200 OK\r\nContent-Length: 5", false),
            Ok(ResponseBody::Length(5))
        );
        assert_eq!(
            ends("200 OK\r\nContent-Length: 5", true),
            Ok(ResponseBody::None)
        );
        assert_eq!(
            ends("304 N\r\nContent-Length: 5", false),
            Ok(ResponseBody::None)
        );
        assert_eq!(ends("200 OK", false), Ok(ResponseBody::UntilClose));
        let chunked = ends("200 OK\r\nTransfer-Encoding: chunked", false);
        assert_eq!(chunked, Ok(ResponseBody::Chunked));
        for bad in [
            "200 OK\r\nTransfer-Encoding: chunked\r\nContent-Length: 5",
            "200 OK\r\nContent-Length: 5\r\nContent-Length: 6",
            "200 OK\r\nContent-Length: -5",
            "200 OK\r\nTransfer-Encoding: gzip",
            "200 OK\r\nTransfer-Encoding: gzip\r\nTransfer-Encoding: chunked",
            "304 N\r\nContent-Length: 5\r\nContent-Length: 6",
            "204 N\r\nContent-Length: x",
        ] {
            assert_eq!(ends(bad, false), Err(ResponseError::Length), "{bad}");
        }
    }

    #[test]
    fn lengths_are_digits() {
        let greatest = u64::MAX.to_string();
        assert_eq!(number(greatest.as_bytes()), Some(u64::MAX));
        assert_eq!(number(b" 007 "), Some(7));
        for bad in [
            "",
            " ",
            "+1",
            "-1",
            "1 2",
            "1,1",
            "0x1",
            "18446744073709551616",
        ] {
            assert_eq!(number(bad.as_bytes()), None, "{bad}");
        }
    }

    #[test]
    fn a_length_goes_on_once_and_where_it_means_something() {
        const LENGTH: &str = "Content-Length: 5";
        let passed = |text: &str| {
            let text = format!("HTTP/1.1 {text}\r\n\r\n");
            let read = response(text.as_bytes(), |response| {
                let names = response.end_to_end().map(|field| field.name.to_owned());
                names.collect::<Vec<_>>()
            });
            read.unwrap().unwrap().0
        };
        assert_eq!(
            passed(&format!("200 OK\r\n{LENGTH}\r\n{LENGTH}")),
            ["Content-Length"]
        );
        let named = format!("200 OK\r\nConnection: content-length, x\r\nX: y\r\n{LENGTH}");
        assert_eq!(passed(&named), ["Content-Length"]);
        assert_eq!(passed(&format!("304 N\r\n{LENGTH}")), ["Content-Length"]);
        for status in [100, 103, 204] {
            assert!(
                passed(&format!("{status} N\r\n{LENGTH}")).is_empty(),
                "{status}"
            );
        }
        assert_eq!(
            response(b"HTTP/1.1 099 N\r\n\r\n", |_| ()),
            Err(ResponseError::NotHttp)
        );
    }

    proptest::proptest! {
        #[test]
        fn no_bytes_panic(bytes: Vec<u8>) {
            let _ = request(&bytes, &Limits::default(), |r| crate::judge::request::inspect(r, 10).is_ok());
            let _ = response(&bytes, |r| r.body(false).is_ok() && r.keeps());
        }
    }
}
