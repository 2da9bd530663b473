//! Writes the request for the backend: removes hop-by-hop fields, and sets the fields that only
//! gate may set.

use std::net::IpAddr;
use std::ops::Range;

use roundtrip_wire::http1::write_field;

use super::cookies::write_others;
use super::identity::{is_identity, is_read_as, is_trusted};
use super::{Body, Field, Inspected, Request, Rewrite, Version};
use crate::record::TracePosition;

/// The prefix of the fields that say who is logged in.
const LOGIN_FIELDS: &str = "X-Auth-Request-";

/// The values that gate adds to a request.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Forwarding<'a> {
    pub(crate) client: IpAddr,
    /// Whether the client came over TLS or QUIC.
    pub(crate) secure: bool,
    /// The request came as early data and may be a replay. RFC 8470 §5.1.
    pub(crate) early: bool,
    /// The session's `Authorization` for the backend; set again on every request.
    pub(crate) authorization: Option<&'a [u8]>,
    /// Fields that say who is logged in, as lines of a head; no client may send such fields then.
    pub(crate) identity: &'a [u8],
    /// The cookie of logins. The backend gets neither this cookie nor those that belong to it.
    pub(crate) own_cookie: Option<&'a str>,
    /// Fields of proxies that this client, as a trusted proxy, may set. In lower case.
    pub(crate) trusted_fields: &'a [String],
    /// The request's ID; none if it is empty.
    pub(crate) id: &'a [u8],
    /// The request's place in a trace, which the backend continues.
    pub(crate) trace: Option<&'a TracePosition>,
    /// A browser's preflight (Fetch §3.2.2), which is admitted without credentials.
    pub(crate) anonymous: bool,
    /// The key of a WebSocket that the client opens over a stream. RFC 8441 §5.
    pub(crate) socket_key: Option<&'a str>,
    /// The body is read first; its length is then added to the head.
    pub(crate) buffered: bool,
    /// The route's changes.
    pub(crate) rewrite: &'a Rewrite,
}

pub(super) fn scheme(secure: bool) -> &'static [u8] {
    if secure { b"https" } else { b"http" }
}

/// Writes the head of the request for a kept connection (RFC 9110 §7.6), and returns where
/// `Early-Data` is in it.
pub(crate) fn compose(
    request: &Request<'_>,
    inspected: &Inspected<'_>,
    forwarding: &Forwarding<'_>,
    upgrades: bool,
    out: &mut Vec<u8>,
) -> Option<Range<usize>> {
    out.extend_from_slice(request.method.as_bytes());
    out.push(b' ');
    out.extend_from_slice(inspected.path.as_bytes());
    out.extend_from_slice(b" HTTP/1.1\r\nHost: ");
    inspected.host.write(out);
    out.extend_from_slice(b"\r\n");
    for field in request.fields {
        if !passes(field, inspected, forwarding) {
            continue;
        }
        match forwarding
            .own_cookie
            .filter(|_| is_read_as(field.name, "cookie"))
        {
            Some(own) => cookies(out, field, own),
            None => line(out, field.name.as_bytes(), field.value),
        }
    }
    out.extend_from_slice(forwarding.identity);
    match inspected.body {
        Body::Chunked | Body::Framed if forwarding.buffered => {}
        Body::Chunked | Body::Framed => line(out, b"Transfer-Encoding", b"chunked"),
        Body::Length(length) => counted(out, length),
        Body::None => {}
    }
    // It is empty if the session has none: the client's own is removed nevertheless.
    if let Some(authorization) = forwarding.authorization.filter(|value| !value.is_empty()) {
        line(out, b"Authorization", authorization);
    }
    let early = forwarding.early.then(|| {
        let from = out.len();
        line(out, b"Early-Data", b"1");
        from..out.len()
    });
    if inspected.expects_continue && !forwarding.buffered {
        line(out, b"Expect", b"100-continue");
    }
    forwarded(request, forwarding, out);
    if !forwarding.id.is_empty() {
        line(out, super::ID.as_bytes(), forwarding.id);
    }
    if let Some(trace) = forwarding.trace {
        line(out, b"traceparent", &trace.context.to_field());
    }
    let (client, secure) = (forwarding.client, forwarding.secure);
    forwarding.rewrite.write(inspected, client, secure, out);
    if let Some(key) = forwarding.socket_key {
        line(out, b"Sec-WebSocket-Key", key.as_bytes());
    }
    match inspected.upgrade.filter(|_| upgrades) {
        Some(protocol) => {
            line(out, b"Connection", b"upgrade");
            line(out, b"Upgrade", protocol);
        }
        // RFC 9110 §10.1.4.
        None if inspected.takes_trailers => {
            line(out, b"Connection", b"TE");
            line(out, b"TE", b"trailers");
        }
        None if request.version == Version::H10 => line(out, b"Connection", b"keep-alive"),
        None => {}
    }
    out.extend_from_slice(b"\r\n");
    early
}

/// Adds the length of a body to a head that was composed without it.
pub(crate) fn add_length(head: &mut Vec<u8>, length: u64) {
    head.truncate(head.len().saturating_sub(b"\r\n".len()));
    counted(head, length);
    head.extend_from_slice(b"\r\n");
}

/// Writes the length as gate understood it: `Connection` might name the client's own field, or the
/// field might be read differently.
fn counted(out: &mut Vec<u8>, length: u64) {
    use std::io::Write;
    // Writing to a Vec does not fail.
    let _ = write!(out, "Content-Length: {length}\r\n");
}

fn line(out: &mut Vec<u8>, name: &[u8], value: &[u8]) {
    write_field(name, value, out);
}

/// Writes the cookies that are not gate's own.
fn cookies(out: &mut Vec<u8>, field: &Field<'_>, own: &str) {
    let start = out.len();
    out.extend_from_slice(field.name.as_bytes());
    out.extend_from_slice(b": ");
    if write_others(field.value, own.as_bytes(), out) {
        out.extend_from_slice(b"\r\n");
    } else {
        out.truncate(start);
    }
}

/// Whether the client may set this field, and it is not hop-by-hop.
fn passes(field: &Field<'_>, inspected: &Inspected<'_>, forwarding: &Forwarding<'_>) -> bool {
    let name = field.name;
    let is = |other: &str| is_read_as(name, other);
    let ours = match name.len() {
        2 => is("te"),
        4 => is("host"),
        6 => is("expect"),
        7 => {
            is("upgrade")
                || (is("trailer") && (forwarding.buffered || !inspected.body.is_chunked()))
        }
        // What others added to a trace belongs to that trace.
        10 if is("tracestate") => forwarding.trace.is_some_and(|trace| trace.parent.is_none()),
        11 => forwarding.trace.is_some() && is("traceparent"),
        10 if is("early-data") => forwarding.early || !is_trusted(forwarding.trusted_fields, name),
        10 => is("connection") || is("keep-alive"),
        12 => !forwarding.id.is_empty() && super::id::is_id(name),
        13 => forwarding.authorization.is_some() && is("authorization"),
        // A length of zero is passed on if the client sent it.
        14 => {
            let own = name.eq_ignore_ascii_case("content-length");
            is("content-length") && (inspected.body != Body::None || !own)
        }
        16 => is("proxy-connection"),
        17 if is("sec-websocket-key") => forwarding.socket_key.is_some(),
        17 => is("transfer-encoding"),
        18 => is("proxy-authenticate"),
        19 => is("proxy-authorization"),
        _ => false,
    };
    let rewrite = forwarding.rewrite;
    let is_a_proxys = || {
        is_identity(name) && !is_trusted(forwarding.trusted_fields, name) && !rewrite.keeps(name)
    };
    let names_person = !forwarding.identity.is_empty() && is_login_field(name);
    !ours
        && !names_person
        && (!forwarding.anonymous || is_of_a_question(name))
        && !is_a_proxys()
        && !rewrite.removes(name)
        && !inspected
            .hop
            .iter()
            .any(|hop| hop.eq_ignore_ascii_case(name.as_bytes()))
}

/// Whether a program may take this name for a field that says who is logged in.
fn is_login_field(name: &str) -> bool {
    let start = name.get(..LOGIN_FIELDS.len());
    start.is_some_and(|start| is_read_as(start, LOGIN_FIELDS))
}

/// A request that is admitted without credentials may have only a preflight's fields.
fn is_of_a_question(name: &str) -> bool {
    const USUAL: [&str; 6] = [
        "accept",
        "accept-language",
        "access-control-request-headers",
        "access-control-request-method",
        "origin",
        "user-agent",
    ];
    USUAL.iter().any(|usual| name.eq_ignore_ascii_case(usual))
}

fn forwarded(request: &Request<'_>, forwarding: &Forwarding<'_>, out: &mut Vec<u8>) {
    out.extend_from_slice(b"X-Forwarded-For: ");
    push_address(out, forwarding.client);
    out.extend_from_slice(b"\r\n");
    let proto = "x-forwarded-proto";
    let mut names = request.fields.iter().map(|field| field.name);
    if !is_trusted(forwarding.trusted_fields, proto)
        || !names.any(|name| name.eq_ignore_ascii_case(proto))
    {
        line(out, b"X-Forwarded-Proto", scheme(forwarding.secure));
    }
}

/// Appends an address in the form of its `Display`. Formatting would take more time than all other
/// fields.
fn push_address(out: &mut Vec<u8>, address: IpAddr) {
    use std::io::Write;
    let IpAddr::V4(v4) = address else {
        // Writing to a Vec does not fail.
        let _ = write!(out, "{address}");
        return;
    };
    for (at, octet) in v4.octets().into_iter().enumerate() {
        if at > 0 {
            out.push(b'.');
        }
        if octet >= 100 {
            out.push(b'0' + octet / 100);
        }
        if octet >= 10 {
            out.push(b'0' + octet / 10 % 10);
        }
        out.push(b'0' + octet % 10);
    }
}

#[cfg(test)]
mod tests {
    use super::super::inspect;
    use super::*;

    #[test]
    fn addresses_are_written_as_they_are_displayed() {
        let v4 = (0..=255_u8).map(|n| IpAddr::from([n, 0, 255 - n, 10]));
        let v6 = ["::", "2001:db8::1", "::ffff:192.0.2.1"].map(|text| text.parse().unwrap());
        for address in v4.chain(v6) {
            let mut out = Vec::new();
            push_address(&mut out, address);
            assert_eq!(out, address.to_string().into_bytes());
        }
    }

    fn written(fields: &[(&str, &str)], trusted: bool) -> String {
        written_by(fields, trusted, &Rewrite::default())
    }

    fn written_by(fields: &[(&str, &str)], trusted: bool, rewrite: &Rewrite) -> String {
        let fields: Vec<Field<'_>> = fields
            .iter()
            .map(|(name, value)| Field {
                name,
                value: value.as_bytes(),
            })
            .collect();
        let request = Request {
            target: "/x?y",
            ..Request::get(&fields)
        };
        let inspected = inspect(&request, 1000).unwrap();
        let fields = crate::config::Listen::default().lowercase_trusted_fields();
        let forwarding = Forwarding {
            client: [192, 0, 2, 7].into(),
            secure: true,
            early: false,
            authorization: Some(b"Basic dTpw"),
            identity: b"",
            own_cookie: None,
            trusted_fields: if trusted { &fields } else { &[] },
            anonymous: false,
            socket_key: None,
            buffered: false,
            rewrite,
            id: b"",
            trace: None,
        };
        let mut out = Vec::new();
        compose(&request, &inspected, &forwarding, false, &mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn hop_by_hop_fields_and_those_of_gate_are_removed() {
        let sent = written(
            &[
                ("Host", "a.example"),
                ("Authorization", "Basic ZXZpbDo="),
                ("Connection", "X-Mine, keep-alive"),
                ("X-Mine", "1"),
                ("Keep-Alive", "5"),
                ("TE", "trailers"),
                ("Upgrade", "websocket"),
                ("Forwarded", "for=1.1.1.1"),
                ("X-Forwarded-For", "1.1.1.1"),
                ("X-Forwarded-Port", "1"),
                ("Early-Data", "1"),
                ("Cookie", "a=b"),
            ],
            false,
        );
        let expected = "GET /x?y HTTP/1.1\r\nHost: a.example\r\nCookie: a=b\r\nAuthorization: Basic dTpw\r\n\
                        X-Forwarded-For: 192.0.2.7\r\nX-Forwarded-Proto: https\r\nConnection: TE\r\nTE: trailers\r\n\r\n";
        assert_eq!(sent, expected);
    }

    /// Without the length, the backend would read the body as the next request.
    #[test]
    fn a_length_is_the_requests_whoever_names_it() {
        let sent = written(
            &[
                ("Host", "a.example"),
                ("Connection", "Content-Length, Host"),
                ("Content-Length", "007"),
                ("Content_Length", "70"),
                ("Transfer_Encoding", "chunked"),
                ("Content.Length", "70"),
                ("Transfer!Encoding", "chunked"),
                ("X_Forwarded_For", "1.1.1.1"),
                ("X.Forwarded.For", "1.1.1.1"),
                ("Remote.User", "root"),
                ("X_Mine", "1"),
            ],
            false,
        );
        let expected = "GET /x?y HTTP/1.1\r\nHost: a.example\r\nX_Mine: 1\r\nContent-Length: 7\r\nAuthorization: Basic dTpw\r\n\
                        X-Forwarded-For: 192.0.2.7\r\nX-Forwarded-Proto: https\r\n\r\n";
        assert_eq!(sent, expected);
    }

    #[test]
    fn a_route_sets_removes_and_keeps() {
        let route = crate::config::Route {
            set: [
                ("X-Real-IP".to_owned(), "{client}".to_owned()),
                ("X-Url".to_owned(), "{scheme}://{host}".to_owned()),
            ]
            .into(),
            remove: vec!["Cookie".into()],
            keep: vec!["X-User-Id".into()],
            ..crate::config::Route::default()
        };
        let fields = [
            ("Host", "A.example."),
            ("Cookie", "a=b"),
            ("X-Real-IP", "6.6.6.6"),
            ("X_Real_IP", "6.6.6.6"),
            ("X-User-Id", "7"),
            ("X-User", "root"),
            ("Proxy", "evil"),
        ];
        let sent = written_by(&fields, false, &Rewrite::new(&route).unwrap());
        let expected = "GET /x?y HTTP/1.1\r\nHost: a.example\r\nX-User-Id: 7\r\nAuthorization: Basic dTpw\r\n\
                        X-Forwarded-For: 192.0.2.7\r\nX-Forwarded-Proto: https\r\n\
                        x-real-ip: 192.0.2.7\r\nx-url: https://a.example\r\n\r\n";
        assert_eq!(sent, expected);
    }

    #[test]
    fn a_length_of_zero_has_one_spelling() {
        let fields = [
            ("Host", "a"),
            ("Content.Length", "7"),
            ("Content-Length", "0"),
        ];
        let sent = written(&fields, false);
        assert!(sent.contains("\r\nContent-Length: 0\r\n"), "{sent}");
        assert!(!sent.contains("Content.Length"), "{sent}");
    }

    #[test]
    fn trusted_proxies_may_name_the_client() {
        let fields = [
            ("Host", "a.example"),
            ("X-Forwarded-For", "198.51.100.1"),
            ("X-Forwarded-Proto", "http"),
            // RFC 8470 §5.1.
            ("Early-Data", "1"),
        ];
        let sent = written(&fields, true);
        assert!(sent.contains("Early-Data: 1\r\n"));
        assert!(sent.contains("X-Forwarded-For: 198.51.100.1\r\n"));
        assert!(sent.contains("X-Forwarded-Proto: http\r\n"));
        assert!(!sent.contains("X-Forwarded-Proto: https"));
    }

    /// A proxy repeats what its clients send, unless it sets the field itself.
    #[test]
    fn a_trusted_proxy_says_from_where_and_not_who() {
        let fields = [
            ("Host", "a.example"),
            ("X-Real-IP", "198.51.100.1"),
            ("X_Real_IP", "6.6.6.6"),
            ("x-forwarded-host", "b.example"),
            ("Remote-User", "admin"),
            ("X-Forwarded-User", "admin"),
            ("X-Auth-Request-Email", "admin"),
            ("X-Original-URL", "/admin"),
            ("Proxy", "evil"),
        ];
        let expected = "GET /x?y HTTP/1.1\r\nHost: a.example\r\nX-Real-IP: 198.51.100.1\r\n\
                        x-forwarded-host: b.example\r\nAuthorization: Basic dTpw\r\n\
                        X-Forwarded-For: 192.0.2.7\r\nX-Forwarded-Proto: https\r\n\r\n";
        assert_eq!(written(&fields, true), expected);
    }
}
