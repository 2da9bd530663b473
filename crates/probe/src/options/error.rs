//! Errors in options, in words that repeat the user's input.

use roundtrip_model::TargetError;

use crate::ProbeError;

#[derive(Debug, thiserror::Error)]
pub enum OptionsError {
    #[error("'{0}' is not HOST:PORT:ADDRESS[,ADDRESS]…, as in example.com:443:127.0.0.1")]
    Override(String),
    #[error("'{0}' is not HOST1:PORT1:HOST2:PORT2, as in example.com:443:localhost:8443")]
    ConnectTo(String),
    #[error("'{0}' is not a valid proxy: {1}")]
    Proxy(String, TargetError),
    #[error(transparent)]
    Request(#[from] roundtrip_http::HttpError),
    #[error("{0}: {1}; --noproxy '*' connects without it")]
    Environment(&'static str, #[source] Box<OptionsError>),
    #[error(transparent)]
    Strategy(Box<ProbeError>),
    #[error("'{0}' is not a valid proxy: only http:// and https:// proxies are supported")]
    ProxyScheme(String),
}
