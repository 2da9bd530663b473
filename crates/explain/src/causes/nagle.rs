//! Small segments that wait for an acknowledgement, which in turn is delayed until they come.

use std::ops::RangeInclusive;

use roundtrip_model::{Event, PhaseName};

use crate::case::ms;
use crate::{Case, Cause, CauseFamily, Cost, RemedySetting, WaitPart};

pub(super) const FAMILY: CauseFamily = CauseFamily {
    title: "Small writes",
    causes: &[Cause {
        id: "nagle-delayed-ack",
        name: "The server held a small segment back until the client had acknowledged the one before",
        shows: "less than a segment came first, and the next bytes a round trip and 40 ms later: as long as this kernel delays a pure acknowledgement",
        signature: held_back,
        cost: "1 round trip and 40 ms with a client on Linux, 200 ms on others",
        remedy: "let the server write head and body at once, or switch Nagle's algorithm off",
        settings: &[
            RemedySetting::new("server", "setsockopt(TCP_NODELAY)"),
            RemedySetting::new("nginx", "tcp_nodelay on;"),
            RemedySetting::new("HAProxy", "option http-no-delay"),
            RemedySetting::new(
                "Linux (client)",
                "ip route change default via GATEWAY quickack 1",
            ),
        ],
        source: "RFC 896; RFC 1122 §4.2.3.2 and §4.2.3.4; tcp(7) (TCP_NODELAY)",
    }],
};

/// In milliseconds: how long Linux waits before it sends a pure acknowledgement (`TCP_DELACK_MIN`),
/// within a tick and the scheduler's delay.
const DELAYED_ACK: RangeInclusive<f64> = 38.0..=50.0;
/// In milliseconds. On a shorter path a pause of 40 ms may have any cause; with a round trip on top
/// it is this one.
const TELLING_TRIP: f64 = 5.0;

fn held_back(case: &Case<'_>) -> Option<Cost> {
    let r = case.rtt.filter(|r| *r >= TELLING_TRIP)?;
    let timeline = &case.exchange.timeline;
    let asked = timeline.last(|e| *e == Event::RequestSent)?;
    let mut received = timeline.iter().filter_map(|(at, e)| match e {
        Event::Received { bytes } if *at > asked => Some((*at, *bytes)),
        _ => None,
    });
    let (first, bytes) = received.next()?;
    let (next, _) = received.next()?;
    let pause = ms(next.since(first));
    let small = case.exchange.tcp.is_some() && bytes < case.segment();
    (small && DELAYED_ACK.contains(&(pause - r))).then(|| {
        let evidence = format!(
            "{bytes} bytes came, and the next {pause:.1} ms later: a round trip and {:.0} ms",
            pause - r
        );
        // A ticket may come first, and the head of the answer be what was held back.
        let head = timeline.first(|e| *e == Event::FirstByte);
        let phase = if head.is_some_and(|head| head >= next) {
            PhaseName::FirstByte
        } else {
            PhaseName::Body
        };
        let claimed = pause.min(case.waited(phase, WaitPart::Server));
        Cost::new(evidence).waited(phase, WaitPart::Server, claimed)
    })
}
