//! Addresses and the TCP handshake: addresses that do not answer, and lost SYNs.

use roundtrip_model::{Attempt, AttemptOutcome, PhaseName, Setting};

use crate::case::ms;
use crate::{Case, Cause, CauseFamily, Claim, Cost, Decidable, WaitPart};

/// The longest delay of a SYN-ACK, in milliseconds, that a busy host alone can cause.
const MAX_HOST_DELAY: f64 = 20.0;
/// The first timeout in milliseconds, with some tolerance: the kernel repeats a SYN after a
/// second, and QUIC its first flight.
const FIRST_TIMEOUT: f64 = 950.0;

pub(super) const FAMILY: CauseFamily = CauseFamily {
    title: "Addresses and TCP",
    causes: &[
        Cause {
            id: "address-refused",
            decidable: Decidable::ClientEnd,
            name: "An address that refuses connections was tried first",
            shows: "every attempt before the successful one failed at once, usually because it was refused",
            signature: refused_address,
            cost: "1 round trip per address; Windows repeats a refused SYN for a second",
            remedy: "listen on every address of the name, or remove the address from the DNS",
            settings: &[
                Setting::new("nginx", "listen [::]:443 ssl; listen 443 ssl;"),
                Setting::new("HAProxy", "bind :::443 v4v6"),
                Setting::new("Apache", "Listen 443 (both families) or Listen [::]:443"),
            ],
            source: "RFC 8305 §5; RFC 9293 §3.5.2",
        },
        Cause {
            id: "dead-address",
            decidable: Decidable::ClientEnd,
            name: "An address that did not answer in time was tried first",
            shows: "an attempt over TCP or QUIC failed or was abandoned, and an address that was tried later succeeded (usually broken IPv6). An attempt that was abandoned before it could repeat anything may also have lost its only packet",
            signature: dead_address,
            cost: "250 ms per address with Happy Eyeballs (RFC 8305), a minute or more without",
            remedy: "repair the address or remove it from the DNS; a client without Happy Eyeballs waits for minutes here",
            settings: &[
                Setting::new(
                    "DNS",
                    "withdraw the AAAA (or A) record of the address that does not answer",
                ),
                Setting::new("Linux (/etc/gai.conf)", "precedence ::ffff:0:0/96 100"),
            ],
            source: "RFC 8305 §5",
        },
        Cause {
            id: "syn-lost",
            decidable: Decidable::ClientEnd,
            name: "The SYN, or its answer, was lost",
            shows: "the kernel sent the SYN again, and the connection was established one retransmission timeout late",
            signature: syn_lost,
            cost: "1 s; if it is lost again, 1 s more each time, then twice as long each time",
            remedy: "look for loss on the path (mtr), a full accept queue at the server (nstat TcpExtListenOverflows) or a firewall that drops SYNs",
            settings: &[
                Setting::new("Linux (server)", "net.core.somaxconn=4096"),
                Setting::new("nginx", "listen 443 ssl backlog=4096;"),
                Setting::new("HAProxy", "bind :443 backlog 4096"),
                Setting::new("Apache", "ListenBacklog 4096"),
            ],
            source: "RFC 6298 §2 and §5; tcp(7)",
        },
        Cause {
            id: "slow-first-packet",
            decidable: Decidable::ClientEnd,
            name: "The first packet took much longer than those after it",
            shows: "the SYN-ACK came late, although the SYN was not sent again, and later answers on the connection were quick",
            signature: slow_first,
            cost: "1 ms to 2 s: neighbour discovery, a firewall's new entry, a radio that wakes up",
            remedy: "keep the path awake: use an open connection regularly, switch Wi-Fi power saving off",
            settings: &[
                Setting::new("Linux (Wi-Fi)", "iw dev wlan0 set power_save off"),
                Setting::new(
                    "Linux (neighbours)",
                    "net.ipv4.neigh.default.base_reachable_time_ms=300000",
                ),
            ],
            source: "RFC 4861 §7.3; RFC 826",
        },
    ],
};

fn refused_address(case: &Case<'_>) -> Option<Cost> {
    tried_before(case, true)
}

fn dead_address(case: &Case<'_>) -> Option<Cost> {
    tried_before(case, false)
}

/// The cost of the addresses that were tried before the successful one. `refused` says whether each
/// of them must have refused, or at least one must not.
fn tried_before(case: &Case<'_>, refused: bool) -> Option<Cost> {
    let over_quic = case.exchange.quic.is_some();
    if !over_quic {
        case.tcp()?;
    }
    let (attempts, won) = case.attempts(over_quic);
    let won = won?;
    let before: Vec<&&Attempt> = attempts
        .iter()
        .filter(|a| a.outcome != AttemptOutcome::Won && a.began < won.began)
        .collect();
    let first = before.iter().map(|a| a.began).min()?;
    let all_failed = before
        .iter()
        .all(|a| matches!(a.outcome, AttemptOutcome::Failed(_)));
    if all_failed != refused {
        return None;
    }
    let told: Vec<String> = before.iter().map(|a| fate(a)).collect();
    let phase = if over_quic {
        PhaseName::Quic
    } else {
        PhaseName::Tcp
    };
    let wait = ms(won.began.since(first));
    let cost = Cost::new(format!(
        "{}; {}, tried {wait:.0} ms later, answered",
        told.join(", "),
        won.peer,
    ));
    let trips = case.round_trips(phase).saturating_sub(1);
    if !refused {
        return Some(cost.waited(phase, WaitPart::Loss, wait));
    }
    // A refusal is an answer, which took a round trip.
    let claim = Claim {
        phase,
        part: WaitPart::Network,
        ms: wait,
        round_trips: trips,
    };
    let here = if trips == 0 { wait } else { 0.0 };
    Some(cost.claim(claim).waited(phase, WaitPart::Client, here))
}

/// Whether the attempt was abandoned before any packet was repeated: a single lost packet would
/// explain that as well (RFC 6298 §2.1, RFC 9002 §6.2.2).
fn was_asked_once(attempt: &Attempt) -> bool {
    attempt.outcome == AttemptOutcome::Abandoned
        && ms(attempt.ended.since(attempt.began)) < FIRST_TIMEOUT
}

fn fate(attempt: &Attempt) -> String {
    match &attempt.outcome {
        AttemptOutcome::Failed(why) => format!("{} failed ({why})", attempt.peer),
        AttemptOutcome::Abandoned | AttemptOutcome::Won => {
            let waited = ms(attempt.ended.since(attempt.began));
            let doubt = if was_asked_once(attempt) {
                ", tried once (a single lost packet looks the same)"
            } else {
                ""
            };
            format!(
                "{} had not answered after {waited:.0} ms{doubt}",
                attempt.peer
            )
        }
    }
}

fn syn_lost(case: &Case<'_>) -> Option<Cost> {
    let tcp = case.tcp()?;
    // A lost SYN with data is a different cause.
    if tcp.syn_retransmits == 0 || tcp.fast_open.cookie {
        return None;
    }
    Some(
        Cost::new(match tcp.syn_retransmits {
            1 => "the SYN was sent twice".to_owned(),
            n => format!("the SYN was sent {} times", n + 1),
        })
        .waited(PhaseName::Tcp, WaitPart::Loss, syn_wait(case)?),
    )
}

/// Whether only the SYN-ACK was late.
pub(super) fn was_late_by_itself(case: &Case<'_>) -> bool {
    slow_first(case).is_some()
}

fn slow_first(case: &Case<'_>) -> Option<Cost> {
    let (tcp, r) = (case.tcp()?, case.rtt?);
    // Attempts that were refused before took round trips, too.
    let refused = f64::from(case.round_trips(PhaseName::Tcp).saturating_sub(1)) * r;
    let waited = case.waited(PhaseName::Tcp, WaitPart::Network) - refused;
    let took = tcp
        .handshake_rtt
        .map_or(waited, |took| ms(took).min(waited));
    let late = took - r;
    // Another answer on the connection must show how long the path takes when it is awake.
    let compared = case.waited(PhaseName::FirstByte, WaitPart::Network) > 0.0;
    // On a path that varies, the SYN-ACK may be late by chance.
    let least = MAX_HOST_DELAY.max(0.5 * r).max(case.spread.most_before());
    // If no acknowledgement arrived in time, a late answer may have had the same delay as the
    // SYN-ACK.
    let varied = case.least_spread();
    let unknown = case.spread.ms() >= varied && super::path::late_waits(case, varied) > 0;
    // The answers of a server were as late, and only acknowledgements were not.
    let unknown = unknown || super::http::may_be_farther(case);
    (!unknown && compared && tcp.syn_retransmits == 0 && late >= least).then(|| {
        let evidence = format!(
            "the SYN-ACK took {took:.1} ms, later answers no more than {r:.1} ms for the path"
        );
        Cost::new(evidence).waited(PhaseName::Tcp, WaitPart::Network, late)
    })
}

/// The time that the connect lost on the address that finally succeeded, in milliseconds.
pub(super) fn syn_wait(case: &Case<'_>) -> Option<f64> {
    let (_, won) = case.tcp_attempts();
    let won = won?.began;
    let first = case.exchange.attempts.iter().map(|a| a.began).min()?;
    Some(case.waited(PhaseName::Tcp, WaitPart::Loss) - ms(won.since(first)))
}
