//! Which connections to a backend must not serve other clients: those on which it could take a body
//! for the next request, or all that follows for one user's.

use super::guard::Pass;
use super::request::{Body, Request};

/// Whether a request's connection to an HTTP/1.1 backend may serve other requests afterwards.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ConnectionReuse {
    Always,
    /// The request has a body. A backend that refuses a request may not read the body, and then
    /// takes it for the next request.
    IfSuccessful,
    /// Some backends never read the body of such a request, or take the whole connection for this
    /// user's.
    Never,
}

impl ConnectionReuse {
    pub(super) fn new(request: &Request<'_>, body: Body, session: Option<&Pass>) -> Self {
        let has_body = body != Body::None;
        let is_bound = session.is_none() && authenticates_connection(request);
        if is_bound || (has_body && is_without_content(request)) {
            Self::Never
        } else if has_body {
            Self::IfSuccessful
        } else {
            Self::Always
        }
    }

    pub(crate) fn allows(self, status: u16) -> bool {
        match self {
            Self::Always => true,
            Self::IfSuccessful => (200..300).contains(&status),
            Self::Never => false,
        }
    }
}

/// Whether the content of such a request has no meaning. RFC 9110 §9.3.1, §9.3.2, §9.3.5, §9.3.7.
fn is_without_content(request: &Request<'_>) -> bool {
    matches!(request.method, "GET" | "HEAD" | "DELETE" | "OPTIONS")
}

/// Whether the client uses a scheme that authenticates a connection, and not a request: a backend
/// takes all that follows on the connection for this user's. RFC 4559 §6.
fn authenticates_connection(request: &Request<'_>) -> bool {
    request.values("authorization").any(|value| {
        let mut parts = value.trim_ascii_start().split(u8::is_ascii_whitespace);
        let scheme = parts.next().unwrap_or_default();
        scheme.eq_ignore_ascii_case(b"ntlm") || scheme.eq_ignore_ascii_case(b"negotiate")
    })
}
