//! QUIC: what its handshake cost beyond one round trip, and what was lost when it failed.

use roundtrip_model::{Answer, Attempt, AttemptOutcome, Http, PhaseName, Security};

use crate::case::ms;
use crate::{Case, Cause, CauseFamily, Cost, RemedySetting, WaitPart};

/// A server may send three times what it received before the client has proven its address (RFC
/// 9000 §8.1).
const MIN_FIRST_FLIGHT: u64 = 1200;
const AMPLIFICATION: u64 = 3;
/// The server's hello, extensions, Finished and packet headers take about this many bytes of that.
const BESIDE_CHAIN: u64 = 700;

pub(super) const FAMILY: CauseFamily = CauseFamily {
    title: "QUIC",
    causes: &[
        Cause {
            id: "udp-blocked",
            name: "HTTP/3 was announced, but QUIC got no answer",
            shows: "a QUIC attempt was given up, and TCP, tried beside it later, won",
            signature: blocked,
            cost: "the head start that QUIC has: 300 ms here, 200 to 300 ms in other clients",
            remedy: "open UDP port 443 on the path, or do not announce HTTP/3 to clients that cannot use it",
            settings: &[
                RemedySetting::new(
                    "Linux (server)",
                    "nft add rule inet filter input udp dport 443 accept",
                ),
                RemedySetting::new(
                    "nginx",
                    "listen 443 quic reuseport; or no Alt-Svc: add_header Alt-Svc clear;",
                ),
                RemedySetting::new("DNS", "no h3 in the alpn of the HTTPS record"),
            ],
            source: "RFC 9114 §3.1; RFC 9002 §6.2.2",
        },
        Cause {
            id: "quic-failed",
            name: "HTTP/3 was announced, but QUIC failed",
            shows: "a QUIC attempt failed, and TCP was used after it (seen only in synthetic exchanges)",
            signature: failed,
            cost: "what the attempt took, at most its head start",
            remedy: "repair the QUIC listener, or do not announce HTTP/3",
            settings: &[RemedySetting::new("nginx", "add_header Alt-Svc clear;")],
            source: "RFC 9114 §3.1",
        },
        Cause {
            id: "h3-by-alt-svc-only",
            name: "The client learned of HTTP/3 only after it had connected over TCP",
            shows: "the answer's Alt-Svc offers h3, the name has no HTTPS record that does, and the client, which could have used QUIC, used TCP",
            signature: announced_late,
            cost: "1 round trip, once for each client",
            remedy: "announce HTTP/3 in an HTTPS record too, so that the first connection can be QUIC",
            settings: &[RemedySetting::new(
                "DNS",
                "example.com. HTTPS 1 . alpn=\"h3,h2\"",
            )],
            source: "RFC 9460 §7.1 and §9.1; RFC 9114 §3.1.1",
        },
        Cause {
            id: "quic-retry",
            name: "The server made the client prove its address with a Retry",
            shows: "a Retry packet came, and the handshake began anew with its token",
            signature: retry,
            cost: "1 round trip",
            remedy: "send Retry only under attack, and give clients tokens for their next connection (NEW_TOKEN)",
            settings: &[
                RemedySetting::new("nginx", "quic_retry off;"),
                RemedySetting::new("HAProxy", "bind quic4@:443 without quic-force-retry"),
            ],
            source: "RFC 9000 §8.1.2 and §8.1.3",
        },
        Cause {
            id: "quic-version-negotiation",
            name: "The server did not speak the version of QUIC that was offered",
            shows: "a Version Negotiation packet came, and the handshake began anew (seen only in synthetic exchanges)",
            signature: version_negotiation,
            cost: "1 round trip",
            remedy: "offer QUIC version 1 first, and serve it",
            settings: &[],
            source: "RFC 9000 §6",
        },
        Cause {
            id: "quic-amplification-stall",
            name: "The server had to stop until the client had proven its address",
            shows: "the certificates exceed three times the client's first flight, and the handshake waited once more",
            signature: stall,
            cost: "1 round trip",
            remedy: "send a shorter chain or compress it, so that it fits three times the client's first datagrams",
            settings: &[
                RemedySetting::new("nginx (1.29.1 or later)", "ssl_certificate_compression on;"),
                RemedySetting::new("OpenSSL (3.2 or later)", "SSL_CTX_compress_certs()"),
            ],
            source: "RFC 9000 §8.1; RFC 8879",
        },
        Cause {
            id: "quic-handshake-loss",
            name: "Packets of the QUIC handshake were lost",
            shows: "the client sent again after a probe timeout longer than the path needs, or packets were declared lost and the handshake waited once more",
            signature: loss,
            cost: "1 s if the whole first flight is lost, three round trips later on; 1 round trip if the server could acknowledge a part of it",
            remedy: "look for loss or rate limits on UDP along the path",
            settings: &[],
            source: "RFC 9002 §6.2",
        },
    ],
};

/// The last QUIC attempt before the TCP one, and what all of them cost.
fn given_up<'a>(case: &Case<'a>) -> Option<(&'a Attempt, f64)> {
    case.tcp()?;
    let (quic, _) = case.attempts(true);
    let (first, last) = (quic.first()?, quic.last()?);
    let (tcp, won) = case.tcp_attempts();
    won?;
    let then = tcp.iter().map(|a| a.began).min()?;
    Some((last, ms(then.since(first.began))))
}

fn blocked(case: &Case<'_>) -> Option<Cost> {
    let (quic, cost) = given_up(case)?;
    (quic.outcome == AttemptOutcome::Abandoned).then(|| {
        let waited = ms(quic.ended.since(quic.began));
        let evidence = format!(
            "QUIC to {} got no answer within {waited:.0} ms; TCP was tried {cost:.0} ms after it",
            quic.peer
        );
        Cost::new(evidence).waited(PhaseName::Tcp, WaitPart::Loss, cost)
    })
}

fn failed(case: &Case<'_>) -> Option<Cost> {
    let (quic, cost) = given_up(case)?;
    let AttemptOutcome::Failed(why) = &quic.outcome else {
        return None;
    };
    let evidence = format!("QUIC to {} failed: {why}", quic.peer);
    let took = ms(quic.ended.since(quic.began)).min(cost);
    Some(
        Cost::new(evidence)
            .waited(PhaseName::Tcp, WaitPart::Network, took)
            .waited(PhaseName::Tcp, WaitPart::Client, cost - took),
    )
}

fn announced_late(case: &Case<'_>) -> Option<Cost> {
    case.tcp().and_then(|_| case.tls())?;
    let (name, http) = (case.exchange.name.as_ref()?, case.exchange.http.as_ref()?);
    // An HTTPS record could only be seen if a name server was asked.
    let asked = matches!(name.answer, Answer::Server(_) | Answer::Doh(_));
    let known = name
        .https_record
        .as_ref()
        .is_some_and(|r| r.alpn.iter().any(|p| p == "h3"));
    let offered = http
        .alt_svc
        .as_ref()
        .is_some_and(|v| v.starts_with("h3=") || v.contains(" h3=") || v.contains(",h3="));
    let asked_for = case.exchange.asked;
    let free = asked_for.http == Http::Auto
        && asked_for.security == Security::Auto
        && !asked_for.fast_open
        && case.exchange.attempts.iter().all(|a| !a.over_quic);
    let evidence = format!(
        "Alt-Svc offers h3, which no HTTPS record of {} had announced: TCP had been waited for",
        name.host
    );
    (asked && !known && offered && free)
        .then(|| case.trips(PhaseName::Tcp, 1, evidence))
        .flatten()
}

fn retry(case: &Case<'_>) -> Option<Cost> {
    let quic = case.exchange.quic.as_ref()?;
    let evidence = "a Retry packet answered the first Initial";
    (quic.retry && case.tls().is_some())
        .then(|| case.trips(PhaseName::Quic, 1, evidence))
        .flatten()
}

fn version_negotiation(case: &Case<'_>) -> Option<Cost> {
    let quic = case.exchange.quic.as_ref()?;
    let evidence = "a Version Negotiation packet answered the first Initial";
    (quic.version_negotiation && case.tls().is_some())
        .then(|| case.trips(PhaseName::Quic, 1, evidence))
        .flatten()
}

fn stall(case: &Case<'_>) -> Option<Cost> {
    let chain = chain_over_limit(case)?;
    let more = more_trips(case).saturating_sub(trips_of_loss(case));
    let evidence =
        format!("{chain} bytes of certificates are more than three times what the client had sent");
    case.trips(PhaseName::Quic, more, evidence)
}

/// How many bytes of its certificate chain the server could not send at once.
fn chain_over_limit(case: &Case<'_>) -> Option<u64> {
    let quic = case.exchange.quic.as_ref()?;
    let chain = case.tls()?.chain.as_ref()?.bytes_on_wire;
    // A Retry has already proven the address.
    let over = !quic.retry && chain + BESIDE_CHAIN > AMPLIFICATION * MIN_FIRST_FLIGHT;
    over.then_some(chain)
}

/// Round trips beyond those that the handshake is expected to take.
fn more_trips(case: &Case<'_>) -> u32 {
    case.round_trips(PhaseName::Quic)
        .saturating_sub(1 + case.exchange.extra_trips)
}

fn loss(case: &Case<'_>) -> Option<Cost> {
    let quic = case.exchange.quic.as_ref()?;
    case.tls()?;
    let (waited, trips) = (in_vain(case), trips_of_loss(case));
    // On a path longer than the timeout, the client repeats what was not lost.
    if trips == 0 && waited <= case.rtt? {
        return None;
    }
    let lost = quic.lost_in_handshake;
    let evidence = format!(
        "packets lost in the handshake: {lost}; the client sent again after {waited:.1} ms in which nothing came"
    );
    let cost = match case.trips(PhaseName::Quic, trips, evidence.clone()) {
        Some(cost) => cost,
        None => Cost::new(evidence),
    };
    Some(cost.waited(PhaseName::Quic, WaitPart::Loss, waited))
}

/// Handshake timeouts, without those of addresses that were given up.
fn in_vain(case: &Case<'_>) -> f64 {
    let (attempts, _) = case.attempts(true);
    let began = || attempts.iter().map(|a| a.began);
    let given_up = match (began().min(), began().max()) {
        (Some(first), Some(last)) => ms(last.since(first)),
        _ => 0.0,
    };
    (case.waited(PhaseName::Quic, WaitPart::Loss) - given_up).max(0.0)
}

/// The round trips caused by losses: a loss reported by an acknowledgement costs a round trip, a
/// timeout costs no more than its wait. If the chain exceeds the limit, the first extra round trip
/// is its.
fn trips_of_loss(case: &Case<'_>) -> u32 {
    let lost = case
        .exchange
        .quic
        .as_ref()
        .map_or(0, |q| q.lost_in_handshake);
    if lost == 0 || case.rtt.is_some_and(|r| in_vain(case) > r) {
        return 0;
    }
    let stalled = u32::from(chain_over_limit(case).is_some());
    more_trips(case).saturating_sub(stalled).min(1)
}
