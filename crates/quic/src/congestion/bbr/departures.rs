//! Records what was in flight and lost when each packet left, for packets that turn out to be lost.

use std::collections::VecDeque;
use std::time::Duration;

use crate::Time;

const MAX_DEPARTURES: usize = 512;

#[derive(Debug, Default)]
pub(super) struct Departures(VecDeque<Departure>);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Departure {
    at: Time,
    /// The bytes in flight, including the packet itself.
    pub(super) in_flight: u64,
    /// The number of bytes that had been lost by then.
    pub(super) lost: u64,
}

impl Departures {
    /// Records a departure. Departures that are closer together than `spacing` count as one.
    pub(super) fn note(&mut self, at: Time, in_flight: u64, lost: u64, spacing: Duration) {
        match self.0.back_mut() {
            Some(newest) if at <= newest.at.after(spacing) => newest.in_flight = in_flight,
            _ => {
                if self.0.len() == MAX_DEPARTURES {
                    self.0.pop_front();
                }
                self.0.push_back(Departure {
                    at,
                    in_flight,
                    lost,
                });
            }
        }
    }

    pub(super) fn at(&self, sent: Time) -> Option<Departure> {
        let after = self.0.partition_point(|departure| departure.at <= sent);
        let before = after.saturating_sub(1);
        self.0.get(before).copied()
    }

    /// Forgets departures more than `back` before `sent`: their packets are known to be
    /// acknowledged or lost.
    pub(super) fn forget(&mut self, sent: Time, back: Duration) {
        while self.0.get(1).is_some_and(|next| next.at.after(back) < sent) {
            self.0.pop_front();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_departure_before_is_found() {
        let mut departures = Departures::default();
        assert_eq!(departures.at(Time(1)), None);
        for step in 0..1000 {
            departures.note(Time(step * 10), step, step / 2, Duration::from_nanos(15));
        }
        // Every two of them are joined into one.
        let found = departures.at(Time(9_999)).unwrap();
        assert_eq!(
            (found.at, found.in_flight, found.lost),
            (Time(9_980), 999, 499)
        );
        assert_eq!(departures.at(Time(5_005)).unwrap().at, Time(5_000));
        departures.forget(Time(9_000), Duration::from_nanos(100));
        assert_eq!(departures.at(Time(0)).unwrap().at, Time(8_880));
        for step in 1000..3000 {
            departures.note(Time(step * 10), step, step / 2, Duration::ZERO);
        }
        assert_eq!(departures.0.len(), MAX_DEPARTURES);
    }
}
