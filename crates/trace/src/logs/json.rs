//! A log for programs: the member `logs` of `roundtrip/trace/1`, next to empty `results`.

use roundtrip_wire::witness::page::Reason;
use roundtrip_wire::witness::{TimeSource, ToldRequest, ToldSpan};
use serde_json::{Value, json};

use super::{Log, REMEDIES, length, millis, name};
use crate::json::SCHEMA;

pub fn document(file: &str, log: &Log) -> Value {
    let witness = &log.witness;
    let requests: Vec<Value> = (0..witness.requests.len())
        .filter_map(|index| request(log, index))
        .collect();
    let connections = witness.connections.iter().enumerate();
    let connections: Vec<Value> = connections
        .map(|(index, connection)| {
            let told = log.transport(index);
            json!({
                "id": connection.id,
                "peer": connection.peer,
                "phases": phases(&connection.spans),
                "packets_sent": told.sent,
                "packets_received": told.received,
                "packets_lost": told.lost,
                "blocked": told.blocked,
                "min_rtt_ms": told.min_rtt,
                "max_rtt_ms": told.max_rtt,
                "min_window": told.min_window,
                "max_window": told.max_window,
            })
        })
        .collect();
    let undecidable = log.undecidable().iter();
    let undecidable: Vec<Value> = undecidable
        .map(|(what, needs)| json!({ "what": what, "needs": needs }))
        .collect();
    json!({
        "schema": SCHEMA,
        "file": file,
        "results": [],
        "told": {
            "format": log.format.as_str(),
            "started_ns": witness.started,
            "damaged": witness.damaged,
            "is_cut": witness.is_cut,
            "requests": requests,
            "connections": connections,
            "page": page(log),
            "undecidable": undecidable,
        },
    })
}

/// One request; `None` beyond the last.
pub fn request(log: &Log, index: usize) -> Option<Value> {
    let request = log.witness.requests.get(index)?;
    let parent = log.page.as_ref().and_then(|page| *page.parents.get(index)?);
    Some(json!({
        "index": index,
        "id": request.id,
        "method": request.method,
        "url": request.url,
        "status": request.status,
        "protocol": request.protocol,
        "error": request.error,
        "connection": request.connection,
        "begin_ms": millis(request.begin),
        "took_ms": millis(length(request)),
        "phases": phases(&request.spans),
        "round_trip_ms": log.round_trip(request).map(millis),
        "waited_beyond_ms": log.beyond(request).map(millis),
        "queued_for": request.queued_for,
        "initiator": initiator(request),
        "after": parent.map(|(parent, why)| json!({ "request": parent, "why": reason(why) })),
    }))
}

fn initiator(request: &ToldRequest) -> Value {
    request.initiator.clone().map_or(Value::Null, Value::String)
}

fn reason(reason: Reason) -> &'static str {
    match reason {
        Reason::First => "first",
        Reason::Named => "named",
        Reason::After => "after",
    }
}

fn phases(spans: &[ToldSpan]) -> Vec<Value> {
    let value = |span: &ToldSpan| {
        json!({
            "name": name(span.phase),
            "begin_ms": millis(span.begin),
            "took_ms": millis(span.end - span.begin),
            "known": match span.known {
                TimeSource::Seen => "seen",
                TimeSource::Told => "told",
            },
        })
    };
    spans.iter().map(value).collect()
}

fn page(log: &Log) -> Value {
    let Some(page) = &log.page else {
        return Value::Null;
    };
    let steps: Vec<Value> = page
        .critical
        .iter()
        .map(|step| {
            json!({
                "request": step.request,
                "phase": step.phase.map(name),
                "begin_ms": millis(step.begin),
                "took_ms": millis(step.end.saturating_sub(step.begin)),
                "behind": step.holder,
            })
        })
        .collect();
    let remedies: Vec<Value> = REMEDIES
        .iter()
        .filter_map(|(remedy, phases)| {
            Some(json!({ "with": remedy, "took_ms": millis(log.without(phases)?) }))
        })
        .collect();
    json!({
        "took_ms": millis(page.length()),
        "round_trips": log.round_trips(),
        "critical": steps,
        "what_if": remedies,
    })
}
