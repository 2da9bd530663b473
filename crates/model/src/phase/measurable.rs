//! Whether the round trip is long enough to be distinguished from the delays of the two hosts.

use std::time::Duration;

use crate::{Event, Exchange};

/// On shorter paths, such as a host's loopback, gaps cannot be distinguished from scheduling.
pub(super) const MIN_MEASURABLE_RTT: Duration = Duration::from_micros(200);
/// The smallest significant round trip over QUIC: programs acknowledge its packets, not the
/// kernels, so that R contains how long both programs waited for a processor.
const MIN_TELLING_QUIC_RTT: Duration = Duration::from_millis(2);
/// The smallest significant round trip if both programs share one host: as a time, and as a
/// multiple of the time in which the client did not run, because the server shares its processors
/// and probably ran as rarely.
const MIN_TELLING_OF_ONE_HOST: Duration = Duration::from_millis(10);
const ABSENCE: u32 = 2;

/// Whether a wait of a round trip can be distinguished from other waits of this exchange.
pub(super) fn is_measurable(exchange: &Exchange) -> bool {
    is_longer(exchange, MIN_TELLING_QUIC_RTT)
}

/// Whether the flights of an answer can be separated: there are many, so a shorter round trip
/// suffices.
pub(super) fn has_measurable_flights(exchange: &Exchange) -> bool {
    is_longer(exchange, MIN_MEASURABLE_RTT)
}

fn is_longer(exchange: &Exchange, over_quic: Duration) -> bool {
    let Some(quic) = &exchange.quic else {
        return exchange.rtt.is_some_and(|rtt| rtt >= MIN_MEASURABLE_RTT);
    };
    let is_here = quic.peer.is_some_and(|peer| {
        peer.ip().to_canonical().is_loopback()
            || quic.local.is_some_and(|local| local.ip() == peer.ip())
    });
    let shortest = if is_here {
        MIN_TELLING_OF_ONE_HOST.max(ABSENCE * absence(exchange))
    } else {
        over_quic
    };
    exchange.rtt.is_some_and(|rtt| rtt >= shortest)
}

/// How long the client was ready to run but did not run.
fn absence(exchange: &Exchange) -> Duration {
    let events = exchange.timeline.iter();
    let absences = events.filter_map(|(_, event)| match event {
        Event::Starved { took, .. } => Some(*took),
        _ => None,
    });
    absences.sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Moment, QuicFacts};

    fn over_quic(rtt_ms: u64, host: [u8; 4], absent_ms: u64) -> Exchange {
        let mut exchange = Exchange {
            rtt: Some(Duration::from_millis(rtt_ms)),
            quic: Some(QuicFacts {
                local: Some(([192, 0, 2, 1], 50_000).into()),
                peer: Some((host, 443).into()),
                ..QuicFacts::default()
            }),
            ..Exchange::default()
        };
        let took = Duration::from_millis(absent_ms);
        let throttled = false;
        let starved = Event::Starved { took, throttled };
        exchange.timeline.push(Moment::ZERO, starved);
        exchange
    }

    #[test]
    fn programs_on_one_host_need_a_longer_round_trip() {
        let (here, same, far) = ([127, 0, 0, 1], [192, 0, 2, 1], [198, 51, 100, 7]);
        for (rtt, host, absent, expected) in [
            (1, far, 0, false),
            (3, far, 20, true),
            (3, here, 0, false),
            (9, same, 0, false),
            (50, here, 5, true),
            (50, same, 30, false),
        ] {
            let exchange = over_quic(rtt, host, absent);
            assert_eq!(
                is_measurable(&exchange),
                expected,
                "{rtt} {host:?} {absent}"
            );
        }
    }
}
