//! Stretches of an answer during which bytes arrived at a steady rate.

/// In round trips and milliseconds: shorter steady streams give no evidence about the line.
const STEADY_TRIPS: f64 = 2.0;
const STEADY_MS: f64 = 20.0;
/// The largest lateness of bytes that arrive at a steady rate, as a share of the stretch. On a path
/// that varies, whole flights arrive at once, and nothing arrives in between.
const MAX_STOPPED: f64 = 0.2;
/// In round trips: shorter pauses are normal at any rate.
const SHORT: f64 = 0.5;
/// A sender that paces its segments, as BBR does, changes the rate with each round trip, but a line
/// does not: no quarter of its bytes takes less than this share of the next, unless the path's
/// variation explains the difference.
const LEAST_QUARTER: f64 = 0.65;
const QUARTERS: usize = 4;
/// The paces of two stretches on one line differ by less than this factor.
const SAME_PACE: f64 = 1.1;
/// Fewer arrivals cannot be divided into quarters.
const MIN_ARRIVALS: usize = 16;

/// As a share of a segment: an arrival smaller than this shows that the sender had nothing more.
const FULL: f64 = 0.8;

/// A path's round trip, by how much its round trips differ as far as is known, and by how much one
/// may be longer by chance, in milliseconds.
#[derive(Debug, Clone, Copy)]
pub(super) struct PathTimes {
    pub(super) rtt: f64,
    pub(super) spread: f64,
    pub(super) possible: f64,
}

/// Arrivals without a pause between them that had a known reason.
#[derive(Debug, Default)]
pub(super) struct SteadyStretch {
    /// The milliseconds since the arrival before, and the bytes.
    arrivals: Vec<(f64, u64)>,
}

impl SteadyStretch {
    pub(super) fn push(&mut self, gap: f64, bytes: u64) {
        self.arrivals.push((gap, bytes));
    }

    fn is_steady(&self, path: PathTimes) -> bool {
        let (took, pace) = (self.took(), self.took() / self.bytes().max(1) as f64);
        let stopped = self.arrivals.iter().map(|(gap, bytes)| {
            let late = gap - *bytes as f64 * pace;
            if *gap >= SHORT * path.rtt {
                late.max(0.0)
            } else {
                0.0
            }
        });
        stopped.sum::<f64>() <= MAX_STOPPED * took && self.is_even(path.spread)
    }

    /// Whether most arrivals fill segments, so that the sender had more.
    fn fills(&self, segment: u64) -> bool {
        let full = self.arrivals.iter();
        let full = full.filter(|(_, bytes)| *bytes as f64 >= FULL * segment as f64);
        2 * full.count() >= self.arrivals.len()
    }

    /// Whether it is long enough to show the rate of a line. The path may have delayed its end.
    fn is_long(&self, path: PathTimes) -> bool {
        self.took() - path.possible >= STEADY_MS.max(STEADY_TRIPS * path.rtt).min(f64::MAX)
    }

    fn took(&self) -> f64 {
        self.arrivals.iter().map(|(gap, _)| gap).sum()
    }

    fn bytes(&self) -> u64 {
        self.arrivals.iter().map(|(_, bytes)| bytes).sum()
    }

    /// The milliseconds for each byte. The first arrival is left out: it began the stretch.
    fn pace(&self) -> f64 {
        let first = self.arrivals.first().map_or(0, |(_, bytes)| *bytes);
        self.took() / (self.bytes() - first).max(1) as f64
    }

    /// Whether the fastest quarter of the bytes took about as long as the second fastest: a line
    /// does not become faster.
    fn is_even(&self, spread: f64) -> bool {
        let rest = self.arrivals.get(1..).unwrap_or_default();
        if rest.len() < MIN_ARRIVALS {
            return true;
        }
        let bytes: u64 = rest.iter().map(|(_, bytes)| bytes).sum();
        let quarter = bytes as f64 / QUARTERS as f64;
        let mut took_each = [0.0; QUARTERS];
        let mut came = 0.0;
        for (gap, bytes) in rest {
            let (from, to) = (came, came + *bytes as f64);
            came = to;
            // An arrival may belong to several quarters.
            for (n, took) in took_each.iter_mut().enumerate() {
                let (begin, end) = (n as f64 * quarter, (n + 1) as f64 * quarter);
                let share = (to.min(end) - from.max(begin)).max(0.0) / (to - from).max(1.0);
                *took += share * gap;
            }
        }
        took_each.sort_by(f64::total_cmp);
        // The second fastest: slow start may precede what the line delivers.
        let [least, usual, ..] = took_each;
        least >= LEAST_QUARTER * usual || usual - least <= 2.0 * spread
    }
}

/// The bytes that came at a steady rate, and the milliseconds that they took: in stretches that
/// were long enough, and in shorter ones at the same rate, such as behind a pause of the server.
pub(super) fn carried(stretches: &[SteadyStretch], segment: u64, path: PathTimes) -> (u64, f64) {
    let is_line = |s: &&SteadyStretch| s.fills(segment) && s.is_steady(path);
    let steady = stretches.iter().filter(is_line);
    let (long, short): (Vec<_>, Vec<_>) = steady.partition(|s| s.is_long(path));
    let at_pace = |s: &&&SteadyStretch| {
        let is_same = |pace: f64| (1.0 / SAME_PACE..=SAME_PACE).contains(&(s.pace() / pace));
        long.iter().any(|long| is_same(long.pace()))
    };
    let same = short.iter().filter(at_pace);
    let all = long.iter().chain(same);
    all.fold((0, 0.0), |(bytes, took), s| {
        (bytes + s.bytes(), took + s.took())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn over(rtt: f64, spread: f64) -> PathTimes {
        PathTimes {
            rtt,
            spread,
            possible: spread,
        }
    }

    fn steady(arrivals: &[(f64, u64)], rtt: f64) -> bool {
        let mut stretch = SteadyStretch::default();
        for (gap, bytes) in arrivals {
            stretch.push(*gap, *bytes);
        }
        carried(&[stretch], 1448, over(rtt, 0.0)).0 > 0
    }

    #[test]
    fn a_line_delivers_at_a_pace() {
        assert!(steady(&[(24.0, 1448); 30], 20.0));
        // Several segments may be read at once.
        let mut merged = vec![(24.0, 1448); 20];
        merged.extend([(72.0, 3 * 1448), (48.0, 2 * 1448)]);
        assert!(steady(&merged, 20.0));
        assert!(!steady(&[(24.0, 1448)], 20.0), "it is too short");
        assert!(!steady(&[(100.0, 1000); 20], 20.0), "a sender with a clock");
    }

    /// One packet of a flight may have been delayed by as long as the whole stretch took.
    #[test]
    fn a_stretch_that_the_path_s_variation_explains_shows_no_rate() {
        let stretch = || {
            let mut stretch = SteadyStretch::default();
            (0..12).for_each(|_| stretch.push(4.0, 1448));
            stretch
        };
        assert!(carried(&[stretch()], 1448, over(20.0, 1.0)).0 > 0);
        assert_eq!(carried(&[stretch()], 1448, over(20.0, 25.0)).0, 0);
    }

    /// One round trip does not show how much longer another may take.
    #[test]
    fn a_stretch_that_the_path_may_have_delayed_shows_no_rate() {
        let stretch = || {
            let mut stretch = SteadyStretch::default();
            (0..12).for_each(|_| stretch.push(5.0, 1448));
            stretch
        };
        let path = |possible: f64| PathTimes {
            possible,
            ..over(2.0, 0.0)
        };
        assert!(carried(&[stretch()], 1448, path(9.0)).0 > 0);
        assert_eq!(carried(&[stretch()], 1448, path(45.0)).0, 0);
    }

    /// The rate doubled when the sender had measured the path again.
    #[test]
    fn a_sender_that_paces_has_several_rates() {
        let mut arrivals = vec![(1.35, 1448); 40];
        arrivals.extend([(0.6, 1448); 20]);
        assert!(!steady(&arrivals, 20.0));
        let mut stretch = SteadyStretch::default();
        for (gap, bytes) in arrivals {
            stretch.push(gap, bytes);
        }
        let carried = carried(&[stretch], 1448, over(20.0, 9.0));
        assert!(carried.0 > 0, "the path varies as much");
    }

    /// Bytes are read one segment at a time, and many segments at a time.
    #[test]
    fn a_large_read_belongs_to_several_quarters() {
        let mut arrivals = vec![(24.0, 1448); 9];
        arrivals.push((168.0, 7 * 1448));
        arrivals.extend([(24.0, 1448); 9]);
        assert!(steady(&arrivals, 20.0));
    }

    /// A server paused, and less than two round trips of the line's time were left.
    #[test]
    fn a_short_stretch_at_the_pace_of_a_long_one_counts() {
        let stretch = |gap: f64, count: usize| {
            let mut stretch = SteadyStretch::default();
            stretch.push(0.0, 1448);
            (1..count).for_each(|_| stretch.push(gap, 1448));
            stretch
        };
        let took = |gap: f64| {
            carried(
                &[stretch(24.0, 30), stretch(gap, 10)],
                1448,
                over(150.0, 0.0),
            )
            .1
        };
        assert!((took(24.0) - 38.0 * 24.0).abs() < 1.0, "{}", took(24.0));
        assert!((took(12.0) - 29.0 * 24.0).abs() < 1.0, "another rate");
    }

    /// Flights behind acknowledgements that a radio delays.
    #[test]
    fn a_path_that_varies_has_no_rate() {
        let flights = [
            (0.0, 13_216),
            (9.5, 1_448),
            (25.3, 27_512),
            (15.4, 32_768),
            (0.1, 22_256),
            (6.0, 3_371),
        ];
        assert!(!steady(&flights, 1.3));
    }
}
