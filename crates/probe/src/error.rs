//! Every way in which an exchange can fail, with its source. `failure` turns these into messages.

use std::time::Duration;

use roundtrip_http::HttpError;
use roundtrip_model::{Strategy, Target, show_duration};
use roundtrip_net::{NetError, ResolveError};
use roundtrip_tls::TlsError;

/// The reason why an exchange failed.
#[derive(Debug, thiserror::Error)]
pub enum ProbeError {
    #[error(transparent)]
    Name(#[from] ResolveError),
    #[error("the name server {server} could not be queried: {why}")]
    Doh { server: String, why: String },
    #[error("{host} has no {family} address")]
    NoAddressOfFamily { host: String, family: &'static str },
    #[error(transparent)]
    Net(#[from] NetError),
    #[error("the proxy {proxy}: {error}")]
    Proxy { proxy: String, error: Box<Self> },
    #[error(transparent)]
    Tls(#[from] TlsError),
    #[error(transparent)]
    Http(#[from] HttpError),
    #[error("no answer within {}", show_duration(*.0))]
    Timeout(Duration),
    #[error("the server chose {got}, not {wanted}")]
    Alpn { wanted: &'static str, got: String },
    #[error("'{strategy}' cannot be used here: {why}")]
    Strategy {
        strategy: Strategy,
        why: &'static str,
    },
    #[error("over {limit} redirects; the last led to {last}")]
    TooManyRedirects { limit: u32, last: String },
    #[error("the redirect's location is not a valid URL: {0}")]
    BadRedirect(roundtrip_model::TargetError),
    #[error("interrupted")]
    Interrupted,
    #[error("the echo was {got:?}, not {wanted:?}")]
    Echo { wanted: String, got: String },
}

impl ProbeError {
    /// Marks a failed lookup or connection attempt as one for the proxy, not for the target.
    pub(crate) fn of_proxy(self, proxy: Option<&Target>) -> Self {
        match (proxy, self) {
            (
                Some(proxy),
                error @ (Self::Name(_) | Self::NoAddressOfFamily { .. } | Self::Net(_)),
            ) => Self::Proxy {
                proxy: format!("{}:{}", proxy.host, proxy.port),
                error: Box::new(error),
            },
            (_, error) => error,
        }
    }
}
