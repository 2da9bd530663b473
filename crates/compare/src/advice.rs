//! The party that a remedy needs and what it has to change, with the setting if the server names
//! its software. It consists of pure functions.

mod server;

use crate::way::Remedy;

/// What each side has to do; `None` if there is nothing to do.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Advice {
    pub server: Option<String>,
    pub client: Option<String>,
}

/// The advice for a server that does it already, so that nothing has to be done there.
pub(crate) const THERE: &str = "nothing: it does this already";

/// The advice for a server that accepts early data but does not act on it at once.
pub(crate) const AT_ONCE: &str = "answer early data at once, not only after the handshake";

/// The advice for a remedy. `server` is the value of the `Server` field; `works` says that the
/// server supports the remedy already.
pub(crate) fn of(remedy: Remedy, server: Option<&str>, works: bool) -> Advice {
    let make = server::Make::from_name(server.unwrap_or_default());
    let setting = server::setting(remedy, make);
    let client = client(remedy);
    Advice {
        server: if works && client.is_some() {
            Some(THERE.into())
        } else {
            setting.map(Into::into)
        },
        client: client.map(Into::into),
    }
}

fn client(remedy: Remedy) -> Option<&'static str> {
    Some(match remedy {
        Remedy::KeepConnection => {
            "one client object (session, pool) for all requests, and bodies read to their end; with curl, several URLs in one command"
        }
        Remedy::AtOnce => {
            "HTTP/2 or 3, one client object, and requests that do not wait for one another (curl -Z)"
        }
        Remedy::Tls13 => "a TLS library that offers it, as all maintained ones do",
        Remedy::Resumption => {
            "keep sessions between connections: one TLS context for all; curl 8.12 and newer: --ssl-sessions FILE"
        }
        Remedy::EarlyData => {
            "keep sessions, and allow early data for requests that may be replayed (GET, HEAD); curl 8.11 and newer: --tls-earlydata"
        }
        Remedy::FastOpen => {
            "net.ipv4.tcp_fastopen with bit 1 (default), TCP_FASTOPEN_CONNECT or curl --tcp-fastopen, and a first flight that fits a segment"
        }
        Remedy::FastOpenClassical => {
            "TCP_FASTOPEN_CONNECT, and key shares without X25519MLKEM768 (curl --tcp-fastopen --curves X25519)"
        }
        Remedy::FastOpenEarly => {
            "TCP_FASTOPEN_CONNECT, early data, and ClientHello and request in one write that fits a segment"
        }
        Remedy::Http1 | Remedy::Http2 => "the protocol in ALPN (curl --http1.1, --http2)",
        Remedy::Http3 => "a client that speaks it (curl --http3)",
        Remedy::Http3Early => "a client that speaks HTTP/3 and keeps its tickets",
        Remedy::Classical => {
            "key shares without X25519MLKEM768 (curl --curves X25519); traffic recorded today could then be decrypted one day"
        }
        Remedy::IPv4 => "-4, or addresses in another order (RFC 6724)",
        Remedy::IPv6 => "-6, or addresses in another order (RFC 6724)",
        Remedy::Baseline | Remedy::Control | Remedy::Tls12 | Remedy::Asked | Remedy::Client => {
            return None;
        }
    })
}
