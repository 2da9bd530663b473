//! The verdict in sentences, built from measured values alone.

use roundtrip_report::{clean, ms};

use super::scale::{is_own_quic, percents, trips, with_minus, with_unit};
use crate::LabOutcome;
use crate::outcome::{ArmOutcome, SavingOutcome};

/// A larger part of the whole than this gets a sentence.
const LARGE_SHARE: f64 = 1.0 / 3.0;

/// All sentences, the most important one first.
pub(super) fn sentences(outcome: &LabOutcome) -> Vec<String> {
    let second = largest_non_network_part(outcome).or_else(|| carried(outcome, true));
    [first(outcome)].into_iter().chain(second).collect()
}

/// The arm that saved most, and the arm that it is compared with.
pub(super) fn first(outcome: &LabOutcome) -> String {
    if let Some(words) = carried(outcome, false) {
        return words;
    }
    let best = compared(outcome)
        .filter(|(_, saving)| saving.shown != Some(false) && saving.saving.median > 0.0)
        .max_by(|a, b| share(a.1).total_cmp(&share(b.1)));
    if let Some((arm, saving)) = best {
        return saved(outcome, arm, saving);
    }
    if compared(outcome).next().is_some() {
        return "No arm shows a saving: every interval reaches zero or less.".into();
    }
    if outcome.arms.iter().any(|arm| arm.figures.median.is_some()) {
        return "Too little was measured for a comparison: an interval needs at least two runs."
            .into();
    }
    "Nothing could be measured; the reasons are given below.".into()
}

/// The verdict on transfers: which of our arms came closest to TLS, or exceeded it, and which was
/// slowest.
fn carried(outcome: &LabOutcome, offload: bool) -> Option<String> {
    let ratio = |arm: &&ArmOutcome| arm.ratio_to_tls.unwrap_or_default();
    let is_meant = |arm: &&ArmOutcome| {
        is_own_quic(arm) && arm.ratio_to_tls.is_some() && arm.offload == Some(offload)
    };
    let all = || outcome.arms.iter().filter(is_meant);
    let best = all().max_by(|a, b| ratio(a).total_cmp(&ratio(b)))?;
    let worst = all().min_by(|a, b| ratio(a).total_cmp(&ratio(b)))?;
    let behind = if worst.name == best.name {
        String::new()
    } else {
        format!(
            ", and as little as {:.2} ({})",
            ratio(&worst),
            clean(&worst.name)
        )
    };
    let terms = if offload {
        "If the interface does the segmentation, a"
    } else {
        "A"
    };
    Some(format!(
        "{terms} core that sends over QUIC carries up to {:.2} of what it carries over TLS and TCP ({}){behind}.",
        ratio(&best),
        clean(&best.name),
    ))
}

fn compared(outcome: &LabOutcome) -> impl Iterator<Item = (&ArmOutcome, &SavingOutcome)> {
    let arms = outcome.arms.iter().filter(|arm| !arm.control);
    arms.filter_map(|arm| Some((arm, arm.saving.as_ref()?)))
}

fn share(saving: &SavingOutcome) -> f64 {
    saving.saving.share.unwrap_or(0.0)
}

fn saved(outcome: &LabOutcome, arm: &ArmOutcome, saving: &SavingOutcome) -> String {
    let name = clean(&arm.name);
    let against = clean(&saving.against);
    let base = outcome.arm(&saving.against);
    let s = &saving.saving;
    let of = base
        .and_then(|base| base.figures.median)
        .map_or(String::new(), |median| format!(" of {}", ms(median)));
    let turns = match (
        arm.figures.round_trips,
        base.and_then(|b| b.figures.round_trips),
    ) {
        (Some(now), Some(before)) if now < before => {
            let now = trips(now);
            let word = if now == "1" {
                "round trip"
            } else {
                "round trips"
            };
            format!(", {now} {word} instead of {}", trips(before))
        }
        _ => String::new(),
    };
    format!(
        "{name} saves most: {:.0} % against {against}, {}{of} {} ({}){turns}.",
        share(saving) * 100.0,
        ms(s.median),
        clean(&arm.unit),
        sureness(saving, &arm.unit),
    )
}

fn sureness(saving: &SavingOutcome, unit: &str) -> String {
    match saving.shown {
        Some(_) => format!("95 % interval {}", interval(saving, unit)),
        None => format!("of {} pairs, too few to be sure", saving.saving.pairs),
    }
}

/// `312.4 to 340.1 ms`.
pub(super) fn interval(saving: &SavingOutcome, unit: &str) -> String {
    let s = &saving.saving;
    format!("{} to {}", with_minus(&ms(s.low)), with_unit(s.high, unit))
}

/// The arm that waited longest for its server or its client, if that is a large part of its time.
fn largest_non_network_part(outcome: &LabOutcome) -> Option<String> {
    let parts = |arm: &ArmOutcome| {
        let f = &arm.figures;
        let (server, client) = (f.server_ms?, f.client_ms?);
        let (whose, most) = if server > client {
            ("server", server)
        } else {
            ("client", client)
        };
        Some((whose, most, f.network_ms?, f.median?))
    };
    let told = outcome.arms.iter().filter(|arm| arm.unit == "ms");
    let (arm, (whose, most, network, median)) = told
        .filter_map(|arm| Some((arm, parts(arm)?)))
        .filter(|(_, (_, most, _, median))| *most > median * LARGE_SHARE)
        .max_by(|a, b| a.1.1.total_cmp(&b.1.1))?;
    Some(format!(
        "Of the {} ms of {}, {} were spent on the {whose} and {} on the network.",
        ms(median),
        clean(&arm.name),
        ms(most),
        ms(network),
    ))
}

/// The difference between two arms that are the same.
pub(super) fn control(arm: &ArmOutcome) -> Option<String> {
    let saving = arm.saving.as_ref().filter(|_| arm.control)?;
    let s = &saving.saving;
    let unit = &arm.unit;
    let told = match saving.shown {
        None => "These are too few to tell drift from chance.".into(),
        Some(true) => {
            "The interval excludes zero: something drifted, so savings of this size mean nothing."
                .into()
        }
        Some(false) => {
            let least = with_unit(s.low.abs().max(s.high.abs()), unit);
            format!(
                "The interval includes zero, as it should; a difference below {least} cannot be distinguished from chance here."
            )
        }
    };
    let share = s
        .share
        .map_or(String::new(), |share| format!(" ({})", percents(share)));
    let interval = saving.shown.map_or(String::new(), |_| {
        format!("; 95 % interval {}", interval(saving, unit))
    });
    Some(format!(
        "Two arms that are the same, {} and its repetition, differed by {}{share} in the median of {} pairs{interval}. {told}",
        clean(&saving.against),
        with_unit(s.median, unit),
        s.pairs,
    ))
}
