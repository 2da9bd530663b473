//! The expected cost of a way, before it is measured: round trips by arithmetic times the measured
//! R, plus everything else that an ordinary exchange takes.

use roundtrip_model::{Event, Exchange, Memory, Moment, Phase, PhaseName, Summary};
use roundtrip_probe::ConnectionUse;

use crate::outcome::Prediction;
use crate::way::Way;

/// The longest pause within a flight, in round trips. A flight also ends when it is time for the
/// next one.
const PAUSE: f64 = 0.25;
const FLIGHT: f64 = 0.97;
/// The shortest flight that shows how fast bytes arrive.
const MIN_SEGMENTS: u64 = 4;
/// BBR's startup gain, 2 / ln 2: the factor by which it sends faster than the measured bandwidth
/// while that grows. The second value is the tolerance for a flight.
const STARTUP_GAIN: f64 = 2.885;
const STARTUP_SLACK: f64 = 0.2;

/// The time of the baseline beyond its round trips, in ms: medians of the exchanges of the
/// discovery.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Costs {
    pub(crate) rtt: f64,
    /// The time of the client's set-up, once for all requests.
    setup: f64,
    /// The time of the name lookup, once for each connection.
    name: f64,
    /// The time of the computation at both ends, in a full handshake.
    handshake: f64,
    /// The time from the request to the first byte, without the round trip.
    reply: f64,
    body: f64,
    /// Round trips that the body takes beyond the first byte, because the window of a new
    /// connection has to grow.
    body_trips: u32,
    /// The time of the body without the waits for the window, as on a connection whose window has
    /// grown.
    carried: f64,
}

impl Costs {
    /// Computes the costs from the rehearsals, or from the first answer if the budget allowed none.
    /// `None` if R could not be measured.
    pub(crate) fn from_exchanges(first: &Exchange, rehearsals: &[Exchange]) -> Option<Self> {
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
        let each: Vec<Parts> = exchanges
            .iter()
            .map(|e| Parts::from_exchange(e, rtt))
            .collect();
        let median = |part: fn(&Parts) -> f64| {
            let all: Vec<f64> = each.iter().map(part).collect();
            Summary::from_samples(&all).map_or(0.0, |s| s.median)
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

    /// Predicts the average time of one request in a sequence of `k`.
    pub(crate) fn predict(&self, way: &Way, k: u32) -> Prediction {
        let (n, following) = (f64::from(k.max(1)), f64::from(k.saturating_sub(1)));
        let (trips, ms) = match way.manner {
            _ if way.strategy.reuse => self.on_open(),
            ConnectionUse::Each => {
                let (trips, ms) = self.first(way);
                (trips, ms + self.setup / n)
            }
            ConnectionUse::Kept => {
                let (first, open) = (self.first(way), self.on_open());
                (
                    (first.0 + following * open.0) / n,
                    (self.setup + first.1 + following * open.1) / n,
                )
            }
            ConnectionUse::AtOnce => {
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

    /// A request on an open connection. The same answer has crossed the connection before, measured
    /// or not, so the server's window has grown, and it is still as large for a request that
    /// follows at once. RFC 5681 §3.1.
    fn on_open(&self) -> (f64, f64) {
        (1.0, self.rtt + self.reply + self.carried)
    }
}

/// The phases of one exchange, without their round trips.
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
    fn from_exchange(exchange: &Exchange, rtt: f64) -> Self {
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
                    parts.carried += carried(exchange, &phase, rtt);
                }
            }
        }
        parts
    }
}

/// The time of the body once the window has reached its size, in ms: all of it arrives as fast as
/// the fastest of its flights, and the server and the client pause as they did. Flights grow until
/// then, and a sender that paces them leaves hardly any pause between them.
fn carried(exchange: &Exchange, body: &Phase, rtt: f64) -> f64 {
    if body.round_trips == 0 {
        return body.ms();
    }
    let arrivals: Vec<(Moment, u64)> = exchange
        .timeline
        .iter()
        .filter(|(at, _)| (body.start..=body.end).contains(at))
        .filter_map(|(at, e)| match e {
            Event::Received { bytes } => Some((*at, *bytes)),
            _ => None,
        })
        .collect();
    let bytes: u64 = arrivals.iter().map(|(_, bytes)| bytes).sum();
    let flights: Vec<FlightSize> = flights(&arrivals, rtt)
        .map(FlightSize::from_arrivals)
        .collect();
    let told = flights
        .iter()
        .filter(|flight| flight.bytes >= MIN_SEGMENTS * exchange.segment());
    let fastest = told.map(|flight| flight.per_byte).min_by(f64::total_cmp);
    let line = startup(&flights, rtt).or(fastest);
    let pauses = body.waited.server + body.waited.client + body.waited.loss;
    let once = bytes as f64 * line.unwrap_or(0.0) + pauses;
    once.min(body.ms())
}

/// Groups arrivals into flights: those within a round trip and without a pause among them.
fn flights(arrivals: &[(Moment, u64)], rtt: f64) -> impl Iterator<Item = &[(Moment, u64)]> {
    let mut began = arrivals.first().map(|(at, _)| *at);
    arrivals.chunk_by(move |(before, _), (at, _)| {
        let since = |from: Moment| at.since(from).as_secs_f64() * 1e3;
        let same =
            since(*before) < PAUSE * rtt && began.is_some_and(|began| since(began) < FLIGHT * rtt);
        if !same {
            began = Some(*at);
        }
        same
    })
}

#[derive(Debug, Clone, Copy)]
struct FlightSize {
    bytes: u64,
    /// The time for each byte, in milliseconds.
    per_byte: f64,
}

impl FlightSize {
    fn from_arrivals(arrivals: &[(Moment, u64)]) -> Self {
        let bytes = |arrivals: &[(Moment, u64)]| arrivals.iter().map(|(_, bytes)| bytes).sum();
        let per_byte = match arrivals {
            [(first, _), rest @ .., (last, more)] => {
                let after: u64 = bytes(rest) + more;
                last.since(*first).as_secs_f64() * 1e3 / after as f64
            }
            _ => 0.0,
        };
        Self {
            bytes: bytes(arrivals),
            per_byte,
        }
    }
}

/// If BBR sends and its bandwidth still grows, the pace at which it will continue, in milliseconds
/// for each byte. BBR paces at a fixed multiple of the most that was acknowledged in a round trip
/// (draft-ietf-ccwg-bbr §5.6.2), so the last flights determine the pace of later ones.
fn startup(flights: &[FlightSize], rtt: f64) -> Option<f64> {
    let pace = |flight: &FlightSize| rtt / (STARTUP_GAIN * flight.bytes as f64);
    let follows = |later: &FlightSize, earlier: &FlightSize| {
        (later.per_byte / pace(earlier) - 1.0).abs() <= STARTUP_SLACK
    };
    let mut later = flights.iter().enumerate();
    later
        .any(|(n, later)| {
            flights
                .iter()
                .take(n)
                .any(|earlier| follows(later, earlier))
        })
        .then(|| flights.iter().map(pace).min_by(f64::total_cmp))?
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use roundtrip_probe::Family;

    use super::*;
    use crate::way::Remedy;

    fn predicted(word: &str, manner: Option<ConnectionUse>, k: u32) -> (f64, f64) {
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
        assert_eq!(
            predicted("h2+tls1.3", Some(ConnectionUse::Kept), 2),
            (2.0, 207.0)
        );
        assert_eq!(
            predicted("h2+tls1.3", Some(ConnectionUse::AtOnce), 2),
            (1.5, 154.5)
        );
    }

    /// Thirty segments of 1,400 bytes that take 1 ms each: ten, and twenty more a round trip later,
    /// when the first were acknowledged.
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
        let costs = Costs::from_exchanges(&exchange, &[]).unwrap();
        assert_eq!(costs.body_trips, 1, "{costs:?}");
        let way = |word: &str| Way::new(Remedy::Asked, word.parse().unwrap(), Family::Any);
        let new = costs.predict(&way("h1+tls1.3"), 1);
        let kept = costs.predict(&way("h1+tls1.3+reuse"), 1);
        assert!((new.round_trips - 4.0).abs() < 1e-9, "{new:?}");
        // One round trip, and 1 ms for each segment.
        assert!((kept.round_trips - 1.0).abs() < 1e-9, "{kept:?}");
        assert!((kept.ms - 130.0).abs() < 1e-6, "{kept:?}");
    }

    /// Flights of `segments`, each with its pace in milliseconds.
    fn paced(flights: &[(u32, f64)]) -> f64 {
        let mut exchange = Exchange {
            rtt: Some(Duration::from_millis(100)),
            ..Exchange::default()
        };
        let mut push = |at, event| exchange.timeline.push(Moment::from_millis(at), event);
        push(0.0, Event::RequestStarted);
        push(0.0, Event::Sent { bytes: 100 });
        push(0.0, Event::RequestSent);
        let mut last = 0.0;
        for (flight, (segments, pace)) in flights.iter().enumerate() {
            for n in 0..*segments {
                let at = 100.0 * (flight + 1) as f64 + pace * f64::from(n);
                last = at;
                push(at, Event::Received { bytes: 1400 });
                if flight == 0 && n == 0 {
                    push(at, Event::FirstByte);
                }
            }
        }
        push(last, Event::Finished);
        let costs = Costs::from_exchanges(&exchange, &[]).unwrap();
        let way = Way::new(
            Remedy::Asked,
            "h1+tls1.3+reuse".parse().unwrap(),
            Family::Any,
        );
        costs.predict(&way, 1).ms
    }

    #[test]
    fn a_kept_connection_is_as_fast_as_the_fastest_flight() {
        // 70 segments at the pace of the last 40, and not the 295 ms that the body took.
        let kept = paced(&[(10, 9.4), (20, 4.7), (40, 2.35)]);
        assert!((255.0..=275.0).contains(&kept), "{kept}");
    }

    #[test]
    fn bbr_goes_on_faster_than_it_sent() {
        // The second flight is paced by the first, 100 / (2.885 × 10); the next will be by the
        // second.
        let kept = paced(&[(10, 0.2), (22, 3.45), (12, 3.45)]);
        let pace = 100.0 / (2.885 * 22.0);
        assert!((kept - 100.0 - 44.0 * pace).abs() < 3.0, "{kept}");
    }
}
