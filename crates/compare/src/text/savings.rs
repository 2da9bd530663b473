//! The ways that were measured: those that save time, those that save nothing, and those that cost
//! time.

use roundtrip_model::Saving;
use roundtrip_report::{clean, count, ms};

use super::{WrappedText, round_trips};
use crate::outcome::{Comparison, MeasuredWay, WayVerdict};

pub(super) fn all(c: &Comparison, page: &mut WrappedText) {
    for kind in WayVerdict::ALL {
        let mut lines = c.of_kind(kind).peekable();
        if lines.peek().is_none() {
            if kind == WayVerdict::Saves {
                page.blank();
                page.strong(&c.nothing_shown());
            }
            continue;
        }
        page.blank();
        page.strong(kind.title());
        for line in lines {
            page.line(&headline(line, c));
            if kind == WayVerdict::Unsure {
                page.item("unsure", &line.too_few());
            }
            if let Some(idle) = &line.idle {
                page.item("but", &clean(idle));
            }
            detail(line, page);
            if matches!(kind, WayVerdict::Saves | WayVerdict::Idle) {
                super::advice::items(&line.advice, page);
            }
        }
    }
}

/// `keep the connection: −180.2 ms a request (2 round trips) [−182.1, −178.4]`.
fn headline(line: &MeasuredWay, c: &Comparison) -> String {
    let title = clean(&line.way.title());
    let Some(saving) = line.saving else {
        return match line.failures.first() {
            Some(failure) => format!("{title}: failed: {}", clean(failure)),
            None => title,
        };
    };
    let trips = match (c.baseline.round_trips(), line.round_trips()) {
        (Some(today), Some(then)) if (today - then).abs() >= 0.05 => {
            format!(" ({})", round_trips((today - then).abs()))
        }
        _ => String::new(),
    };
    format!(
        "{title}: {} ms a request{trips} {}",
        change(saving.median),
        interval(&saving)
    )
}

/// A saving as the change of the time: `−180.2`.
pub(crate) fn change(saving: f64) -> String {
    let number = ms(saving.abs());
    if saving.abs() < 0.0005 {
        "0".into()
    } else if saving > 0.0 {
        format!("−{number}")
    } else {
        format!("+{number}")
    }
}

pub(crate) fn interval(s: &Saving) -> String {
    format!("[{}, {}]", change(s.high), change(s.low))
}

fn detail(line: &MeasuredWay, page: &mut WrappedText) {
    if let Some(median) = line.median() {
        let trips = line
            .round_trips()
            .map_or(String::new(), |n| format!(", {}", round_trips(n)));
        let n = line.samples.len();
        let word = clean(&line.way.word());
        page.item(
            "measured",
            &format!("{} ms{trips} (median of {n}) as {word}", ms(median)),
        );
        if line.predicted.is_some() {
            page.item("predicted", &predicted(line));
        }
    }
    if let Some(why) = line.disagreement.as_ref().filter(|_| line.idle.is_none()) {
        page.item("differs", &clean(why));
    }
    if line.median().is_some()
        && let Some(failed) = failed(line)
    {
        page.item("failed", &failed);
    }
}

/// `2 times: the reason for the first failure`.
pub(crate) fn failed(line: &MeasuredWay) -> Option<String> {
    let times = count(line.failures.len() as u64, "time", "times");
    Some(format!("{times}: {}", clean(line.failures.first()?)))
}

/// `92.1 ms, 1 round trip; measured 0.4 % more`.
pub(crate) fn predicted(line: &MeasuredWay) -> String {
    let Some(p) = line.predicted else {
        return "nothing, because no round trip could be measured".into();
    };
    let text = format!("{} ms, {}", ms(p.ms), round_trips(p.round_trips));
    let Some(deviation) = line.deviation() else {
        return text;
    };
    let than = if deviation >= 0.0 { "more" } else { "less" };
    let percent = deviation.abs() * 100.0;
    format!("{text}; measured {percent:.1} % {than}")
}

/// What the baseline, measured a second time, seems to save.
pub(crate) fn control(line: &MeasuredWay) -> String {
    let Some(saving) = line.saving else {
        return format!("the same once more: {}", line.too_few());
    };
    let verdict = match saving.is_shown() {
        Some(true) => "more than chance explains: mistrust differences of this size".into(),
        Some(false) => "no difference, as it should be".into(),
        None => line.too_few(),
    };
    format!(
        "the same once more: {} ms {}: {verdict}",
        change(saving.median),
        interval(&saving)
    )
}
