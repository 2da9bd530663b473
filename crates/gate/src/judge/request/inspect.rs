//! Checks fields: either they have one meaning, or the request is refused.

use super::authority::Authority;
use super::fields::{is_token, length, members};
use super::{BadRequestError, Request, Version};

/// The largest number of options that `Connection` may have; no client needs more.
const MAX_OPTIONS: usize = 16;

/// Where the request's body ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Body {
    None,
    Length(u64),
    Chunked,
    /// The protocol's own frames mark the end.
    Framed,
}

impl Body {
    /// Whether the backend gets the body in chunks.
    pub(crate) fn is_chunked(self) -> bool {
        matches!(self, Self::Chunked | Self::Framed)
    }
}

/// A request with exactly one meaning.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Inspected<'a> {
    /// The path in origin form, or `*`.
    pub(crate) path: &'a str,
    pub(crate) host: Authority<'a>,
    pub(crate) body: Body,
    /// Whether another request may follow on the client's connection.
    pub(crate) keep_alive: bool,
    pub(crate) expects_continue: bool,
    /// The protocol that the client wants to upgrade to. RFC 9110 §7.8.
    pub(crate) upgrade: Option<&'a [u8]>,
    /// The client accepts trailers after the answer. RFC 9110 §10.1.4.
    pub(crate) takes_trailers: bool,
    /// Fields that `Connection` names: they are for this hop only. RFC 9110 §7.6.1.
    pub(crate) hop: Vec<&'a [u8]>,
}

impl Inspected<'_> {
    /// Whether `Connection` names no fields, but only what happens to the connection.
    pub(crate) fn names_no_field(&self) -> bool {
        const USUAL: [&[u8]; 4] = [b"keep-alive", b"close", b"te", b"upgrade"];
        let usual = |option: &&[u8]| USUAL.iter().any(|usual| usual.eq_ignore_ascii_case(option));
        self.hop.iter().all(usual)
    }
}

pub(crate) fn inspect<'a>(
    request: &Request<'a>,
    most_body: u64,
) -> Result<Inspected<'a>, BadRequestError> {
    if !is_token(request.method.as_bytes()) {
        return Err(BadRequestError::Malformed);
    }
    if matches!(request.method, "CONNECT" | "TRACE") {
        return Err(BadRequestError::Method);
    }
    let (path, named) = target(request)?;
    let mut seen = FramingFields::default();
    for field in request.fields {
        seen.look(request, field)?;
    }
    let body = seen.body(request)?;
    if request.protocol.is_some() && body != Body::None {
        return Err(BadRequestError::Length);
    }
    if matches!(body, Body::Length(length) if length > most_body) {
        return Err(BadRequestError::BodyTooLarge);
    }
    let host = host(&seen, named.or(request.authority), request.version)?;
    Ok(Inspected {
        path,
        host,
        body,
        keep_alive: seen.keep_alive(request.version),
        expects_continue: seen.expects && body != Body::None,
        upgrade: match request.protocol {
            Some(protocol) => Some(protocol.as_bytes()).filter(|p| is_token(p)),
            None => seen.upgrade(request.version),
        },
        takes_trailers: seen.trailers && request.version != Version::H10,
        hop: seen.options,
    })
}

/// The target's path, and the authority that it names.
fn target<'a>(request: &Request<'a>) -> Result<(&'a str, Option<&'a str>), BadRequestError> {
    let target = request.target;
    // Clients send no fragments (RFC 9110 §7.1), and a backend that finds one may cut the path
    // there.
    if target
        .bytes()
        .any(|b| b <= b' ' || b == 0x7f || b == b'#' || b == b'\\')
    {
        return Err(BadRequestError::Target);
    }
    // Some backends read the next part as an authority (RFC 3986 §4.2), and some drop a slash: both
    // see another path than gate does.
    if target.starts_with("//") {
        return Err(BadRequestError::Target);
    }
    if target.starts_with('/') || (target == "*" && request.method == "OPTIONS") {
        return Ok((target, None));
    }
    if request.version.frames() {
        return Err(BadRequestError::Target);
    }
    let rest = strip_scheme(target).ok_or(BadRequestError::Target)?;
    let end = rest.find(['/', '?']).unwrap_or(rest.len());
    let (authority, path) = rest.split_at(end);
    match path {
        // RFC 9112 §3.2.4.
        "" if request.method == "OPTIONS" => Ok(("*", Some(authority))),
        "" => Ok(("/", Some(authority))),
        path if path.starts_with('/') && !path.starts_with("//") => Ok((path, Some(authority))),
        // Clients send neither a query without a path, which would have to be rewritten, nor two
        // slashes.
        _ => Err(BadRequestError::Target),
    }
}

fn strip_scheme(target: &str) -> Option<&str> {
    ["http://", "https://"].iter().find_map(|scheme| {
        let (start, rest) = target.split_at_checked(scheme.len())?;
        start.eq_ignore_ascii_case(scheme).then_some(rest)
    })
}

/// The only authority; if it is named twice, both must be the same. RFC 9112 §3.2, RFC 9113 §8.3.1.
fn host<'a>(
    seen: &FramingFields<'a>,
    named: Option<&'a str>,
    version: Version,
) -> Result<Authority<'a>, BadRequestError> {
    let host = match (seen.hosts, seen.host, named) {
        (0 | 1, Some(host), None) => host,
        (1, Some(host), Some(named)) if host.eq_ignore_ascii_case(named) => named,
        (1, Some(_), Some(_)) => return Err(BadRequestError::HostDiffers),
        (0, None, Some(named)) if version.frames() => named,
        (0, None, None) if version == Version::H10 => return Ok(Authority::default()),
        _ => return Err(BadRequestError::Host),
    };
    let host = Authority::parse(host).ok_or(BadRequestError::Host)?;
    if host.is_unclear_number() {
        return Err(BadRequestError::HostNumber);
    }
    Ok(host)
}

#[derive(Default)]
struct FramingFields<'a> {
    hosts: u32,
    host: Option<&'a str>,
    lengths: u32,
    length: Option<u64>,
    codings: u32,
    chunked: bool,
    options: Vec<&'a [u8]>,
    upgrades: u32,
    upgrade: Option<&'a [u8]>,
    expects: bool,
    trailers: bool,
}

impl<'a> FramingFields<'a> {
    fn look(
        &mut self,
        request: &Request<'a>,
        field: &super::Field<'a>,
    ) -> Result<(), BadRequestError> {
        let (name, value) = (field.name, field.value);
        // The lengths tell most names apart before any is compared.
        match name.len() {
            2 if name.eq_ignore_ascii_case("te") => {
                self.trailers |= members(value).any(|m| m.eq_ignore_ascii_case(b"trailers"));
            }
            4 if name.eq_ignore_ascii_case("host") => {
                self.hosts += 1;
                self.host = std::str::from_utf8(value.trim_ascii()).ok();
            }
            6 if name.eq_ignore_ascii_case("expect") => {
                if !value.trim_ascii().eq_ignore_ascii_case(b"100-continue") {
                    return Err(BadRequestError::Expectation);
                }
                self.expects = request.version != Version::H10;
            }
            7 if name.eq_ignore_ascii_case("upgrade") => {
                self.upgrades += 1;
                self.upgrade = Some(value.trim_ascii());
            }
            10 if name.eq_ignore_ascii_case("connection") => {
                if request.version.frames() {
                    return Err(BadRequestError::ConnectionField);
                }
                self.options.extend(members(value).take(MAX_OPTIONS + 1));
                if self.options.len() > MAX_OPTIONS || !self.options.iter().all(|o| is_token(o)) {
                    return Err(BadRequestError::Malformed);
                }
            }
            14 if name.eq_ignore_ascii_case("content-length") => {
                self.lengths += 1;
                self.length = length(value);
            }
            17 if name.eq_ignore_ascii_case("transfer-encoding") => {
                if request.version.frames() {
                    return Err(BadRequestError::ConnectionField);
                }
                self.codings += 1;
                self.chunked = value.trim_ascii().eq_ignore_ascii_case(b"chunked");
            }
            _ => {}
        }
        Ok(())
    }

    /// RFC 9112 §6.1, §6.3: any unclear length is refused.
    fn body(&self, request: &Request<'_>) -> Result<Body, BadRequestError> {
        match (self.codings, self.lengths) {
            (0, 0) if request.protocol.is_some() => Ok(Body::None),
            (0, 0) if request.version.frames() && !request.ended => Ok(Body::Framed),
            (0, 0) => Ok(Body::None),
            (0, 1) => match self.length {
                // Whether data follows in spite of it shows at the end of the stream.
                Some(0) if request.version.frames() && !request.ended => Ok(Body::Length(0)),
                Some(0) => Ok(Body::None),
                Some(length) => Ok(Body::Length(length)),
                None => Err(BadRequestError::Length),
            },
            (0, _) => Err(BadRequestError::Length),
            (_, 1..) => Err(BadRequestError::TwoLengths),
            (1, 0) if self.chunked && request.version == Version::H11 => Ok(Body::Chunked),
            _ => Err(BadRequestError::Coding),
        }
    }

    /// Whether the request asks to switch to one protocol other than HTTP: requests inside an
    /// HTTP/2 connection to the backend would bypass gate.
    fn upgrade(&self, version: Version) -> Option<&'a [u8]> {
        let is_http = |protocol: &[u8]| {
            protocol.eq_ignore_ascii_case(b"h2c") || protocol.eq_ignore_ascii_case(b"h2")
        };
        let asked = self.upgrades == 1 && version == Version::H11 && self.option(b"upgrade");
        self.upgrade
            .filter(|protocol| asked && is_token(protocol) && !is_http(protocol))
    }

    fn option(&self, wanted: &[u8]) -> bool {
        self.options.iter().any(|o| o.eq_ignore_ascii_case(wanted))
    }

    fn keep_alive(&self, version: Version) -> bool {
        match version {
            Version::H10 => self.option(b"keep-alive") && !self.option(b"close"),
            _ => !self.option(b"close"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judge::request::Field;

    fn judge(
        version: Version,
        target: &str,
        fields: &[(&str, &str)],
    ) -> Result<Body, BadRequestError> {
        let fields: Vec<Field<'_>> = fields
            .iter()
            .map(|(name, value)| Field {
                name,
                value: value.as_bytes(),
            })
            .collect();
        let request = Request {
            method: "POST",
            target,
            authority: version.frames().then_some("a.example"),
            version,
            ..Request::get(&fields)
        };
        inspect(&request, 1000).map(|inspected| inspected.body)
    }

    fn h1(fields: &[(&str, &str)]) -> Result<Body, BadRequestError> {
        let mut all = vec![("Host", "a.example")];
        all.extend(fields);
        judge(Version::H11, "/", &all)
    }

    #[test]
    fn a_body_ends_where_one_field_says_so() {
        const TE: &str = "Transfer-Encoding";
        const CL: &str = "Content-Length";
        assert_eq!(h1(&[]), Ok(Body::None));
        assert_eq!(h1(&[(CL, "7")]), Ok(Body::Length(7)));
        assert_eq!(h1(&[(TE, "Chunked")]), Ok(Body::Chunked));
        for (fields, refusal) in [
            (
                vec![(CL, "7"), (TE, "chunked")],
                BadRequestError::TwoLengths,
            ),
            (vec![(CL, "7"), (CL, "7")], BadRequestError::Length),
            (vec![(CL, "7, 7")], BadRequestError::Length),
            (vec![(CL, "+7")], BadRequestError::Length),
            (vec![(CL, "")], BadRequestError::Length),
            (vec![(CL, "1001")], BadRequestError::BodyTooLarge),
            (vec![(TE, "gzip, chunked")], BadRequestError::Coding),
            (
                vec![(TE, "chunked"), (TE, "identity")],
                BadRequestError::Coding,
            ),
            (vec![(TE, "chunked, chunked")], BadRequestError::Coding),
            (vec![(TE, "\u{b}chunked")], BadRequestError::Coding),
            (vec![(TE, "")], BadRequestError::Coding),
        ] {
            assert_eq!(h1(&fields), Err(refusal), "{fields:?}");
        }
        let old = judge(Version::H10, "/", &[("Host", "a"), (TE, "chunked")]);
        assert_eq!(old, Err(BadRequestError::Coding));
        let modern = judge(Version::H2, "/", &[(TE, "chunked")]);
        assert_eq!(modern, Err(BadRequestError::ConnectionField));
        assert_eq!(judge(Version::H2, "/", &[]), Ok(Body::Framed));
    }

    #[test]
    fn a_host_is_named_once_or_alike() {
        let v11 = |target: &str, fields: &[(&str, &str)]| judge(Version::H11, target, fields);
        assert!(v11("http://a.example/x", &[("Host", "A.example")]).is_ok());
        let differs = v11("http://a.example/x", &[("Host", "b.example")]);
        assert_eq!(differs, Err(BadRequestError::HostDiffers));
        assert_eq!(v11("/", &[]), Err(BadRequestError::Host));
        assert_eq!(
            v11("/", &[("Host", "a"), ("host", "a")]),
            Err(BadRequestError::Host)
        );
        assert_eq!(v11("/", &[("Host", "a@b")]), Err(BadRequestError::Host));
        assert_eq!(v11("/", &[("Host", "")]), Err(BadRequestError::Host));
        assert!(v11("/", &[("Host", "127.0.0.1")]).is_ok());
        let number = v11("/", &[("Host", "127.1")]);
        assert_eq!(number, Err(BadRequestError::HostNumber));
        assert!(judge(Version::H10, "/", &[]).is_ok());
        let h2 = judge(Version::H2, "/", &[("host", "b.example")]);
        assert_eq!(h2, Err(BadRequestError::HostDiffers));
    }

    #[test]
    fn targets_are_paths_or_urls() {
        for bad in [
            "",
            "x",
            "/a b",
            "/a#b",
            "/a\\b",
            "*",
            "ftp://a/",
            "//",
            "http://a?x",
            "http:///",
            "//a.example/x",
            "http://a.example//x",
        ] {
            let judged = judge(Version::H11, bad, &[("Host", "a.example")]);
            assert!(judged.is_err(), "{bad}");
        }
    }

    #[test]
    fn connection_names_what_ends_here() {
        let fields = [
            Field {
                name: "Host",
                value: b"a",
            },
            Field {
                name: "Connection",
                value: b"X-Secret, Upgrade",
            },
            Field {
                name: "Upgrade",
                value: b"websocket",
            },
        ];
        let request = Request::get(&fields);
        let inspected = inspect(&request, 0).unwrap();
        for (protocol, passes) in [
            ("h2c", false),
            ("H2C", false),
            ("a, h2c", false),
            ("x", true),
        ] {
            let mut fields = fields;
            fields[2].value = protocol.as_bytes();
            let request = Request {
                fields: &fields,
                ..request
            };
            let upgrade = inspect(&request, 0).unwrap().upgrade;
            assert_eq!(upgrade.is_some(), passes, "{protocol}");
        }
        assert_eq!(inspected.hop, [b"X-Secret".as_slice(), b"Upgrade"]);
        assert_eq!(inspected.upgrade, Some(b"websocket".as_slice()));
        assert!(inspected.keep_alive);
    }
}
