//! The JSON document for programs, schema `roundtrip/history/1`: keys are added, never renamed.
//! `docs/history.md` explains each of them.

use roundtrip_report::json::{rounded, waited};
use serde_json::{Value, json};

use crate::view::{found, longest, whole};
use crate::{LastingChange, Period, RecordedSeries, TIERS, lasting_change};

pub const SCHEMA: &str = "roundtrip/history/1";

pub fn document(all: &[RecordedSeries]) -> Value {
    let series: Vec<Value> = all.iter().map(series).collect();
    json!({ "schema": SCHEMA, "series": series })
}

fn series(series: &RecordedSeries) -> Value {
    let periods = longest(series);
    let tiers = TIERS.iter().zip(&series.tiers).map(|(tier, periods)| {
        let periods: Vec<Value> = periods.iter().map(period).collect();
        json!({ "step_s": tier.step, "keeps_s": tier.keeps, "periods": periods })
    });
    let findings = found(periods).into_iter().map(|found| {
        json!({
            "id": found.id,
            "readings": found.count,
            "ms": rounded(found.ms / found.count.max(1) as f64),
            "first": found.first,
            "last": found.last,
        })
    });
    json!({
        "url": series.url,
        "strategy": series.strategy,
        "every_s": series.every,
        "all": period(&whole(periods)),
        "change": lasting_change(periods).map(change),
        "findings": findings.collect::<Vec<Value>>(),
        "tiers": tiers.collect::<Vec<Value>>(),
    })
}

fn change(change: LastingChange) -> Value {
    json!({
        "since": change.at,
        "waited_for": change.party.name(),
        "before_ms": rounded(change.before_ms),
        "after_ms": rounded(change.after_ms),
    })
}

fn period(period: &Period) -> Value {
    let quantile = |share| period.quantile(share).map(rounded);
    json!({
        "start": period.start,
        "ok": period.ok,
        "failures": period.failures,
        "waited_for": (period.ok > 0).then(|| waited(&period.waited())),
        "total_ms": {
            "mean": period.mean_ms().map(rounded),
            "p50": quantile(0.5),
            "p90": quantile(0.9),
            "p99": quantile(0.99),
        },
        "rtt_ms": period.rtt_ms.map(rounded),
        "round_trips": {
            "mean": period.round_trips().map(rounded),
            "max": (period.ok > 0).then_some(period.max_round_trips),
        },
        "findings": period.findings.iter().map(|(id, (count, ms))| {
            json!({ "id": id, "readings": count, "ms": rounded(ms / (*count).max(1) as f64) })
        }).collect::<Vec<Value>>(),
    })
}
