//! The page as a whole: its head, its contents, and each experiment from the question to the
//! command that repeats it.

use maud::{Markup, html};
use roundtrip_report::html::{PageHead, frame};
use roundtrip_report::{clean, count};

use super::{arms, claims, curve, distance, figures, packets, remarks, runs, stairs, verdict};
use crate::LabOutcome;
use crate::experiment::Measure;

const STYLE: &str = include_str!("lab.css");

/// All outcomes on one page.
pub fn page(outcomes: &[LabOutcome], head: &PageHead) -> String {
    let title = match outcomes {
        [one] => one.experiment.clone(),
        several => count(several.len() as u64, "experiment", "experiments"),
    };
    let body = html! {
        (opening(outcomes, head))
        @for (key, outcome) in outcomes.iter().enumerate() { (experiment(outcome, key)) }
    };
    frame(&format!("lab · {title}"), STYLE, &body, &head.made_by)
}

fn opening(outcomes: &[LabOutcome], head: &PageHead) -> Markup {
    let took: f64 = outcomes.iter().map(|outcome| outcome.took_s).sum();
    html! {
        header.opening {
            p.kicker { "roundtrip lab" }
            @match outcomes {
                [] => { h1 { "Nothing was measured" } },
                [one] => { h1 { "One experiment, measured over " (if is_bare(one) { "a bare wire" } else { "an emulated path" }) } },
                _ => { h1 { (outcomes.len()) " experiments, measured over emulated paths" } },
            }
            dl.facts {
                (head.entries(&format!(", for {}", span(took))))
            }
            @if outcomes.len() > 1 { (contents(outcomes)) }
        }
    }
}

fn contents(outcomes: &[LabOutcome]) -> Markup {
    html! {
        nav aria-label="Experiments" {
            ol.contents {
                @for (key, outcome) in outcomes.iter().enumerate() {
                    li {
                        a href={ "#" (anchor(key)) } { (clean(&outcome.experiment)) }
                        " " (claims::tally(outcome))
                        p { (clean(&outcome.question)) }
                        p.quiet { (verdict::first(outcome)) }
                    }
                }
            }
        }
    }
}

fn anchor(key: usize) -> String {
    format!("experiment-{key}")
}

/// `key` distinguishes this experiment's pictures from those of the others on the page.
fn experiment(outcome: &LabOutcome, key: usize) -> Markup {
    html! {
        article id=(anchor(key)) {
            header {
                p.kicker { (clean(&outcome.experiment)) " · " (clean(&outcome.article)) }
                h1 { (clean(&outcome.question)) }
                @for sentence in verdict::sentences(outcome) { p.verdict { (sentence) } }
                (conditions(outcome))
            }
            @if outcome.interrupted {
                p.failure { b { "Interrupted" } " before everything was measured: these are the results so far." }
            }
            @if outcome.measure == Measure::Cost { (stairs::section(outcome, key)) }
            @else { (arms::section(outcome, key)) }
            (distance::section(outcome, key))
            (claims::section(outcome))
            (runs::section(outcome, key))
            (packets::section(outcome, key))
            @for (place, curve) in outcome.curves.iter().enumerate() {
                (curve::section(curve, outcome, &format!("{key}-{place}")))
            }
            (figures::section(outcome))
            (remarks::section(outcome))
            h2 { "Once more" }
            p.again { code { (clean(&outcome.again)) } }
        }
    }
}

fn conditions(outcome: &LabOutcome) -> Markup {
    let path = outcome.path.iter();
    let path: Vec<String> = path
        .map(|(word, values)| format!("{word} {}", values.join(", ")))
        .collect();
    html! {
        p.conditions {
            "Path: " (match path.is_empty() {
                true if is_bare(outcome) => "a bare wire".into(),
                true => "each arm's own".into(),
                false => clean(&path.join(", ")),
            })
            " · " (count(outcome.runs.into(), "run of each arm", "runs of each arm"))
            ", interleaved in random blocks (seed " (outcome.seed) ") · took " (span(outcome.took_s))
        }
    }
}

/// Whether these are transfers without a path.
fn is_bare(outcome: &LabOutcome) -> bool {
    let mut arms = outcome.arms.iter();
    outcome.measure == Measure::Cost && arms.all(|arm| arm.path.iter().next().is_none())
}

fn span(seconds: f64) -> String {
    match seconds {
        s if s < 100.0 => format!("{s:.0} s"),
        s => format!("{:.0} min", s / 60.0),
    }
}
