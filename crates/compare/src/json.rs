//! The contract for programs, schema `roundtrip/compare/1`: keys may be added, but are never
//! renamed. Figures are those of one request, in ms; a value that was not measured is `null`.

use roundtrip_model::{CONFIDENCE, Finding, MIN_PAIRS, Saving};
use roundtrip_report::json::{rounded, settings};
use serde_json::{Value, json};

use crate::outcome::{Absent, Comparison, MeasuredWay, Prediction};
use crate::way::Remedy;

pub const SCHEMA: &str = "roundtrip/compare/1";

pub fn document(c: &Comparison) -> Value {
    let limits = json!({
        "requests": c.limits.requests,
        "requests_a_second": c.limits.rate,
        "seconds": c.limits.time.as_secs_f64(),
    });
    json!({
        "schema": SCHEMA,
        "url": c.url,
        "method": c.method,
        "status": c.status,
        "server": c.server,
        "address": c.address,
        "requests": c.requests,
        "rtt_ms": c.rtt_ms.map(rounded),
        "baseline": line(&c.baseline),
        "findings": c.findings.iter().map(finding).collect::<Vec<Value>>(),
        "control": line(&c.control),
        "ways": c.lines.iter().map(line).collect::<Vec<Value>>(),
        "unsupported": c.absent.iter().map(absent).collect::<Vec<Value>>(),
        "confidence": CONFIDENCE,
        "pairs_needed": MIN_PAIRS,
        "blocks": c.blocks,
        "limits": limits,
        "requests_sent": c.sent,
        "requests_discovery": c.discovery,
        "took_s": rounded(c.took_s),
        "ended": c.ended.as_str(),
        "seed": c.seed,
        "notes": c.notes,
    })
}

fn finding(f: &Finding) -> Value {
    json!({
        "id": f.id,
        "ms": rounded(f.ms),
        "round_trips": f.round_trips,
        "evidence": f.evidence,
        "remedy": f.advice(),
        "settings": settings(f),
    })
}

fn line(line: &MeasuredWay) -> Value {
    let figures = line.figures();
    let samples = line.samples.iter().map(|(block, sample)| {
        json!({ "block": block, "ms": rounded(sample.ms), "round_trips": sample.round_trips.map(rounded) })
    });
    let waited = line.typical().and_then(|s| s.waited);
    json!({
        "way": line.way.word(),
        "title": line.way.title(),
        "verdict": (line.way.remedy != Remedy::Baseline).then(|| line.kind().as_str()),
        "pairs": line.pairs,
        "saves_nothing_because": line.idle,
        "runs": line.samples.len(),
        "median": figures.map(|f| rounded(f.median)),
        "min": figures.map(|f| rounded(f.min)),
        "p90": figures.map(|f| rounded(f.p90)),
        "unit": "ms",
        "round_trips": line.round_trips().map(rounded),
        "waited": waited.map(|w| json!({
            "network_ms": rounded(w.network),
            "server_ms": rounded(w.server),
            "client_ms": rounded(w.client),
            "resolver_ms": rounded(w.resolver),
            "loss_ms": rounded(w.loss),
            "unknown_ms": rounded(w.unknown),
        })),
        "predicted": line.predicted.map(prediction),
        "deviation": line.deviation().map(rounded),
        "disagreement": line.disagreement,
        "saving": line.saving.map(|s| saving(s, line.is_shown())),
        "server_change": line.advice.server,
        "client_change": line.advice.client,
        "failures": line.failures,
        "samples": samples.collect::<Vec<Value>>(),
    })
}

fn saving(s: Saving, shown: bool) -> Value {
    json!({
        "pairs": s.pairs,
        "median_ms": rounded(s.median),
        "low_ms": rounded(s.low),
        "high_ms": rounded(s.high),
        "share": s.share.map(rounded),
        "shown": shown,
    })
}

fn prediction(p: Prediction) -> Value {
    json!({ "ms": rounded(p.ms), "round_trips": rounded(p.round_trips) })
}

fn absent(absent: &Absent) -> Value {
    json!({
        "way": absent.way.word(),
        "title": absent.way.title(),
        "why": absent.why,
        "would_save": absent.would_save.map(prediction),
        "server_change": absent.advice.server,
        "client_change": absent.advice.client,
    })
}
