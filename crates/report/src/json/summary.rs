//! A summary of many runs. Times are those of the runs that succeeded.

use roundtrip_model::{Exchange, PhaseName, Summary};
use serde_json::{Map, Value, json};

use super::result::first;
use super::rounded;
use crate::first::First;
use crate::run::{Run, runs};
use crate::series::Series;

pub(super) fn of(exchanges: &[Exchange]) -> Value {
    let all: Vec<Run> = runs(exchanges).collect();
    let mut summary = figures(&all);
    let mut urls: Vec<&str> = Vec::new();
    for run in &all {
        if !urls.contains(&run.url()) {
            urls.push(run.url());
        }
    }
    if urls.len() > 1 {
        let each = urls.iter().map(|url| {
            let mine: Vec<Run> = all.iter().filter(|r| r.url() == *url).copied().collect();
            let mut entry = Map::new();
            entry.insert("url".into(), json!(url));
            entry.extend(figures(&mine));
            Value::Object(entry)
        });
        summary.insert("by_url".into(), each.collect());
    }
    summary.into()
}

fn figures(runs: &[Run]) -> Map<String, Value> {
    let good: Vec<&Run> = runs.iter().filter(|r| r.ok()).collect();
    let ok = good.len();
    let mut map = Map::new();
    map.insert("n".into(), json!(runs.len()));
    map.insert("ok".into(), json!(ok));
    map.insert("failed".into(), json!(runs.len() - ok));
    let rate = (!runs.is_empty()).then(|| rounded(ok as f64 / runs.len() as f64));
    map.insert("success_rate".into(), json!(rate));
    map.insert("failures".into(), failures(runs));
    let statistics = |value: &dyn Fn(&Run) -> Option<f64>| {
        let samples: Vec<f64> = good.iter().filter_map(|r| value(r)).collect();
        Summary::from_samples(&samples).map_or(Value::Null, |s| numbers(&s))
    };
    map.insert("total_ms".into(), statistics(&|r| Some(r.total_ms())));
    map.insert("ttfb_ms".into(), statistics(&|r| r.first_byte_ms()));
    map.insert(
        "rtt_ms".into(),
        statistics(&|r| Some(r.last()?.rtt?.as_secs_f64() * 1e3)),
    );
    map.insert(
        "round_trips".into(),
        statistics(&|r| Some(f64::from(r.round_trips()))),
    );
    let first = First::from_runs(runs).map(|f| {
        let mut first = first(f.used, f.total_ms, f.round_trips);
        first["measured"] = json!(f.measured);
        first
    });
    map.insert("first".into(), json!(first));
    map.insert("waited_for".into(), waited(&statistics));
    map.insert("phases".into(), phases(&statistics));
    map.insert("findings".into(), findings(&Series::new(runs)));
    let carried = |r: &Run| Some(r.hops.iter().map(|e| e.carried).sum());
    map.insert("under_way_ms".into(), statistics(&carried));
    let unexplained = |r: &Run| Some(r.hops.iter().map(|e| e.unexplained).sum());
    map.insert("unexplained_ms".into(), statistics(&unexplained));
    map
}

type Statistics<'a> = dyn Fn(&dyn Fn(&Run) -> Option<f64>) -> Value + 'a;

fn waited(statistics: &Statistics) -> Value {
    json!({
        "network_ms": statistics(&|r| Some(r.waited().network)),
        "server_ms": statistics(&|r| Some(r.waited().server)),
        "client_ms": statistics(&|r| Some(r.waited().client)),
        "resolver_ms": statistics(&|r| Some(r.waited().resolver)),
        "loss_ms": statistics(&|r| Some(r.waited().loss)),
        "unknown_ms": statistics(&|r| Some(r.waited().unknown)),
    })
}

/// The causes that were found, and in how many of the runs that succeeded.
fn findings(series: &Series) -> Value {
    let causes = series.causes.iter().map(|cause| {
        json!({
            "id": cause.finding.id,
            "runs": cause.runs,
            "of": cause.of,
            "ms": numbers(&cause.ms),
            "round_trips": cause.round_trips,
            "evidence": cause.finding.evidence,
            "remedy": cause.finding.advice(),
            "settings": super::result::settings(cause.finding),
        })
    });
    causes.collect()
}

/// A summary for each phase that any run had.
fn phases(statistics: &Statistics) -> Value {
    let mut map = Map::new();
    for name in PhaseName::ALL {
        let figures = statistics(&|r| r.phase_ms(name));
        if !figures.is_null() {
            map.insert(PhaseName::as_str(name).into(), figures);
        }
    }
    map.into()
}

fn failures(runs: &[Run]) -> Value {
    let mut map = Map::new();
    for failure in runs.iter().filter_map(Run::failure) {
        let Ok(Value::String(kind)) = serde_json::to_value(failure.kind) else {
            continue;
        };
        let count = map.get(&kind).and_then(Value::as_u64).unwrap_or(0) + 1;
        map.insert(kind, json!(count));
    }
    map.into()
}

fn numbers(summary: &Summary) -> Value {
    json!({
        "n": summary.n,
        "min": rounded(summary.min),
        "median": rounded(summary.median),
        "mean": rounded(summary.mean),
        "p90": rounded(summary.p90),
        "p99": rounded(summary.p99),
        "max": rounded(summary.max),
        "stddev": rounded(summary.stddev),
    })
}
