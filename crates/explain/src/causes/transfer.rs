//! Bytes under way: windows that have to grow, segments that get lost.

use roundtrip_model::PhaseName;

use crate::case::{INITIAL_WINDOW, ms};
use crate::{Case, Cause, Cost, Family, Part, Setting};

pub(super) const FAMILY: Family = Family {
    title: "Transfer",
    causes: &[
        Cause {
            id: "mtu-black-hole",
            name: "The path swallowed large segments without a word, until the kernel sent smaller ones",
            shows: "segments had to be sent again, and the largest segment is smaller than it was when the connection was new",
            signature: black_hole,
            cost: "1 to 3 s: several time-outs before the kernel tries smaller segments; without probing, for ever",
            remedy: "let ICMP «fragmentation needed» (and ICMPv6 «packet too big») pass, clamp the MSS at the narrow link, or let the ends probe",
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
            name: "A segment of the answer was lost and had to be sent again",
            shows: "segments came out of order, and the bytes before them came a round trip or more later",
            signature: answer_lost,
            cost: "1 round trip and more where later segments tell of the loss; 200 ms and more where they do not",
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
            name: "Something the client sent was lost and had to be sent again",
            shows: "the kernel retransmitted, and a wait for an answer was longer by a time-out",
            signature: segment_lost,
            cost: "at least 200 ms, the shortest time-out of Linux, or two round trips",
            remedy: "look for loss on the path; lower the least retransmission time-out on short, clean paths",
            settings: &[Setting::new(
                "Linux (client)",
                "ip route change default via GATEWAY rto_min 20ms",
            )],
            source: "RFC 6298 §2; RFC 8985 §7",
        },
        Cause {
            id: "slow-start-after-idle",
            name: "The connection had been idle, and the server began with a small window again",
            shows: "a connection that had carried at least as much before paused for longer than a time-out, and the body came in several flights",
            signature: after_idle,
            cost: "1 round trip each time the window doubles",
            remedy: "let the server keep the window of a connection that was idle",
            settings: &[Setting::new(
                "Linux (server)",
                "net.ipv4.tcp_slow_start_after_idle=0",
            )],
            source: "RFC 5681 §4.1; RFC 2861 §2; ip-sysctl (tcp_slow_start_after_idle)",
        },
        Cause {
            id: "slow-start",
            name: "The body came in several flights while the server's window grew",
            shows: "full windows of the body, each a round trip after the one before, no more of them than doubling needs",
            signature: slow_start,
            cost: "1 round trip each time the window doubles",
            remedy: "send less (compression, smaller bodies), keep connections whose window has grown, or begin with a larger one",
            settings: &[
                Setting::new("nginx", "gzip on; keepalive_timeout 75s;"),
                Setting::new("HAProxy", "compression algo gzip"),
                Setting::new("Apache", "SetOutputFilter DEFLATE"),
                Setting::new(
                    "Linux (server)",
                    "ip route change default via GATEWAY initcwnd 20",
                ),
                Setting::new(
                    "Linux (kept connections)",
                    "net.ipv4.tcp_slow_start_after_idle=0",
                ),
            ],
            source: "RFC 5681 §3.1; RFC 6928 §2",
        },
    ],
};

/// Waits of ours that a lost segment prolongs.
const WAITS: [PhaseName; 4] = [
    PhaseName::Proxy,
    PhaseName::Tls,
    PhaseName::FirstByte,
    PhaseName::Request,
];

fn black_hole(case: &Case<'_>) -> Option<Cost> {
    let tcp = case.tcp()?;
    let again = tcp.retransmits.saturating_sub(tcp.syn_retransmits);
    (again > 0 && tcp.mss < tcp.first_mss).then(|| {
        let evidence = format!(
            "{again} segments were sent again; the largest was {} bytes at first and is {} now",
            tcp.first_mss, tcp.mss
        );
        Cost::new(evidence).phases(case, &WAITS, &[Part::Loss])
    })
}

fn answer_lost(case: &Case<'_>) -> Option<Cost> {
    let tcp = case.tcp().filter(|t| t.out_of_order > 0)?;
    let phases = [PhaseName::Tls, PhaseName::Body];
    let paused: f64 = phases.iter().map(|p| case.waited(*p, Part::Server)).sum();
    (paused >= 0.5 * case.rtt?).then(|| {
        let evidence = format!(
            "{} segments came before what they follow, which was awaited for {paused:.0} ms",
            tcp.out_of_order
        );
        Cost::new(evidence).phases(case, &phases, &[Part::Server])
    })
}

/// Linux forgets the window of a connection that was idle for a time-out, whose shortest is 200 ms.
const IDLE: f64 = 200.0;

fn after_idle(case: &Case<'_>) -> Option<Cost> {
    let kept = case.exchange.kept.filter(|_| case.exchange.reused)?;
    let body = case.exchange.http.as_ref()?.downloaded;
    let r = case.rtt?;
    if ms(kept.idle) < IDLE.max(2.0 * r) || kept.bytes_received < body {
        return None;
    }
    let stalls = stalls(case, body);
    let evidence = format!(
        "the connection had carried {} bytes, was idle for {:.0} ms, and {body} bytes then had to wait {stalls} times",
        kept.bytes_received,
        ms(kept.idle)
    );
    case.trips(PhaseName::Body, stalls, evidence)
}

/// How often a body had to wait for the server's window.
fn stalls(case: &Case<'_>, body: u64) -> u32 {
    let flights = flights(body, INITIAL_WINDOW * case.segment());
    case.round_trips(PhaseName::Body).min(flights)
}

fn segment_lost(case: &Case<'_>) -> Option<Cost> {
    let tcp = case.tcp()?;
    // What a SYN carried in vain is sent again without having been lost.
    let in_vain = tcp.fast_open.data_sent > 0 && tcp.fast_open.data_acked == 0;
    let again = tcp
        .retransmits
        .saturating_sub(tcp.syn_retransmits + u32::from(in_vain));
    if again == 0 {
        return None;
    }
    let evidence = format!("the kernel sent {again} segments again");
    Some(Cost::new(evidence).phases(case, &WAITS, &[Part::Loss]))
}

fn slow_start(case: &Case<'_>) -> Option<Cost> {
    let body = case.exchange.http.as_ref()?.downloaded;
    let stalls = stalls(case, body);
    let evidence = format!(
        "{body} bytes of body had to wait {stalls} times for the window, which begins at about {} bytes",
        INITIAL_WINDOW * case.segment()
    );
    case.trips(PhaseName::Body, stalls, evidence)
}

/// How many flights doubling needs for so many bytes: the first is the answer's own.
pub(super) fn flights(bytes: u64, window: u64) -> u32 {
    let windows = bytes.div_ceil(window.max(1));
    (windows + 1).next_power_of_two().ilog2()
}
