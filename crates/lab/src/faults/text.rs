//! The gauntlet as text for people: the score, by cause, and each miss with the cause that was
//! named instead.

use std::collections::BTreeMap;
use std::fmt::Write;

use roundtrip_model::Exchange;
use roundtrip_report::Run;
use roundtrip_report::clean;
use roundtrip_report::terminal::Style;
use roundtrip_report::text::{details, run};

use super::{CaseVerdict, Gauntlet};

pub fn render(gauntlet: &Gauntlet) -> String {
    let mut text = String::new();
    let faulted = gauntlet.cases.len() - gauntlet.controls;
    // Writing to a string does not fail.
    let _ = writeln!(
        text,
        "faults: is the injected cause named first, with the right cost?\n{} cases (seed {}){}\n",
        gauntlet.cases.len(),
        gauntlet.seed,
        if gauntlet.interrupted {
            ", interrupted"
        } else {
            ""
        },
    );
    let _ = writeln!(
        text,
        "  {:<44} {:>5} {:>6} {:>7}",
        "injected", "cases", "first", "priced"
    );
    for (fault, verdicts) in by_fault(gauntlet) {
        let count = |is: fn(&CaseVerdict) -> bool| verdicts.iter().filter(|case| is(case)).count();
        let (first, priced) = (count(|case| case.first), count(|case| case.ok));
        let first = if verdicts.iter().any(|case| case.is_control()) {
            "–".into()
        } else {
            first.to_string()
        };
        let _ = writeln!(
            text,
            "  {fault:<44} {:>5} {first:>6} {priced:>7}",
            verdicts.len()
        );
    }
    let misses: Vec<&CaseVerdict> = gauntlet.cases.iter().filter(|case| !case.ok).collect();
    if !misses.is_empty() {
        let _ = writeln!(text, "\nmisses");
    }
    for case in misses {
        let _ = writeln!(text, "  {}", clean(&miss(case)));
    }
    let _ = writeln!(
        text,
        "\nnamed first {:.1} % of {faulted}, priced within 5 % or 1 ms {:.1} %; findings in {} of {} healthy exchanges",
        gauntlet.first_named * 100.0,
        gauntlet.priced * 100.0,
        gauntlet.false_alarms,
        gauntlet.controls,
    );
    if !gauntlet.not_installed.is_empty() {
        let missing = gauntlet.not_installed.join(", ");
        let _ = writeln!(text, "not installed, and so not drawn: {missing}");
    }
    text
}

/// The lines of `probe -v` about one exchange.
pub(super) fn report(exchange: &Exchange) -> Vec<String> {
    let style = Style::default();
    let hops = std::slice::from_ref(exchange);
    let all = run(&Run { hops }, &style) + &details(exchange, &style);
    all.lines().map(str::to_owned).collect()
}

/// Groups the cases by fault. Pairs of faults form one group, and healthy exchanges come last.
fn by_fault(gauntlet: &Gauntlet) -> Vec<(String, Vec<&CaseVerdict>)> {
    let mut kinds: BTreeMap<(u8, String), Vec<&CaseVerdict>> = BTreeMap::new();
    for case in &gauntlet.cases {
        let kind = match &*case.fault {
            fault if case.is_control() => (2, format!("{fault} (healthy)")),
            fault if fault.contains(" + ") => (1, "two at once".into()),
            fault => (0, fault.to_owned()),
        };
        kinds.entry(kind).or_default().push(case);
    }
    kinds
        .into_iter()
        .map(|((_, name), cases)| (name, cases))
        .collect()
}

fn miss(case: &CaseVerdict) -> String {
    let found: Vec<String> = case
        .findings
        .iter()
        .map(|(id, ms)| format!("{id} {ms:.1} ms"))
        .collect();
    let found = match (&case.failure, found.is_empty()) {
        (Some(failure), _) => format!("no answer: {failure}"),
        (None, true) => "nothing".into(),
        (None, false) => found.join(", "),
    };
    let second = case.second.as_ref();
    let second = second.map_or(String::new(), |(_, ms, _)| format!(" and {ms:.1}"));
    let server = case
        .server
        .map_or(String::new(), |name| format!(" from {name}"));
    format!(
        "{} of {:.1}{second} ms over {}{server} on {}: found {found}",
        case.fault, case.ms_injected, case.strategy, case.path
    )
}
