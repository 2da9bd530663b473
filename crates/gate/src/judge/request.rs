//! A request as gate judges it, in any protocol: refused, or understood in exactly one way.
//!
//! Anything that two readers may understand differently is refused here, before any of it is sent,
//! because request smuggling depends on it (RFC 9112 §11.2). Gate writes the rest itself
//! ([`compose`]); only values are passed on as they came.

mod authority;
mod caller;
mod compose;
mod cookies;
mod fields;
mod id;
mod identity;
mod inspect;
mod readings;
mod rewrite;

pub(crate) use authority::Authority;
pub(crate) use caller::prefers_page;
pub(crate) use compose::{Forwarding, add_length, compose};
pub(crate) use cookies::{cookie, cookies_with};
pub(crate) use fields::is_token;
pub(crate) use id::NAME as ID;
pub(super) use identity::is_read_as;
pub(crate) use identity::{is_identity, is_trusted, overrides_method};
pub(crate) use inspect::{Body, Inspected, inspect};
pub(crate) use readings::readings;
pub(crate) use rewrite::Rewrite;

/// A name and a value, as in every protocol.
pub(crate) use roundtrip_wire::http1::Field;

/// A request head, before it is judged.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Request<'a> {
    pub(crate) method: &'a str,
    /// The target, as in the request line or `:path`.
    pub(crate) target: &'a str,
    /// `:authority`, if the protocol has it.
    pub(crate) authority: Option<&'a str>,
    pub(crate) version: Version,
    /// Whether the protocol has signalled that no body follows.
    pub(crate) ended: bool,
    /// The protocol that the client requests for its stream (RFC 8441, extended CONNECT). `method`
    /// is then the method of the equivalent HTTP/1.1 upgrade.
    pub(crate) protocol: Option<&'a str>,
    pub(crate) fields: &'a [Field<'a>],
}

impl<'a> Request<'a> {
    /// The values of all fields with this name, as they came.
    pub(crate) fn values(&self, name: &str) -> impl Iterator<Item = &'a [u8]> {
        let fields = self.fields.iter();
        let fields = fields.filter(move |field| field.name.eq_ignore_ascii_case(name));
        fields.map(|field| field.value)
    }

    /// `GET /` over HTTP/1.1.
    #[cfg(test)]
    pub(crate) fn get(fields: &'a [Field<'a>]) -> Self {
        Self {
            method: "GET",
            target: "/",
            authority: None,
            version: Version::H11,
            ended: false,
            protocol: None,
            fields,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Version {
    H10,
    H11,
    H2,
    H3,
}

impl Version {
    /// Whether the protocol itself marks the end of a body.
    pub(crate) fn frames(self) -> bool {
        self >= Self::H2
    }
}

/// Why a request is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum BadRequestError {
    #[error("not HTTP")]
    NotHttp,
    #[error("a line that ends without CR")]
    BareLineFeed,
    #[error("a malformed request line or field")]
    Malformed,
    #[error("too many fields")]
    TooManyFields,
    #[error("a head that is too large")]
    HeadTooLarge,
    #[error("no Host, or more than one")]
    Host,
    #[error("a Host that differs from the authority")]
    HostDiffers,
    #[error("an IPv4 address that is not written as four decimals")]
    HostNumber,
    #[error("a target that is neither a path nor a URL of this scheme")]
    Target,
    #[error("a path with '.' or '..' in it")]
    DotSegments,
    #[error("a path that backends may assign to different routes")]
    TwoWays,
    #[error("a path with control characters, or that is not UTF-8")]
    Characters,
    #[error("CONNECT and TRACE are not passed on")]
    Method,
    #[error("both Content-Length and Transfer-Encoding")]
    TwoLengths,
    #[error("a Content-Length that is not a number, or is given more than once")]
    Length,
    #[error("a Transfer-Encoding other than chunked")]
    Coding,
    #[error("a field that belongs to one connection, in a protocol without such fields")]
    ConnectionField,
    #[error("an expectation other than 100-continue")]
    Expectation,
    #[error("a body that is too large")]
    BodyTooLarge,
    #[error("a malformed chunk")]
    Chunk,
    #[error("a protocol that is not supported over a stream")]
    Protocol,
    #[error("something that HTTP/2, the backend's protocol, cannot express")]
    NotForHttp2,
}

impl BadRequestError {
    pub(crate) fn status(self) -> u16 {
        match self {
            Self::HeadTooLarge | Self::TooManyFields => 431,
            Self::Method => 405,
            Self::Coding | Self::Protocol => 501,
            Self::Expectation => 417,
            Self::BodyTooLarge => 413,
            _ => 400,
        }
    }
}
