//! Bytes under way: congestion windows that have to grow.

use roundtrip_model::{Event, PhaseName};

use crate::case::{INITIAL_WINDOW, ms, times};
use crate::{Case, Cause, CauseFamily, Cost, RemedySetting};

pub(super) const FAMILY: CauseFamily = CauseFamily {
    title: "Transfer",
    causes: &[
        Cause {
            id: "slow-start-after-idle",
            name: "The connection had been idle, and the server began with a small window again",
            shows: "a connection that had carried at least as much before was idle for longer than a timeout, and the body came in several flights",
            signature: after_idle,
            cost: "1 round trip each time the window doubles",
            remedy: "let the server keep the window of an idle connection",
            settings: &[RemedySetting::new(
                "Linux (server)",
                "net.ipv4.tcp_slow_start_after_idle=0",
            )],
            source: "RFC 5681 §4.1; RFC 2861 §2; ip-sysctl (tcp_slow_start_after_idle)",
        },
        Cause {
            id: "slow-start",
            name: "The body came in several flights while the server's window grew",
            shows: "full windows of the body, each a round trip after the previous one, and no more of them than doubling needs",
            signature: slow_start,
            cost: "1 round trip each time the window doubles",
            remedy: "send less (compression, smaller bodies), keep connections whose window has grown, or begin with a larger one",
            settings: &[
                RemedySetting::new("nginx", "gzip on; keepalive_timeout 75s;"),
                RemedySetting::new("HAProxy", "compression algo gzip"),
                RemedySetting::new("Apache", "SetOutputFilter DEFLATE"),
                RemedySetting::new(
                    "Linux (server)",
                    "ip route change default via GATEWAY initcwnd 20",
                ),
                RemedySetting::new(
                    "Linux (kept connections)",
                    "net.ipv4.tcp_slow_start_after_idle=0",
                ),
            ],
            source: "RFC 5681 §3.1; RFC 6928 §2",
        },
    ],
};

/// In milliseconds: Linux resets the congestion window of a connection that was idle for a
/// retransmission timeout, at least 200 ms.
const IDLE_TIMEOUT: f64 = 200.0;

fn after_idle(case: &Case<'_>) -> Option<Cost> {
    let kept = case.exchange.kept.filter(|_| case.exchange.reused)?;
    let body = case.exchange.http.as_ref()?.downloaded;
    let r = case.rtt?;
    if ms(kept.idle) < IDLE_TIMEOUT.max(2.0 * r) || kept.bytes_received < body {
        return None;
    }
    let first = first_flight(case);
    let stalls = stalls(case, body, first);
    let evidence = format!(
        "the connection had carried {} bytes, was idle for {:.0} ms, and {body} bytes then had to wait {}",
        kept.bytes_received,
        ms(kept.idle),
        times(stalls)
    );
    case.trips(PhaseName::Body, stalls, evidence)
}

/// Segments and bytes of the first flight of the body, if a pause ended it.
fn first_flight(case: &Case<'_>) -> Option<(u64, u64)> {
    let began = case.exchange.timeline.first(|e| *e == Event::FirstByte)?;
    let mut later = case.exchange.timeline.iter().filter(|(at, _)| *at >= began);
    later.find_map(|(_, event)| match event {
        Event::Paused {
            segments, bytes, ..
        } => Some((*segments, *bytes)),
        _ => None,
    })
}

/// How often the body had to wait for the server's window.
fn stalls(case: &Case<'_>, body: u64, first: Option<(u64, u64)>) -> u32 {
    // A congestion window counts segments, and small ones fill it too.
    let window = INITIAL_WINDOW * case.segment();
    let window = first.map_or(window, |(_, bytes)| window.min(bytes));
    let flights = flights(body, window);
    case.round_trips(PhaseName::Body).min(flights)
}

fn slow_start(case: &Case<'_>) -> Option<Cost> {
    let body = case.exchange.http.as_ref()?.downloaded;
    let first = first_flight(case);
    let stalls = stalls(case, body, first);
    let window = match first {
        Some((segments, bytes)) => {
            format!("whose first flight was {segments} segments with {bytes} bytes")
        }
        None => format!(
            "which begins at about {} bytes",
            INITIAL_WINDOW * case.segment()
        ),
    };
    let evidence = format!(
        "{body} bytes of body had to wait {} for the server's window, {window}",
        times(stalls)
    );
    case.trips(PhaseName::Body, stalls, evidence)
}

/// How many flights doubling the window needs for `bytes`; the first is the answer's own.
pub(super) fn flights(bytes: u64, window: u64) -> u32 {
    let windows = bytes.div_ceil(window.max(1));
    (windows + 1).next_power_of_two().ilog2()
}
