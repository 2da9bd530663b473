//! The last pass over a series: it uses all exchanges to judge causes whose only evidence is
//! lateness. A path whose other round trips are as late, about as often, explains such a cause; so
//! does a path that loses segments, if the delay is rare. A delay that recurs each time is not a
//! loss.

use roundtrip_model::{
    Exchange, Finding, PhaseName, Unexplained, Waited, Withdrawn, is_like_timeouts,
};

use crate::Case;
use crate::account::UNDECIDED;
use crate::case::{A_LOSS_LOOKS_THE_SAME, ms};
use crate::causes::may_be_farther;

/// The causes whose only evidence is a late arrival, and the phase in which it was late.
const OF_LATENESS: [(&str, PhaseName); 9] = [
    ("late-answer", PhaseName::FirstByte),
    ("server-think-time", PhaseName::FirstByte),
    ("cache-miss", PhaseName::FirstByte),
    ("body-stalls", PhaseName::Body),
    ("late-body", PhaseName::Body),
    (BY_SETTING, PhaseName::Body),
    ("slow-tls-server", PhaseName::Tls),
    ("slow-first-packet", PhaseName::Tcp),
    (SENT_AGAIN, PhaseName::FirstByte),
];
/// A segment that was only late is sent again, too, in any phase.
const SENT_AGAIN: &str = "segment-lost";
/// The causes that look like the loss of one of the server's segments, and the phase in which the
/// segment would be late.
const LIKE_A_LOSS: [(&str, PhaseName); 7] = [
    ("late-answer", PhaseName::FirstByte),
    ("server-think-time", PhaseName::FirstByte),
    ("cache-miss", PhaseName::FirstByte),
    ("late-body", PhaseName::Body),
    ("slow-tls-server", PhaseName::Tls),
    ("nagle-delayed-ack", PhaseName::Body),
    ("body-stalls", PhaseName::Body),
];
/// The causes that attribute nothing to the server.
const NOT_OF_A_PEER: [&str; 2] = [SENT_AGAIN, "slow-first-packet"];
/// A cause that a server's settings determine, so that it occurs each time.
const BY_SETTING: &str = "nagle-delayed-ack";
const NOT_BY_SETTING: &str =
    "it is rare in this series, and a server that holds small segments back does so each time";
const OTHERS_LOST: &str = "it is rare in this series, whose other exchanges had losses, and the loss of a segment of the server would look the same";
const LIKE_A_TIMEOUT: &str = "it is rare in this series, and each time as late as after a timeout of the server, whose segment may have been lost";
/// Findings that prove a loss.
const LOSSES: [&str; 5] = [
    "syn-lost",
    SENT_AGAIN,
    "response-segment-lost",
    "quic-handshake-loss",
    "quic-response-loss",
];
/// The shortest delay of a retransmission after the original, as a share of R.
const RETRANSMISSION: f64 = 0.9;
/// A cause is rare if it occurs in at most one of this many exchanges.
const RARE: usize = 3;
/// The same bound for a cause whose delays all look like timeouts, although nothing shows a loss.
const RARE_LOSS: usize = 5;
/// A delay that occurs in this many requests, without exception, is not an accident of the path.
const MIN_EACH_TIME: usize = 3;
/// A round trip is as late as a finding if it is late by at least this share of it.
const AS_LATE: f64 = 0.75;
/// A cause that occurs more often than late round trips, by these factors, is not attributed to the
/// path: as counts, and as shares of all.
const AS_MANY: usize = 2;
const AS_OFTEN: f64 = 3.0;

/// Withdraws from the exchanges of one URL the findings that the spread of the whole series
/// explains, and counts their time as unexplained.
pub fn review(exchanges: &mut [Exchange]) {
    for (id, phase) in OF_LATENESS {
        let has = |e: &Exchange| has(e, id);
        let of = exchanges.iter().filter(|e| e.ok()).count();
        let with = exchanges.iter().filter(|e| e.ok() && has(e)).count();
        if with == of && of >= MIN_EACH_TIME {
            for finding in findings_of(exchanges, id) {
                finding.evidence = finding.evidence.replace(A_LOSS_LOOKS_THE_SAME, "");
            }
            decide(exchanges, id);
        } else if with > 0 {
            let others = round_trips(exchanges.iter().filter(|e| !has(e)));
            let share = with as f64 / of as f64;
            let enough = (share / AS_OFTEN * others.len() as f64).ceil() as usize;
            let enough = enough.max(with.div_ceil(AS_MANY));
            for exchange in exchanges.iter_mut() {
                withdraw(exchange, (id, phase), enough, &others);
            }
        }
    }
    withdraw_rare(exchanges);
}

/// Attributes a delay to the server if it occurs in the same phase of each exchange: repetition is
/// a witness, unless the server may be farther away than the host that acknowledges.
fn decide(exchanges: &mut [Exchange], id: &str) {
    let mut cases = exchanges.iter().map(Case::new);
    if !UNDECIDED.contains(&id) || cases.any(|case| may_be_farther(&case)) {
        return;
    }
    for name in PhaseName::ALL {
        let is_late = |e: &Exchange| e.undecided.iter().any(|(phase, _)| *phase == name);
        if exchanges.iter().filter(|e| e.ok()).all(is_late) {
            for exchange in exchanges.iter_mut() {
                exchange.undecided.retain(|(phase, _)| *phase != name);
            }
        }
    }
}

fn has(exchange: &Exchange, id: &str) -> bool {
    exchange.findings.iter().any(|f| f.id == id)
}

/// Withdraws causes that are rare in the series and look like losses: others of its exchanges had
/// losses, or each delay is that of timeouts.
fn withdraw_rare(exchanges: &mut [Exchange]) {
    let of = exchanges.iter().filter(|e| e.ok()).count();
    let lossy: Vec<bool> = exchanges
        .iter()
        .map(|e| LOSSES.iter().any(|id| has(e, id)))
        .collect();
    for (id, phase) in LIKE_A_LOSS {
        let with = exchanges.iter().filter(|e| e.ok() && has(e, id)).count();
        if RARE * with > of {
            continue;
        }
        let like_timeouts = exchanges.iter().filter(|e| e.ok()).all(|exchange| {
            let r = exchange.rtt.map_or(f64::INFINITY, ms);
            let mut findings = exchange.findings.iter().filter(|f| f.id == id);
            findings.all(|f| is_like_timeouts(f.ms, r))
        });
        let like_timeouts = like_timeouts && (with == 1 || RARE_LOSS * with <= of);
        for (n, exchange) in exchanges.iter_mut().enumerate() {
            let accounted = exchange.reported().unwrap_or(0.0);
            let r = exchange.rtt.map_or(f64::INFINITY, ms);
            let others_lost = lossy.iter().enumerate().any(|(m, lost)| m != n && *lost);
            let (why, always) = if id == BY_SETTING {
                (NOT_BY_SETTING, true)
            } else if others_lost {
                (OTHERS_LOST, true)
            } else {
                (LIKE_A_TIMEOUT, false)
            };
            let rare = |f: &Finding| {
                let as_late = always || like_timeouts;
                f.id == id && as_late && f.ms >= RETRANSMISSION * r && accounted < 0.5 * f.ms
            };
            take(exchange, phase, rare, why);
        }
    }
}

fn findings_of<'a>(
    exchanges: &'a mut [Exchange],
    id: &'a str,
) -> impl Iterator<Item = &'a mut Finding> {
    let all = exchanges.iter_mut().flat_map(|e| &mut e.findings);
    all.filter(move |f| f.id == id)
}

/// The round trips that no application delayed, and the smallest one of each exchange, in
/// milliseconds.
fn round_trips<'a>(exchanges: impl Iterator<Item = &'a Exchange>) -> Vec<f64> {
    exchanges
        .filter_map(|e| Some((ms(e.rtt?), e.spread())))
        .flat_map(|(r, spread)| {
            spread
                .samples()
                .iter()
                .map(|late| r + late)
                .collect::<Vec<_>>()
        })
        .collect()
}

/// Withdraws the finding if at least `enough` of the others' round trips took as long.
fn withdraw(
    exchange: &mut Exchange,
    (id, phase): (&str, PhaseName),
    enough: usize,
    others: &[f64],
) {
    let Some(r) = exchange.rtt.map(ms) else {
        return;
    };
    let smallest = others.iter().copied().fold(r, f64::min);
    let accounted = exchange.reported().unwrap_or(0.0);
    let is_the_path_s = |finding: &Finding| {
        let late = r + finding.ms - smallest;
        let as_late = others
            .iter()
            .filter(|took| **took - smallest >= AS_LATE * late);
        finding.id == id && accounted < 0.5 * finding.ms && as_late.count() >= enough
    };
    let why = "other round trips of the series were as late, about as often";
    let phase = if id == SENT_AGAIN {
        let phases = exchange.phases().into_iter();
        let most = phases.max_by(|a, b| a.waited.loss.total_cmp(&b.waited.loss));
        most.map_or(phase, |most| most.name)
    } else {
        phase
    };
    take(exchange, phase, is_the_path_s, why);
}

/// Withdraws these findings, whose time becomes unexplained.
fn take(exchange: &mut Exchange, phase: PhaseName, which: impl Fn(&Finding) -> bool, why: &str) {
    let withdrawn: Vec<Finding> = exchange
        .findings
        .extract_if(.., |finding| which(finding))
        .collect();
    for Finding { id, ms, .. } in withdrawn {
        let why = why.into();
        exchange.withdrawn.push(Withdrawn { id, ms, why });
        exchange.unexplained += ms;
        let waited = if NOT_OF_A_PEER.contains(&id) {
            Waited {
                network: ms,
                ..Waited::default()
            }
        } else {
            if !UNDECIDED.contains(&id) {
                exchange.undecided.push((phase, ms));
            }
            Waited {
                unknown: ms,
                ..Waited::default()
            }
        };
        exchange.unexplained_at.push(Unexplained {
            phase,
            waited,
            after_bytes: None,
        });
    }
    let ms = |at: &Unexplained| at.waited.sum();
    exchange
        .unexplained_at
        .sort_by(|a, b| ms(b).total_cmp(&ms(a)));
}
