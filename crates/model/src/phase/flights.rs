//! The flights of a body: the one that had begun before it, and those of a paced sender, which have
//! no gaps between them and are recognised by their size.

use super::ms;
use crate::{Event, Moment, Timeline};

/// As a share: a flight may begin a little less than a round trip after the previous one.
const EARLY: f64 = 0.1;

/// When the flight began that is in progress at `start`, and how many bytes of it had arrived by
/// then.
pub(super) fn begun(timeline: &Timeline, start: Moment, rtt: f64) -> (Moment, u64) {
    let mut since = start;
    let mut sum = 0;
    for (at, event) in timeline.iter().rev() {
        match event {
            Event::Received { bytes } if *at < start => {
                if ms(since.since(*at)) >= (0.25 * rtt).max(1.0) {
                    break;
                }
                since = *at;
                sum += bytes;
            }
            _ => {}
        }
    }
    (since, sum)
}

/// The number of round trips that a body needed beyond its first flight, as long as each brought a
/// quarter more than the one before. Data at a steady rate does not grow, and is not counted.
pub(super) fn of_a_growing_window(
    timeline: &Timeline,
    start: Moment,
    end: Moment,
    rtt: f64,
) -> u32 {
    let mut flights: Vec<(u64, u64)> = Vec::new();
    for (at, event) in timeline.iter() {
        let Event::Received { bytes } = event else {
            continue;
        };
        if *at < start || *at > end {
            continue;
        }
        let number = (ms(at.since(start)) / rtt + EARLY) as u64;
        match flights.last_mut() {
            Some((last, sum)) if *last == number => *sum += bytes,
            _ => flights.push((number, *bytes)),
        }
    }
    let mut trips = 0;
    for (n, pair) in flights.windows(2).enumerate() {
        let [(number, before), (next, bytes)] = pair else {
            break;
        };
        // The last one brings the rest.
        let last = n + 2 == flights.len();
        if *next != number + 1 || (!last && 4 * bytes < 5 * before) {
            break;
        }
        trips += 1;
    }
    trips
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `bytes` arrive in each hundredth of a second; a round trip takes two of these.
    fn counted(bytes: &[u64]) -> u32 {
        let mut timeline = Timeline::default();
        for (n, bytes) in bytes.iter().enumerate().filter(|(_, bytes)| **bytes > 0) {
            let at = Moment::from_millis(10.0 * n as f64);
            timeline.push(at, Event::Received { bytes: *bytes });
        }
        of_a_growing_window(&timeline, Moment::ZERO, timeline.end(), 20.0)
    }

    #[test]
    fn flights_grow_and_a_steady_stream_does_not() {
        assert_eq!(counted(&[10]), 0);
        assert_eq!(counted(&[10, 0, 20, 0, 40, 0, 5]), 3);
        assert_eq!(counted(&[10, 0, 12, 8, 20, 20, 5]), 3);
        assert_eq!(counted(&[10, 10, 10, 10, 10, 10, 10, 10]), 0);
        assert_eq!(
            counted(&[10, 0, 12, 8, 10, 10, 10, 10, 5]),
            1,
            "a line is full"
        );
        assert_eq!(counted(&[10, 0, 0, 0, 20]), 0);
    }
}
