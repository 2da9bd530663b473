//! The figures as one JSON document.

use std::time::Duration;

use serde_json::{Map, Value, json};

use super::history::IntervalCounts;
use super::state::AdminView;
use crate::admin::dependencies::{StoreView, UpstreamView};
use crate::forward::upstream::ServerView;
use crate::record::{DurationHistogram, FAMILIES, Gauge, LabelValue, Row, Snapshot, Timer};

pub(super) fn text(view: &AdminView<'_>) -> String {
    let log = view.process.log.map(|log| {
        let fates = log.fates().into_iter();
        fates
            .map(|(fate, lines)| (fate.to_owned(), lines.into()))
            .collect::<Map<_, Value>>()
    });
    let document = json!({
        "schema": "roundtrip/gate-metrics/1",
        "made_by": view.made_by,
        "started": view.process.started,
        "uptime_s": view.uptime_s,
        "ready": view.ready.is_ok(),
        "not_ready": view.ready.as_ref().err().map(ToString::to_string),
        "counters": counters(&view.snapshot),
        "gauges": gauges(&view.snapshot),
        "durations": durations(&view.snapshot),
        "upstreams": view.dependencies.upstreams.iter().map(upstream).collect::<Vec<_>>(),
        "store": store(view.dependencies.store),
        "access_log": log,
        "lately": lately(&view.history.lately()),
        "recent": view.history.points().map(lately).collect::<Vec<_>>(),
    });
    let mut text = document.to_string();
    text.push('\n');
    text
}

/// Each family's rows, with labels and value side by side.
fn counters(snapshot: &Snapshot) -> Value {
    let row = |row: Row| {
        let labels = row.labels.into_iter();
        let mut fields: Map<_, _> = labels
            .map(|(l, word)| (l.to_owned(), word.into()))
            .collect();
        fields.insert("value".into(), row.value.into());
        Value::Object(fields)
    };
    let family = |family: &crate::record::Family| {
        let rows = (family.rows)(snapshot).into_iter().map(row);
        (family.name.to_owned(), rows.collect())
    };
    Value::Object(FAMILIES.iter().map(family).collect())
}

fn gauges(snapshot: &Snapshot) -> Value {
    let gauge = |gauge: &Gauge| (gauge.as_str().to_owned(), snapshot.gauge(*gauge).into());
    Value::Object(Gauge::ALL.iter().map(gauge).collect())
}

/// Durations since the start.
fn durations(snapshot: &Snapshot) -> Value {
    let timer = |timer: &Timer| {
        let DurationHistogram { histogram, sum } = snapshot.timer(*timer);
        let ms = |span: Duration| span.as_secs_f64() * 1e3;
        let count = histogram.total();
        let told = json!({
            "count": count,
            "mean_ms": *sum as f64 / 1e6 / count.max(1) as f64,
            "p50_ms": ms(histogram.quantile(0.5)),
            "p90_ms": ms(histogram.quantile(0.9)),
            "p99_ms": ms(histogram.quantile(0.99)),
            "max_ms": ms(histogram.max()),
        });
        (timer.as_str().to_owned(), told)
    };
    Value::Object(Timer::ALL.iter().map(timer).collect())
}

fn upstream(upstream: &UpstreamView) -> Value {
    let server = |server: &ServerView| {
        json!({
            "address": &*server.address,
            "state": server.state.word(),
            "why": server.state.why(),
            "answered": server.answered,
            "failed": server.failed,
        })
    };
    json!({
        "name": &*upstream.name,
        "servers": upstream.servers.iter().map(server).collect::<Vec<_>>(),
    })
}

/// `null` if no store is needed.
fn store(store: StoreView) -> Value {
    match store {
        StoreView::NotNeeded => Value::Null,
        StoreView::Up => json!({ "state": "up" }),
        StoreView::Down { since, .. } => json!({ "state": "down", "down_s": since.as_secs() }),
    }
}

fn lately(point: &IntervalCounts) -> Value {
    let share = |(all, good): (u64, u64)| (all > 0).then(|| good as f64 / all as f64);
    json!({
        "seconds": point.seconds,
        "requests_per_s": point.rate(point.requests),
        "errors_per_s": point.rate(point.errors),
        "round_trips_saved_per_s": point.rate(point.saved),
        "handshakes_avoided_per_s": point.rate(point.avoided),
        "added_p50_ms": point.added.map(|a| a.median),
        "added_p99_ms": point.added.map(|a| a.p99),
        "backend_p50_ms": point.backend.map(|b| b.median),
        "backend_p99_ms": point.backend.map(|b| b.p99),
        "whole_p50_ms": point.whole.map(|w| w.median),
        "whole_p99_ms": point.whole.map(|w| w.p99),
        "resumed_share": share(point.handshakes),
        "early_share": share(point.early),
        "reused_share": share(point.carried),
        "near_share": share(point.sessions),
    })
}
