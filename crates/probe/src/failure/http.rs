//! Words for answers that are wrong, incomplete or missing.

use std::io;

use roundtrip_http::{HttpError, QuicError};
use roundtrip_model::{Exchange, FailureKind};

use super::{Words, tls};

pub(super) fn exchange(error: &HttpError, exchange: &Exchange) -> Words {
    let (kind, advice) = match error {
        HttpError::Tls(error) => return tls::handshake(error, exchange),
        HttpError::Io(error) => return broken(error),
        HttpError::Quic(error) => return quic(error, exchange),
        HttpError::ClosedUnanswered => (
            FailureKind::Closed,
            "the server's log should say why; does that port speak HTTP?",
        ),
        HttpError::ClosedInHead => (
            FailureKind::Closed,
            "the server died while it answered: see its log",
        ),
        HttpError::NotHttp(_) if exchange.url.starts_with("https:") => (
            FailureKind::NotHttp,
            "that port speaks TLS, but something other than HTTP within",
        ),
        HttpError::NotHttp(_) => (
            FailureKind::NotHttp,
            "that port speaks something else: perhaps https://",
        ),
        HttpError::HeadTooLarge { .. } => (
            FailureKind::HeaderTooLarge,
            "the server sends too many or too large headers",
        ),
        HttpError::Malformed(_) | HttpError::TooManyInterim(_) => {
            (FailureKind::NotHttp, "the server breaks RFC 9112")
        }
        HttpError::BodyCutShort { .. } | HttpError::ChunksCutShort { .. } => (
            FailureKind::BodyCutShort,
            "the server or a middlebox closed the connection too early: see its log",
        ),
        HttpError::BodyReset { .. } => (
            FailureKind::Reset,
            "the server crashed or gave up, or a load balancer timed out: see their logs",
        ),
        HttpError::Encoding { .. } => (
            FailureKind::BodyInvalid,
            "omit --compressed to see the raw body",
        ),
        HttpError::Sink(_) => (FailureKind::Local, "check that the output can be written"),
        HttpError::Proxy { status: 407, .. } => (
            FailureKind::ProxyFailed,
            "give user and password: -x http://user:password@proxy:port",
        ),
        HttpError::Proxy { .. } => (
            FailureKind::ProxyFailed,
            "the proxy does not allow connections to that host and port",
        ),
        HttpError::Unsendable(_) => (
            FailureKind::Local,
            "a header, method or URL holds characters that HTTP forbids",
        ),
        HttpError::H2(error) if error.is_library() => (
            FailureKind::NotHttp,
            "the server does not speak HTTP/2, or violates RFC 9113: try --http1.1",
        ),
        HttpError::H2(error) => return h2(error),
        HttpError::H3Rejected(_) => (
            FailureKind::Closed,
            "the server is closing that connection: retry on a new one",
        ),
        HttpError::H3(_) | HttpError::QuicConnect(_) => (
            FailureKind::QuicFailed,
            "try --http2 to see whether TCP works better",
        ),
    };
    Words::new(kind, error.to_string(), advice)
}

/// Words for a broken connection: a reset, a timeout of the kernel, or a lost route.
pub(super) fn broken(error: &io::Error) -> Words {
    match error.kind() {
        io::ErrorKind::ConnectionReset
        | io::ErrorKind::BrokenPipe
        | io::ErrorKind::ConnectionAborted => Words::new(
            FailureKind::Reset,
            "the peer reset the connection",
            "the server crashed, a middlebox objected, or an idle connection had been closed",
        ),
        io::ErrorKind::ConnectionRefused => Words::new(
            FailureKind::Refused,
            "the connection was refused",
            "nothing listens there: check the port",
        ),
        io::ErrorKind::TimedOut => Words::new(
            FailureKind::ConnectTimeout,
            "the kernel gave up retransmitting",
            "packets are lost on the path: capture them with `tcpdump`",
        ),
        _ => Words::new(
            FailureKind::Reset,
            format!("the connection broke: {error}"),
            "try again; see the server's log",
        ),
    }
}

fn h2(error: &impl std::fmt::Display) -> Words {
    Words::new(
        FailureKind::Reset,
        format!("HTTP/2 failed: {error}"),
        "try --http1.1 to see whether only HTTP/2 is broken",
    )
}

fn quic(error: &QuicError, exchange: &Exchange) -> Words {
    let (kind, advice) = match error {
        QuicError::Certificate(reason) => return tls::certificate(reason, exchange),
        QuicError::Alert(alert) => return tls::alert((*alert).into()),
        QuicError::TimedOut => (
            FailureKind::ConnectTimeout,
            "UDP may be blocked on the path: try without --http3",
        ),
        QuicError::Unreachable(io::ErrorKind::ConnectionRefused) => (
            FailureKind::Refused,
            "nothing listens on that UDP port: check the port, or try without --http3",
        ),
        QuicError::Unreachable(_) => (
            FailureKind::Unreachable,
            "check routes and firewalls for UDP; -4 or -6 tries one family alone",
        ),
        QuicError::Reset => (
            FailureKind::Reset,
            "the server lost the connection's state, or was restarted",
        ),
        QuicError::Other(_) => (
            FailureKind::QuicFailed,
            "try --http2 to see whether TCP works better",
        ),
    };
    Words::new(kind, format!("QUIC failed: {error}"), advice)
}
