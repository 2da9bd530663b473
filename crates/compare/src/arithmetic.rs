//! What a way should cost, before it is measured: round trips by arithmetic times the measured R, and what else an
//! ordinary exchange spends.

use roundtrip_model::{Exchange, Memory, PhaseName, Summary};
use roundtrip_probe::Manner;

use crate::outcome::Prediction;
use crate::way::Way;

/// What the baseline spends beside the round trips of its arithmetic, in ms: medians of the exchanges of the discovery.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Costs {
    pub(crate) rtt: f64,
    /// The client's set-up, once for all requests.
    setup: f64,
    /// The name, once a connection.
    name: f64,
    /// Computing at both ends, in a full handshake.
    handshake: f64,
    /// From the request to the first byte, but for the round trip.
    reply: f64,
    body: f64,
    /// Round trips that the body takes beyond the first byte.
    body_trips: u32,
}

impl Costs {
    /// From the rehearsals, or from the first answer where the budget allowed none. `None` where no R could be measured.
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
        })
    }

    /// For one request of a sequence of `k`, on average.
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

    /// A request on a connection that is open.
    fn on_open(&self) -> (f64, f64) {
        let trips = f64::from(1 + self.body_trips);
        (trips, trips * self.rtt + self.reply + self.body)
    }
}

/// One exchange's phases, the round trips taken off.
#[derive(Debug, Default)]
struct Parts {
    setup: f64,
    name: f64,
    handshake: f64,
    reply: f64,
    body: f64,
    body_trips: f64,
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
                }
            }
        }
        parts
    }
}

#[cfg(test)]
mod tests {
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
}
