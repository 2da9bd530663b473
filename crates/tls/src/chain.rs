//! The certificate chain as facts: its size on the wire, and the content of each certificate.

use std::time::{SystemTime, UNIX_EPOCH};

use roundtrip_model::{CertificateFacts, ChainFacts};
use roundtrip_wire::x509::Certificate;
use rustls::pki_types::CertificateDer;

use crate::verifier::Observation;

pub(crate) fn facts(chain: &[CertificateDer<'_>], tls13: bool, seen: &Observation) -> ChainFacts {
    ChainFacts {
        certificates: chain.iter().map(certificate).collect(),
        bytes_on_wire: seen.compressed.map_or_else(
            || plain_size(chain, tls13),
            |(_, n)| n + COMPRESSED_OVERHEAD,
        ),
        compressed: seen.compressed.map(|(algorithm, _)| algorithm),
        stapled_ocsp: seen.stapled_ocsp,
    }
}

/// Handshake header, algorithm, uncompressed length, vector length. RFC 8879 §4.
const COMPRESSED_OVERHEAD: u64 = 4 + 2 + 3 + 3;

/// The Certificate message: handshake header, (context,) list length, and each entry with its
/// length (and extensions). RFC 8446 §4.4.2, RFC 5246 §7.4.2.
fn plain_size(chain: &[CertificateDer<'_>], tls13: bool) -> u64 {
    let (fixed, each) = if tls13 {
        (4 + 1 + 3, 3 + 2)
    } else {
        (4 + 3, 3)
    };
    fixed + chain.iter().map(|c| c.len() as u64 + each).sum::<u64>()
}

fn certificate(der: &CertificateDer<'_>) -> CertificateFacts {
    let mut facts = CertificateFacts {
        bytes: der.len() as u64,
        der: der.to_vec(),
        ..CertificateFacts::default()
    };
    // A certificate that cannot be parsed is reported by its size; the verifier has already decided
    // whether it is trusted.
    let Ok(read) = Certificate::parse(der) else {
        return facts;
    };
    facts.subject = read.subject.to_string();
    facts.issuer = read.issuer.to_string();
    facts.names = read.names;
    facts.key = read.key;
    facts.not_after = read.not_after;
    facts.days_left = days(read.not_after - unix_now());
    facts
}

/// Rounds up, so that a certificate of 90 days has 90 days when it is made and a moment later.
fn days(seconds: i64) -> i64 {
    const DAY: i64 = 86_400;
    if seconds > 0 {
        (seconds + DAY - 1) / DAY
    } else {
        seconds.div_euclid(DAY)
    }
}

fn unix_now() -> i64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |d| d.as_secs().cast_signed())
}

#[cfg(test)]
mod tests {
    use super::days;

    #[test]
    fn days_left_do_not_change_within_the_first_second() {
        const DAY: i64 = 86_400;
        assert_eq!(days(90 * DAY), days(90 * DAY - 1));
        assert_eq!([days(1), days(DAY), days(DAY + 1)], [1, 1, 2]);
        assert_eq!([days(-1), days(-DAY), days(-DAY - 1)], [-1, -1, -2]);
    }
}
