//! Computes what the client's kernel would have measured for its own data: the delivery rate and
//! the smoothed round trip, as Linux computes them (RFC 6298 §2;
//! draft-cheng-iccrg-delivery-rate-estimation).

/// The weight of a new sample, as one part in this many.
const WEIGHT: f64 = 8.0;
/// In nanoseconds: data that follows an acknowledgement within this time had been waiting for it.
const AT_ONCE: u64 = 200_000;

/// A segment in transit, and what had been delivered when it was sent.
#[derive(Debug, Clone, Copy)]
struct Departure {
    end: u64,
    at: u64,
    delivered: u64,
    delivered_at: u64,
    first_sent: u64,
    limited: bool,
}

/// A measured rate.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Rate {
    /// The rate in bytes per second.
    pub(crate) bytes: u64,
    /// Whether the sender had nothing more to send.
    pub(crate) limited: bool,
}

/// Measures one connection. Times are in nanoseconds.
#[derive(Debug, Default)]
pub(super) struct Gauge {
    rtt: u64,
    mss: u64,
    under_way: Vec<Departure>,
    delivered: u64,
    delivered_at: u64,
    first_sent: u64,
    /// When the last acknowledgement came.
    acknowledged_at: Option<u64>,
    /// Until this much is delivered, the sending rate is limited by the available data.
    limited_until: Option<u64>,
    best: Option<Rate>,
    smoothed: Option<f64>,
    pub(super) rates: Vec<(u64, Rate)>,
    pub(super) trips: Vec<(u64, u64)>,
}

impl Gauge {
    pub(super) fn new(rtt: u64, mss: u64) -> Self {
        Self {
            rtt,
            mss,
            ..Self::default()
        }
    }

    fn segments(&self, bytes: u64) -> u64 {
        bytes.div_ceil(self.mss.max(1))
    }

    /// Data up to `end` left for the first time.
    pub(super) fn sent(&mut self, at: u64, end: u64, bytes: u64) {
        if self.under_way.is_empty() {
            (self.first_sent, self.delivered_at) = (at, at);
            self.limited_until = Some(self.delivered);
        } else if self
            .acknowledged_at
            .is_some_and(|ack| at.saturating_sub(ack) <= AT_ONCE)
        {
            // An acknowledgement let it go: there had been more to send.
            self.limited_until = None;
        }
        self.under_way.push(Departure {
            end,
            at,
            delivered: self.delivered,
            delivered_at: self.delivered_at,
            first_sent: self.first_sent,
            limited: self.limited_until.is_some(),
        });
        // A segment that is not full was the last one to send.
        if !bytes.is_multiple_of(self.mss.max(1)) {
            let first = self.under_way.first().map_or(end, |first| first.end);
            let ahead = self.segments(end.saturating_sub(first)) + 1;
            self.limited_until = Some(self.delivered + ahead);
        }
    }

    /// `bytes` were acknowledged up to `end`, which had not been sent again unless `repeated`.
    pub(super) fn acknowledged(&mut self, at: u64, end: u64, bytes: u64, repeated: bool) {
        let done = self.under_way.partition_point(|sent| sent.end <= end);
        let newest = self.under_way.drain(..done).next_back();
        self.delivered += self.segments(bytes);
        self.delivered_at = at;
        self.acknowledged_at = Some(at);
        let limited = self.limited_until.filter(|until| self.delivered <= *until);
        self.limited_until = limited;
        let Some(newest) = newest else { return };
        self.first_sent = newest.at;
        let sending = newest.at.saturating_sub(newest.first_sent);
        let arriving = at.saturating_sub(newest.delivered_at);
        let took = sending.max(arriving);
        if repeated || took < self.rtt || took == 0 {
            return;
        }
        let delivered = (self.delivered - newest.delivered) * self.mss;
        let rate = Rate {
            bytes: (u128::from(delivered) * 1_000_000_000 / u128::from(took)) as u64,
            limited: newest.limited,
        };
        if !rate.limited || self.best.is_none_or(|best| rate.bytes >= best.bytes) {
            self.best = Some(rate);
            self.rates.push((at, rate));
        }
    }

    /// A round trip took this long.
    pub(super) fn trip(&mut self, at: u64, took: u64) {
        let took = took as f64;
        let smoothed = self.smoothed;
        let smoothed = smoothed.map_or(took, |old| old + (took - old) / WEIGHT);
        self.smoothed = Some(smoothed);
        self.trips.push((at, smoothed as u64));
    }
}

/// The last value whose time is not later than this.
pub(super) fn last_at<T: Copy>(all: &[(u64, T)], at: u64) -> Option<T> {
    let found = all.partition_point(|(when, _)| *when <= at);
    found
        .checked_sub(1)
        .and_then(|last| all.get(last))
        .map(|(_, last)| *last)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    #[test]
    fn a_flight_that_is_all_there_was_is_measured_and_marked() {
        let mut gauge = Gauge::new(20 * MS, 1000);
        gauge.sent(0, 1000, 1000);
        gauge.sent(0, 1700, 700);
        gauge.acknowledged(34 * MS, 1700, 1700, false);
        let rate = Rate {
            bytes: 58_823,
            limited: true,
        };
        assert_eq!(gauge.rates, [(34 * MS, rate)]);
    }

    #[test]
    fn a_line_that_is_kept_busy_is_measured_by_what_arrives() {
        // A segment a millisecond, a round trip of 20 ms, ten segments at first, then two for each
        // that is acknowledged.
        let mut gauge = Gauge::new(20 * MS, 1000);
        let (mut sent, mut acknowledged) = (0, 0);
        let mut leave = |gauge: &mut Gauge, at, count| {
            for _ in 0..count {
                sent += 1000;
                gauge.sent(at, sent, 1000);
            }
        };
        leave(&mut gauge, 0, 10);
        for n in 0..200 {
            let at = (21 + n) * MS;
            acknowledged += 1000;
            gauge.acknowledged(at, acknowledged, 1000, false);
            leave(&mut gauge, at, if n < 100 { 2 } else { 0 });
        }
        let (_, last) = gauge.rates.last().unwrap();
        assert!(
            !last.limited && (990_000..1_010_000).contains(&last.bytes),
            "{last:?}"
        );
    }

    #[test]
    fn records_that_end_within_a_segment_do_not_hide_that_more_had_to_be_sent() {
        // A segment a millisecond; every third one is short, and each leaves when room is made.
        let mut gauge = Gauge::new(5 * MS, 1000);
        let mut sent = 0;
        let mut leave = |gauge: &mut Gauge, at, n: u64| {
            let bytes = if n % 3 == 2 { 600 } else { 1000 };
            sent += bytes;
            gauge.sent(at, sent, bytes);
            (sent, bytes)
        };
        let mut open: std::collections::VecDeque<_> =
            (0..10).map(|n| leave(&mut gauge, 0, n)).collect();
        for n in 10..100 {
            let at = n * MS;
            let (end, bytes) = open.pop_front().unwrap();
            gauge.acknowledged(at, end, bytes, false);
            open.push_back(leave(&mut gauge, at + 10_000, n));
        }
        let (_, last) = gauge.rates.last().unwrap();
        assert!(!last.limited, "{last:?}");
    }

    #[test]
    fn a_sample_has_a_weight_of_an_eighth() {
        let mut gauge = Gauge::default();
        gauge.trip(0, 80);
        gauge.trip(1, 160);
        assert_eq!(gauge.trips, [(0, 80), (1, 90)]);
        assert_eq!(last_at(&gauge.trips, 0), Some(80));
        assert_eq!(last_at::<u64>(&[], 0), None);
    }
}
