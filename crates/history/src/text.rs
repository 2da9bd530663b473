//! Describes a history in sentences, for a terminal and for the heads of pictures.

use std::fmt::Write as _;

use roundtrip_report::{clean, count, ms};

use crate::change::MIN_PERIODS;
use crate::time::{minute, span};
use crate::view::{found, longest, whole};
use crate::{LastingChange, Period, RecordedSeries, lasting_change};

/// The largest number of causes that are listed.
const MAX_CAUSES: usize = 5;
/// The smallest number of failures in a row that are called an outage.
const MIN_OUTAGE: u64 = 3;

/// A paragraph for each series.
pub fn summary(all: &[RecordedSeries]) -> String {
    if all.iter().all(|series| longest(series).is_empty()) {
        return "nothing has been measured yet\n".to_owned();
    }
    let paragraphs: Vec<String> = all.iter().map(paragraph).collect();
    paragraphs.join("\n")
}

fn paragraph(series: &RecordedSeries) -> String {
    let periods = longest(series);
    let all = whole(periods);
    let mut text = format!("{}  {}\n", clean(&series.url), clean(&series.strategy));
    // Writing to a string cannot fail.
    let _ = writeln!(text, "  {}", measured(series, periods, &all));
    if let Some(outage) = outage(series) {
        let _ = writeln!(text, "  {outage}");
    }
    let _ = writeln!(text, "  {}", sentence(lasting_change(periods), periods));
    for found in found(periods).iter().take(MAX_CAUSES) {
        let each = found.ms / found.count.max(1) as f64;
        let (id, first) = (clean(&found.id), minute(found.first));
        let _ = writeln!(
            text,
            "  {id}: {} of {}, {} ms each, since {first}",
            found.count,
            all.ok,
            ms(each)
        );
    }
    text
}

/// Says how many readings there are, when the first and the last were made, and what their median
/// and 99th percentile are.
pub(crate) fn measured(series: &RecordedSeries, periods: &[Period], all: &Period) -> String {
    let (from, to) = match (periods.first(), periods.last()) {
        (Some(first), Some(last)) => (minute(first.start), minute(last.start)),
        _ => return "nothing has been measured yet".to_owned(),
    };
    let readings = count(all.ok + all.failed(), "reading", "readings");
    let every = span(series.every);
    let figures = match (all.quantile(0.5), all.quantile(0.99)) {
        (Some(median), Some(p99)) => format!(", median {} ms, p99 {} ms", ms(median), ms(p99)),
        _ => String::new(),
    };
    let failed = all.failed();
    format!("{readings}, {failed} failed, every {every}, from {from} to {to} UTC{figures}")
}

/// If the last requests failed, says since when every request has failed, as far as the finest
/// periods show.
pub(crate) fn outage(series: &RecordedSeries) -> Option<String> {
    let finest = series.tiers.first()?;
    let failing = finest.iter().rev().take_while(|period| period.ok == 0);
    let failing: Vec<&Period> = failing.filter(|period| period.failed() > 0).collect();
    let failed: u64 = failing.iter().map(|period| period.failed()).sum();
    let since = minute(failing.last().filter(|_| failed >= MIN_OUTAGE)?.start);
    let mut kinds: Vec<String> = failing
        .iter()
        .flat_map(|period| period.failures.keys())
        .map(|kind| clean(kind))
        .collect();
    kinds.sort_unstable();
    kinds.dedup();
    let kinds = kinds.join(", ");
    Some(format!(
        "Since {since} UTC every request has failed, {failed} in a row: {kinds}."
    ))
}

/// Describes the lasting change, or says that there is none.
pub(crate) fn sentence(change: Option<LastingChange>, periods: &[Period]) -> String {
    let Some(change) = change else {
        let good = periods.iter().filter(|period| period.ok > 0).count();
        return if good < MIN_PERIODS {
            format!(
                "No lasting change can be determined before {MIN_PERIODS} periods with answers; so far: {good}."
            )
        } else {
            "No lasting change: no wait became longer or shorter and stayed so.".to_owned()
        };
    };
    let (before, after) = (ms(change.before_ms), ms(change.after_ms));
    let difference = change.after_ms - change.before_ms;
    let turn = if difference > 0.0 { "longer" } else { "less" };
    let (by, party, since) = (ms(difference.abs()), change.party.name(), minute(change.at));
    format!(
        "Since {since} UTC the requests wait {by} ms {turn} for the {party}: {after} ms each instead of {before}."
    )
}
