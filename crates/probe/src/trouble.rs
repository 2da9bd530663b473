//! Every way an exchange can fail, with its source kept. `failure` puts it into words.

use std::time::Duration;

use roundtrip_http::HttpError;
use roundtrip_model::Strategy;
use roundtrip_net::{NetError, ResolveError};
use roundtrip_tls::TlsError;

#[derive(Debug, thiserror::Error)]
pub enum Trouble {
    #[error(transparent)]
    Name(#[from] ResolveError),
    #[error("the name server {server} could not be asked: {why}")]
    Doh { server: String, why: String },
    #[error("{host} has no {family} address")]
    NoAddressOfFamily { host: String, family: &'static str },
    #[error(transparent)]
    Net(#[from] NetError),
    #[error(transparent)]
    Tls(#[from] TlsError),
    #[error(transparent)]
    Http(#[from] HttpError),
    #[error("no answer within {:.1} s", .0.as_secs_f64())]
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
    #[error("the redirect's location is no URL that can be followed: {0}")]
    BadRedirect(roundtrip_model::TargetError),
    #[error("the echo was {got:?}, not {wanted:?}")]
    Echo { wanted: String, got: String },
}
