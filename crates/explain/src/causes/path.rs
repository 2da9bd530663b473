//! The path itself: round trips of different length.

use roundtrip_model::{PhaseName, Setting};

use crate::case::{ms, times};
use crate::{Case, Cause, CauseFamily, Cost, Decidable, WaitPart};

pub(super) const FAMILY: CauseFamily = CauseFamily {
    title: "The path",
    causes: &[Cause {
        id: "path-varies",
        decidable: Decidable::Packets,
        name: "Round trips on this path take different times",
        shows: "acknowledgements and the SYN-ACK took longer than the smallest round trip, by at least 3 ms plus a tenth of it, and the late answers were hardly later than that; or the body stopped although the server had already written more (the middle of a TLS record) or sent more (its own clock in a capture), and then many segments came at once",
        signature: varies,
        cost: "the time of the waits beyond the smallest round trip",
        remedy: "look for a queue, a radio, or a shared line on the path (compare with a cable; mtr -c 100); fewer round trips suffer less often",
        settings: &[
            Setting::new("Linux (router)", "tc qdisc replace dev eth0 root cake"),
            Setting::new("Linux (Wi-Fi)", "iw dev wlan0 set power_save off"),
        ],
        source: "RFC 6298 §2; RFC 8290",
    }],
};

/// Waits that a slow path prolongs, regardless of the awaited party.
const WAITS: [PhaseName; 5] = [
    PhaseName::Tcp,
    PhaseName::Proxy,
    PhaseName::Tls,
    PhaseName::Quic,
    PhaseName::FirstByte,
];

/// In milliseconds: no host may delay an acknowledgement for longer (RFC 1122 §4.2.3.2).
const LONGEST_DELAYED_ACK: f64 = 500.0;

/// The number of late waits for the server.
pub(super) fn late_waits(case: &Case<'_>, least: f64) -> usize {
    let waits = [case.handshake(), PhaseName::FirstByte];
    let late = waits.map(|name| case.waited(name, WaitPart::Server) >= least);
    late.into_iter().filter(|late| *late).count()
}

fn varies(case: &Case<'_>) -> Option<Cost> {
    let r = case.rtt?;
    let beyond = |name| {
        if name == PhaseName::Tcp {
            let tcp = case.tcp().filter(|tcp| tcp.syn_retransmits == 0);
            let took = tcp.and_then(|tcp| tcp.handshake_rtt).map(ms);
            return took
                .filter(|_| !super::connect::was_late_by_itself(case))
                .map_or(0.0, |took| (took - r).max(0.0));
        }
        let trips = f64::from(case.round_trips(name)) * r;
        let carried = case.named(name).map(|phase| {
            let by_line = case.exchange.carried_by_line(phase.start, phase.end);
            phase.carried + by_line
        });
        let carried: f64 = carried.sum();
        let beyond = (case.waited(name, WaitPart::Network) - trips - carried).max(0.0);
        match case.answer_began {
            // After the answer has begun to arrive, bytes are in transit.
            Some(began) if name == PhaseName::FirstByte => {
                let wait: f64 = case.named(name).map(|p| ms(began.since(p.start))).sum();
                beyond.min((wait - r).max(0.0))
            }
            _ => beyond,
        }
    };
    // An answer that never arrived was not late.
    let failed_in = case.exchange.failure.as_ref().map(|failure| failure.phase);
    let is_wait = |name: &PhaseName| {
        Some(*name) != failed_in && (*name != PhaseName::FirstByte || case.is_answered())
    };
    // A single late packet does not make a path that varies.
    let least = case.least_spread();
    if case.phases.iter().any(|phase| phase.carried > 0.0) {
        // The sent data filled the line, and acknowledgements queued behind it.
        return None;
    }
    let stalls = case.transfer.iter().flat_map(|transfer| &transfer.stalls);
    let stalls: Vec<f64> = stalls.map(|stall| stall.ms).collect();
    let stalled: f64 = stalls.iter().sum();
    let late = case
        .spread
        .samples()
        .iter()
        .filter(|late| **late >= least)
        .count();
    let differ = late >= 1 && late + late_waits(case, least) >= 2;
    let spread = if differ { case.spread.ms() } else { 0.0 };
    let waits = WAITS.into_iter().filter(is_wait);
    let most = waits
        .filter(|name| *name != PhaseName::Tcp)
        .map(beyond)
        .fold(spread, f64::max);
    if most.max(stalled) < least {
        return None;
    }
    let syn_late = beyond(PhaseName::Tcp);
    let mut told = Vec::new();
    if most >= least {
        // A single acknowledgement may have been late on purpose.
        let only = late < 2 && syn_late < least && most <= LONGEST_DELAYED_ACK;
        let or_host = if only {
            "; a host that delays its acknowledgements would look the same"
        } else {
            ""
        };
        let most = r + most;
        told.push(format!(
            "round trips and acknowledgements took {r:.1} to {most:.1} ms{or_host}"
        ));
    }
    if !stalls.is_empty() {
        told.push(format!(
            "nothing of the body arrived for {stalled:.1} ms in all, {}, although the server had written or sent more; then many segments arrived at once",
            times(stalls.len() as u32)
        ));
    }
    let mut cost = Cost::new(told.join("; "));
    cost = cost.waited(PhaseName::Body, WaitPart::Network, stalled);
    for name in WAITS.into_iter().filter(is_wait) {
        let server = case.waited(name, WaitPart::Server);
        cost = cost.waited(name, WaitPart::Network, beyond(name));
        if server <= case.tolerance().max(most) {
            cost = cost.waited(name, WaitPart::Server, server);
        }
    }
    Some(cost)
}
