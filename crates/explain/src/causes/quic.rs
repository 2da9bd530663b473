//! QUIC: the cost of its handshake beyond one round trip, and the losses.

use roundtrip_model::{
    Answer, Attempt, AttemptOutcome, Event, Http, Moment, Phase, PhaseName, Security, Setting,
};

use crate::case::ms;
use crate::{Case, Cause, CauseFamily, Cost, Decidable, WaitPart};

/// A server may send three times the bytes that it received before the client has proven its
/// address (RFC 9000 §8.1).
const MIN_FIRST_FLIGHT: u64 = 1200;
const AMPLIFICATION: u64 = 3;
/// The number of bytes of that limit that the server's hello, extensions, Finished and packet
/// headers take.
const BESIDE_CHAIN: u64 = 700;

/// The time in milliseconds within which a client sends its first flight at most twice (RFC 9002
/// §6.2.2: 1 s without a sample).
const SEVERAL_FLIGHTS: f64 = 1_000.0;

pub(super) const FAMILY: CauseFamily = CauseFamily {
    title: "QUIC",
    causes: &[
        Cause {
            id: "udp-blocked",
            decidable: Decidable::ClientItself,
            name: "HTTP/3 was announced, but QUIC got no answer",
            shows: "a QUIC attempt was abandoned, and TCP, which was tried later in parallel, succeeded",
            signature: blocked,
            cost: "QUIC's head start: 300 ms here, 200 to 300 ms in other clients",
            remedy: "open UDP port 443 on the path, or do not announce HTTP/3 to clients that cannot use it",
            settings: &[
                Setting::new(
                    "Linux (server)",
                    "nft add rule inet filter input udp dport 443 accept",
                ),
                Setting::new(
                    "nginx",
                    "listen 443 quic reuseport; or no Alt-Svc: add_header Alt-Svc clear;",
                ),
                Setting::new("DNS", "no h3 in the alpn of the HTTPS record"),
            ],
            source: "RFC 9114 §3.1; RFC 9002 §6.2.2",
        },
        Cause {
            id: "quic-failed",
            decidable: Decidable::ClientItself,
            name: "HTTP/3 was announced, but QUIC failed",
            shows: "a QUIC attempt failed, and TCP was used after it (seen only in synthetic exchanges)",
            signature: failed,
            cost: "the time of the attempt, at most its head start",
            remedy: "repair the QUIC listener, or do not announce HTTP/3",
            settings: &[Setting::new("nginx", "add_header Alt-Svc clear;")],
            source: "RFC 9114 §3.1",
        },
        Cause {
            id: "h3-by-alt-svc-only",
            decidable: Decidable::ClientItself,
            name: "The client learned of HTTP/3 only after it had connected over TCP",
            shows: "the answer's Alt-Svc offers h3, the name has no HTTPS record that does, and the client, which could have used QUIC, used TCP",
            signature: announced_late,
            cost: "1 round trip, once for each client",
            remedy: "announce HTTP/3 in an HTTPS record too, so that the first connection can be QUIC",
            settings: &[Setting::new("DNS", "example.com. HTTPS 1 . alpn=\"h3,h2\"")],
            source: "RFC 9460 §7.1 and §9.1; RFC 9114 §3.1.1",
        },
        Cause {
            id: "quic-retry",
            decidable: Decidable::Packets,
            name: "The server made the client prove its address with a Retry",
            shows: "a Retry packet came, and the handshake began again with its token",
            signature: retry,
            cost: "1 round trip",
            remedy: "send Retry only under attack, and give clients tokens for their next connection (NEW_TOKEN)",
            settings: &[
                Setting::new("nginx", "quic_retry off;"),
                Setting::new("HAProxy", "bind quic4@:443 without quic-force-retry"),
            ],
            source: "RFC 9000 §8.1.2 and §8.1.3",
        },
        Cause {
            id: "quic-version-negotiation",
            decidable: Decidable::Packets,
            name: "The server did not speak the version of QUIC that was offered",
            shows: "a Version Negotiation packet came, and the handshake began again (seen only in synthetic exchanges)",
            signature: version_negotiation,
            cost: "1 round trip",
            remedy: "offer QUIC version 1 first, and serve it",
            settings: &[],
            source: "RFC 9000 §6",
        },
        Cause {
            id: "quic-amplification-stall",
            decidable: Decidable::Packets,
            name: "The server had to stop until the client had proven its address",
            shows: "the certificates exceed three times the client's first flight, and the handshake waited once more",
            signature: stall,
            cost: "1 round trip",
            remedy: "send a shorter chain or compress it, so that it fits three times the client's first datagrams",
            settings: &[
                Setting::new("nginx (1.29.1 or later)", "ssl_certificate_compression on;"),
                Setting::new("OpenSSL (3.2 or later)", "SSL_CTX_compress_certs()"),
            ],
            source: "RFC 9000 §8.1; RFC 8879",
        },
        Cause {
            id: "quic-handshake-loss",
            decidable: Decidable::ClientEnd,
            name: "Packets of the QUIC handshake were lost",
            shows: "the client sent again after a probe timeout longer than the path needs, or packets were declared lost and the handshake waited once more",
            signature: loss,
            cost: "1 s if the whole first flight is lost, three round trips if a later one is lost; 1 round trip if the server could acknowledge a part of it",
            remedy: "look for loss or rate limits on UDP along the path",
            settings: &[],
            source: "RFC 9002 §6.2",
        },
        Cause {
            id: "quic-response-loss",
            decidable: Decidable::Content,
            name: "A packet that the server sent over QUIC was lost and its content had to be sent again",
            shows: "data came before the data that precedes it, which was late by half a round trip or more; or numbers of the server's packets were missing when the wait ended",
            signature: theirs,
            cost: "1 round trip or more if later packets reveal the loss; otherwise the server's probe timeout, about two round trips",
            remedy: "look for loss or rate limits on UDP along the path (mtr --udp)",
            settings: &[],
            source: "RFC 9002 §6.1 and §6.2; RFC 9000 §2.2",
        },
        Cause {
            id: "quic-request-loss",
            decidable: Decidable::Content,
            name: "A packet that the client sent over QUIC was lost and its content had to be sent again",
            shows: "an acknowledgement after the handshake showed that packets of the client were lost, and the answer to them came late",
            signature: ours,
            cost: "a round trip and an eighth if later packets reveal the loss, otherwise the probe timeout",
            remedy: "look for loss or rate limits on UDP along the path (mtr --udp)",
            settings: &[],
            source: "RFC 9002 §6.1 and §6.2",
        },
    ],
};

/// Waits that a lost packet prolongs.
const WAITS: [PhaseName; 4] = [
    PhaseName::Quic,
    PhaseName::FirstByte,
    PhaseName::Request,
    PhaseName::Body,
];

/// The last QUIC attempt before the TCP one, and the cost of all of them.
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
        // A single flight may have been lost by chance.
        let once = case.attempts(true).0.len() == 1 && waited < SEVERAL_FLIGHTS;
        let doubt = if once {
            "; it was tried once, and a lost packet would look the same: ask again"
        } else {
            ""
        };
        let evidence = format!(
            "QUIC to {} got no answer within {waited:.0} ms; TCP was tried {cost:.0} ms after it{doubt}",
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
    // An HTTPS record is only visible if a name server was asked.
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
        "Alt-Svc offers h3, which no HTTPS record of {} had announced: the client had already waited for TCP",
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
    let (waited, trips) = (lost_to_timeouts(case), trips_of_loss(case));
    // On a path longer than the timeout, the client repeats packets that were not lost.
    if trips == 0 && waited <= case.rtt? {
        return None;
    }
    let lost = quic.lost_in_handshake;
    let evidence = format!(
        "packets lost in the handshake: {lost}; nothing came for {waited:.1} ms, until the lost data had been sent again"
    );
    let cost = match case.trips(PhaseName::Quic, trips, evidence.clone()) {
        Some(cost) => cost,
        None => Cost::new(evidence),
    };
    Some(cost.waited(PhaseName::Quic, WaitPart::Loss, waited))
}

/// Handshake timeouts, without those of abandoned addresses.
fn lost_to_timeouts(case: &Case<'_>) -> f64 {
    let (attempts, _) = case.attempts(true);
    let began = || attempts.iter().map(|a| a.began);
    let given_up = match (began().min(), began().max()) {
        (Some(first), Some(last)) => ms(last.since(first)),
        _ => 0.0,
    };
    (case.waited(PhaseName::Quic, WaitPart::Loss) - given_up).max(0.0)
}

/// The round trips caused by losses: a loss reported by an acknowledgement costs a round trip, and
/// so does an answer that acknowledges only a part of the client's flight. If the chain exceeds the
/// limit, the first extra round trip is attributed to the chain.
fn trips_of_loss(case: &Case<'_>) -> u32 {
    let lost = case
        .exchange
        .quic
        .as_ref()
        .map_or(0, |q| q.lost_in_handshake);
    if lost == 0 {
        return 0;
    }
    let stalled = u32::from(chain_over_limit(case).is_some());
    more_trips(case).saturating_sub(stalled).min(1)
}

/// The evidence of packet numbers and data offsets in one phase with losses.
struct QuicLosses {
    phase: PhaseName,
    /// The milliseconds of loss in the phase, for the client's packets and for the server's.
    ours: f64,
    theirs: f64,
    resent: u32,
    missed: u64,
    overtaken: u32,
}

fn seen(case: &Case<'_>) -> Vec<QuicLosses> {
    let over_quic = case.exchange.quic.is_some();
    let phases = case.phases.iter();
    phases
        .filter(|phase| over_quic && WAITS.contains(&phase.name) && phase.waited.loss > 0.0)
        .map(|phase| seen_in(case, phase))
        .collect()
}

fn seen_in(case: &Case<'_>, phase: &Phase) -> QuicLosses {
    let (mut resent, mut missed, mut overtaken, mut unacked) = (0, 0, 0, 0.0);
    // An event at the very beginning of a phase ended the phase before.
    let within = |at: Moment| at > phase.start && at <= phase.end;
    for (_, event) in case.exchange.timeline.iter().filter(|(at, _)| within(*at)) {
        match event {
            Event::Resent {
                segments,
                unacked: wait,
            } => {
                resent += segments;
                unacked += ms(*wait);
            }
            Event::Missed { packets } => missed += packets,
            Event::Overtaken { segments, .. } => overtaken += segments,
            _ => {}
        }
    }
    let lost = phase.waited.loss;
    let late = (unacked - case.rtt.unwrap_or(0.0)).clamp(0.0, lost);
    let server_lost = missed > 0 || overtaken > 0;
    // The handshake's own timeouts belong to another cause.
    let ours = match (phase.name, resent) {
        (PhaseName::Quic, _) | (_, 0) => 0.0,
        _ if server_lost => late,
        _ => lost,
    };
    QuicLosses {
        phase: phase.name,
        ours,
        theirs: if server_lost { lost - ours } else { 0.0 },
        resent,
        missed,
        overtaken,
    }
}

fn theirs(case: &Case<'_>) -> Option<Cost> {
    let seen = seen(case);
    let late: f64 = seen.iter().map(|s| s.theirs).sum();
    if late < 0.5 * case.rtt? {
        return None;
    }
    let guilty = || seen.iter().filter(|s| s.theirs > 0.0);
    let missed: u64 = guilty().map(|s| s.missed).sum();
    let overtaken: u32 = guilty().map(|s| s.overtaken).sum();
    let evidence = format!(
        "server packets missing when later ones came: {missed}; datagrams that overtook earlier ones: {overtaken}; the missing data came {late:.0} ms late"
    );
    Some(claimed(&seen, evidence, |s| s.theirs))
}

fn ours(case: &Case<'_>) -> Option<Cost> {
    let seen = seen(case);
    let late: f64 = seen.iter().map(|s| s.ours).sum();
    let resent: u32 = seen.iter().map(|s| s.resent).sum();
    let evidence = format!(
        "client packets that the server did not get: {resent}; the answer came {late:.0} ms late"
    );
    (late >= 0.5 * case.rtt?).then(|| claimed(&seen, evidence, |s| s.ours))
}

fn claimed(seen: &[QuicLosses], evidence: String, part: impl Fn(&QuicLosses) -> f64) -> Cost {
    let parts = seen.iter().map(|s| (s.phase, part(s)));
    parts.fold(Cost::new(evidence), |cost, (phase, lost)| {
        cost.waited(phase, WaitPart::Loss, lost)
    })
}
