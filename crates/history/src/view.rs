//! Chooses the part of a series that a picture shows, and how many periods share one column.

use std::collections::BTreeMap;

use crate::{Period, RecordedSeries, TIERS};

/// The largest number of columns of a picture, so that each is wide enough to see.
const MAX_COLUMNS: u64 = 240;

/// Periods in columns of equal length.
pub(crate) struct View {
    /// Seconds since 1970.
    pub(crate) from: u64,
    /// The length of a column, in seconds.
    pub(crate) step: u64,
    /// The columns; `None` is a gap, in which nothing was measured.
    pub(crate) columns: Vec<Option<Period>>,
}

/// A cause in a whole series.
pub(crate) struct RecordedCause {
    pub(crate) id: String,
    /// The number of readings that had the cause.
    pub(crate) count: u64,
    pub(crate) ms: f64,
    /// The beginnings of the first and the last period that had it.
    pub(crate) first: u64,
    pub(crate) last: u64,
}

/// Returns a view of the finest tier, then of each coarser tier that reaches back further.
pub(crate) fn views(series: &RecordedSeries) -> Vec<View> {
    let mut views = Vec::new();
    let mut reached = u64::MAX;
    for (tier, periods) in TIERS.iter().zip(&series.tiers) {
        let Some(first) = periods.first() else {
            continue;
        };
        // A coarser period begins earlier, even if it contains no more data.
        if first.start + tier.step <= reached {
            views.extend(View::new(periods, tier.step, series.every));
            reached = first.start;
        }
    }
    views
}

/// Returns the periods that reach back furthest, for statements about the whole history.
pub(crate) fn longest(series: &RecordedSeries) -> &[Period] {
    let reaching = series
        .tiers
        .iter()
        .zip(TIERS)
        .filter(|(periods, _)| !periods.is_empty());
    // If several reach back equally far, the finest is chosen, which comes first.
    reaching
        .min_by_key(|(periods, tier)| {
            let first = periods.first().map_or(u64::MAX, |period| period.start);
            first + tier.step
        })
        .map_or(&[], |(periods, _)| periods)
}

/// Adds all readings of these periods to one period.
pub(crate) fn whole(periods: &[Period]) -> Period {
    let mut whole = Period::from_start(periods.first().map_or(0, |period| period.start));
    for period in periods {
        whole.extend(period);
    }
    whole
}

/// Lists the causes of these periods, the most costly first.
pub(crate) fn found(periods: &[Period]) -> Vec<RecordedCause> {
    let mut all: BTreeMap<&str, RecordedCause> = BTreeMap::new();
    for period in periods {
        for (id, (count, ms)) in &period.findings {
            let found = all.entry(id).or_insert_with(|| RecordedCause {
                id: id.clone(),
                count: 0,
                ms: 0.0,
                first: period.start,
                last: period.start,
            });
            (found.count, found.ms) = (found.count + count, found.ms + ms);
            found.last = period.start;
        }
    }
    let mut all: Vec<RecordedCause> = all.into_values().collect();
    all.sort_by(|a, b| b.ms.total_cmp(&a.ms));
    all
}

impl View {
    fn new(periods: &[Period], finest: u64, every: u64) -> Option<Self> {
        let (first, last) = (periods.first()?, periods.last()?);
        let span = (last.start - first.start) + finest;
        // Readings drift: one in each of two intervals is certain, one in each is not.
        let wanted = finest
            .max(every.saturating_mul(2))
            .max(span.div_ceil(MAX_COLUMNS));
        let step = wanted.div_ceil(finest) * finest;
        let from = first.start - first.start % step;
        let count = (last.start - from) / step + 1;
        let mut columns = vec![None; usize::try_from(count).ok()?];
        for period in periods {
            let place = usize::try_from((period.start - from) / step).ok()?;
            let column: &mut Option<Period> = columns.get_mut(place)?;
            let start = from + place as u64 * step;
            column
                .get_or_insert_with(|| Period::from_start(start))
                .extend(period);
        }
        Some(Self {
            from,
            step,
            columns,
        })
    }

    pub(crate) fn to(&self) -> u64 {
        self.from + self.step * self.columns.len() as u64
    }

    /// The largest value in the picture, in milliseconds.
    pub(crate) fn top(&self) -> f64 {
        let all = self.columns.iter().flatten();
        let tops = all.map(|p| {
            p.quantile(0.99)
                .unwrap_or(0.0)
                .max(p.mean_ms().unwrap_or(0.0))
        });
        tops.fold(0.0, f64::max)
    }

    /// The gaps: the first column of each, and how many follow.
    pub(crate) fn gaps(&self) -> Vec<(usize, usize)> {
        let mut gaps: Vec<(usize, usize)> = Vec::new();
        for (place, column) in self.columns.iter().enumerate() {
            match gaps.last_mut() {
                _ if column.is_some() => {}
                Some((first, count)) if *first + *count == place => *count += 1,
                _ => gaps.push((place, 1)),
            }
        }
        gaps
    }
}
