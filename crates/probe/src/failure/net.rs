//! Messages for names that do not resolve and peers that do not answer.

use std::io;

use roundtrip_model::{Event, Exchange, FailureKind, PhaseName};
use roundtrip_net::{NetError, ResolveError};

use super::Words;
use crate::ProbeError;

pub(super) fn name(error: &ResolveError) -> Words {
    let (kind, advice) = match error {
        ResolveError::NoSuchName { .. } => (
            FailureKind::NoSuchName,
            "check the spelling; --resolve HOST:PORT:ADDRESS bypasses name servers",
        ),
        ResolveError::Silent { .. } => (
            FailureKind::ResolverSilent,
            "check /etc/resolv.conf and the path to that server, or try --doh-url",
        ),
        _ => (
            FailureKind::ResolverFailed,
            "ask another server, or give the address with --resolve HOST:PORT:ADDRESS",
        ),
    };
    Words::new(kind, error.to_string(), advice)
}

pub(super) fn connect(error: &NetError) -> Words {
    let (kind, advice) = match error {
        NetError::AllFailed(failures) => of_peers(failures.iter().map(|(_, e)| e.kind())),
        NetError::Unix { source, .. } if source.kind() == io::ErrorKind::NotFound => (
            FailureKind::Refused,
            "no such socket: check the path, and that its server is running",
        ),
        NetError::Unix { .. } => (
            FailureKind::Refused,
            "check that a server listens on that socket and that you have permission to connect",
        ),
        NetError::Bind { .. } => (
            FailureKind::Local,
            "see `ip address` for interfaces and addresses of this machine",
        ),
        NetError::NoAddress => (
            FailureKind::NoSuchName,
            "give an address with --resolve HOST:PORT:ADDRESS",
        ),
        NetError::Socket(_) => (
            FailureKind::Local,
            "this machine could not open a socket: check limits (ulimit -n) and sandboxes",
        ),
    };
    let message = match error {
        NetError::Unix { .. } => error.to_string(),
        _ => format!("cannot connect: {error}"),
    };
    Words::new(kind, message, advice)
}

/// Chooses the most informative of several failures: a peer reset an accepted connection, a peer
/// refused, or no peer could be reached.
fn of_peers(kinds: impl Iterator<Item = io::ErrorKind>) -> (FailureKind, &'static str) {
    let kinds: Vec<io::ErrorKind> = kinds.collect();
    if kinds.contains(&io::ErrorKind::ConnectionReset) {
        (
            FailureKind::Reset,
            "the server accepted and closed at once: see its log, or that of a proxy in front of it",
        )
    } else if kinds.contains(&io::ErrorKind::ConnectionRefused) {
        (
            FailureKind::Refused,
            "nothing listens there: check the port, and that the server is running",
        )
    } else {
        (
            FailureKind::Unreachable,
            "check routes and firewalls; -4 or -6 tries one family alone",
        )
    }
}

/// The message for a timeout in this phase, with the usual cause.
pub(super) fn timeout(error: &ProbeError, exchange: &Exchange, phase: PhaseName) -> Words {
    let peers: Vec<String> = exchange
        .attempts
        .iter()
        .map(|a| a.peer.to_string())
        .collect();
    let (kind, what, advice) = match phase {
        PhaseName::Tcp => (
            FailureKind::ConnectTimeout,
            format!("{} did not answer the SYN", peers.join(", ")),
            "a firewall drops packets, or the host is down; --connect-timeout waits longer",
        ),
        PhaseName::Name => (
            FailureKind::ResolverSilent,
            "the name servers did not answer".to_owned(),
            "check /etc/resolv.conf, or bypass it with --resolve or --doh-url",
        ),
        PhaseName::Quic if has_answered(exchange) => (
            FailureKind::Timeout,
            "the QUIC handshake stalled".to_owned(),
            "the server answered, but not to the end: see its log, look for large datagrams that are dropped on the path, or try without --http3",
        ),
        PhaseName::Quic => (
            FailureKind::ConnectTimeout,
            "nothing answered the QUIC Initial".to_owned(),
            "UDP may be blocked on the path: try without --http3",
        ),
        PhaseName::Tls => (
            FailureKind::Timeout,
            "the TLS handshake stalled".to_owned(),
            "does that port speak TLS? A large ClientHello may be dropped on the path: try --no-pq",
        ),
        PhaseName::Body if exchange.http.is_none() => (
            FailureKind::Timeout,
            "the response's head was not complete".to_owned(),
            "the server got stuck while it answered; --max-time waits longer",
        ),
        PhaseName::Body => (
            FailureKind::Timeout,
            "the body was not complete".to_owned(),
            "raise --max-time for large bodies; see the waterfall for when bytes stopped",
        ),
        _ => (
            FailureKind::Timeout,
            "the server did not answer the request".to_owned(),
            "the server is slow or stuck; --max-time waits longer",
        ),
    };
    Words::new(kind, format!("{what}: {error}"), advice)
}

fn has_answered(exchange: &Exchange) -> bool {
    let received = |event: &Event| matches!(event, Event::Received { .. });
    exchange.timeline.first(received).is_some()
}

#[cfg(test)]
mod tests {
    use roundtrip_model::Moment;

    use super::*;

    #[test]
    fn a_quic_server_that_said_something_is_not_blocked() {
        let error = ProbeError::Timeout(std::time::Duration::from_secs(3));
        let mut exchange = Exchange::default();
        let told = |exchange: &Exchange| timeout(&error, exchange, PhaseName::Quic);
        assert!(told(&exchange).message.contains("nothing answered"));
        let received = Event::Received { bytes: 52 };
        exchange.timeline.push(Moment::from_millis(50.0), received);
        let stalled = told(&exchange);
        assert!(stalled.message.contains("stalled"), "{}", stalled.message);
        assert_eq!(stalled.kind, FailureKind::Timeout);
    }
}
