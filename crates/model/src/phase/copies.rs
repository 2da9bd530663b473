//! Whether retransmitted data had been lost, or was only acknowledged late.

use super::ms;
use crate::{Event, Exchange, Moment};

/// The weight of a new sample in the smoothed round trip (RFC 6298 §2).
pub(super) const WEIGHT: f64 = 1.0 / 8.0;
/// In milliseconds: a sample that changes the smoothed round trip by less than this proves nothing.
const TELLING: f64 = 1.0;

/// Whether the peer reported that the originals of all retransmitted segments arrived (RFC 2883).
pub(super) fn were_needless(exchange: &Exchange) -> bool {
    exchange.tcp.as_ref().is_some_and(|tcp| {
        let resent = tcp.retransmits.saturating_sub(tcp.syn_retransmits);
        resent > 0 && tcp.needless_retransmits >= resent
    })
}

/// Whether the acknowledgement that came at this moment belongs to the original transmission. The
/// kernel sees the peer's echo of its timestamp (RFC 7323 §4): for an original it takes the whole
/// time as a round trip, otherwise only the time since the retransmission.
pub(super) fn answers_original(exchange: &Exchange, at: Moment) -> bool {
    let tcp = exchange.tcp.as_ref().filter(|_| !exchange.reused);
    let told = tcp.and_then(|tcp| tcp.rtt.map(ms).zip(tcp.handshake_rtt.map(ms)));
    let (Some((told, first)), Some(r)) = (told, exchange.rtt.map(ms)) else {
        return false;
    };
    let smoothed = |late_is_a_sample: bool| {
        let mut smoothed = first;
        for (moment, event) in exchange.timeline.iter() {
            if let Event::Acknowledged { after, .. } = event {
                let is_counted = *moment != at || late_is_a_sample;
                let sample = if is_counted { ms(*after) } else { r };
                smoothed += WEIGHT * (sample - smoothed);
            }
        }
        smoothed
    };
    let (with, without) = (smoothed(true), smoothed(false));
    with - without >= TELLING && (told - with).abs() < (told - without).abs()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::TcpFacts;

    const R: f64 = 150.0;

    /// An exchange with two flights: one was acknowledged `late` ms after a round trip, the other
    /// in time.
    fn exchange(late: f64, smoothed: f64) -> (Exchange, Moment) {
        let span = |ms: f64| Duration::from_secs_f64(ms / 1e3);
        let mut e = Exchange {
            rtt: Some(span(R)),
            tcp: Some(TcpFacts {
                handshake_rtt: Some(span(R)),
                rtt: Some(span(smoothed)),
                retransmits: 1,
                ..TcpFacts::default()
            }),
            ..Exchange::default()
        };
        let mut at = Moment::ZERO;
        for late in [late, 0.0] {
            let after = span(R + late);
            at = at + after;
            e.timeline
                .push(at, Event::Acknowledged { after, again: None });
        }
        let first = Moment::ZERO + span(R + late);
        (e, first)
    }

    #[test]
    fn the_smoothed_round_trip_tells_which_copy_was_acknowledged() {
        // 480 / 8, and an eighth less after the next sample.
        for (smoothed, original) in [
            (R + 52.5, true),
            (R + 40.0, true),
            (R + 5.0, false),
            (R, false),
        ] {
            let (e, at) = exchange(480.0, smoothed);
            assert_eq!(answers_original(&e, at), original, "{smoothed}");
        }
        // One millisecond later, it gives no evidence.
        let (e, at) = exchange(4.0, R + 0.5);
        assert!(!answers_original(&e, at));
    }

    #[test]
    fn the_peer_reports_the_segments_that_it_had() {
        let (mut e, _) = exchange(480.0, R);
        assert!(!were_needless(&e));
        e.tcp.as_mut().unwrap().needless_retransmits = 1;
        assert!(were_needless(&e));
    }
}
