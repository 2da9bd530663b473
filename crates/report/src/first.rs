//! The extra cost of the first of several requests: a connection, a look-up, an older protocol.
//! Medians hide it, and an unmeasured exchange is not in the results at all.

use roundtrip_model::{Strategy, Summary};

use crate::numbers::{ms, trips};
use crate::run::Run;

/// The smallest excess over the slowest of the others that is reported, in milliseconds and as a
/// share: less can be chance.
const MIN_MS: f64 = 1.0;
const MIN_SHARE: f64 = 0.05;

#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct First {
    pub(crate) used: Strategy,
    pub(crate) total_ms: f64,
    pub(crate) round_trips: u32,
    /// False for an exchange before the measured ones that obtained a ticket, a cookie or a
    /// connection.
    pub(crate) measured: bool,
    /// The median and the maximum of the later requests.
    others: Option<(f64, f64)>,
    /// Whether a later run used the same strategy and took as many round trips.
    is_like_others: bool,
}

impl First {
    /// Compares the first request with the others; `None` if it failed.
    pub(crate) fn from_runs(runs: &[Run]) -> Option<Self> {
        let (run, after) = runs.split_first()?;
        let primer = run.hops.first()?.primer;
        let last = run.last().filter(|_| primer.is_some() || run.ok())?;
        let others: Vec<&Run> = match primer {
            Some(_) => runs.iter().filter(|r| r.ok()).collect(),
            None => after.iter().filter(|r| r.ok()).collect(),
        };
        let used = primer.map_or(last.used, |p| p.used);
        let round_trips = primer.map_or(run.round_trips(), |p| p.round_trips);
        let alike =
            |r: &&Run| r.last().is_some_and(|e| e.used == used) && r.round_trips() == round_trips;
        let totals: Vec<f64> = others.iter().map(|r| r.total_ms()).collect();
        Some(Self {
            used,
            round_trips,
            total_ms: primer.map_or(run.total_ms(), |p| p.took.as_secs_f64() * 1e3),
            measured: primer.is_none(),
            others: Summary::from_samples(&totals).map(|s| (s.median, s.max)),
            is_like_others: others.iter().any(alike),
        })
    }

    /// Whether the first run deserves a separate line beside the summary.
    pub(crate) fn stands_out(&self) -> bool {
        let Some((_, slowest)) = self.others else {
            return !self.measured;
        };
        let late = self.total_ms - slowest > MIN_MS.max(MIN_SHARE * slowest);
        !self.measured || !self.is_like_others || late
    }

    /// `the first request took 275.5 ms, 3 round trips as h2+tls1.3; the others 184.0 ms`.
    pub(crate) fn told(&self) -> String {
        let paid = format!(
            "the first request took {} ms, {} as {}",
            ms(self.total_ms),
            trips(self.round_trips),
            self.used
        );
        match self.others {
            _ if !self.measured => format!("{paid}, unmeasured"),
            Some((median, _)) => format!("{paid}; the others {} ms", ms(median)),
            None => paid,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use roundtrip_model::{Event, Exchange, Moment, Primer};

    use super::*;

    fn exchange(word: &str, total: f64) -> Exchange {
        let mut e = Exchange {
            used: word.parse().unwrap(),
            ..Exchange::default()
        };
        e.timeline.push(Moment::from_millis(total), Event::Finished);
        e
    }

    fn first(exchanges: &[Exchange]) -> First {
        let runs: Vec<Run> = exchanges.chunks(1).map(|hops| Run { hops }).collect();
        First::from_runs(&runs).unwrap()
    }

    #[test]
    fn only_a_costlier_first_request_stands_out() {
        let h3 = |total| exchange("h3", total);
        assert!(first(&[exchange("h2+tls1.3", 30.0), h3(20.0), h3(22.0)]).stands_out());
        assert!(first(&[h3(30.0), h3(20.0), h3(22.0)]).stands_out());
        assert!(!first(&[h3(22.5), h3(20.0), h3(22.0)]).stands_out());
        assert!(!first(&[h3(20.0), h3(22.0)]).stands_out());
        assert!(!first(&[h3(20.0)]).stands_out());
        let told = first(&[exchange("h2+tls1.3", 30.0), h3(20.0), h3(22.0)]).told();
        assert!(told.starts_with("the first request took 30.0 ms"), "{told}");
        assert!(told.ends_with("as h2+tls1.3; the others 21.0 ms"), "{told}");
    }

    #[test]
    fn an_unmeasured_exchange_is_the_first() {
        let mut after = exchange("h2+tls1.3+0rtt", 20.0);
        after.primer = Some(Primer {
            used: "h2+tls1.3".parse().unwrap(),
            took: Duration::from_millis(300),
            round_trips: 3,
        });
        let first = first(&[after]);
        assert!(!first.measured && first.stands_out());
        let told = "the first request took 300.0 ms, 3 round trips as h2+tls1.3, unmeasured";
        assert_eq!(first.told(), told);
    }
}
