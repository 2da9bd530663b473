//! The plan of an answer: decided by `routes`, carried out by `serve`.

use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};

use crate::body::AnswerBody;

#[derive(Debug)]
pub(crate) struct AnswerPlan {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    /// The time to wait before the first byte.
    pub(crate) think: Duration,
    /// Whether to send 103 (Early Hints) first.
    pub(crate) early_hints: bool,
    pub(crate) body: AnswerBody,
    /// The interval between pieces of the body; zero is as fast as possible.
    pub(crate) every: Duration,
    pub(crate) piece: usize,
    /// Whether to omit the length from the head.
    pub(crate) unsized_body: bool,
    /// Stops after this many bytes of the body, as if the server had crashed.
    pub(crate) cut: Option<u64>,
    /// Whether the answer does not depend on the request's body, which is then not read.
    pub(crate) hasty: bool,
}

impl AnswerPlan {
    pub(crate) fn new(status: StatusCode, body: AnswerBody) -> Self {
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
        Self::new(status, AnswerBody::Held(text.into())).with(
            header::CONTENT_TYPE,
            HeaderValue::from_static("text/plain; charset=utf-8"),
        )
    }

    /// An answer with a reason, sent before the request's body is read.
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

    /// Whether the status has no body by definition (RFC 9110, section 6.4.1).
    pub(crate) fn is_bodiless(&self) -> bool {
        self.status == StatusCode::NO_CONTENT || self.status == StatusCode::NOT_MODIFIED
    }
}
