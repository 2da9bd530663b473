//! The time that a slow line needs for an answer. Segments that arrive back to back show how long
//! the line takes for each, and the first segment took just as long.

use super::{ms, uplink};
use crate::{Event, Exchange, Moment};

/// In bytes: the headers of a segment (TCP with timestamps over IPv4, and over IPv6).
const HEADERS: u64 = 52;
const HEADERS_V6: u64 = 72;
/// In bytes: smaller segments may follow each other for other reasons.
const MIN_BYTES: u64 = 200;
/// A line of unknown rate may be this slow, in bytes per millisecond (1 Mbit/s).
const SLOWEST: f64 = 125.0;
/// The sizes of full QUIC datagrams, in bytes (RFC 9000 §14).
pub(super) const FULL_DATAGRAM: std::ops::RangeInclusive<u64> = 1_200..=1_500;
/// Segments that the line separates arrive at equal distances, up to this factor.
const SAME_PACE: f64 = 1.1;
/// The least number of distances that show a line, and the share of them that must be equal.
const MIN_DISTANCES: usize = 4;
const EQUAL_DISTANCES: f64 = 0.75;

impl Exchange {
    /// Whether that many bytes fill a segment or datagram, so that the sender may have more. Each
    /// path of QUIC carries 1200 bytes.
    pub fn is_full_packet(&self, bytes: u64) -> bool {
        match self.quic {
            Some(_) => FULL_DATAGRAM.contains(&bytes),
            None => bytes == self.segment(),
        }
    }

    /// The milliseconds by which an answer (the bytes between two moments) may have arrived later
    /// on a slow line than an acknowledgement that left with it. 0 if the exchange shows the line's
    /// rate, because the phases then take it into account.
    pub fn carriage_of_answer(&self, since: Moment, until: Moment) -> f64 {
        let pace = ms_per_byte(self, |at| at > until || at <= since);
        let pace = match pace {
            Some(_) if self.quic.is_none() => return 0.0,
            Some(pace) => pace.min(1.0 / SLOWEST),
            // The way to the client is hardly slower than the other one.
            None => uplink::slowest_ms_per_byte(self, u64::MAX).max(1.0 / SLOWEST),
        };
        arrived(self, since, until) as f64 * pace
    }

    /// The milliseconds that a line needed for the bytes between two moments, if full segments
    /// arrived at equal distances: the line separated them. Otherwise 0.
    pub fn carried_by_line(&self, since: Moment, until: Moment) -> f64 {
        let pace = pace_of_line(self);
        pace.map_or(0.0, |pace| arrived(self, since, until) as f64 * pace)
    }
}

/// The milliseconds for each byte, with headers, if full segments arrived at equal distances.
pub(super) fn pace_of_line(exchange: &Exchange) -> Option<f64> {
    let mut last: Option<Moment> = None;
    let mut paces = Vec::new();
    for (at, event) in exchange.timeline.iter() {
        match event {
            Event::Received { bytes } => {
                let is_full = exchange.is_full_packet(*bytes);
                if let Some(last) = last.filter(|_| is_full) {
                    paces.push(ms(at.since(last)) / with_headers(exchange, *bytes) as f64);
                }
                last = is_full.then_some(*at);
            }
            Event::Sent { .. } => last = None,
            _ => {}
        }
    }
    paces.sort_by(f64::total_cmp);
    let usual = paces.get(paces.len() / 2).copied()?;
    let range = usual / SAME_PACE..=usual * SAME_PACE;
    let equal = paces.iter().filter(|pace| range.contains(pace)).count();
    let is_line = equal as f64 >= EQUAL_DISTANCES * paces.len() as f64;
    (paces.len() >= MIN_DISTANCES && is_line).then_some(usual)
}

/// The longest time that the line needed for the bytes between two moments, in milliseconds; 0 if
/// nothing shows its rate.
pub(super) fn carriage(exchange: &Exchange, since: Moment, until: Moment) -> f64 {
    if exchange.tcp.is_none() || exchange.quic.is_some() {
        return 0.0;
    }
    // A pause of this very wait shows the server's behaviour.
    let Some(ms_per_byte) = ms_per_byte(exchange, |at| at > until || at <= since) else {
        return 0.0;
    };
    arrived(exchange, since, until) as f64 * ms_per_byte
}

/// The bytes that arrived between two moments, with their headers.
fn arrived(exchange: &Exchange, since: Moment, until: Moment) -> u64 {
    let arrived = exchange
        .timeline
        .iter()
        .filter_map(|(at, event)| match event {
            Event::Received { bytes } if *at > since && *at <= until => {
                Some(with_headers(exchange, *bytes))
            }
            _ => None,
        });
    arrived.sum()
}

/// Whether that many bytes came in several segments or datagrams.
fn are_several(exchange: &Exchange, bytes: u64) -> bool {
    match exchange.quic {
        Some(_) => bytes > *FULL_DATAGRAM.end(),
        None => bytes > exchange.segment(),
    }
}

/// Whether a full segment followed its predecessor as closely as other full segments did. That
/// distance is the time that the line needs for a segment.
pub(super) fn paces(exchange: &Exchange, gap: f64, bytes: u64) -> bool {
    let full = bytes == exchange.segment() && exchange.tcp.is_some();
    let pace = ms_per_byte(exchange, |_| true).filter(|_| full);
    pace.is_some_and(|pace| gap <= SAME_PACE * with_headers(exchange, bytes) as f64 * pace)
}

/// The shortest time per byte behind a full segment: the sender had more to send, and the line is
/// not slower than that.
fn ms_per_byte(exchange: &Exchange, counts: impl Fn(Moment) -> bool) -> Option<f64> {
    let mut last: Option<Moment> = None;
    let mut shortest: Option<f64> = None;
    for (at, event) in exchange.timeline.iter() {
        match event {
            Event::Received { bytes } => {
                let behind = last.filter(|_| *bytes >= MIN_BYTES && counts(*at));
                let followed = behind.map(|last| {
                    let took = ms(at.since(last));
                    took / with_headers(exchange, *bytes) as f64
                });
                // Several segments at once show how quickly they follow each other.
                let together = are_several(exchange, *bytes).then_some(0.0);
                for took in followed.into_iter().chain(together) {
                    shortest = Some(shortest.map_or(took, |known| known.min(took)));
                }
                last = exchange.is_full_packet(*bytes).then_some(*at);
            }
            Event::Sent { .. } => last = None,
            _ => {}
        }
    }
    shortest
}

pub(super) fn with_headers(exchange: &Exchange, bytes: u64) -> u64 {
    let peer = exchange.tcp.as_ref().and_then(|tcp| tcp.peer);
    let headers = match peer {
        Some(peer) if peer.is_ipv6() => HEADERS_V6,
        _ => HEADERS,
    };
    bytes + headers * bytes.div_ceil(exchange.segment().max(1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::TcpFacts;

    /// Segments of these sizes in bytes, at these times.
    fn exchange(arrivals: &[(f64, u64)]) -> Exchange {
        let mut e = Exchange {
            tcp: Some(TcpFacts {
                mss: 1448,
                ..TcpFacts::default()
            }),
            ..Exchange::default()
        };
        e.timeline.push(Moment::ZERO, Event::Sent { bytes: 300 });
        for (at, bytes) in arrivals {
            let received = Event::Received { bytes: *bytes };
            e.timeline.push(Moment::from_millis(*at), received);
        }
        e
    }

    #[test]
    fn full_segments_at_equal_distances_show_a_line() {
        let at_each = |distances: &[f64]| {
            let mut at = 100.0;
            let mut arrivals = vec![(at, 1448)];
            for distance in distances {
                at += distance;
                arrivals.push((at, 1448));
            }
            arrivals.push((at + 10.0, 700));
            let e = exchange(&arrivals);
            e.carried_by_line(Moment::ZERO, Moment::from_millis(101.0))
        };
        assert!((at_each(&[24.0; 5]) - 24.0).abs() < 0.1);
        assert!((at_each(&[24.0, 24.3, 23.5, 0.1, 24.1]) - 24.0).abs() < 0.3);
        assert!(at_each(&[24.0; 3]) < 1e-9, "they are few");
        assert!(at_each(&[24.0, 9.0, 40.0, 3.0, 24.0]) < 1e-9);
    }

    #[test]
    fn the_first_segment_took_as_long_as_those_behind_it() {
        let first = |e: &Exchange| carriage(e, Moment::ZERO, Moment::from_millis(100.0));
        // 1500 bytes on the wire in 250 ms, and 750 in 130.
        let slow = exchange(&[(100.0, 1448), (350.0, 1448), (480.0, 698)]);
        assert!((first(&slow) - 250.0).abs() < 0.1, "{}", first(&slow));
        // They came at once.
        assert!(first(&exchange(&[(100.0, 1448), (100.1, 1448)])) < 0.2);
        assert!(first(&exchange(&[(100.0, 2896)])) < 1e-9);
        assert!(paces(&slow, 260.0, 1448) && !paces(&slow, 300.0, 1448));
        // A sender that pauses between smaller pieces is not a slow line.
        assert!(!paces(
            &exchange(&[(100.0, 1000), (350.0, 1000)]),
            250.0,
            1000
        ));
        // Data behind a small segment was not ready before.
        assert!(first(&exchange(&[(50.0, 184), (100.0, 600)])) < 1e-9);
        assert!(first(&exchange(&[(100.0, 184), (140.0, 600)])) < 1e-9);
        // Nothing shows the rate.
        assert!(first(&exchange(&[(100.0, 1448)])) < 1e-9);
        assert!(first(&exchange(&[(100.0, 1448), (350.0, 60)])) < 1e-9);
    }
}
