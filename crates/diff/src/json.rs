//! The contract for programs, schema `roundtrip/diff/1`: keys may be added, never renamed.
//! `docs/json.md` explains each.

use roundtrip_model::{Summary, Waited};
use roundtrip_report::json::{rounded, waited};
use serde_json::{Value, json};

use crate::probe::{Contribution, FindingDiff, Priced, SideFigures, StageDiff, Weight};
use crate::{CheckChange, Diff, DoctorDiff, ProbeDiff, Provenance, ReportedCheck, Trend};

pub const SCHEMA: &str = "roundtrip/diff/1";

/// `files` are the names of A and B as they were given.
pub fn document(diff: &Diff, files: (&str, &str)) -> Value {
    match diff {
        Diff::Probe(diff) => probe(diff, files),
        Diff::Doctor(diff) => doctor(diff, files),
    }
}

/// Two reports of `probe`.
pub fn probe(diff: &ProbeDiff, files: (&str, &str)) -> Value {
    let (figures, difference) = (&diff.figures, &diff.difference);
    json!({
        "schema": SCHEMA,
        "of": "probe",
        "a": side(files.0, &diff.made.0, &diff.urls.0, diff.failed.0, &figures.0),
        "b": side(files.1, &diff.made.1, &diff.urls.1, diff.failed.1, &figures.1),
        "difference": {
            "ms": rounded(difference.ms),
            "share": difference.share.map(rounded),
            "low_ms": difference.interval.map(|(low, _)| rounded(low)),
            "high_ms": difference.interval.map(|(_, high)| rounded(high)),
            "shown": difference.is_shown(),
        },
        "answer": diff.answer,
        "parts": diff.parts.iter().map(part).collect::<Vec<Value>>(),
        "unexplained_ms": rounded(diff.unexplained_ms()),
        "phases": diff.stages.iter().map(stage).collect::<Vec<Value>>(),
        "facts": diff.facts.iter().map(|fact| json!({
            "name": fact.label,
            "a": fact.a,
            "b": fact.b,
            "telling": fact.weight == Weight::Telling,
        })).collect::<Vec<Value>>(),
        "findings": diff.findings.iter().map(finding).collect::<Vec<Value>>(),
    })
}

fn side(file: &str, made: &Provenance, url: &str, failed: usize, figures: &SideFigures) -> Value {
    let Summary {
        n,
        min,
        median,
        p90,
        max,
        ..
    } = figures.total;
    json!({
        "file": file,
        "started": made.started,
        "host": made.host,
        "version": made.version,
        "url": url,
        "n": n,
        "failed": failed,
        "total_ms": {
            "median": rounded(median), "min": rounded(min), "p90": rounded(p90), "max": rounded(max),
        },
        "ttfb_ms": figures.ttfb_ms.map(rounded),
        "rtt_ms": figures.rtt_ms.map(rounded),
        "round_trips": rounded(figures.round_trips),
        "redirects": rounded(figures.hops - 1.0),
    })
}

fn part(part: &Contribution) -> Value {
    json!({
        "kind": part.kind.as_str(),
        "phase": part.stage,
        "ms": rounded(part.ms),
        "a": part.sides.map(|(a, _)| rounded(a)),
        "b": part.sides.map(|(_, b)| rounded(b)),
        "what": part.what,
        "why": part.why,
    })
}

fn stage(stage: &StageDiff) -> Value {
    let (ms, trips, waits) = (stage.ms(), stage.round_trips(), stage.waited());
    let side = |ms: Option<f64>, trips: f64, waits: Waited| {
        ms.map(|ms| {
            json!({
                "ms": rounded(ms),
                "round_trips": rounded(trips),
                "waited_for": waited(&waits),
            })
        })
    };
    json!({
        "name": stage.name,
        "ms": rounded(ms.1.unwrap_or(0.0) - ms.0.unwrap_or(0.0)),
        "a": side(ms.0, trips.0, waits.0),
        "b": side(ms.1, trips.1, waits.1),
    })
}

fn finding(finding: &FindingDiff) -> Value {
    let side = |priced: &Option<Priced>| {
        priced.as_ref().map(|p| {
            json!({
                "ms": rounded(p.ms),
                "round_trips": rounded(p.round_trips),
                "typical_ms": rounded(p.typical_ms),
                "runs": p.runs.0,
                "evidence": p.evidence,
                "remedy": p.remedy,
            })
        })
    };
    json!({
        "id": finding.id,
        "ms": rounded(finding.ms()),
        "a": side(&finding.a),
        "b": side(&finding.b),
    })
}

/// Two reports of `doctor`.
pub fn doctor(diff: &DoctorDiff, files: (&str, &str)) -> Value {
    json!({
        "schema": SCHEMA,
        "of": "doctor",
        "a": machine(files.0, &diff.made.0, diff.roots.0.as_deref()),
        "b": machine(files.1, &diff.made.1, diff.roots.1.as_deref()),
        "answer": diff.answer,
        "worse": diff.count(Trend::Worse),
        "better": diff.count(Trend::Better),
        "other": diff.count(Trend::Other),
        "same": diff.same,
        "changes": diff.changes.iter().map(change).collect::<Vec<Value>>(),
    })
}

fn machine(file: &str, made: &Provenance, root: Option<&str>) -> Value {
    json!({
        "file": file,
        "started": made.started,
        "host": made.host,
        "version": made.version,
        "root": root,
    })
}

fn change(change: &CheckChange) -> Value {
    let side = |check: &Option<ReportedCheck>| {
        check.as_ref().map(|c| {
            json!({ "value": c.value, "status": c.status, "meaning": c.meaning, "change": c.change })
        })
    };
    json!({
        "id": change.check().map(|c| &c.id),
        "area": change.check().map(|c| &c.area),
        "title": change.check().map(|c| &c.title),
        "turn": change.turn.as_str(),
        "a": side(&change.a),
        "b": side(&change.b),
    })
}
