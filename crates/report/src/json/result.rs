//! One exchange as a value.

use std::time::{SystemTime, UNIX_EPOCH};

use roundtrip_model::{Event, Exchange, Failure, Finding, Phase, Strategy, Unexplained, Withdrawn};
use serde_json::{Map, Value, json};

use super::{facts, rounded, span, waited};
use crate::unexplained;

/// One exchange: an element of `results`, or a line of a stream of results.
pub fn result(exchange: &Exchange) -> Value {
    let phases = exchange.phases();
    json!({
        "url": exchange.url,
        "run": exchange.run,
        "hop": exchange.hop,
        "started": exchange.started.map(started),
        "asked": exchange.asked,
        "strategy": exchange.used,
        "ok": exchange.ok(),
        "error": exchange.failure.as_ref().map(|f| f.message.as_str()),
        "failure": exchange.failure.as_ref().map(failure),
        "total_ms": span(exchange.total()),
        "ttfb_ms": facts::first_byte(exchange),
        "rtt_ms": exchange.rtt.map(span),
        "round_trips": exchange.round_trips(),
        "expected_round_trips": exchange.used.round_trips(),
        "extra_round_trips": exchange.extra_trips,
        "reused": exchange.reused,
        "kept": exchange.kept.map(facts::kept),
        "not_kept": exchange.not_kept.map(facts::not_kept),
        "primed": exchange.primed,
        "primer": exchange.primer.as_ref().map(|p| first(p.used, p.took.as_secs_f64() * 1e3, p.round_trips)),
        "waited_for": waited(&crate::party::sum(phases.iter().map(|p| &p.waited))),
        "phases": phases.iter().map(|p| phase(exchange, p)).collect::<Vec<Value>>(),
        "client_work": client_work(exchange),
        "name": exchange.name.as_ref().map(facts::name),
        "attempts": exchange.attempts.iter().map(facts::attempt).collect::<Vec<Value>>(),
        "tcp": exchange.tcp.as_ref().map(facts::tcp),
        "quic": exchange.quic.as_ref().map(facts::quic),
        "tls": exchange.tls.as_ref().map(facts::tls),
        "http": exchange.http.as_ref().map(facts::http),
        "echo": exchange.echo.as_ref().map(facts::echo),
        "notes": exchange.notes,
        "findings": exchange.findings.iter().map(finding).collect::<Vec<Value>>(),
        "withdrawn": exchange.withdrawn.iter().map(withdrawn).collect::<Vec<Value>>(),
        "unexplained_ms": rounded(exchange.unexplained),
        "unexplained": exchange.unexplained_at.iter().map(unexplained).collect::<Vec<Value>>(),
        "under_way_ms": rounded(exchange.carried),
    })
}

/// The time in UTC, in the format of RFC 3339.
fn started(at: SystemTime) -> String {
    let since = at.duration_since(UNIX_EPOCH).unwrap_or_default();
    let milliseconds = u64::try_from(since.as_millis()).unwrap_or(u64::MAX);
    roundtrip_wire::calendar::rfc3339(milliseconds)
}

/// The cost of a first request.
pub(super) fn first(used: Strategy, total_ms: f64, round_trips: u32) -> Value {
    json!({ "strategy": used, "total_ms": rounded(total_ms), "round_trips": round_trips })
}

fn phase(exchange: &Exchange, phase: &Phase) -> Value {
    let within = |at| at >= phase.start && at <= phase.end;
    let mut events = exchange.timeline.iter();
    let spoke = events.find(|(at, e)| matches!(e, Event::Sent { .. }) && within(*at));
    json!({
        "name": phase.name.as_str(),
        "start_ms": rounded(phase.start.as_millis()),
        "ms": rounded(phase.ms()),
        "first_sent_ms": spoke.map(|(at, _)| span(at.since(phase.start))),
        "round_trips": phase.round_trips,
        "waited_for": waited(&phase.waited),
    })
}

fn client_work(exchange: &Exchange) -> Value {
    let mut work = Map::new();
    for (task, took) in exchange.timeline.work() {
        work.insert(format!("{}_ms", task.as_str()), span(took));
    }
    work.into()
}

fn unexplained(at: &Unexplained) -> Value {
    json!({
        "phase": at.phase.as_str(),
        "ms": rounded(at.waited.sum()),
        "waited_for": waited(&at.waited),
        "after_bytes": at.after_bytes,
        "try": unexplained::advice_for(at),
    })
}

/// The settings for the server that answered, as far as it is known.
pub fn settings(finding: &Finding) -> Vec<Value> {
    let settings = finding.settings.iter();
    settings
        .map(|s| json!({ "of": s.of, "is": s.is }))
        .collect()
}

fn finding(finding: &Finding) -> Value {
    json!({
        "id": finding.id,
        "ms": rounded(finding.ms),
        "round_trips": finding.round_trips,
        "evidence": finding.evidence,
        "remedy": finding.advice(),
        "settings": settings(finding),
    })
}

fn withdrawn(withdrawn: &Withdrawn) -> Value {
    json!({ "id": withdrawn.id, "ms": rounded(withdrawn.ms), "why": withdrawn.why })
}

fn failure(failure: &Failure) -> Value {
    json!({
        "kind": failure.kind,
        "phase": failure.phase.as_str(),
        "message": failure.message,
        "advice": failure.advice,
    })
}
