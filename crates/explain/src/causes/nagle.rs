//! Small segments that wait for an acknowledgement, which in turn is delayed until they arrive.

use std::ops::RangeInclusive;

use roundtrip_model::{Event, Moment, PhaseName, Setting};

use crate::case::ms;
use crate::{Case, Cause, CauseFamily, Cost, Decidable, WaitPart};

pub(super) const FAMILY: CauseFamily = CauseFamily {
    title: "Small writes",
    causes: &[Cause {
        id: "nagle-delayed-ack",
        decidable: Decidable::Packets,
        name: "The server held a small segment back until the client had acknowledged the one before",
        shows: "a partial segment came first, and the next bytes came exactly one round trip after the client had acknowledged it: at once, with its own data, or 40 ms later; no two small segments came together, because Nagle's algorithm holds the second one back",
        signature: held_back,
        cost: "1 round trip and 40 ms with a client on Linux, 200 ms on others",
        remedy: "let the server write head and body at once, or switch Nagle's algorithm off",
        settings: &[
            Setting::new("server", "setsockopt(TCP_NODELAY)"),
            Setting::new("nginx", "tcp_nodelay on;"),
            Setting::new("HAProxy", "option http-no-delay"),
            Setting::new(
                "Linux (client)",
                "ip route change default via GATEWAY quickack 1",
            ),
        ],
        source: "RFC 896; RFC 1122 §4.2.3.2 and §4.2.3.4; tcp(7) (TCP_NODELAY)",
    }],
};

/// How long Linux waits before it sends a pure acknowledgement, in milliseconds, within a tick of 4
/// ms and the scheduler's delay. On a new connection that is `TCP_DELACK_MIN`; later the kernel
/// adapts it to the times between arrivals.
const DELAYED_ACK: RangeInclusive<f64> = 38.0..=46.0;
const ADAPTED_ACK: RangeInclusive<f64> = 38.0..=50.0;
/// How exactly the next segment must follow the acknowledgement: in milliseconds, and as a share of
/// R.
const EXACT: f64 = 1.0;
const EXACT_SHARE: f64 = 0.02;
const NEAR_SHARE: f64 = 0.2;
/// The largest difference of round trips at which a pause of about a round trip is significant: in
/// milliseconds, and as a share of R.
const STEADY: f64 = 2.0;
const STEADY_SHARE: f64 = 0.05;
/// The shortest round trip, in milliseconds, that can be distinguished from a server's own work.
const MIN_TRIP: f64 = 2.0;

/// A segment that Nagle's algorithm holds back leaves when the client's acknowledgement arrives at
/// the server, so it arrives one round trip after the acknowledgement left.
fn held_back(case: &Case<'_>) -> Option<Cost> {
    let r = case.rtt.filter(|_| !case.is_event_stream())?;
    let timeline = &case.exchange.timeline;
    let asked = timeline.last(|e| *e == Event::RequestSent)?;
    let received = timeline.iter().filter_map(|(at, e)| match e {
        Event::Received { bytes } if *at > asked => Some((*at, *bytes)),
        _ => None,
    });
    let received: Vec<(Moment, u64)> = received.collect();
    // The head and the first piece of the body; or the last piece, such as an empty frame that ends
    // it.
    let pairs = [
        (received.get(..2), false),
        (received.rchunks(2).next(), true),
    ];
    pairs.into_iter().find_map(|(pair, is_last)| match pair {
        Some([first, next]) => held_back_after(case, r, is_last, *first, next.0),
        _ => None,
    })
}

/// Whether the segment that arrived at `next` had waited for the acknowledgement of the first one.
fn held_back_after(
    case: &Case<'_>,
    r: f64,
    is_last: bool,
    (first, bytes): (Moment, u64),
    next: Moment,
) -> Option<Cost> {
    let timeline = &case.exchange.timeline;
    let pause = ms(next.since(first));
    let full = case.exchange.segment();
    let small = case.exchange.tcp.is_some() && bytes < full;
    // Nagle's algorithm leaves only one small segment unacknowledged.
    let is_off = timeline.iter().any(|(at, e)| match e {
        Event::Paused {
            segments, bytes, ..
        } => *at >= first && *at < next && *segments > 1 && *bytes < full,
        _ => false,
    });
    let spread = case.spread.ms();
    let exact = EXACT.min(NEAR_SHARE * r).max(EXACT_SHARE * r).max(spread);
    let delayed = timeline
        .iter()
        .any(|(at, e)| *at >= first && *at < next && *e == Event::AckDelayed);
    // Data that the client sends carries the acknowledgement.
    let carried = timeline.iter().find_map(|(at, e)| {
        let is_between = *at > first && *at < next;
        matches!(e, Event::Sent { .. } if is_between).then_some(*at)
    });
    let delayed = delayed && carried.is_none();
    let left = carried.unwrap_or(first);
    // A delay on purpose that the kernel reports is more special than a round trip.
    let factor = if delayed { 2.0 } else { 1.0 };
    // A server that sends pieces in step with the path does so for another reason.
    let at_once = !delayed && carried.is_none();
    if is_off || is_last && at_once || spread > factor * STEADY.max(STEADY_SHARE * r) {
        return None;
    }
    let fits = if delayed {
        let range = if case.exchange.reused {
            ADAPTED_ACK
        } else {
            DELAYED_ACK
        };
        let (least, most) = range.into_inner();
        (least - exact..=most + exact).contains(&(pause - r))
    } else {
        r >= MIN_TRIP && (ms(next.since(left)) - r).abs() <= exact
    };
    (small && fits).then(|| {
        let when = if delayed {
            format!("{:.0} ms later, because it delays acknowledgements", pause - r)
        } else if carried.is_some() {
            format!("with its own data {:.1} ms later", ms(left.since(first)))
        } else {
            "at once".to_owned()
        };
        let doubt = if delayed {
            ""
        } else {
            "; a server that takes as long for the next bytes looks the same"
        };
        let evidence = format!(
            "{bytes} bytes came, the client acknowledged them {when}, and the next bytes came a round trip after that{doubt}"
        );
        // A ticket or an interim response may come first, and the head of the answer may be the
        // segment that was held back.
        let of_head = case.named(PhaseName::FirstByte).any(|p| p.end >= next);
        let phase = if of_head {
            PhaseName::FirstByte
        } else {
            PhaseName::Body
        };
        let claimed = pause.min(case.waited(phase, WaitPart::Server));
        Cost::new(evidence).waited(phase, WaitPart::Server, claimed)
    })
}
