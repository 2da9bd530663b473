//! Rules for the field sections of messages in HTTP/3 and HTTP/2: a message that violates one is
//! malformed. RFC 9114 §4.2 and §4.3, RFC 9113 §8.2 and §8.3.

/// Connection-specific fields, which these versions forbid. RFC 9114 §4.2, RFC 9110 §7.6.1.
const OF_A_CONNECTION: [&[u8]; 5] = [
    b"connection",
    b"keep-alive",
    b"proxy-connection",
    b"transfer-encoding",
    b"upgrade",
];

/// Why a message is malformed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum MalformedError {
    #[error("a field name that is not a token in lower case")]
    Name,
    #[error("a field value with characters that it may not have")]
    Value,
    #[error("a connection-specific field")]
    ConnectionField,
    #[error("a TE field with more than 'trailers'")]
    Te,
    #[error("a pseudo-header field that such a message does not have")]
    UnknownPseudo,
    #[error("a pseudo-header field that occurs twice")]
    RepeatedPseudo,
    #[error("a pseudo-header field after a regular one")]
    LatePseudo,
    #[error("a pseudo-header field in trailers")]
    PseudoInTrailers,
    #[error("no method, or one that is not a token")]
    Method,
    #[error("no scheme, or one that is neither http nor https")]
    Scheme,
    #[error("no path, or one that does not fit the method")]
    Path,
    #[error("no authority, an empty one, one that names a user, or one that differs from Host")]
    Authority,
    #[error("no status, or one that is not of three digits, or 101")]
    Status,
    #[error(
        "content whose length differs from the announced one, or an announcement that is not one number"
    )]
    Length,
}

/// The name and the value of a field line.
pub type Pair<'a> = (&'a [u8], &'a [u8]);

/// Checks the header section of a request. CONNECT is checked according to RFC 9114 §4.4; extended
/// CONNECT (RFC 9220) is refused, because it was not offered.
pub fn check_request<'a>(lines: impl IntoIterator<Item = Pair<'a>>) -> Result<(), MalformedError> {
    check_request_lines(lines, Pseudo::default())
}

/// Like [`check_request`], if extended CONNECT was offered. RFC 8441 §4.
pub fn check_extended_request<'a>(
    lines: impl IntoIterator<Item = Pair<'a>>,
) -> Result<(), MalformedError> {
    let pseudo = Pseudo {
        may_extend: true,
        ..Pseudo::default()
    };
    check_request_lines(lines, pseudo)
}

fn check_request_lines<'a>(
    lines: impl IntoIterator<Item = Pair<'a>>,
    mut pseudo: Pseudo<'a>,
) -> Result<(), MalformedError> {
    let (mut regular, mut host) = (false, None);
    for (name, value) in lines {
        check_value(value)?;
        if name.starts_with(b":") {
            if regular {
                return Err(MalformedError::LatePseudo);
            }
            pseudo.take(name, value)?;
            continue;
        }
        regular = true;
        check_regular(name, value)?;
        if name == b"host" && host.replace(value).is_some() {
            return Err(MalformedError::Authority);
        }
    }
    pseudo.check(host)
}

/// Checks the header section of a response, and returns its status. 101 belongs to HTTP/1.1 only:
/// RFC 9114 §4.5. White space around values is tolerated, because a client does not forward what it
/// reads.
pub fn check_response<'a>(
    lines: impl IntoIterator<Item = Pair<'a>>,
) -> Result<u16, MalformedError> {
    let (mut regular, mut status) = (false, None);
    for (name, value) in lines {
        check_characters(value)?;
        if !name.starts_with(b":") {
            regular = true;
            check_regular(name, value)?;
            continue;
        }
        if regular {
            return Err(MalformedError::LatePseudo);
        }
        if name != b":status" {
            return Err(MalformedError::UnknownPseudo);
        }
        if status.replace(value).is_some() {
            return Err(MalformedError::RepeatedPseudo);
        }
    }
    let digits = status.filter(|s| s.len() == 3).and_then(number);
    let status = digits.filter(|status| *status >= 100 && *status != 101);
    let status = status.and_then(|status| u16::try_from(status).ok());
    status.ok_or(MalformedError::Status)
}

/// The length that a head announces. The field must be one number, and occur once. RFC 9110 §8.6.
pub fn content_length<'a>(
    lines: impl IntoIterator<Item = Pair<'a>>,
) -> Result<Option<u64>, MalformedError> {
    let lines = lines.into_iter();
    let mut lengths = lines.filter(|(name, _)| *name == b"content-length");
    let Some((_, length)) = lengths.next() else {
        return Ok(None);
    };
    let length = number(length).filter(|_| lengths.next().is_none());
    length.map(Some).ok_or(MalformedError::Length)
}

/// Whether a field that came with another protocol may be sent.
pub fn is_sendable((name, value): Pair<'_>) -> bool {
    is_token(name) && check_value(value).is_ok()
}

/// Checks the trailer section of a message.
pub fn check_trailers<'a>(lines: impl IntoIterator<Item = Pair<'a>>) -> Result<(), MalformedError> {
    for (name, value) in lines {
        if name.starts_with(b":") {
            return Err(MalformedError::PseudoInTrailers);
        }
        check_value(value)?;
        check_regular(name, value)?;
    }
    Ok(())
}

#[derive(Default)]
struct Pseudo<'a> {
    method: Option<&'a [u8]>,
    scheme: Option<&'a [u8]>,
    authority: Option<&'a [u8]>,
    path: Option<&'a [u8]>,
    protocol: Option<&'a [u8]>,
    /// Extended CONNECT was offered.
    may_extend: bool,
}

impl<'a> Pseudo<'a> {
    fn take(&mut self, name: &[u8], value: &'a [u8]) -> Result<(), MalformedError> {
        let place = match name {
            b":method" => &mut self.method,
            b":scheme" => &mut self.scheme,
            b":authority" => &mut self.authority,
            b":path" => &mut self.path,
            b":protocol" if self.may_extend => &mut self.protocol,
            _ => return Err(MalformedError::UnknownPseudo),
        };
        match place.replace(value) {
            None => Ok(()),
            Some(_) => Err(MalformedError::RepeatedPseudo),
        }
    }

    fn check(&self, host: Option<&[u8]>) -> Result<(), MalformedError> {
        let method = self.method.filter(|method| is_token(method));
        let method = method.ok_or(MalformedError::Method)?;
        let connects = method == b"CONNECT" && self.protocol.is_none();
        if self.protocol.is_some() && method != b"CONNECT" {
            return Err(MalformedError::Method);
        }
        self.check_authority(host, connects)?;
        match self.scheme {
            None if connects => {}
            Some(scheme) if !connects && is_http(scheme) => {}
            _ => return Err(MalformedError::Scheme),
        }
        match self.path {
            None if connects => Ok(()),
            Some(path) if !connects && is_path(path, method) => Ok(()),
            _ => Err(MalformedError::Path),
        }
    }

    /// The authority must be given by `:authority` or `host`; if both exist, they must agree.
    fn check_authority(&self, host: Option<&[u8]>, connects: bool) -> Result<(), MalformedError> {
        let named = match (self.authority, host) {
            (Some(authority), Some(host)) if !authority.eq_ignore_ascii_case(host) => None,
            (None, Some(_)) if connects => None,
            (authority, host) => authority.or(host),
        };
        let sound = named.is_some_and(|named| !named.is_empty() && !named.contains(&b'@'));
        sound.then_some(()).ok_or(MalformedError::Authority)
    }
}

fn is_http(scheme: &[u8]) -> bool {
    scheme.eq_ignore_ascii_case(b"https") || scheme.eq_ignore_ascii_case(b"http")
}

fn is_path(path: &[u8], method: &[u8]) -> bool {
    path.starts_with(b"/") || (path == b"*" && method == b"OPTIONS")
}

fn check_regular(name: &[u8], value: &[u8]) -> Result<(), MalformedError> {
    if !is_token(name) || name.iter().any(u8::is_ascii_uppercase) {
        return Err(MalformedError::Name);
    }
    if OF_A_CONNECTION.contains(&name) {
        return Err(MalformedError::ConnectionField);
    }
    if name == b"te" && !value.eq_ignore_ascii_case(b"trailers") {
        return Err(MalformedError::Te);
    }
    Ok(())
}

/// RFC 9110 §5.5: no white space around the value, and no control characters in it.
fn check_value(value: &[u8]) -> Result<(), MalformedError> {
    let is_blank = |byte: Option<&u8>| matches!(byte, Some(b' ' | b'\t'));
    if is_blank(value.first()) || is_blank(value.last()) {
        return Err(MalformedError::Value);
    }
    check_characters(value)
}

fn check_characters(value: &[u8]) -> Result<(), MalformedError> {
    let may_be = |byte: &u8| matches!(byte, b'\t' | b' '..=b'~' | 0x80..);
    let are_sound = value.iter().all(may_be);
    are_sound.then_some(()).ok_or(MalformedError::Value)
}

/// A number that consists of digits only.
fn number(text: &[u8]) -> Option<u64> {
    let is_number = text.iter().all(u8::is_ascii_digit);
    let text = std::str::from_utf8(text).ok().filter(|_| is_number)?;
    text.parse().ok()
}

/// RFC 9110 §5.6.2.
fn is_token(bytes: &[u8]) -> bool {
    !bytes.is_empty() && bytes.iter().copied().all(crate::field::is_token)
}

#[cfg(test)]
mod tests {
    use super::*;

    const METHOD: (&str, &str) = (":method", "GET");
    const SCHEME: (&str, &str) = (":scheme", "https");
    const AUTHORITY: (&str, &str) = (":authority", "a.example");
    const PATH: (&str, &str) = (":path", "/");

    fn bytes<'a>(lines: &'a [(&str, &str)]) -> impl Iterator<Item = Pair<'a>> {
        let lines = lines.iter();
        lines.map(|(name, value)| (name.as_bytes(), value.as_bytes()))
    }

    fn request(lines: &[(&str, &str)]) -> Result<(), MalformedError> {
        check_request(bytes(lines))
    }

    fn with(line: (&str, &str)) -> Result<(), MalformedError> {
        request(&[METHOD, SCHEME, AUTHORITY, PATH, line])
    }

    #[test]
    fn sound_requests_are_taken() {
        for line in [
            ("accept", "*/*"),
            ("te", "trailers"),
            ("host", "A.example"),
            ("x!#$%&'*+-.^_`|~1", "a\tb \u{fc}"),
            ("x", ""),
        ] {
            assert_eq!(with(line), Ok(()), "{line:?}");
        }
        let host = ("host", "a.example");
        assert_eq!(request(&[PATH, METHOD, SCHEME, host]), Ok(()));
        let options = [(":method", "OPTIONS"), SCHEME, AUTHORITY, (":path", "*")];
        assert_eq!(request(&options), Ok(()));
        let plain = [METHOD, (":scheme", "HTTP"), AUTHORITY, PATH];
        assert_eq!(request(&plain), Ok(()));
        let connect = [(":method", "CONNECT"), (":authority", "a.example:443")];
        assert_eq!(request(&connect), Ok(()));
    }

    #[test]
    fn pseudo_header_fields_come_first_and_once() {
        for line in [METHOD, SCHEME, AUTHORITY, PATH] {
            assert_eq!(with(line), Err(MalformedError::RepeatedPseudo), "{line:?}");
            let behind = [&[("x", "y")], [METHOD, SCHEME, AUTHORITY, PATH].as_slice()].concat();
            assert_eq!(request(&behind), Err(MalformedError::LatePseudo));
        }
        for name in [":status", ":protocol", ":", ":Method", ":x"] {
            assert_eq!(with((name, "x")), Err(MalformedError::UnknownPseudo));
        }
    }

    #[test]
    fn pseudo_header_fields_have_sound_values() {
        use MalformedError::{Authority, Method, Path, Scheme};
        for (lines, error) in [
            (&[SCHEME, AUTHORITY, PATH][..], Method),
            (&[(":method", ""), SCHEME, AUTHORITY, PATH], Method),
            (&[(":method", "G(T"), SCHEME, AUTHORITY, PATH], Method),
            (&[METHOD, AUTHORITY, PATH], Scheme),
            (&[METHOD, (":scheme", "ftp"), AUTHORITY, PATH], Scheme),
            (&[METHOD, SCHEME, PATH], Authority),
            (&[METHOD, SCHEME, (":authority", ""), PATH], Authority),
            (&[METHOD, SCHEME, (":authority", "u@a"), PATH], Authority),
            (&[METHOD, SCHEME, PATH, ("host", "")], Authority),
            (&[METHOD, SCHEME, AUTHORITY], Path),
            (&[METHOD, SCHEME, AUTHORITY, (":path", "")], Path),
            (&[METHOD, SCHEME, AUTHORITY, (":path", "a")], Path),
            (&[METHOD, SCHEME, AUTHORITY, (":path", "*")], Path),
            (&[(":method", "CONNECT"), AUTHORITY, PATH], Path),
            (&[(":method", "CONNECT"), SCHEME, AUTHORITY], Scheme),
            (&[(":method", "CONNECT"), ("host", "a")], Authority),
        ] {
            assert_eq!(request(lines), Err(error), "{lines:?}");
        }
        assert_eq!(with(("host", "b.example")), Err(Authority));
        let twice = [METHOD, SCHEME, PATH, ("host", "a"), ("host", "a")];
        assert_eq!(request(&twice), Err(Authority));
    }

    #[test]
    fn extended_connect_has_everything_that_a_request_has() {
        let protocol = (":protocol", "websocket");
        let connect = (":method", "CONNECT");
        let check = |lines: &[(&str, &str)]| check_extended_request(bytes(lines));
        assert_eq!(check(&[connect, protocol, SCHEME, AUTHORITY, PATH]), Ok(()));
        assert_eq!(check(&[METHOD, SCHEME, AUTHORITY, PATH]), Ok(()));
        assert_eq!(check(&[connect, AUTHORITY]), Ok(()));
        let without = [
            (
                &[METHOD, protocol, SCHEME, AUTHORITY, PATH][..],
                MalformedError::Method,
            ),
            (
                &[connect, protocol, AUTHORITY, PATH],
                MalformedError::Scheme,
            ),
            (
                &[connect, protocol, SCHEME, AUTHORITY],
                MalformedError::Path,
            ),
            (
                &[connect, protocol, SCHEME, PATH],
                MalformedError::Authority,
            ),
        ];
        for (lines, error) in without {
            assert_eq!(check(lines), Err(error), "{lines:?}");
        }
    }

    #[test]
    fn a_response_has_a_status_and_nothing_like_it() {
        use MalformedError::{LatePseudo, RepeatedPseudo, Status, UnknownPseudo};
        let ok = (":status", "200");
        for (lines, expected) in [
            (&[ok][..], Ok(200)),
            (&[(":status", "103"), ("link", " x")], Ok(103)),
            (&[ok, ("link", "x\0")], Err(MalformedError::Value)),
            (&[(":status", "999")], Ok(999)),
            (&[], Err(Status)),
            (&[(":status", "")], Err(Status)),
            (&[(":status", "20")], Err(Status)),
            (&[(":status", "0200")], Err(Status)),
            (&[(":status", "+20")], Err(Status)),
            (&[(":status", "099")], Err(Status)),
            (&[(":status", "101")], Err(Status)),
            (&[ok, ok], Err(RepeatedPseudo)),
            (&[ok, METHOD], Err(UnknownPseudo)),
            (&[("x", "y"), ok], Err(LatePseudo)),
            (
                &[ok, ("connection", "x")],
                Err(MalformedError::ConnectionField),
            ),
        ] {
            assert_eq!(check_response(bytes(lines)), expected, "{lines:?}");
        }
    }

    #[test]
    fn one_length_that_is_a_number_counts() {
        let length = |lines: &[(&str, &str)]| content_length(bytes(lines));
        let five = ("content-length", "5");
        assert_eq!(length(&[PATH, five]), Ok(Some(5)));
        assert_eq!(length(&[PATH]), Ok(None));
        assert_eq!(length(&[five, five]), Err(MalformedError::Length));
        for odd in ["", "+5", "5 ", "5,5", "99999999999999999999"] {
            assert_eq!(
                length(&[("content-length", odd)]),
                Err(MalformedError::Length),
                "{odd}"
            );
        }
    }

    #[test]
    fn fields_are_judged_in_heads_and_trailers() {
        use MalformedError::{ConnectionField, Name, Te, Value};
        for (line, error) in [
            (("", "x"), Name),
            (("X", "x"), Name),
            (("x y", "x"), Name),
            (("x:", "x"), Name),
            (("\u{fc}", "x"), Name),
            (("connection", "x"), ConnectionField),
            (("keep-alive", "x"), ConnectionField),
            (("proxy-connection", "x"), ConnectionField),
            (("transfer-encoding", "chunked"), ConnectionField),
            (("upgrade", "x"), ConnectionField),
            (("te", "gzip"), Te),
            (("te", "trailers, gzip"), Te),
            (("te", ""), Te),
            (("x", " y"), Value),
            (("x", "y\t"), Value),
            (("x", " "), Value),
            (("x", "a\rb"), Value),
            (("x", "a\nb"), Value),
            (("x", "a\0b"), Value),
            (("x", "a\x7fb"), Value),
        ] {
            assert_eq!(with(line), Err(error), "{line:?}");
            assert_eq!(check_trailers(bytes(&[line])), Err(error), "{line:?}");
        }
        assert_eq!(check_trailers(bytes(&[("x", "y"), ("z", "")])), Ok(()));
        let pseudo = check_trailers(bytes(&[("x", "y"), PATH]));
        assert_eq!(pseudo, Err(MalformedError::PseudoInTrailers));
    }
}
