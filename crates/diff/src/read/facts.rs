//! Those facts of a result that can be compared, as text, and which of them matter for latency.

use crate::ReadError;
use crate::node::Node;
use crate::probe::{ComparedFact, Weight};

/// Every verifier cuts longer chains.
const MAX_CERTIFICATES: usize = 100;

/// Label and key of facts that may make a difference in time.
const TELLING: [(&str, &str); 33] = [
    ("strategy", "strategy"),
    ("connection kept from before", "reused"),
    ("primed", "primed"),
    ("TLS version", "tls.version"),
    ("cipher", "tls.cipher"),
    ("group", "tls.group"),
    ("ALPN", "tls.alpn"),
    ("resumed", "tls.resumed"),
    ("early data", "tls.early_data_outcome"),
    ("HelloRetryRequest", "tls.hello_retry"),
    ("client certificate asked", "tls.client_certificate_asked"),
    ("verification", "tls.verify_result"),
    ("certificate bytes on the wire", "tls.chain.bytes_on_wire"),
    ("certificates compressed", "tls.chain.compressed"),
    ("peer", "tcp.peer"),
    ("fast open asked", "tcp.fast_open.asked"),
    (
        "fast open saved round trips",
        "tcp.fast_open.saved_round_trips",
    ),
    ("congestion control", "tcp.congestion_control"),
    ("MSS", "tcp.mss"),
    ("peer's MSS", "tcp.announced_mss"),
    ("ECN", "tcp.ecn"),
    ("SYN sent again", "tcp.syn_retransmits"),
    ("segments sent again", "tcp.retransmits"),
    ("QUIC peer", "quic.peer"),
    ("QUIC Retry", "quic.retry"),
    ("QUIC version negotiation", "quic.version_negotiation"),
    ("name from", "name.source"),
    ("name server", "name.server"),
    ("addresses", "name.addresses"),
    ("HTTP version", "http.version"),
    ("status", "http.status"),
    ("body bytes", "http.downloaded_bytes"),
    ("proxy status", "http.proxy_status"),
];

/// Facts that seldom matter, or that differ each time.
const FINE: [(&str, &str); 24] = [
    ("asked for", "asked"),
    ("expected round trips", "expected_round_trips"),
    ("ClientHello bytes", "tls.client_hello_bytes"),
    ("handshake bytes sent", "tls.bytes_sent"),
    ("handshake bytes received", "tls.bytes_received"),
    ("handshake flights", "tls.flights"),
    ("tickets", "tls.tickets"),
    ("OCSP stapled", "tls.chain.stapled_ocsp"),
    ("congestion window", "tcp.congestion_window"),
    ("segment size received, estimated", "tcp.peer_mss"),
    ("fast open cookie", "tcp.fast_open.cookie"),
    ("fast open bytes acknowledged", "tcp.fast_open.data_acked"),
    ("QUIC MTU", "quic.mtu"),
    ("QUIC packets lost", "quic.lost_packets"),
    ("queries sent again", "name.resent"),
    ("answer truncated", "name.truncated"),
    ("aliases", "name.aliases"),
    ("method", "http.method"),
    ("reason", "http.reason"),
    ("request bytes", "http.request_bytes"),
    ("header bytes", "http.header_bytes"),
    ("decoded bytes", "http.decoded_bytes"),
    ("Alt-Svc", "http.alt_svc"),
    ("keeps the connection", "http.keep_alive"),
];

pub(super) fn of(node: &Node<'_>) -> Result<Vec<ComparedFact>, ReadError> {
    let telling = TELLING.iter().map(|fact| (fact, Weight::Telling));
    let fine = FINE.iter().map(|fact| (fact, Weight::Fine));
    let mut facts = Vec::new();
    for ((label, path), weight) in telling.chain(fine) {
        if let Some(value) = at(node, path)? {
            facts.push(ComparedFact {
                label,
                value,
                weight,
            });
        }
    }
    certificates(node, &mut facts)?;
    Ok(facts)
}

fn at(node: &Node<'_>, path: &str) -> Result<Option<String>, ReadError> {
    match path.split_once('.') {
        None => node.get(path)?.words(),
        Some((first, rest)) => at(&node.get(first)?, rest),
    }
}

/// The certificate chain as a reader knows it: the names of the leaf, and the keys of all
/// certificates.
fn certificates(node: &Node<'_>, facts: &mut Vec<ComparedFact>) -> Result<(), ReadError> {
    let tls = node.get("tls")?;
    let chain = tls.get("chain")?;
    let list = chain.get("certificates")?;
    let list = list.list(MAX_CERTIFICATES)?;
    let mut add = |label, weight, value: Option<String>| {
        facts.extend(value.map(|value| ComparedFact {
            label,
            value,
            weight,
        }));
    };
    if let Some(leaf) = list.first() {
        add(
            "certificate",
            Weight::Telling,
            leaf.get("subject")?.words()?,
        );
        add("issuer", Weight::Telling, leaf.get("issuer")?.words()?);
        add("names", Weight::Fine, leaf.get("names")?.words()?);
    }
    let mut keys = Vec::new();
    for certificate in &list {
        keys.extend(certificate.get("key")?.words()?);
    }
    let keys = (!keys.is_empty()).then(|| keys.join(", "));
    add("certificate keys", Weight::Telling, keys);
    Ok(())
}
