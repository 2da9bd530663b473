//! Bytes in transit: windows, pauses, and the rate of the line.

use roundtrip_model::{BodyTransfer, Event, FullWindow, INITIAL_WINDOW, Pause, PhaseName, Setting};

use crate::case::{ms, times};
use crate::{Case, Cause, CauseFamily, Claim, Cost, Decidable, WaitPart};

pub(super) const FAMILY: CauseFamily = CauseFamily {
    title: "Transfer",
    causes: &[
        Cause {
            id: "slow-start-after-idle",
            decidable: Decidable::Packets,
            name: "The connection had been idle, and the server began with a small window again",
            shows: "a connection that had carried at least as much before was idle for longer than a timeout, and the body came in several flights",
            signature: after_idle,
            cost: "1 round trip each time the window doubles",
            remedy: "let the server keep the window of an idle connection",
            settings: &[Setting::new(
                "Linux (server)",
                "net.ipv4.tcp_slow_start_after_idle=0",
            )],
            source: "RFC 5681 §4.1; RFC 2861 §2; ip-sysctl (tcp_slow_start_after_idle)",
        },
        Cause {
            id: "slow-start",
            decidable: Decidable::Packets,
            name: "The body came in several flights while the server's window grew",
            shows: "full windows of the body, each a round trip after the previous one, and no more of them than doubling needs",
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
        Cause {
            id: "receive-window",
            decidable: Decidable::Packets,
            name: "The body had to wait for the client's own receive window",
            shows: "flights of the body that filled the client's advertised window and did not grow; or a window that the client closed because it did not read",
            signature: receive_window,
            cost: "1 round trip for each window, and the time during which it was closed",
            remedy: "let the client's buffer grow to rate × round trip, and let the client read without pauses",
            settings: &[
                Setting::new("Linux (client)", "net.ipv4.tcp_rmem=4096 131072 16777216"),
                Setting::new("program", "no setsockopt(SO_RCVBUF), which ends autotuning"),
            ],
            source: "RFC 9293 §3.8.6; RFC 7323 §2; tcp(7) (tcp_rmem)",
        },
        Cause {
            id: "send-window",
            decidable: Decidable::Packets,
            name: "The server sent no more than a fixed amount in each round trip",
            shows: "three flights of the body or more, each a round trip after the one before, of the same size; or one of them was smaller than a first window, or than an earlier one, though nothing was lost",
            signature: send_window,
            cost: "1 round trip for each flight",
            remedy: "let the server's send buffer and congestion window grow",
            settings: &[
                Setting::new("Linux (server)", "net.ipv4.tcp_wmem=4096 131072 16777216"),
                Setting::new("nginx", "listen 443 ssl; without sndbuf="),
            ],
            source: "RFC 9293 §3.8; tcp(7) (tcp_wmem)",
        },
        Cause {
            id: "body-stalls",
            decidable: Decidable::Packets,
            name: "The server paused in the middle of the body",
            shows: "no bytes came for half a round trip or more, although no window was full and no segment was missing; the server had sent all that it had (its last packet was not full), or it paused three times or more; the pauses of an event stream (text/event-stream) are not named",
            signature: body_stalls,
            cost: "the sum of the pauses",
            remedy: "find out what the handler waits for between two writes (a slow query, a garbage collector, compression), or look for a rate limit",
            settings: &[
                Setting::new("nginx", "limit_rate 0; proxy_buffering on;"),
                Setting::new("HAProxy", "no filter bwlim-out"),
            ],
            source: "RFC 9112 §7.1",
        },
        Cause {
            id: "late-body",
            decidable: Decidable::Packets,
            name: "The body paused, and nothing shows whether the server or the path was the reason",
            shows: "no bytes came for half a round trip or more, once or twice; the packet before was full, so that the server may have sent more, or a single packet came afterwards, as late as after a timeout (seen only in synthetic exchanges)",
            signature: late_body,
            cost: "the sum of the pauses",
            remedy: "ask again: a pause of the server recurs each time (-c 10), a loss or a path that stops only sometimes",
            settings: &[Setting::new("roundtrip", "probe -c 10 URL")],
            source: "RFC 8985 §7.2; RFC 6298 §2",
        },
        Cause {
            id: "slow-downlink",
            decidable: Decidable::Packets,
            name: "The body came at the rate of a slow line, or of a sender that limits its rate",
            shows: "bytes arrived without a pause for two round trips or more, at a rate that did not grow",
            signature: slow_downlink,
            cost: "bytes ÷ rate",
            remedy: "send less (compression, smaller bodies, better formats); use a faster line; look for a rate limit at the server",
            settings: &[
                Setting::new("nginx", "gzip on; limit_rate 0;"),
                Setting::new("HAProxy", "compression algo gzip"),
                Setting::new("Apache", "SetOutputFilter DEFLATE"),
            ],
            source: "RFC 5681 §3.1",
        },
    ],
};

/// The idle time in milliseconds after which Linux resets the congestion window: a retransmission
/// timeout, at least 200 ms.
const IDLE_TIMEOUT: f64 = 200.0;
/// The shortest average pause in milliseconds; if pauses are shorter, the server sends at a fixed
/// pace.
const MIN_STALL: f64 = 5.0;
/// The shortest pause, in milliseconds, that is named although no party can be blamed for it.
const MIN_LATE: f64 = 10.0;
/// In round trips: a shorter pause is named only if it comes more than twice.
const MIN_PAUSE_TRIPS: f64 = 0.5;
/// Pauses that occur this often are not accidents of the path.
const RECURRING: usize = 3;
/// The number of consecutive flights of about equal size: the largest exceeds the smallest by at
/// most the next factor.
const EQUAL_FLIGHTS: usize = 3;
const SAME_SIZE: f64 = 1.25;
/// Pauses that differ by less than this factor are equal.
const EQUAL: f64 = 1.1;
/// The least that a first window carries, in bytes (RFC 6928 §2), and how much larger each piece of
/// a body is than the one before, if a window doubles.
const FIRST_WINDOW: u64 = 10_000;
const GROWS: std::ops::RangeInclusive<f64> = 1.7..=2.4;

fn after_idle(case: &Case<'_>) -> Option<Cost> {
    let kept = case.exchange.kept.filter(|_| case.exchange.reused)?;
    let body = case.exchange.http.as_ref()?.downloaded;
    let r = case.rtt?;
    if ms(kept.idle) < IDLE_TIMEOUT.max(2.0 * r) || kept.bytes_received < body {
        return None;
    }
    let stalls = growing(case)?.1;
    let evidence = format!(
        "the connection had carried {} bytes, was idle for {:.0} ms, and {body} bytes then had to wait {}",
        kept.bytes_received,
        ms(kept.idle),
        times(stalls)
    );
    case.trips(PhaseName::Body, stalls, evidence)
}

/// The first flight of a window that grew, and how often the body waited for it: at most as often
/// as doubling needs.
fn growing(case: &Case<'_>) -> Option<(FullWindow, u32)> {
    let transfer = case.transfer.as_ref()?;
    let mut grew = transfer.windows.iter().filter(|w| w.grew);
    let first = *grew.next()?;
    let times = 1 + grew.count() as u32;
    // A congestion window counts segments, and small ones fill it too.
    let window = (INITIAL_WINDOW * case.exchange.segment()).min(first.bytes);
    let needed = flights(transfer.bytes, window);
    Some((
        first,
        times.min(needed).min(case.round_trips(PhaseName::Body)),
    ))
}

fn slow_start(case: &Case<'_>) -> Option<Cost> {
    let body = case.exchange.http.as_ref()?.downloaded;
    let (first, stalls) = growing(case)?;
    let window = match first.segments {
        Some(segments) => format!(
            "whose first flight was {segments} segments with {} bytes",
            first.bytes
        ),
        None => format!("whose first flight was {} bytes", first.bytes),
    };
    let evidence = format!(
        "{body} bytes of body had to wait {} for the server's window, {window}",
        times(stalls)
    );
    case.trips(PhaseName::Body, stalls, evidence)
}

fn receive_window(case: &Case<'_>) -> Option<Cost> {
    let full = fixed(case, true, "the client's receive window");
    let closed = closed(case);
    let (Some(mut full), Some(more)) = (full.clone(), closed.clone()) else {
        return full.or(closed);
    };
    full.evidence = format!("{}; {}", full.evidence, more.evidence);
    full.claims.extend(more.claims);
    Some(full)
}

/// The cost of the times in which the client's receive window had no room.
fn closed(case: &Case<'_>) -> Option<Cost> {
    let mut cost = Cost::default();
    let (mut n, mut whole) = (0, 0.0);
    for name in [PhaseName::FirstByte, PhaseName::Body] {
        let phases = case.named(name);
        let took = phases.flat_map(|phase| {
            let events = case.exchange.timeline.iter();
            events.filter_map(|(at, event)| match event {
                Event::WindowClosed { took } if *at > phase.start && *at <= phase.end => {
                    Some(ms((*took).min(at.since(phase.start))))
                }
                _ => None,
            })
        });
        let took: Vec<f64> = took.collect();
        let closed = took
            .iter()
            .sum::<f64>()
            .min(case.waited(name, WaitPart::Client));
        n += took.len() as u32;
        whole += closed;
        cost = cost.waited(name, WaitPart::Client, closed);
    }
    cost.evidence = format!(
        "the client's receive window had no room for {whole:.1} ms in all, {}: the program did not read",
        times(n)
    );
    (whole > 0.0).then_some(cost)
}

/// Three flights of the same size show that the window does not grow; fewer may be chance. A
/// congestion window never stops a flight that is smaller than an earlier one.
fn send_window(case: &Case<'_>) -> Option<Cost> {
    let windows = &case.transfer.as_ref()?.windows;
    let fixed_size = |of: &[FullWindow]| {
        let sizes = of.iter().map(|w| w.bytes);
        let (least, most) = (sizes.clone().min(), sizes.max());
        let equal = least
            .zip(most)
            .is_some_and(|(least, most)| most as f64 <= SAME_SIZE * least as f64);
        equal && of.iter().all(|w| !w.grew && !w.own && !w.after_loss)
    };
    let limited = windows.iter().any(|w| w.limited);
    (limited || windows.windows(EQUAL_FLIGHTS).any(fixed_size))
        .then(|| fixed(case, false, "more from the server"))?
}

/// The cost of windows that did not grow.
fn fixed(case: &Case<'_>, own: bool, what: &str) -> Option<Cost> {
    let transfer = case.transfer.as_ref()?;
    let fixed: Vec<&FullWindow> = transfer
        .windows
        .iter()
        .filter(|w| !w.grew && w.own == own && (own || !w.after_loss))
        .collect();
    let n = (fixed.len() as u32).min(case.round_trips(PhaseName::Body));
    let bytes: u64 = fixed.iter().map(|w| w.bytes).sum();
    let each = bytes / u64::from(n.max(1));
    let evidence = format!(
        "the body had to wait {} for {what}, after flights of about {each} bytes",
        times(n)
    );
    // The waits may be longer than a round trip: the time at which the window opened again counts.
    let ms = f64::from(n) * case.rtt?;
    (n > 0).then(|| {
        Cost::new(evidence).claim(Claim {
            phase: PhaseName::Body,
            part: WaitPart::Network,
            ms,
            round_trips: n,
        })
    })
}

fn body_stalls(case: &Case<'_>) -> Option<Cost> {
    let transfer = case.transfer.as_ref()?;
    let pauses = server_pauses(case, transfer);
    let evidence = told(transfer, &pauses)?;
    let whole: f64 = pauses.iter().map(|p| p.ms).sum();
    let whole = whole.min(case.waited(PhaseName::Body, WaitPart::Server));
    let stalled = whole >= MIN_STALL.max(0.05 * case.rtt.unwrap_or(0.0));
    (stalled && !may_be_the_line(case, transfer) && !case.is_event_stream())
        .then(|| Cost::new(evidence).waited(PhaseName::Body, WaitPart::Server, whole))
}

/// The pauses that are attributed to the server: pauses of half a round trip or more that nothing
/// else explains, and also shorter ones if they recur.
fn server_pauses(case: &Case<'_>, transfer: &BodyTransfer) -> Vec<Pause> {
    let recur = transfer.pauses.len() >= RECURRING;
    let least = MIN_PAUSE_TRIPS * case.rtt.unwrap_or(0.0);
    let beyond = longest_beyond(case, transfer);
    let counts = |p: &&Pause| {
        let is_certain = recur || !p.doubtful && p.ms >= least;
        is_certain && p.ms > beyond
    };
    transfer.pauses.iter().filter(counts).copied().collect()
}

/// The longest pause, in milliseconds, during which a window may have been full behind something
/// nearer than the server: one that took hardly longer than the way to the server and back, or any
/// if the pieces between the pauses doubled, as a window does.
fn longest_beyond(case: &Case<'_>, transfer: &BodyTransfer) -> f64 {
    if doubles(transfer) {
        f64::INFINITY
    } else {
        case.exchange.longest_pause_beyond()
    }
}

/// Whether each piece between two pauses was about twice as large as the one before; the last may
/// be the rest.
fn doubles(transfer: &BodyTransfer) -> bool {
    let pieces = pieces(transfer);
    let is_window = pieces.first() >= Some(&FIRST_WINDOW);
    let growth = pieces.windows(2).map(|pair| match pair {
        [one, next] => *next as f64 / (*one).max(1) as f64,
        _ => 0.0,
    });
    let growth: Vec<f64> = growth.collect();
    match growth.split_last() {
        Some((rest, whole)) => {
            let doubled = !whole.is_empty() && whole.iter().all(|by| GROWS.contains(by));
            is_window && doubled && rest <= GROWS.end()
        }
        None => false,
    }
}

/// The bytes before the first pause, between pauses, and after the last.
fn pieces(transfer: &BodyTransfer) -> Vec<u64> {
    let ends = transfer.pauses.iter().map(|pause| pause.after);
    let mut last = 0;
    let pieces = ends.chain([transfer.bytes]).map(|end| {
        let piece = end.saturating_sub(last);
        last = end;
        piece
    });
    pieces.collect()
}

/// Pauses that a loss or the path would explain as well.
fn late_body(case: &Case<'_>) -> Option<Cost> {
    let transfer = case.transfer.as_ref()?;
    let servers = server_pauses(case, transfer);
    let longest = longest_beyond(case, transfer);
    let doubtful: Vec<Pause> = transfer
        .pauses
        .iter()
        .filter(|p| (p.doubtful || p.ms <= longest) && !servers.contains(p))
        .copied()
        .collect();
    let paused: f64 = doubtful.iter().map(|p| p.ms).sum();
    let least = MIN_LATE.max(0.1 * case.rtt?);
    let is_named = paused >= least && !may_be_the_line(case, transfer) && !case.is_event_stream();
    let evidence = told(transfer, &doubtful).filter(|_| is_named)?;
    let beyond = if doubtful.iter().any(|p| p.ms <= longest) {
        ", and so would a full window behind a proxy or load balancer"
    } else {
        ""
    };
    let evidence = format!(
        "{evidence}; a lost packet, a path that stopped, or a full send buffer would look the same{beyond}"
    );
    Some(Cost::new(evidence).waited(PhaseName::Body, WaitPart::Server, paused))
}

fn told(transfer: &BodyTransfer, pauses: &[Pause]) -> Option<String> {
    let first = pauses.first()?;
    let n = pauses.len();
    let whole: f64 = pauses.iter().map(|p| p.ms).sum();
    Some(if n == 1 {
        format!("nothing came for {whole:.1} ms after {} bytes", first.after)
    } else {
        format!(
            "{n} pauses of {:.1} ms on average, the first after {} bytes; {}",
            whole / n as f64,
            first.after,
            rate(transfer, whole)
        )
    })
}

/// Whether a very slow line may have caused the pauses: each took as long as the others, and one
/// full packet followed it. Such a line separates the packets of a sender that has more.
fn may_be_the_line(case: &Case<'_>, transfer: &BodyTransfer) -> bool {
    let pauses = &transfer.pauses;
    let next = pauses.iter().skip(1).map(|pause| pause.after);
    let pieces = pauses.iter().zip(next.chain([transfer.bytes]));
    let mut pieces = pieces.map(|(pause, end)| end.saturating_sub(pause.after));
    let shortest = pauses.iter().map(|pause| pause.ms).reduce(f64::min);
    let longest = pauses.iter().map(|pause| pause.ms).reduce(f64::max);
    let equal = longest
        .zip(shortest)
        .is_some_and(|(longest, shortest)| longest < EQUAL * shortest);
    pauses.len() > 1 && equal && pieces.all(|bytes| case.exchange.is_full_packet(bytes))
}

fn rate(transfer: &BodyTransfer, over: f64) -> String {
    format!("about {:.0} kB/s", transfer.bytes as f64 / over.max(1e-3))
}

fn slow_downlink(case: &Case<'_>) -> Option<Cost> {
    let (bytes, took) = case.transfer.as_ref()?.steady;
    let r = case.rtt?;
    if bytes == 0 {
        return None;
    }
    let trips = f64::from(case.round_trips(PhaseName::Body)) * r;
    let carried = case.waited(PhaseName::Body, WaitPart::Network) - trips;
    let evidence = format!(
        "{bytes} bytes came in {took:.0} ms without a pause, at a steady {:.0} kB/s",
        bytes as f64 / took
    );
    Some(Cost::new(evidence).waited(PhaseName::Body, WaitPart::Network, took.min(carried)))
}

/// The number of flights that doubling the window needs for `bytes`; the first is the answer's own.
pub(super) fn flights(bytes: u64, window: u64) -> u32 {
    let windows = bytes.div_ceil(window.max(1));
    (windows + 1).next_power_of_two().ilog2()
}
