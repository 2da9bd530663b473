//! Results of `roundtrip/probe/1` as runs: hops that follow one another are one run.

use roundtrip_model::Waited;

use super::facts;
use crate::node::Node;
use crate::probe::{Probe, ReportedFinding, ReportedPhase, Run};
use crate::{Provenance, ReadError};

/// The largest number of entries: one exchange has fewer phases, findings and tasks than this.
const MAX_ENTRIES: usize = 256;
/// The number of URLs that a message lists.
const MAX_CITED: usize = 4;

pub(super) fn probe(
    results: &[Node<'_>],
    made: Provenance,
    url: Option<&str>,
) -> Result<Probe, ReadError> {
    if results.is_empty() {
        return Err(ReadError::Empty);
    }
    let hops: Vec<ReportedHop> = results
        .iter()
        .map(ReportedHop::read)
        .collect::<Result<_, _>>()?;
    let all: Vec<&[ReportedHop]> = hops
        .chunk_by(|a, b| a.run.total_cmp(&b.run).is_eq() && b.place > a.place)
        .collect();
    let url = chosen(&all, url)?;
    let mine: Vec<&[ReportedHop]> = all.into_iter().filter(|hops| asked(hops) == url).collect();
    let failure = mine.iter().find_map(|hops| failure(hops));
    let good = mine.iter().filter(|hops| failure_of(hops).is_none());
    let runs: Vec<Run> = good.map(|hops| together(hops)).collect();
    if runs.is_empty() {
        return Err(ReadError::Failed(failure.unwrap_or_default()));
    }
    Ok(Probe {
        url,
        made,
        failed: mine.len() - runs.len(),
        failure,
        runs,
    })
}

struct ReportedHop {
    url: String,
    run: f64,
    /// The position among the hops of the same run.
    place: f64,
    failure: Option<String>,
    alone: Run,
}

fn asked(hops: &[ReportedHop]) -> &str {
    hops.first().map_or("", |hop| hop.url.as_str())
}

fn failure_of(hops: &[ReportedHop]) -> Option<&str> {
    hops.iter().find_map(|hop| hop.failure.as_deref())
}

fn failure(hops: &[ReportedHop]) -> Option<String> {
    failure_of(hops).map(str::to_owned)
}

/// The URL to compare: the only one, or the requested one.
fn chosen(runs: &[&[ReportedHop]], wanted: Option<&str>) -> Result<String, ReadError> {
    let mut urls: Vec<&str> = Vec::new();
    for hops in runs {
        if !urls.contains(&asked(hops)) {
            urls.push(asked(hops));
        }
        // URLs beyond those that a message lists need not be distinguished.
        if urls.len() > MAX_CITED && wanted.is_none() {
            break;
        }
    }
    let cited: Vec<&str> = urls.iter().take(MAX_CITED).copied().collect();
    let more = if urls.len() > MAX_CITED { ", …" } else { "" };
    let cited = format!("{}{more}", cited.join(", "));
    match (wanted, urls.as_slice()) {
        (None, [one]) => Ok((*one).to_owned()),
        (None, _) => Err(ReadError::Urls(cited)),
        (Some(wanted), urls) if urls.contains(&wanted) => Ok(wanted.to_owned()),
        (Some(wanted), _) => Err(ReadError::NoSuchUrl(wanted.to_owned(), cited)),
    }
}

/// Joins hops end to end.
fn together(hops: &[ReportedHop]) -> Run {
    let mut whole = Run::default();
    for hop in hops {
        let hop = &hop.alone;
        whole.ttfb_ms = hop.ttfb_ms.map(|first| whole.total_ms + first);
        whole.total_ms += hop.total_ms;
        whole.rtt_ms = hop.rtt_ms;
        whole.stages.extend(hop.stages.iter().cloned());
        whole.work.extend(hop.work.iter().cloned());
        whole.findings.extend(hop.findings.iter().cloned());
        whole.facts.clone_from(&hop.facts);
        whole.hops += 1;
    }
    whole
}

impl ReportedHop {
    fn read(node: &Node<'_>) -> Result<Self, ReadError> {
        let ok = node.get("ok")?.flag()?;
        let error = node.get("error")?.maybe_text()?;
        let failure = (!ok).then(|| error.unwrap_or("a failure without a reason").to_owned());
        Ok(Self {
            url: node.get("url")?.text()?.to_owned(),
            run: node.get("run")?.maybe_amount()?.unwrap_or(0.0),
            place: node.get("hop")?.maybe_amount()?.unwrap_or(0.0),
            failure,
            alone: run(node)?,
        })
    }
}

fn run(node: &Node<'_>) -> Result<Run, ReadError> {
    let phases = node.get("phases")?;
    let findings = node.get("findings")?;
    let stages = phases.list(MAX_ENTRIES)?;
    let findings = findings.list(MAX_ENTRIES)?;
    Ok(Run {
        total_ms: node.get("total_ms")?.amount()?,
        ttfb_ms: node.get("ttfb_ms")?.maybe_amount()?,
        rtt_ms: node.get("rtt_ms")?.maybe_amount()?.filter(|r| *r > 0.0),
        hops: 1,
        stages: stages.iter().map(stage).collect::<Result<_, _>>()?,
        work: work(node)?,
        findings: findings.iter().map(finding).collect::<Result<_, _>>()?,
        facts: facts::of(node)?,
    })
}

fn stage(node: &Node<'_>) -> Result<ReportedPhase, ReadError> {
    let waited = node.get("waited_for")?;
    let party = |key| match waited.get(key)? {
        absent if absent.is_null() => Ok(0.0),
        present => present.number(),
    };
    Ok(ReportedPhase {
        name: node.get("name")?.text()?.to_owned(),
        ms: node.get("ms")?.amount()?,
        round_trips: node.get("round_trips")?.amount()?,
        first_sent_ms: node.get("first_sent_ms")?.maybe_amount()?,
        waited: Waited {
            network: party("network_ms")?,
            server: party("server_ms")?,
            client: party("client_ms")?,
            resolver: party("resolver_ms")?,
            loss: party("loss_ms")?,
            unknown: party("unknown_ms")?,
        },
    })
}

fn work(node: &Node<'_>) -> Result<Vec<(String, f64)>, ReadError> {
    let tasks = node.get("client_work")?;
    let entries = tasks.entries(MAX_ENTRIES)?;
    let task = |(key, took): &(&str, Node<'_>)| {
        let name = key.strip_suffix("_ms").unwrap_or(key);
        Ok((name.replace('_', " "), took.amount()?))
    };
    entries.iter().map(task).collect()
}

fn finding(node: &Node<'_>) -> Result<ReportedFinding, ReadError> {
    let text = |key| -> Result<String, ReadError> {
        Ok(node.get(key)?.maybe_text()?.unwrap_or_default().to_owned())
    };
    Ok(ReportedFinding {
        id: node.get("id")?.text()?.to_owned(),
        ms: node.get("ms")?.amount()?,
        round_trips: node.get("round_trips")?.maybe_amount()?.unwrap_or(0.0),
        evidence: text("evidence")?,
        remedy: text("remedy")?,
    })
}
