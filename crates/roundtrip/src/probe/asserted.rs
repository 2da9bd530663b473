//! The assertions about the requests, and whether they hold: each URL answers, each limit is kept,
//! no count rose.

use roundtrip_model::{Exchange, Limit};
use roundtrip_report::{Assertion, Run, runs};

/// The assertions of each URL, in the order of the URLs.
pub(super) fn all(
    exchanges: &[Exchange],
    limits: &[Limit],
    of_baseline: &[Assertion],
) -> Vec<Assertion> {
    let all: Vec<Run> = runs(exchanges).collect();
    let mut urls: Vec<&str> = Vec::new();
    for run in &all {
        if !urls.contains(&run.url()) {
            urls.push(run.url());
        }
    }
    urls.into_iter()
        .flat_map(|url| {
            let runs: Vec<&Run> = all.iter().filter(|run| run.url() == url).collect();
            let answers = std::iter::once(answers(url, &runs));
            let limits = limits.iter().map(move |limit| kept(url, &runs, limit));
            let baseline = of_baseline.iter().filter(move |a| a.url == url).cloned();
            answers.chain(limits).chain(baseline)
        })
        .collect()
}

fn answers(url: &str, runs: &[&Run]) -> Assertion {
    let failures = runs.iter().filter_map(|run| run.failure());
    let told: Vec<String> = failures.map(ToString::to_string).collect();
    Assertion::new(url, "answers", &told)
}

fn kept(url: &str, runs: &[&Run], limit: &Limit) -> Assertion {
    let hops = runs.iter().flat_map(|run| run.hops);
    let missed = hops.filter_map(|hop| Some(limit.complaint(limit.broken_by(hop)?, hop)));
    Assertion::new(url, &limit.to_string(), &missed.collect::<Vec<String>>())
}
