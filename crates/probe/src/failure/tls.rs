//! Words for handshakes: alerts, certificates, peers that speak another protocol.

use roundtrip_model::{Event, Exchange, FailureKind};
use roundtrip_tls::{TlsError, is_an_authoritys};
use rustls::{AlertDescription, CertificateError, Error, InvalidMessage, PeerIncompatible};

use super::{Words, http};

/// Some servers and middleboxes read only the first segment of a ClientHello.
const SMALLER_HELLO: &str = "; the ClientHello needed more than one segment, which some servers and middleboxes cannot read: try --no-pq";

pub(super) fn handshake(error: &TlsError, exchange: &Exchange) -> Words {
    let mut words = words(error, exchange);
    let ended = matches!(words.kind, FailureKind::Reset | FailureKind::Closed);
    if ended && hello_bytes(exchange) > exchange.segment() {
        words.advice += SMALLER_HELLO;
    }
    words
}

/// The number of bytes that were sent since the handshake began, if nothing arrived.
fn hello_bytes(exchange: &Exchange) -> u64 {
    let Some(began) = exchange.timeline.first(|e| *e == Event::HandshakeStarted) else {
        return 0;
    };
    let mut sent = 0;
    for (_, event) in exchange.timeline.iter().filter(|(at, _)| *at >= began) {
        match event {
            Event::Sent { bytes } => sent += bytes,
            Event::Received { .. } => return 0,
            _ => {}
        }
    }
    sent
}

fn words(error: &TlsError, exchange: &Exchange) -> Words {
    match error {
        TlsError::Protocol(error) => protocol(error, exchange),
        TlsError::Io(error) => http::broken(error),
        TlsError::Closed => Words::new(
            FailureKind::Closed,
            "the server closed the connection during the TLS handshake",
            "does that port speak TLS, and the version that was offered? Try --tls1.2 or --tls1.3",
        ),
        TlsError::ServerName(_) => Words::new(
            FailureKind::TlsFailed,
            error.to_string(),
            "check the host in the URL",
        ),
        TlsError::NoRoots(_) => Words::new(
            FailureKind::Local,
            error.to_string(),
            "install ca-certificates, or name a file with --cacert",
        ),
        TlsError::Unreadable { .. } | TlsError::Pem { .. } | TlsError::Identity(_) => Words::new(
            FailureKind::Local,
            error.to_string(),
            "check the file that was named with --cacert, --cert or --key",
        ),
    }
}

fn protocol(error: &Error, exchange: &Exchange) -> Words {
    match error {
        Error::AlertReceived(alert) => self::alert(*alert),
        Error::InvalidCertificate(reason) => certificate(reason, exchange),
        Error::InvalidMessage(InvalidMessage::InvalidContentType) => Words::new(
            FailureKind::TlsFailed,
            "the server's answer is not TLS",
            "that port speaks something else: perhaps plain http://",
        ),
        Error::PeerIncompatible(why) => incompatible(why),
        Error::NoApplicationProtocol => Words::new(
            FailureKind::AlpnRefused,
            "the server chose a protocol that was not offered",
            "try --http1.1 or no protocol flag at all",
        ),
        _ => Words::new(
            FailureKind::TlsFailed,
            format!("the TLS handshake failed: {error}"),
            "compare with `openssl s_client -connect HOST:PORT`",
        ),
    }
}

pub(super) fn alert(alert: AlertDescription) -> Words {
    let (kind, advice) = match alert {
        AlertDescription::ProtocolVersion => (
            FailureKind::TlsAlert,
            "the server speaks none of the versions offered: drop --tls1.2 or --tls1.3",
        ),
        AlertDescription::NoApplicationProtocol => (
            FailureKind::AlpnRefused,
            "the server speaks none of the protocols offered: try --http1.1",
        ),
        AlertDescription::UnrecognisedName => (
            FailureKind::TlsAlert,
            "the server does not know this host name: check the URL, or --connect-to",
        ),
        AlertDescription::CertificateRequired | AlertDescription::BadCertificate => (
            FailureKind::TlsAlert,
            "the server requires a client certificate: --cert and --key",
        ),
        AlertDescription::HandshakeFailure => (
            FailureKind::TlsAlert,
            "no cipher suite, group or signature in common; older servers need RSA key exchange",
        ),
        _ => (FailureKind::TlsAlert, "the server's log should say why"),
    };
    Words::new(
        kind,
        format!(
            "the server ended the handshake with the alert {} ({})",
            spelled(alert),
            u8::from(alert)
        ),
        advice,
    )
}

/// The alert's name as the RFC spells it, from `HandshakeFailure`. RFC 8446 §6.
fn spelled(alert: AlertDescription) -> String {
    let mut out = String::new();
    for c in format!("{alert:?}").chars() {
        if c.is_uppercase() && !out.is_empty() {
            out.push('_');
        }
        out.extend(c.to_lowercase());
    }
    out
}

pub(super) fn certificate(reason: &CertificateError, exchange: &Exchange) -> Words {
    let (kind, message, advice) = match reason {
        CertificateError::Expired | CertificateError::ExpiredContext { .. } => (
            FailureKind::CertificateExpired,
            "the server's certificate has expired".to_owned(),
            "renew it; -k continues without verification",
        ),
        CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => (
            FailureKind::CertificateNotYetValid,
            "the server's certificate is not valid yet".to_owned(),
            "check the clocks on both sides",
        ),
        CertificateError::NotValidForName => (
            FailureKind::CertificateWrongName,
            format!("the certificate is not for {}", exchange.url),
            WRONG_NAME,
        ),
        CertificateError::NotValidForNameContext {
            expected,
            presented,
        } => (
            FailureKind::CertificateWrongName,
            format!(
                "the certificate is for {}, not for {}",
                named(presented),
                expected.to_str()
            ),
            WRONG_NAME,
        ),
        CertificateError::UnknownIssuer if self_signed(exchange) => (
            FailureKind::CertificateUnknownIssuer,
            "the certificate is self-signed, and not trusted here".to_owned(),
            "trust it with --cacert FILE; -k continues without verification",
        ),
        CertificateError::UnknownIssuer => (
            FailureKind::CertificateUnknownIssuer,
            "the certificate's issuer is not trusted here".to_owned(),
            "serve the whole chain, or trust its authority with --cacert FILE; -k continues without verification",
        ),
        authority if is_an_authoritys(authority) && self_signed(exchange) => (
            FailureKind::CertificateUnknownIssuer,
            "the certificate is a self-signed authority certificate, and not trusted here".to_owned(),
            "trust it with --cacert FILE; -k continues without verification",
        ),
        authority if is_an_authoritys(authority) => (
            FailureKind::CertificateInvalid,
            "the server presents an authority's certificate (CA:TRUE), which may sign others but not identify a server".to_owned(),
            "make one for the server, with basicConstraints=CA:FALSE; -k continues without verification",
        ),
        CertificateError::Other(why) => (
            FailureKind::CertificateInvalid,
            format!("the server's certificate is not acceptable: {}", in_words(&why.0.to_string())),
            "-k continues without verification",
        ),
        other => (
            FailureKind::CertificateInvalid,
            format!("the server's certificate is not acceptable: {other}"),
            "-k continues without verification",
        ),
    };
    Words::new(kind, message, advice)
}

/// Turns the library's name of an error into words: `UnsupportedCriticalExtension` becomes
/// `unsupported critical extension`.
fn in_words(name: &str) -> String {
    if !name.chars().all(char::is_alphanumeric) {
        return name.to_owned();
    }
    let mut words = String::new();
    for c in name.chars() {
        if c.is_uppercase() && !words.is_empty() {
            words.push(' ');
        }
        words.extend(c.to_lowercase());
    }
    words
}

/// Whether the certificate is self-signed, by OpenSSL's number for that, which `--write-out`
/// prints.
fn self_signed(exchange: &Exchange) -> bool {
    exchange.tls.as_ref().is_some_and(|t| t.verify_result == 18)
}

const WRONG_NAME: &str = "check the host name; --connect-to HOST1:PORT1:HOST2:PORT2 connects to another machine for this name";

fn named(names: &[String]) -> String {
    match names {
        [] => "no name at all".into(),
        names => names
            .iter()
            .take(4)
            .map(|name| bare(name))
            .collect::<Vec<_>>()
            .join(", "),
    }
}

/// Strips the type that rustls adds to a name: `DnsName("a.example")`, `IpAddress(::1)`.
fn bare(name: &str) -> &str {
    let inside = name
        .split_once('(')
        .and_then(|(_, rest)| rest.strip_suffix(')'));
    inside.unwrap_or(name).trim_matches('"')
}

fn incompatible(why: &PeerIncompatible) -> Words {
    let advice = match why {
        PeerIncompatible::ServerDoesNotSupportTls12Or13
        | PeerIncompatible::ServerTlsVersionIsDisabledByOurConfig => {
            "the server speaks another version of TLS: drop --tls1.2 or --tls1.3"
        }
        _ => "client and server have too little in common",
    };
    Words::new(
        FailureKind::TlsFailed,
        format!("the TLS handshake failed: {why:?}"),
        advice,
    )
}

#[cfg(test)]
mod tests {
    use roundtrip_model::Moment;

    use super::*;

    #[test]
    fn a_connection_that_ends_after_a_large_hello_may_end_because_of_it() {
        let advice = |events: &[Event]| {
            let mut exchange = Exchange::default();
            for event in events {
                exchange.timeline.push(Moment::ZERO, event.clone());
            }
            handshake(&TlsError::Closed, &exchange).advice
        };
        let hello = |bytes| [Event::HandshakeStarted, Event::Sent { bytes }];
        assert!(advice(&hello(1_700)).contains("--no-pq"));
        assert!(!advice(&hello(300)).contains("--no-pq"));
        let [began, sent] = hello(1_700);
        let answered = [began, sent, Event::Received { bytes: 7 }];
        assert!(!advice(&answered).contains("--no-pq"));
    }
}
