//! The TLS handshake over TCP: round trips beyond the one that TLS 1.3 needs.

use roundtrip_model::{EarlyData, Event, INITIAL_WINDOW, Memory, PhaseName, Setting, TlsFacts};

use crate::case::{ms, times};
use crate::{Case, Cause, CauseFamily, Cost, Decidable};

pub(super) const FAMILY: CauseFamily = CauseFamily {
    title: "TLS",
    causes: &[
        Cause {
            id: "record-over-window",
            decidable: Decidable::Packets,
            name: "The first TLS record of the answer was more than one window could carry",
            shows: "bytes of the answer came a round trip or more before the first of them could be read: a record is decrypted as a whole",
            signature: record_over_window,
            cost: "1 round trip",
            remedy: "let the server begin with small records",
            settings: &[
                Setting::new("nginx", "ssl_buffer_size 4k;"),
                Setting::new("HAProxy", "tune.ssl.maxrecord 1419"),
                Setting::new("OpenSSL", "SSL_CTX_set_max_send_fragment()"),
            ],
            source: "RFC 8446 §5.1; RFC 6928 §2",
        },
        Cause {
            id: "hello-retry-request",
            decidable: Decidable::Packets,
            name: "The server asked for another key share and sent a HelloRetryRequest",
            shows: "the handshake began with two ClientHellos",
            signature: hello_retry,
            cost: "1 round trip",
            remedy: "let server and client have a group in common that the client guesses first",
            settings: &[
                Setting::new("nginx", "ssl_ecdh_curve X25519MLKEM768:X25519:prime256v1;"),
                Setting::new(
                    "HAProxy",
                    "ssl-default-bind-curves X25519MLKEM768:X25519:P-256",
                ),
                Setting::new(
                    "Apache",
                    "SSLOpenSSLConfCmd Groups X25519MLKEM768:X25519:P-256",
                ),
                Setting::new("OpenSSL", "Groups = X25519MLKEM768:X25519:P-256"),
            ],
            source: "RFC 8446 §4.1.4",
        },
        Cause {
            id: "server-flight-over-window",
            decidable: Decidable::Packets,
            name: "The server's certificates were more than its first window could carry",
            shows: "more than ten segments arrived during the handshake, in more flights than expected",
            signature: over_window,
            cost: "1 round trip",
            remedy: "send a shorter chain (leaf and intermediate, ECDSA), compress it, or begin with a larger window",
            settings: &[
                Setting::new("nginx (1.29.1 or later)", "ssl_certificate_compression on;"),
                Setting::new("OpenSSL (3.2 or later)", "SSL_CTX_compress_certs()"),
                Setting::new(
                    "Linux (server)",
                    "ip route change default via GATEWAY initcwnd 20",
                ),
            ],
            source: "RFC 6928 §2; RFC 8879",
        },
        Cause {
            id: "tls12-full-handshake",
            decidable: Decidable::Packets,
            name: "A full handshake of TLS 1.2 took two round trips where TLS 1.3 takes one",
            shows: "the version is TLS 1.2, no session was resumed, and the handshake waited twice",
            signature: tls12_full,
            cost: "1 round trip",
            remedy: "enable TLS 1.3 on both sides; until then let sessions be resumed",
            settings: &[
                Setting::new("nginx", "ssl_protocols TLSv1.2 TLSv1.3;"),
                Setting::new("HAProxy", "ssl-default-bind-options ssl-min-ver TLSv1.2"),
                Setting::new("Apache", "SSLProtocol -all +TLSv1.2 +TLSv1.3"),
                Setting::new("OpenSSL (1.1.1 or later)", "MaxProtocol = TLSv1.3"),
            ],
            source: "RFC 8446 §2; RFC 5246 §7.3",
        },
    ],
};

/// RFC 8446 §5.1: a record holds up to 16 KiB, and none of it can be read before its last byte.
fn record_over_window(case: &Case<'_>) -> Option<Cost> {
    let read = case.exchange.timeline.first(|e| *e == Event::FirstByte)?;
    let began = case.answer_began.filter(|began| *began < read)?;
    let bytes: u64 = case
        .exchange
        .timeline
        .iter()
        .filter_map(|(at, e)| match e {
            Event::Received { bytes } if *at >= began && *at < read => Some(*bytes),
            _ => None,
        })
        .sum();
    let waited = ms(read.since(began));
    let whole = (waited / case.rtt? + 0.5) as u32;
    let trips = case
        .round_trips(PhaseName::FirstByte)
        .saturating_sub(1)
        .min(whole);
    let evidence = format!(
        "{bytes} bytes of the answer had arrived {waited:.1} ms before the first could be read"
    );
    case.trips(PhaseName::FirstByte, trips, evidence)
}

fn hello_retry(case: &Case<'_>) -> Option<Cost> {
    let tls = case.tls()?;
    let evidence = format!(
        "the server asked for {}, for which the first ClientHello had no key share",
        tls.group
    );
    tls.hello_retry
        .then(|| case.trips(case.handshake(), 1, evidence))
        .flatten()
}

/// The expected round trips of a handshake over TCP whose flights fit their windows.
fn arithmetic(tls: &TlsFacts) -> u32 {
    1 + u32::from(is_full_tls12(tls)) + u32::from(tls.hello_retry)
}

fn is_full_tls12(tls: &TlsFacts) -> bool {
    tls.version == "TLSv1.2" && !tls.resumed
}

fn over_window(case: &Case<'_>) -> Option<Cost> {
    let tls = case.tls()?;
    let window = INITIAL_WINDOW * case.exchange.segment();
    // With accepted early data, nothing waited for the flights of the handshake.
    if tls.early_data == EarlyData::Accepted || tls.bytes_received <= window {
        return None;
    }
    let more = case
        .round_trips(PhaseName::Tls)
        .saturating_sub(arithmetic(tls));
    let chain = tls.chain.as_ref().map_or_else(String::new, |c| {
        format!(", {} of them certificates", c.bytes_on_wire)
    });
    let evidence = format!(
        "{} bytes came in the handshake{chain}; a first window carries {window}",
        tls.bytes_received
    );
    case.trips(PhaseName::Tls, more, evidence)
}

fn tls12_full(case: &Case<'_>) -> Option<Cost> {
    let tls = case.tls()?;
    let trips = case.round_trips(PhaseName::Tls);
    // Failed resumption is another cause.
    let told =
        case.exchange.asked.memory != Memory::Cold && (tls.ticket_shown || case.exchange.primed);
    if !is_full_tls12(tls) || trips < 2 || told {
        return None;
    }
    let evidence = format!(
        "{}, not resumed: the handshake waited {}",
        tls.version,
        times(trips)
    );
    case.trips(PhaseName::Tls, 1, evidence)
}
