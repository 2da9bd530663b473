//! Stretches of an answer during which bytes arrived at a steady rate.

/// In round trips and milliseconds: shorter steady streams give no evidence about the line.
const STEADY_TRIPS: f64 = 2.0;
const STEADY_MS: f64 = 20.0;
/// As a share of a stretch: at a steady rate, bytes come this much later than due at most. Behind a
/// path that varies, flights come at once, and nothing in between.
const MAX_STOPPED: f64 = 0.2;
/// In round trips: shorter pauses are normal at any rate.
const SHORT: f64 = 0.5;
/// A sender that paces its segments, as BBR does, changes the rate with each round trip, but a line
/// does not: no quarter of its bytes takes less than this share of the next, unless the path's
/// variation explains the difference.
const LEAST_QUARTER: f64 = 0.65;
const QUARTERS: usize = 4;
/// Fewer arrivals cannot be divided into quarters.
const MIN_ARRIVALS: usize = 16;

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

    /// The bytes and the milliseconds that they took, if the rate was steady for long enough. The
    /// path delays packets by up to `spread`.
    pub(super) fn steady(&self, rtt: f64, spread: f64) -> Option<(u64, f64)> {
        let took: f64 = self.arrivals.iter().map(|(gap, _)| gap).sum();
        let bytes: u64 = self.arrivals.iter().map(|(_, bytes)| bytes).sum();
        let is_long = took >= STEADY_MS.max(STEADY_TRIPS * rtt).min(f64::MAX);
        let pace = took / bytes.max(1) as f64;
        let stopped = self.arrivals.iter().map(|(gap, bytes)| {
            let late = gap - *bytes as f64 * pace;
            if *gap >= SHORT * rtt {
                late.max(0.0)
            } else {
                0.0
            }
        });
        let is_steady = stopped.sum::<f64>() <= MAX_STOPPED * took;
        (is_long && is_steady && self.is_even(spread)).then_some((bytes, took))
    }

    /// Whether each quarter of the bytes took about as long as the others.
    fn is_even(&self, spread: f64) -> bool {
        // The first bytes took no time.
        let rest = self.arrivals.get(1..).unwrap_or_default();
        if rest.len() < MIN_ARRIVALS {
            return true;
        }
        let bytes: u64 = rest.iter().map(|(_, bytes)| bytes).sum();
        let quarter = bytes as f64 / QUARTERS as f64;
        let mut took_each = [0.0; QUARTERS];
        let mut came = 0;
        for (gap, bytes) in rest {
            let n = (came as f64 / quarter) as usize;
            came += bytes;
            if let Some(took) = took_each.get_mut(n) {
                *took += gap;
            }
        }
        took_each.sort_by(f64::total_cmp);
        // The second fastest: slow start may precede what the line delivers.
        let [least, usual, ..] = took_each;
        least >= LEAST_QUARTER * usual || usual - least <= 2.0 * spread
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn steady(arrivals: &[(f64, u64)], rtt: f64) -> bool {
        let mut stretch = SteadyStretch::default();
        for (gap, bytes) in arrivals {
            stretch.push(*gap, *bytes);
        }
        stretch.steady(rtt, 0.0).is_some()
    }

    #[test]
    fn a_line_delivers_at_a_pace() {
        assert!(steady(&[(24.0, 1448); 30], 20.0));
        // Several segments may be read at once.
        let mut merged = vec![(24.0, 1448); 20];
        merged.extend([(72.0, 3 * 1448), (48.0, 2 * 1448)]);
        assert!(steady(&merged, 20.0));
        assert!(!steady(&[(24.0, 1448)], 20.0), "it is too short");
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
        assert!(
            stretch.steady(20.0, 9.0).is_some(),
            "the path varies as much"
        );
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
