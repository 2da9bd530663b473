//! The paragraph: how large the difference is, what caused it, and what did not.

use super::attribution::{Contribution, ContributionKind};
use super::words::{ms, same, trips};
use super::{FindingDiff, ProbeDiff};

/// A part that is a smaller share of the difference is not mentioned, unless it is a change of
/// round trips.
const MIN_SHARE: f64 = 0.02;
/// The largest number of parts that a message lists.
const MAX_TOLD: usize = 5;
/// The network is acquitted if it caused no more than this share of the difference.
const ACQUITTED: f64 = 0.1;
pub(super) fn paragraph(diff: &ProbeDiff) -> String {
    let mut sentences = vec![verdict(diff)];
    let shown = diff.difference.is_shown();
    if shown != Some(false) && diff.difference.ms.abs() >= 0.0005 {
        sentences.extend(told(diff));
        sentences.extend(acquittal(diff));
        sentences.extend(findings(diff));
    }
    sentences.push(certainty(diff));
    sentences.extend(other_question(diff));
    sentences.join(" ")
}

fn verdict(diff: &ProbeDiff) -> String {
    let (a, b) = (&diff.figures.0.total, &diff.figures.1.total);
    let by = diff.difference.ms;
    let several = if a.n > 1 || b.n > 1 { "medians: " } else { "" };
    if diff.difference.is_shown() == Some(false) {
        return format!(
            "No difference shown: A took {}, B {} (medians of {} and {} results).",
            ms(a.median),
            ms(b.median),
            a.n,
            b.n
        );
    }
    if by.abs() < 0.0005 {
        return format!("A and B took the same: {}.", ms(a.median));
    }
    let how = if by < 0.0 { "faster" } else { "slower" };
    let share = match diff.difference.share {
        Some(share) if share < 10.0 => {
            let more = if by < 0.0 { "less" } else { "more" };
            format!(", {:.0} % {more}", share.abs() * 100.0)
        }
        _ => String::new(),
    };
    format!(
        "B is {} {how} ({several}{} instead of {}{share}).",
        ms(by.abs()),
        ms(b.median),
        ms(a.median)
    )
}

/// The parts that caused the difference, then those that reduced it, then the rest.
fn told(diff: &ProbeDiff) -> Vec<String> {
    let by = diff.difference.ms;
    let worth = |part: &&Contribution| {
        part.kind != ContributionKind::Unexplained
            && (part.ms.abs() >= MIN_SHARE * by.abs() || part.kind == ContributionKind::RoundTrips)
    };
    let chosen: Vec<&Contribution> = diff.parts.iter().filter(worth).take(MAX_TOLD).collect();
    let mut sentences = Vec::new();
    for part in chosen.iter().filter(|part| part.ms * by > 0.0) {
        let of_it = if sentences.is_empty() { " of it" } else { "" };
        sentences.push(format!(
            "{}{of_it} is {}{}.",
            ms(part.ms.abs()),
            part.what,
            shown(part)
        ));
    }
    let (against, verb) = if by < 0.0 {
        ("Against that, B lost", "by")
    } else {
        ("Against that, B gained", "by")
    };
    for part in chosen.iter().filter(|part| part.ms * by < 0.0) {
        let amount = ms(part.ms.abs());
        sentences.push(format!(
            "{against} {amount} {verb} {}{}.",
            part.what,
            shown(part)
        ));
    }
    sentences.extend(rest(diff, &chosen));
    sentences
}

/// The sum of the small parts, and what is not explained.
fn rest(diff: &ProbeDiff, told: &[&Contribution]) -> Vec<String> {
    let small: f64 = diff
        .parts
        .iter()
        .filter(|part| part.kind != ContributionKind::Unexplained && !told.contains(part))
        .map(|part| part.ms)
        .sum();
    let unexplained = diff.unexplained_ms();
    let least = MIN_SHARE * diff.difference.ms.abs();
    let mut sentences = Vec::new();
    if small.abs() >= least {
        sentences.push(format!("Smaller parts add up to {}.", signed(small)));
    }
    if unexplained.abs() >= least {
        let several = diff.figures.0.total.n > 1 || diff.figures.1.total.n > 1;
        let why = if several {
            ": the parts are means over the middle half of the runs, the whole is a median"
        } else {
            ""
        };
        sentences.push(format!("{} stay unexplained{why}.", signed(unexplained)));
    }
    sentences
}

fn signed(by: f64) -> String {
    let sign = if by < 0.0 { '-' } else { '+' };
    format!("{sign}{}", ms(by.abs()))
}

/// The evidence, in parentheses.
fn shown(part: &Contribution) -> String {
    let sides = match (part.kind, part.sides) {
        (
            ContributionKind::RoundTrips | ContributionKind::Path | ContributionKind::Unexplained,
            _,
        )
        | (_, None) => None,
        (_, Some((a, b))) => Some(format!("{} in A, {} in B", ms(a), ms(b))),
    };
    let why = (!part.why.is_empty()).then(|| part.why.clone());
    let told: Vec<String> = [sides, why].into_iter().flatten().collect();
    if told.is_empty() {
        return String::new();
    }
    format!(" ({})", told.join("; "))
}

/// The sentence that the network is not the reason, if that is true.
fn acquittal(diff: &ProbeDiff) -> Option<String> {
    let by = diff.difference.ms;
    let network = diff.sum(ContributionKind::is_network);
    let lost = diff.sum(|kind| kind == ContributionKind::Loss);
    let (ra, rb) = (diff.figures.0.rtt_ms?, diff.figures.1.rtt_ms?);
    if (network + lost).abs() > ACQUITTED * by.abs() {
        return None;
    }
    let counts = (diff.figures.0.round_trips, diff.figures.1.round_trips);
    let counted = if same(counts.0, counts.1) {
        format!("both took {}", trips(counts.0))
    } else {
        format!("A took {}, B {}", trips(counts.0), trips(counts.1))
    };
    Some(format!(
        "It is not the network: a round trip is {} in A and {} in B, {counted}, and the network accounts for a difference of only {}.",
        ms(ra),
        ms(rb),
        ms(network)
    ))
}

/// Findings that only one side has, or whose costs differ by a large part of the difference.
fn findings(diff: &ProbeDiff) -> Option<String> {
    let by = diff.difference.ms;
    let telling = |f: &&FindingDiff| {
        f.ms() * by > 0.0 && (f.ms().abs() >= MIN_SHARE * by.abs() || f.changes_trips())
    };
    let found: Vec<&FindingDiff> = diff.findings.iter().filter(telling).collect();
    if found.is_empty() {
        return None;
    }
    let told = found.iter().take(MAX_TOLD).map(|f| match (&f.a, &f.b) {
        (Some(_), None) => format!("'{}' in A alone ({})", f.id, ms(f.ms().abs())),
        (None, Some(_)) => format!("'{}' in B alone ({})", f.id, ms(f.ms().abs())),
        _ => format!("'{}' in both, {} apart", f.id, ms(f.ms().abs())),
    });
    Some(format!(
        "Findings that explain it: {}.",
        told.collect::<Vec<_>>().join(", ")
    ))
}

/// The sentence about how certain the result is.
fn certainty(diff: &ProbeDiff) -> String {
    let (a, b) = (&diff.figures.0.total, &diff.figures.1.total);
    match diff.difference.interval {
        Some((low, high)) => {
            let zero = if low > 0.0 || high < 0.0 {
                ""
            } else {
                ", which includes zero"
            };
            let (low, high) = (signed(low), signed(high));
            format!("The interval of the difference (95 %) is {low} to {high}{zero}.")
        }
        None if a.n == 1 && b.n == 1 => {
            "With one result on each side, nothing shows how much of it is chance (`probe -c 10 --json` measures ten).".into()
        }
        None => format!(
            "{} and {} results do not show how much of it is chance: that takes five on each side.",
            a.n, b.n
        ),
    }
}

fn other_question(diff: &ProbeDiff) -> Option<String> {
    (diff.urls.0 != diff.urls.1)
        .then(|| "The URLs differ, so the requests may differ too.".to_owned())
}
