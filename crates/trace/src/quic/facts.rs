//! The facts about a QUIC connection: those of the handshake, from its hellos, and those of the
//! requests that could be read.

use roundtrip_model::{Exchange, Failure, FailureKind, PhaseName, TlsFacts};
use roundtrip_wire::tls::{ClientHello, ServerHello};

use crate::application::TracedRequest;
use crate::exchanges::http::http_facts;
use crate::http1::Http1Message;

pub(super) fn tls_facts(client: Option<&ClientHello>, server: Option<&ServerHello>) -> TlsFacts {
    let cipher = server.and_then(|s| s.cipher_suite.name());
    let group = server.and_then(|s| s.group?.name());
    TlsFacts {
        version: "TLSv1.3".into(),
        cipher: cipher.unwrap_or_default().to_owned(),
        group: group.unwrap_or_default().to_owned(),
        alpn: client.and_then(|c| match c.alpn.as_slice() {
            [only] => Some(only.clone()),
            _ => None,
        }),
        resumed: server.is_some_and(|s| s.psk.is_some()),
        ticket_shown: client.is_some_and(ClientHello::offers_psk),
        client_hello_bytes: client.map_or(0, |c| c.length as u64),
        ..TlsFacts::default()
    }
}

/// The details of a request that could be read.
pub(super) fn describe(exchange: &mut Exchange, asked: &TracedRequest, request: &Http1Message) {
    if let Some(host) = request.field("host") {
        let host = String::from_utf8_lossy(host);
        exchange.url = format!("https://{host}{}", request.target);
    }
    let facts = http_facts(asked, request);
    if asked.response.is_some() {
        exchange.http = Some(facts);
    } else {
        exchange.unanswered = Some(facts);
    }
}

pub(super) fn failure(kind: FailureKind, phase: PhaseName, message: String) -> Failure {
    Failure {
        kind,
        phase,
        message,
        advice: "look for a filter of UDP on the way, with a capture at the server's end".into(),
    }
}
