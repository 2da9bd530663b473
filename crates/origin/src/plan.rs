//! What an answer will be: decided by `routes`, carried out by `serve`.

use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};

use crate::body::Body;

#[derive(Debug)]
pub(crate) struct Plan {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    /// Waited before the first byte.
    pub(crate) think: Duration,
    /// 103 first.
    pub(crate) early_hints: bool,
    pub(crate) body: Body,
    /// A piece of the body each so often; zero is as fast as it goes.
    pub(crate) every: Duration,
    pub(crate) piece: usize,
    /// Leave the length out of the head.
    pub(crate) unsized_body: bool,
    /// Stop after this many bytes of the body, as if the server had died.
    pub(crate) cut: Option<u64>,
    /// Decided without the request's body, which is not read then.
    pub(crate) hasty: bool,
}

impl Plan {
    pub(crate) fn new(status: StatusCode, body: Body) -> Self {
        Self {
            status,
            headers: HeaderMap::new(),
            think: Duration::ZERO,
            early_hints: false,
            body,
            every: Duration::ZERO,
            piece: crate::body::PATTERN_SIZE,
            unsized_body: false,
            cut: None,
            hasty: false,
        }
    }

    pub(crate) fn text(status: StatusCode, text: impl Into<Bytes>) -> Self {
        Self::new(status, Body::Held(text.into())).with(
            header::CONTENT_TYPE,
            HeaderValue::from_static("text/plain; charset=utf-8"),
        )
    }

    /// An answer that says why, and is given before the body is read.
    pub(crate) fn refusal(status: StatusCode, why: &'static str) -> Self {
        Self {
            hasty: true,
            ..Self::text(status, Bytes::from_static(why.as_bytes()))
        }
    }

    pub(crate) fn with(mut self, name: HeaderName, value: HeaderValue) -> Self {
        self.headers.append(name, value);
        self
    }

    /// Statuses that have no body by definition (RFC 9110, section 6.4.1).
    pub(crate) fn is_bodiless(&self) -> bool {
        self.status == StatusCode::NO_CONTENT || self.status == StatusCode::NOT_MODIFIED
    }
}
