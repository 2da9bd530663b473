//! Segments lost on an open connection, sent by either end.

use std::time::Duration;

use roundtrip_model::{Event, Moment, Phase, PhaseName, Setting};

use crate::case::ms;
use crate::{Case, Cause, CauseFamily, Claim, Cost, Decidable, WaitPart};

pub(super) const FAMILY: CauseFamily = CauseFamily {
    title: "Losses",
    causes: &[
        Cause {
            id: "mtu-black-hole",
            decidable: Decidable::Packets,
            name: "The path silently dropped large segments until the kernel sent smaller ones",
            shows: "segments had to be sent again for as long as several timeouts, and the largest segment is smaller than it was when the connection was new; or only short segments of the server came, none of them full, and at least a full segment before them was missing for several timeouts; or its answer came equally late, in segments of less than three quarters of the size that fits",
            signature: black_hole,
            cost: "1 to 3 s: several timeouts before the kernel tries smaller segments; without probing, for ever",
            remedy: "let ICMP 'fragmentation needed' (and ICMPv6 'packet too big') pass, clamp the MSS at the narrow link, or let the ends probe the path MTU (RFC 4821)",
            settings: &[
                Setting::new("Linux (both ends)", "net.ipv4.tcp_mtu_probing=1"),
                Setting::new(
                    "Linux (router)",
                    "nft add rule inet filter forward tcp flags syn tcp option maxseg size set rt mtu",
                ),
            ],
            source: "RFC 2923 §2.1; RFC 4821 §7; ip-sysctl (tcp_mtu_probing)",
        },
        Cause {
            id: "response-segment-lost",
            decidable: Decidable::Packets,
            name: "A segment that the server sent was lost and had to be sent again",
            shows: "segments arrived out of order, and the missing one was late by a round trip or more; or a flight ended in the middle of a TLS record (without TLS: after full segments), and the rest came as late as after a timeout; or a capture shows that a packet is missing: it was seen to leave twice, or its number is missing before one that is as late as after a timeout, or (IPv6) the server's flow label changed, as Linux changes it after a timeout",
            signature: theirs,
            cost: "1 round trip or more if later segments reveal the loss; otherwise 200 ms or more",
            remedy: "look for loss on the path (mtr); let the server recover sooner",
            settings: &[
                Setting::new("Linux (server)", "net.ipv4.tcp_recovery=1"),
                Setting::new(
                    "Linux (server)",
                    "net.core.default_qdisc=fq and net.ipv4.tcp_congestion_control=bbr",
                ),
            ],
            source: "RFC 8985 §3; RFC 6675 §5",
        },
        Cause {
            id: "segment-lost",
            decidable: Decidable::ClientEnd,
            name: "A segment that the client sent was lost and had to be sent again",
            shows: "the kernel retransmitted data, and its answer came late by more than the path may vary; some of the data stayed unacknowledged for that long, and neither the peer nor the smoothed round trip shows that the original had arrived",
            signature: ours,
            cost: "a round trip and a quarter if later segments reveal the loss, otherwise at least 200 ms, the shortest timeout of Linux",
            remedy: "look for loss on the path; lower the minimum retransmission timeout on short, clean paths",
            settings: &[Setting::new(
                "Linux (client)",
                "ip route change default via GATEWAY rto_min 20ms",
            )],
            source: "RFC 6298 §2; RFC 8985 §7",
        },
    ],
};

/// The tolerance in milliseconds, because the kernel counts unacknowledged time in ticks.
const TICK_SLACK: f64 = 12.0;

/// Waits that a lost segment prolongs.
const WAITS: [PhaseName; 5] = [
    PhaseName::Proxy,
    PhaseName::Tls,
    PhaseName::FirstByte,
    PhaseName::Request,
    PhaseName::Body,
];

/// The least duration, in milliseconds and round trips, of repeated retransmissions of full
/// segments; a single loss takes less.
const MIN_BLACK_HOLE: f64 = 900.0;
const BLACK_HOLE_TRIPS: f64 = 4.0;

fn black_hole(case: &Case<'_>) -> Option<Cost> {
    behind_a_gap(case)
        .or_else(|| shrunk(case))
        .or_else(|| smaller(case))
}

/// The answer arrived after several timeouts, in segments that are far smaller than possible.
fn smaller(case: &Case<'_>) -> Option<Cost> {
    let tcp = case.tcp()?;
    let lost = case.waited(PhaseName::FirstByte, WaitPart::Loss);
    let least = MIN_BLACK_HOLE.max(BLACK_HOLE_TRIPS * case.rtt?);
    let is_smaller = tcp.peer_mss > 0 && 4 * tcp.peer_mss < 3 * tcp.mss;
    let may_be = is_smaller && !was_less_missing(case);
    (may_be && tcp.retransmits <= tcp.syn_retransmits && lost >= least).then(|| {
        let evidence = format!(
            "the answer came {lost:.0} ms late, as after several timeouts, in segments of {} bytes although {} fit",
            tcp.peer_mss, tcp.mss
        );
        Cost::new(evidence).waited(PhaseName::FirstByte, WaitPart::Loss, lost)
    })
}

/// Finds full segments that were missing for several timeouts, because only the short ones behind
/// them arrived.
fn behind_a_gap(case: &Case<'_>) -> Option<Cost> {
    let mut gaps = case.exchange.timeline.iter();
    let (segments, short) = gaps.find_map(|(_, event)| match event {
        Event::GapOpened { segments, short } => Some((*segments, *short)),
        _ => None,
    })?;
    if got_full_segments(case) || was_less_missing(case) {
        return None;
    }
    let lost: f64 = WAITS.iter().map(|w| case.waited(*w, WaitPart::Loss)).sum();
    let least = MIN_BLACK_HOLE.max(BLACK_HOLE_TRIPS * case.rtt.unwrap_or(0.0));
    // If the sizes are not known, more retransmissions must have been lost.
    let least = if short { least } else { 2.0 * least };
    (lost >= least).then(|| {
        let evidence = format!(
            "{segments} segments of the server came, and the data before them was missing for {lost:.0} ms despite retransmissions: full segments do not get through"
        );
        case.add_waits(Cost::new(evidence), &WAITS, &[WaitPart::Loss])
    })
}

/// Whether a segment of the largest allowed size has arrived on this connection, new or kept.
fn got_full_segments(case: &Case<'_>) -> bool {
    let tcp = case.exchange.tcp.as_ref();
    let largest = tcp.map_or(0, |tcp| u64::from(tcp.peer_mss));
    largest >= case.exchange.segment()
}

/// Whether a gap was filled by less data than a full segment holds: none was missing.
fn was_less_missing(case: &Case<'_>) -> bool {
    let (mut is_open, mut filled, mut sum) = (false, false, 0);
    for (_, event) in case.exchange.timeline.iter() {
        match event {
            Event::GapOpened { .. } => is_open = true,
            Event::Overtaken { .. } => filled |= is_open,
            Event::Received { bytes } if is_open => {
                sum += bytes;
                is_open = !filled;
            }
            _ => {}
        }
    }
    filled && sum < case.exchange.segment()
}

fn shrunk(case: &Case<'_>) -> Option<Cost> {
    let tcp = case.tcp()?;
    let again = tcp.retransmits.saturating_sub(tcp.syn_retransmits);
    // A router that says what fits makes the kernel send smaller segments at once.
    let lost: f64 = WAITS.iter().map(|w| case.waited(*w, WaitPart::Loss)).sum();
    let least = MIN_BLACK_HOLE.max(BLACK_HOLE_TRIPS * case.rtt.unwrap_or(0.0));
    (again > 0 && tcp.mss < tcp.first_mss && lost >= least).then(|| {
        let evidence = format!(
            "{}; the largest was {} bytes at first and is {} now",
            sent_again(again),
            tcp.first_mss,
            tcp.mss
        );
        case.add_waits(Cost::new(evidence), &WAITS, &[WaitPart::Loss])
    })
}

/// The evidence of the kernel and TLS for losses in one phase.
#[derive(Default)]
struct KernelLosses {
    phase: Option<PhaseName>,
    /// The milliseconds of loss in the phase, for our segments and for the server's.
    ours: f64,
    theirs: f64,
    resent: u32,
    unacked: Duration,
    overtaken: u32,
    missed: u64,
    cut: bool,
}

fn seen(case: &Case<'_>) -> Vec<KernelLosses> {
    let over_tcp = case.exchange.tcp.is_some() && case.exchange.quic.is_none();
    let phases = case.phases.iter();
    phases
        .filter(|phase| over_tcp && WAITS.contains(&phase.name) && phase.waited.loss > 0.0)
        .map(|phase| seen_in(case, phase))
        .collect()
}

fn seen_in(case: &Case<'_>, phase: &Phase) -> KernelLosses {
    let mut seen = KernelLosses {
        phase: Some(phase.name),
        ..KernelLosses::default()
    };
    // An event at the very beginning of a phase ended the phase before.
    let within = |at: Moment| at > phase.start && at <= phase.end;
    for (_, event) in case.exchange.timeline.iter().filter(|(at, _)| within(*at)) {
        match event {
            Event::Resent { segments, unacked } => {
                seen.resent += segments;
                seen.unacked += *unacked;
            }
            Event::Overtaken { segments, .. } => seen.overtaken += segments,
            Event::Missed { packets } => seen.missed += packets,
            Event::CutOff => seen.cut = true,
            _ => {}
        }
    }
    let lost = phase.waited.loss;
    let late = (ms(seen.unacked) - case.rtt.unwrap_or(0.0))
        .min(lost)
        .max(0.0);
    seen.ours = if seen.resent == 0 {
        0.0
    } else if seen.overtaken == 0 && lost - late < TICK_SLACK {
        lost
    } else {
        late
    };
    // An answer that never arrived does not itself show a loss.
    let shows = phase.name != PhaseName::FirstByte || case.is_answered();
    let is_theirs = shows || seen.overtaken > 0 || seen.cut;
    seen.theirs = if is_theirs { lost - seen.ours } else { 0.0 };
    seen
}

fn ours(case: &Case<'_>) -> Option<Cost> {
    let seen = seen(case);
    let again: u32 = seen.iter().map(|s| s.resent).sum();
    let unacked: f64 = seen.iter().map(|s| ms(s.unacked)).sum();
    let evidence = if again > 0 {
        format!(
            "{}, and the server had it all after {unacked:.0} ms",
            sent_again(again)
        )
    } else {
        // No segment has arrived since that could give evidence about the wait.
        let tcp = case.exchange.tcp.as_ref().filter(|_| !case.is_answered())?;
        let again = tcp.retransmits.saturating_sub(tcp.syn_retransmits);
        return (again > 0)
            .then(|| case.add_waits(Cost::new(sent_again(again)), &WAITS, &[WaitPart::Loss]));
    };
    // A retransmission proves no loss where acknowledgements may be this late anyway.
    let late: f64 = seen.iter().map(|s| s.ours).sum();
    (late >= case.tolerance()).then(|| claimed(&seen, evidence, |s| s.ours))
}

fn theirs(case: &Case<'_>) -> Option<Cost> {
    let seen = seen(case);
    let late: f64 = seen.iter().map(|s| s.theirs).sum();
    if late < 0.9 * case.rtt? {
        return None;
    }
    let told: Vec<String> = seen
        .iter()
        .filter(|s| s.theirs > 0.0)
        .map(|s| told(case, s))
        .collect();
    let evidence = told.join("; ");
    let cost = claimed(&seen, evidence, |s| s.theirs);
    // The sender's window shrank, and had to grow again.
    let transfer = case.transfer.as_ref();
    let shrunk = transfer
        .iter()
        .flat_map(|transfer| &transfer.windows)
        .filter(|w| w.after_loss && !w.grew && !w.own);
    let trips = (shrunk.count() as u32).min(case.round_trips(PhaseName::Body));
    let claim = Claim {
        phase: PhaseName::Body,
        part: WaitPart::Network,
        ms: f64::from(trips) * case.rtt?,
        round_trips: trips,
    };
    let recovery = transfer.map_or(0.0, |transfer| transfer.recovery);
    Some(
        cost.claim(claim)
            .waited(PhaseName::Body, WaitPart::Network, recovery),
    )
}

/// The evidence for a loss of the server's segments in one phase, in words.
fn told(case: &Case<'_>, seen: &KernelLosses) -> String {
    let late = seen.theirs;
    if seen.overtaken == 0 && seen.missed > 0 {
        let packets = if seen.missed == 1 {
            "packet"
        } else {
            "packets"
        };
        return format!(
            "{} {packets} of the server did not arrive, and the data came {late:.0} ms late",
            seen.missed
        );
    }
    if seen.overtaken == 0 && !seen.cut && seen.phase == Some(PhaseName::FirstByte) {
        return format!(
            "the answer and the acknowledgement of the request came together, {late:.0} ms late, as after a timeout of the server"
        );
    }
    match seen.overtaken {
        0 => {
            let end = if case.exchange.tls.is_some() {
                "in the middle of a TLS record"
            } else {
                "with full segments"
            };
            format!(
                "a flight ended {end}, and the rest came {late:.0} ms later, as after a timeout"
            )
        }
        1 => format!("a segment came {late:.0} ms before the one that precedes it"),
        n => {
            format!(
                "{n} segments came before the one that precedes them, which was {late:.0} ms late"
            )
        }
    }
}

fn claimed(seen: &[KernelLosses], evidence: String, part: impl Fn(&KernelLosses) -> f64) -> Cost {
    let parts = seen.iter().filter_map(|s| Some((s.phase?, part(s))));
    parts.fold(Cost::new(evidence), |cost, (phase, lost)| {
        cost.waited(phase, WaitPart::Loss, lost)
    })
}

fn sent_again(segments: u32) -> String {
    match segments {
        1 => "a segment was sent again".to_owned(),
        n => format!("{n} segments were sent again"),
    }
}
