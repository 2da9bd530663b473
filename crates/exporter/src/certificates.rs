//! Metrics about TLS versions and certificates.

use std::fmt::Write;
use std::net::IpAddr;

use aws_lc_rs::digest::{SHA256, digest};
use roundtrip_model::{CertificateFacts, TlsFacts};
use roundtrip_wire::x509::{Certificate, DistinguishedName};

use crate::text::MetricText;

/// Go's zero time in seconds since 1970, which blackbox_exporter reports for a chain that it did
/// not verify.
const NO_TIME: f64 = -62_135_596_800.0;

/// Adds the metrics of a handshake; `verified` is `None` if it failed, and otherwise whether the
/// chain was verified. The certificates of a failed handshake show why.
pub(crate) fn metrics(tls: &TlsFacts, verified: Option<bool>, text: &mut MetricText) {
    let sent = tls
        .chain
        .as_ref()
        .map(|chain| chain.certificates.as_slice())
        .unwrap_or_default();
    // Resumption sends no certificates.
    if let Some(earliest) = sent.iter().map(|certificate| certificate.not_after).min() {
        let earliest = earliest as f64;
        text.gauge(
            "probe_ssl_earliest_cert_expiry",
            "Returns last SSL chain expiry in unixtime",
            earliest,
        );
        if let Some(verified) = verified {
            text.gauge(
                "probe_ssl_last_chain_expiry_timestamp_seconds",
                "Returns last SSL chain expiry in timestamp",
                if verified { earliest } else { NO_TIME },
            );
        }
    }
    if let Some(leaf) = sent.first() {
        chain_info(leaf, sent, text);
    }
    if verified.is_none() {
        return;
    }
    let version = tls.version.replace("TLSv", "TLS ");
    let help = "Returns the TLS version used or NaN when unknown";
    text.gauges(
        "probe_tls_version_info",
        help,
        "version",
        [(version.as_str(), 1.0)],
    );
    let help = "Returns the TLS cipher negotiated during handshake";
    text.gauges(
        "probe_tls_cipher_info",
        help,
        "cipher",
        [(tls.cipher.as_str(), 1.0)],
    );
}

fn chain_info(leaf: &CertificateFacts, sent: &[CertificateFacts], text: &mut MetricText) {
    let fingerprint =
        digest(&SHA256, &leaf.der)
            .as_ref()
            .iter()
            .fold(String::new(), |mut hex, byte| {
                let _ = write!(hex, "{byte:02x}");
                hex
            });
    let name = "probe_ssl_last_chain_info";
    text.head(name, "Contains SSL leaf certificate information", "gauge");
    let is_name = |name: &&String| name.parse::<IpAddr>().is_err();
    let names: Vec<&str> = leaf
        .names
        .iter()
        .filter(is_name)
        .map(String::as_str)
        .collect();
    let parsed = Certificate::parse(&leaf.der).ok();
    let (issuer, subject, serial) = parsed.map_or_else(
        || (leaf.issuer.clone(), leaf.subject.clone(), String::new()),
        |parsed| {
            let names = [&parsed.issuer, &parsed.subject].map(as_go_writes);
            let [issuer, subject] = names;
            (issuer, subject, parsed.serial)
        },
    );
    let labels = [
        ("fingerprint_sha256", fingerprint.as_str()),
        ("issuer", issuer.as_str()),
        ("serialnumber", serial.as_str()),
        ("subject", subject.as_str()),
        ("subjectalternative", &names.join(",")),
    ];
    text.sample(name, &labels, 1.0);
    let days = |certificate: &CertificateFacts| certificate.days_left as f64;
    let least = sent.iter().map(days).fold(f64::INFINITY, f64::min);
    text.gauge(
        "probe_ssl_chain_days_left",
        "Whole days until the first certificate that the server sent expires",
        least,
    );
    let bytes: u64 = sent.iter().map(|certificate| certificate.bytes).sum();
    text.gauge(
        "probe_ssl_chain_bytes",
        "The size of the certificates that the server sent",
        bytes as f64,
    );
    text.gauge(
        "probe_ssl_chain_certificates",
        "The certificates that the server sent",
        sent.len() as f64,
    );
}

/// The order of Go's `pkix.Name`, which blackbox_exporter prints.
const ORDER: [&str; 7] = ["serialNumber", "CN", "ST", "L", "OU", "O", "C"];

/// A name as Go writes it: as RFC 2253 says, with several values of an attribute joined by `+`.
fn as_go_writes(name: &DistinguishedName) -> String {
    let values = |attribute: &str| {
        let of = name
            .attributes
            .iter()
            .filter(|(found, _)| found == attribute);
        let parts = of.map(|(found, value)| {
            let found = if found == "serialNumber" {
                "SERIALNUMBER"
            } else {
                found
            };
            format!("{found}={}", quoted(value))
        });
        parts.collect::<Vec<_>>().join("+")
    };
    let known = ORDER.iter().map(|attribute| values(attribute));
    let others = name.attributes.iter().rev();
    let others = others.filter(|(found, _)| !ORDER.contains(&found.as_str()));
    let others = others.map(|(found, value)| format!("{found}={}", quoted(value)));
    let all: Vec<String> = known
        .chain(others)
        .filter(|part| !part.is_empty())
        .collect();
    all.join(",")
}

/// RFC 2253 §2.4.
fn quoted(value: &str) -> String {
    let mut text = String::new();
    let last = value.chars().count().saturating_sub(1);
    for (at, c) in value.chars().enumerate() {
        let edge = c == ' ' && (at == 0 || at == last);
        if edge || (c == '#' && at == 0) || matches!(c, ',' | '+' | '"' | '\\' | '<' | '>' | ';') {
            text.push('\\');
        }
        text.push(c);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_written_as_go_writes_them() {
        let attributes = [
            ("C", "US"),
            ("O", "Example, Inc."),
            ("OU", "a"),
            ("OU", "b"),
            ("CN", "#1"),
            ("DC", "x"),
        ];
        let attributes = attributes.map(|(name, value)| (name.to_owned(), value.to_owned()));
        let name = DistinguishedName {
            attributes: attributes.into(),
        };
        assert_eq!(
            as_go_writes(&name),
            "CN=\\#1,OU=a+OU=b,O=Example\\, Inc.,C=US,DC=x"
        );
    }
}
