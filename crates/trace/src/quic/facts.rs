//! What the hellos show of a QUIC handshake.

use roundtrip_model::TlsFacts;
use roundtrip_wire::tls::{ClientHello, ServerHello};

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
