//! The expected cost of a way, before it is measured: round trips by arithmetic times the measured
//! R, plus everything else that an ordinary exchange takes.

use roundtrip_model::{Event, Exchange, Memory, Moment, Phase, PhaseName, Summary};
use roundtrip_probe::Manner;

use crate::outcome::Prediction;
use crate::way::Way;

/// What the baseline takes besides the round trips of its arithmetic, in ms: medians of the
/// exchanges of the discovery.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Costs {
    pub(crate) rtt: f64,
    /// The client's set-up, once for all requests.
    setup: f64,
    /// The name lookup, once for each connection.
    name: f64,
    /// Computation at both ends, in a full handshake.
    handshake: f64,
    /// From the request to the first byte, without the round trip.
    reply: f64,
    body: f64,
    /// Round trips that the body takes beyond the first byte, because the window of a new
    /// connection has to grow.
    body_trips: u32,
    /// The body without these waits: what it takes on a connection that has carried it before.
    carried: f64,
}

impl Costs {
    /// From the rehearsals, or from the first answer if the budget allowed none. `None` if R could
    /// not be measured.
    pub(crate) fn of(first: &Exchange, rehearsals: &[Exchange]) -> Option<Self> {
        let exchanges = if rehearsals.is_empty() {
            std::slice::from_ref(first)
        } else {
            rehearsals
        };
        let rtt = exchanges
            .iter()
            .chain([first])
            .filter_map(|e| e.rtt)
            .min()?;
        let rtt = rtt.as_secs_f64() * 1e3;
        let each: Vec<Parts> = exchanges.iter().map(|e| Parts::of(e, rtt)).collect();
        let median = |part: fn(&Parts) -> f64| {
            let all: Vec<f64> = each.iter().map(part).collect();
            Summary::of(&all).map_or(0.0, |s| s.median)
        };
        Some(Self {
            rtt,
            setup: median(|p| p.setup),
            name: median(|p| p.name),
            handshake: median(|p| p.handshake),
            reply: median(|p| p.reply),
            body: median(|p| p.body),
            body_trips: median(|p| p.body_trips) as u32,
            carried: median(|p| p.carried),
        })
    }

    /// The average for one request of a sequence of `k`.
    pub(crate) fn predict(&self, way: &Way, k: u32) -> Prediction {
        let (n, following) = (f64::from(k.max(1)), f64::from(k.saturating_sub(1)));
        let (trips, ms) = match way.manner {
            _ if way.strategy.reuse => self.on_open(),
            Manner::Each => {
                let (trips, ms) = self.first(way);
                (trips, ms + self.setup / n)
            }
            Manner::Kept => {
                let (first, open) = (self.first(way), self.on_open());
                (
                    (first.0 + following * open.0) / n,
                    (self.setup + first.1 + following * open.1) / n,
                )
            }
            Manner::AtOnce => {
                let (trips, ms) = self.first(way);
                (trips / n, (self.setup + ms + following * self.body) / n)
            }
        };
        Prediction {
            ms,
            round_trips: trips,
        }
    }

    /// The first request on a connection.
    fn first(&self, way: &Way) -> (f64, f64) {
        let trips = f64::from(way.strategy.round_trips() + self.body_trips);
        let full = way.strategy.memory == Memory::Cold;
        let handshake = if full { self.handshake } else { 0.0 };
        let rest = self.name + handshake + self.reply + self.body;
        (trips, trips * self.rtt + rest)
    }

    /// A request on an open connection. The same answer has crossed it before, measured or not, so
    /// the server's window has grown with it, and is still as large for a request that follows at
    /// once. RFC 5681 §3.1.
    fn on_open(&self) -> (f64, f64) {
        (1.0, self.rtt + self.reply + self.carried)
    }
}

/// One exchange's phases, without their round trips.
#[derive(Debug, Default)]
struct Parts {
    setup: f64,
    name: f64,
    handshake: f64,
    reply: f64,
    body: f64,
    body_trips: f64,
    carried: f64,
}

impl Parts {
    fn of(exchange: &Exchange, rtt: f64) -> Self {
        let mut parts = Self::default();
        for phase in exchange.phases() {
            let trips = f64::from(phase.round_trips);
            let rest = (phase.ms() - trips * rtt).max(0.0);
            match phase.name {
                PhaseName::Setup => parts.setup += rest,
                PhaseName::Name => parts.name += rest,
                PhaseName::Tcp | PhaseName::Proxy | PhaseName::Tls | PhaseName::Quic => {
                    parts.handshake += rest;
                }
                PhaseName::Request | PhaseName::FirstByte => parts.reply += rest,
                PhaseName::Body => {
                    parts.body += rest;
                    parts.body_trips += trips;
                    parts.carried += (phase.ms() - stalls(exchange, &phase, rtt)).max(0.0);
                }
            }
        }
        parts
    }
}

/// How long a body waited for the window, in ms: for each pause, about a round trip from one
/// arrival to the next, less the time that the flight before it took to arrive.
fn stalls(exchange: &Exchange, body: &Phase, rtt: f64) -> f64 {
    let arrivals: Vec<Moment> = exchange
        .timeline
        .iter()
        .filter(|(at, e)| {
            matches!(e, Event::Received { .. }) && (body.start..=body.end).contains(at)
        })
        .map(|(at, _)| *at)
        .collect();
    let gaps = arrivals.windows(2).filter_map(|pair| match pair {
        [before, after] => Some(after.since(*before).as_secs_f64() * 1e3),
        _ => None,
    });
    let mut pauses: Vec<f64> = gaps.filter(|g| (0.5..=2.5).contains(&(g / rtt))).collect();
    pauses.sort_by(|a, b| b.total_cmp(a));
    pauses.iter().take(body.round_trips as usize).sum()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use roundtrip_probe::Family;

    use super::*;
    use crate::way::Remedy;

    fn predicted(word: &str, manner: Option<Manner>, k: u32) -> (f64, f64) {
        let costs = Costs {
            rtt: 100.0,
            setup: 1.0,
            name: 0.0,
            handshake: 2.0,
            reply: 5.0,
            body: 0.5,
            body_trips: 0,
            carried: 0.5,
        };
        let mut way = Way::new(Remedy::Asked, word.parse().unwrap(), Family::Any);
        way.manner = manner.unwrap_or(way.manner);
        let p = costs.predict(&way, k);
        (p.round_trips, p.ms)
    }

    #[test]
    fn the_arithmetic() {
        assert_eq!(predicted("h1+tls1.2", None, 1), (4.0, 408.5));
        assert_eq!(predicted("h2+tls1.3", None, 1), (3.0, 308.5));
        assert_eq!(predicted("h2+tls1.3+0rtt", None, 1), (2.0, 206.5));
        assert_eq!(predicted("h2+tls1.3+reuse", None, 1), (1.0, 105.5));
        // (308.5 + 105.5) / 2
        assert_eq!(predicted("h2+tls1.3", Some(Manner::Kept), 2), (2.0, 207.0));
        assert_eq!(
            predicted("h2+tls1.3", Some(Manner::AtOnce), 2),
            (1.5, 154.5)
        );
    }

    /// 30 segments of 1,400 bytes, 1 ms each: ten, then twenty when those are acknowledged, a round
    /// trip after they arrived.
    fn in_two_flights() -> Exchange {
        let mut exchange = Exchange {
            rtt: Some(Duration::from_millis(100)),
            ..Exchange::default()
        };
        let first = (0..10).map(|n| 100.0 + f64::from(n));
        let second = (0..20).map(|n| 200.0 + f64::from(n));
        let mut push = |at, event| exchange.timeline.push(Moment::from_millis(at), event);
        push(0.0, Event::RequestStarted);
        push(0.0, Event::Sent { bytes: 100 });
        push(0.0, Event::RequestSent);
        for (n, at) in first.chain(second).enumerate() {
            push(at, Event::Received { bytes: 1400 });
            if n == 0 {
                push(at, Event::FirstByte);
            }
        }
        push(219.0, Event::Finished);
        exchange
    }

    #[test]
    fn a_kept_connection_has_the_window_that_the_answer_before_left() {
        let exchange = in_two_flights();
        let costs = Costs::of(&exchange, &[]).unwrap();
        assert_eq!(costs.body_trips, 1, "{costs:?}");
        let way = |word: &str| Way::new(Remedy::Asked, word.parse().unwrap(), Family::Any);
        let new = costs.predict(&way("h1+tls1.3"), 1);
        let kept = costs.predict(&way("h1+tls1.3+reuse"), 1);
        assert!((new.round_trips - 4.0).abs() < 1e-9, "{new:?}");
        // One round trip, and 28 ms in which the segments arrive, apart from the pause of 91 ms.
        assert!((kept.round_trips - 1.0).abs() < 1e-9, "{kept:?}");
        assert!((kept.ms - 128.0).abs() < 1e-6, "{kept:?}");
    }
}
