//! The reason why a request failed, and the target and strategy that were tried.

use std::sync::Arc;
use std::time::Duration;

use roundtrip_http::{HttpError, OpenError};
use roundtrip_model::show_duration;
use roundtrip_net::ResolveError;

use super::resend::ended_early;

/// The failure of one request. Requests that failed together share the cause.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{url}: {}{kind}", again(*.resent))]
pub struct PoolError {
    pub url: String,
    /// The number of times that the request was repeated before it failed.
    pub resent: u32,
    #[source]
    pub kind: Arc<PoolErrorKind>,
}

#[derive(Debug, thiserror::Error)]
pub enum PoolErrorKind {
    #[error(transparent)]
    Name(#[from] ResolveError),
    #[error("{host} has no {family} address")]
    NoAddressOfFamily { host: String, family: &'static str },
    #[error("'{strategy}' cannot be used here: {why}")]
    Strategy { strategy: String, why: &'static str },
    #[error(transparent)]
    Open(#[from] OpenError),
    #[error("no connection within {}", show_duration(*.0))]
    ConnectTimeout(Duration),
    #[error(transparent)]
    Http(HttpError),
    #[error("no answer within {}", show_duration(*.0))]
    FirstByteTimeout(Duration),
    #[error("the answer stopped for {} after {got} bytes of its body", show_duration(*.after))]
    Stalled { after: Duration, got: u64 },
    #[error("the answer was not complete within {}; {got} bytes of its body had arrived", show_duration(*.after))]
    TotalTimeout { after: Duration, got: u64 },
    #[error("the answer's body is larger than {limit} bytes")]
    TooLarge { limit: u64 },
    /// The connection ended twice in a row.
    #[error(
        "the connection ended in the middle of the answer, after {got} bytes of its body: {source}"
    )]
    CutShort { got: u64, source: HttpError },
    #[error("the server refused the request {tries} times: {source}")]
    TurnedAway { tries: u32, source: HttpError },
    /// The pool was closed while the request waited.
    #[error("the pool was closed")]
    Closed,
}

impl PoolError {
    pub fn kind(&self) -> &PoolErrorKind {
        &self.kind
    }
}

impl PoolErrorKind {
    /// Whether the connection ended before any part of the answer had arrived.
    pub fn is_silent_end(&self) -> bool {
        matches!(self, Self::Http(error) if ended_early(error))
    }

    /// Whether the server could not be reached, so that it can answer the same request later.
    pub fn may_pass(&self) -> bool {
        match self {
            _ if self.is_certificate_refusal() => false,
            Self::Name(_) | Self::Open(_) | Self::ConnectTimeout(_) | Self::TurnedAway { .. } => {
                true
            }
            Self::Http(error) => ended_early(error),
            _ => false,
        }
    }

    /// Whether the server's certificate is for another name or could not be verified.
    pub fn is_certificate_refusal(&self) -> bool {
        match self {
            Self::Open(error) => error.is_certificate_refusal(),
            Self::Http(error)
            | Self::CutShort { source: error, .. }
            | Self::TurnedAway { source: error, .. } => error.is_certificate_refusal(),
            _ => false,
        }
    }
}

fn again(resent: u32) -> String {
    match resent {
        0 => String::new(),
        1 => "sent twice: ".into(),
        n => format!("sent {} times: ", n + 1),
    }
}
