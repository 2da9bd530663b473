//! Facts about the handshake and the certificates.

use roundtrip_model::{ChainFacts, EarlyData, Exchange, TlsFacts};

use super::List;
use crate::numbers::{self, count};
use crate::terminal::clean;

pub(super) fn add(list: &mut List, exchange: &Exchange) {
    let Some(tls) = &exchange.tls else { return };
    list.join(
        "TLS",
        ", ",
        [
            clean(&tls.version),
            clean(&tls.cipher),
            clean(&tls.group),
            tls.alpn
                .as_ref()
                .map_or_else(|| "no ALPN".into(), |a| format!("ALPN {}", clean(a))),
        ],
    );
    list.join("handshake", ", ", handshake(tls));
    if let Some(chain) = &tls.chain {
        certificates(list, chain);
    }
}

fn handshake(tls: &TlsFacts) -> Vec<String> {
    let mut parts = vec![if tls.resumed { "resumed" } else { "full" }.to_owned()];
    match tls.early_data {
        EarlyData::NotOffered => {}
        EarlyData::Accepted => parts.push("early data accepted".into()),
        EarlyData::Refused => parts.push("early data refused and sent again".into()),
    }
    if tls.hello_retry {
        parts.push("HelloRetryRequest (1 round trip more)".into());
    }
    if tls.flights > 0 {
        parts.push(count(tls.flights.into(), "flight", "flights"));
    }
    if tls.client_hello_bytes > 0 {
        parts.push(format!(
            "ClientHello {}",
            numbers::bytes(tls.client_hello_bytes)
        ));
    }
    if tls.bytes_received > 0 {
        parts.push(format!("{} received", numbers::bytes(tls.bytes_received)));
    }
    if tls.tickets > 0 {
        parts.push(count(tls.tickets.into(), "ticket", "tickets"));
    }
    if tls.client_certificate_asked {
        parts.push("asked for a client certificate".into());
    }
    if tls.verify_result != 0 {
        parts.push(format!("not verified: {}", verdict(tls.verify_result)));
    }
    parts
}

/// The meaning of OpenSSL's verification codes.
fn verdict(code: u32) -> String {
    match code {
        7 => "its signature is wrong".into(),
        9 => "the certificate is not valid yet".into(),
        10 => "the certificate has expired".into(),
        18 => "the certificate is self-signed".into(),
        20 => "its issuer is not trusted here".into(),
        23 => "the certificate was revoked".into(),
        26 => "the certificate is not for servers".into(),
        62 => "the certificate is for another name".into(),
        code => format!("the certificate is not acceptable (OpenSSL's code {code})"),
    }
}

fn certificates(list: &mut List, chain: &ChainFacts) {
    let names = chain.certificates.iter().take(8).map(|c| clean(&c.subject));
    let issuer = chain.certificates.last().map(|c| clean(&c.issuer));
    list.join("chain", " → ", names.chain(issuer));
    let left = chain.certificates.iter().map(|c| c.days_left).min();
    list.join(
        "certificates",
        ", ",
        [
            left.map(|days| match days {
                ..0 => format!("expired {} ago", count(days.unsigned_abs(), "day", "days")),
                _ => format!("{} left", count(days.unsigned_abs(), "day", "days")),
            })
            .unwrap_or_default(),
            count(
                chain.certificates.len() as u64,
                "certificate",
                "certificates",
            ),
            match chain.compressed {
                Some(with) => format!(
                    "{} on the wire ({with})",
                    numbers::bytes(chain.bytes_on_wire)
                ),
                None => format!("{} on the wire", numbers::bytes(chain.bytes_on_wire)),
            },
            chain
                .certificates
                .first()
                .map(|c| clean(&c.key))
                .unwrap_or_default(),
            if chain.stapled_ocsp {
                "OCSP stapled".into()
            } else {
                String::new()
            },
        ],
    );
}
