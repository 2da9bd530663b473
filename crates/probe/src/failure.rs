//! Errors in words: the phase, the attempt, what happened, how long it took, and what to do next.

mod http;
mod net;
mod tls;

use roundtrip_http::HttpError;
use roundtrip_model::{Exchange, Failure, FailureKind, PhaseName};

use crate::ProbeError;

/// A description of the failure, and advice.
struct Words {
    kind: FailureKind,
    message: String,
    advice: String,
}

impl Words {
    fn new(kind: FailureKind, message: impl Into<String>, advice: impl Into<String>) -> Self {
        Self {
            kind,
            message: message.into(),
            advice: advice.into(),
        }
    }
}

impl ProbeError {
    /// Puts the error into words, with the exchange's facts about the phase it was in.
    pub(crate) fn explain(&self, exchange: &Exchange) -> Failure {
        let phase = exchange
            .phases()
            .last()
            .map_or(PhaseName::Setup, |p| p.name);
        let cause = match self {
            Self::Proxy { error, .. } => error,
            error => error,
        };
        let phase = match cause {
            Self::Name(_) | Self::Doh { .. } | Self::NoAddressOfFamily { .. } => PhaseName::Name,
            Self::Strategy { .. } => PhaseName::Setup,
            Self::Net(_) => PhaseName::Tcp,
            // The rest of a body may end at the same moment at which its first byte arrived.
            Self::Http(
                HttpError::BodyCutShort { .. }
                | HttpError::ChunksCutShort { .. }
                | HttpError::BodyReset { .. }
                | HttpError::Encoding { .. },
            ) => PhaseName::Body,
            _ => phase,
        };
        let Words {
            kind,
            message,
            advice,
        } = self.words(exchange, phase);
        let after = exchange.total().as_secs_f64() * 1e3;
        Failure {
            kind,
            phase,
            message: format!("{message} (after {after:.1} ms)"),
            advice,
        }
    }

    fn words(&self, exchange: &Exchange, phase: PhaseName) -> Words {
        match self {
            Self::Name(error) => net::name(error),
            Self::NoAddressOfFamily { .. } => Words::new(
                FailureKind::NoSuchName,
                self.to_string(),
                "omit -4 or -6, or give an address with --resolve",
            ),
            Self::Doh { .. } => Words::new(
                FailureKind::ResolverFailed,
                self.to_string(),
                "check --doh-url, or omit it",
            ),
            Self::Net(error) => net::connect(error),
            Self::Proxy { proxy, error } => {
                let words = error.words(exchange, phase);
                Words {
                    message: format!("the proxy {proxy}: {}", words.message),
                    advice: format!("{}; --noproxy connects without the proxy", words.advice),
                    ..words
                }
            }
            Self::Tls(error) => tls::handshake(error, exchange),
            Self::Http(error) => http::exchange(error, exchange),
            Self::Timeout(_) => net::timeout(self, exchange, phase),
            Self::Alpn { wanted, .. } => Words::new(
                FailureKind::AlpnRefused,
                format!("{self}, when offered {wanted}"),
                "request a protocol that it supports: --http1.1, or no protocol flag at all",
            ),
            Self::Strategy { .. } => Words::new(
                FailureKind::StrategyUnavailable,
                self.to_string(),
                "see `roundtrip probe --help` for the valid combinations",
            ),
            Self::TooManyRedirects { .. } => Words::new(
                FailureKind::TooManyRedirects,
                self.to_string(),
                "the server redirects in a loop, or needs a higher --max-redirs",
            ),
            Self::BadRedirect(_) => Words::new(
                FailureKind::BadRedirect,
                self.to_string(),
                "the Location header must be corrected at the server",
            ),
            Self::Interrupted => Words::new(
                FailureKind::Interrupted,
                "interrupted while waiting",
                "the phase shows what it waited for; -m sets a time limit",
            ),
            Self::Echo { .. } => Words::new(
                FailureKind::EchoMismatch,
                self.to_string(),
                "is this an echo server? `roundtrip origin echo` is one",
            ),
        }
    }
}
