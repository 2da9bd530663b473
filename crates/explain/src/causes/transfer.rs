//! Bytes under way: windows that have to grow, segments that get lost.

use roundtrip_model::PhaseName;

use crate::case::INITIAL_WINDOW;
use crate::{Case, Cause, Cost, Family, Part, Setting};

pub(super) const FAMILY: Family = Family {
    title: "Transfer",
    causes: &[
        Cause {
            id: "segment-lost",
            name: "Something the client sent was lost and had to be sent again",
            shows: "the kernel retransmitted, and a wait for an answer was longer by a time-out",
            signature: segment_lost,
            remedy: "look for loss on the path; lower the least retransmission time-out on short, clean paths",
            settings: &[Setting::new(
                "Linux (client)",
                "ip route change default via GATEWAY rto_min 20ms",
            )],
            source: "RFC 6298 §2; RFC 8985 §7",
        },
        Cause {
            id: "slow-start",
            name: "The body came in several flights while the server's window grew",
            shows: "full windows of the body, each a round trip after the one before, no more of them than doubling needs",
            signature: slow_start,
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
    let waits = [PhaseName::Proxy, PhaseName::Tls, PhaseName::FirstByte];
    let evidence = format!("the kernel sent {again} segments again");
    let cost = waits.iter().fold(Cost::new(evidence), |cost, phase| {
        cost.waited(*phase, Part::Loss, case.waited(*phase, Part::Loss))
    });
    Some(cost)
}

fn slow_start(case: &Case<'_>) -> Option<Cost> {
    let body = case.exchange.http.as_ref()?.downloaded;
    let stalls = case
        .round_trips(PhaseName::Body)
        .min(flights(body, INITIAL_WINDOW * case.segment()));
    let evidence = format!(
        "{body} bytes of body had to wait {stalls} times for the window, which begins at about {} bytes",
        INITIAL_WINDOW * case.segment()
    );
    case.trips(PhaseName::Body, stalls, evidence)
}

/// How many flights doubling needs for so many bytes: the first is the answer's own.
fn flights(bytes: u64, window: u64) -> u32 {
    let windows = bytes.div_ceil(window.max(1));
    (windows + 1).next_power_of_two().ilog2()
}
