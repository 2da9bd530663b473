//! An outcome as the document `roundtrip/perf/1`. Keys may be added, never renamed. Unknown values
//! are null.

use roundtrip_model::{Histogram, Summary};
use serde_json::{Value, json};

use crate::account::Usage;
use crate::engine::{SideReport, WireCounters};
use crate::outcome::{PerfArmOutcome, PerfFigures, PerfOutcome, Visit};
use crate::plan::{
    Amount, Arm, ArmTransport, DatagramLength, Pattern, PerfPlan, SideRole, Terrain, Work,
};
use crate::ratio::RatioInterval;

pub const SCHEMA: &str = "roundtrip/perf/1";

pub fn document(outcome: &PerfOutcome) -> Value {
    let plan = &outcome.plan;
    let arms: Vec<Value> = outcome
        .arms
        .iter()
        .map(|arm| arm_of(arm, outcome))
        .collect();
    json!({
        "schema": SCHEMA,
        "work": work(&plan.work),
        "rounds": plan.rounds,
        "pin": { "sender": plan.pin.sender, "receiver": plan.pin.receiver },
        "path": terrain(&plan.terrain),
        "interrupts": interrupts(plan),
        "interrupted": outcome.interrupted,
        "arms": arms,
    })
}

fn work(work: &Work) -> Value {
    let (pattern, request, response) = match work.pattern {
        Pattern::Down => ("down", None, None),
        Pattern::Up => ("up", None, None),
        Pattern::Both => ("both", None, None),
        Pattern::Requests { request, response } => ("requests", Some(request), Some(response)),
        Pattern::Mixed { request, response } => ("mixed", Some(request), Some(response)),
    };
    let (seconds, bytes) = match work.amount {
        Amount::For(time) => (Some(time.as_secs_f64()), None),
        Amount::Bytes(bytes) => (None, Some(bytes)),
    };
    json!({
        "pattern": pattern,
        "request_bytes": request,
        "response_bytes": response,
        "streams": work.streams,
        "connections": work.connections,
        "seconds": seconds,
        "bytes": bytes,
        "sender": match work.sender() { SideRole::Server => "server", SideRole::Client => "client" },
    })
}

fn terrain(terrain: &Terrain) -> Value {
    let (kind, words, host) = match terrain {
        Terrain::Bare(_) => ("bare", &[][..], None),
        Terrain::Emulated(words, _) => ("emulated", &words[..], None),
        Terrain::Remote(host) => ("remote", &[][..], Some(host)),
    };
    let words: Vec<Value> = words
        .iter()
        .map(|(word, value)| json!([word, value]))
        .collect();
    let ends = terrain.ends();
    json!({
        "kind": kind,
        "words": words,
        "host": host,
        "mtu": ends.map(|ends| ends.mtu),
        "offload": ends.map(|ends| ends.offload),
    })
}

/// How interrupts count in the CPU time of a side; only if sides are pinned to a core.
fn interrupts(plan: &PerfPlan) -> Value {
    let is_pinned = plan.pin.sender.or(plan.pin.receiver).is_some();
    match is_pinned {
        true if crate::account::readings::counts_apart() => json!("apart"),
        true => json!("in-threads"),
        false => Value::Null,
    }
}

fn arm_of(outcome: &PerfArmOutcome, whole: &PerfOutcome) -> Value {
    let PerfFigures {
        gigabits,
        sender,
        receiver,
        ratio_to_tls,
        ratio_interval,
        both_to_tls,
        requests_per_second,
        latencies,
        bottleneck,
    } = &outcome.figures;
    let visits: Vec<Value> = outcome
        .visits
        .iter()
        .map(|visit| visit_of(visit, &whole.plan.work))
        .collect();
    json!({
        "name": outcome.arm.to_string(),
        "transport": outcome.arm.transport.word(),
        "engine": outcome.arm.engine.word(),
        "knobs": knobs(&outcome.arm),
        "runs": outcome.visits.len(),
        "median": sender.map(|s| s.median),
        "min": sender.map(|s| s.min),
        "max": sender.map(|s| s.max),
        "unit": whole.unit(),
        "ratio_to_tls": ratio_to_tls,
        "ratio_to_tls_interval": interval(ratio_interval.as_ref()),
        "both_to_tls": both_to_tls.map(|both| both.ratio),
        "both_to_tls_interval": interval(both_to_tls.and_then(|both| both.interval).as_ref()),
        "receiver": spread(receiver.as_ref()),
        "gbit_per_s": spread(gigabits.as_ref()),
        "requests_per_s": spread(requests_per_second.as_ref()),
        "latency_us": latency(latencies),
        "bottleneck": bottleneck.word(),
        "rounds": visits,
    })
}

fn knobs(arm: &Arm) -> Value {
    let knobs = &arm.knobs;
    let is_quic = arm.transport == ArmTransport::Quic;
    json!({
        "cc": knobs.congestion.word(),
        "cipher": (arm.transport != ArmTransport::Tcp).then(|| knobs.cipher.word()),
        "write_size": knobs.write_size,
        "ack_every": knobs.ack_every.map(|packets| packets.to_string()),
        "gso": knobs.gso,
        "packet_aead": is_quic.then_some(knobs.packet_aead),
        "datagram": is_quic.then(|| match knobs.datagram {
            DatagramLength::Engine => "engine".to_owned(),
            DatagramLength::Of(bytes) => bytes.to_string(),
            DatagramLength::Mirror(bytes) => format!("mirror{bytes}"),
            DatagramLength::Discover => "discover".to_owned(),
        }),
    })
}

fn spread(summary: Option<&Summary>) -> Value {
    summary.map_or(
        Value::Null,
        |s| json!({ "median": s.median, "min": s.min, "max": s.max }),
    )
}

fn interval(interval: Option<&RatioInterval>) -> Value {
    interval.map_or(
        Value::Null,
        |i| json!({ "low": i.low, "high": i.high, "pairs": i.pairs }),
    )
}

fn latency(latencies: &Histogram) -> Value {
    if latencies.total() == 0 {
        return Value::Null;
    }
    let us = |share| latencies.quantile(share).as_secs_f64() * 1e6;
    json!({
        "count": latencies.total(),
        "p50": us(0.5),
        "p90": us(0.9),
        "p99": us(0.99),
        "max": latencies.max().as_secs_f64() * 1e6,
    })
}

fn visit_of(visit: &Visit, work: &Work) -> Value {
    json!({
        "payload_bytes": visit.payload(),
        "seconds": visit.wall().as_secs_f64(),
        "requests": visit.requests(),
        "longest_pause_s": visit.pause.as_secs_f64(),
        "sender": side(visit.sender(work)),
        "receiver": side(visit.receiver(work)),
    })
}

pub(crate) fn side(side: &SideReport) -> Value {
    json!({
        "payload_sent": side.sent,
        "payload_received": side.received,
        "cpu": usage(&side.usage),
        "wire": wire(&side.wire),
    })
}

fn usage(usage: &Usage) -> Value {
    let core = usage.core.map(|core| {
        json!({
            "number": core.number,
            "busy_share": core.share(),
            "interrupts_s": core.interrupts.as_secs_f64(),
            "beside_threads_s": core.beside.as_secs_f64(),
            "foreign_share": usage.foreign(),
            "uncounted_s": usage.uncounted().map(|uncounted| uncounted.as_secs_f64()),
        })
    });
    json!({
        "seconds": usage.cpu().as_secs_f64(),
        "share": usage.share(),
        "wall_s": usage.wall.as_secs_f64(),
        "thread_s": usage.thread.as_secs_f64(),
        "user_s": usage.user.as_secs_f64(),
        "system_s": usage.system.as_secs_f64(),
        "waited_s": usage.waited.map(|waited| waited.as_secs_f64()),
        "core": core,
    })
}

fn wire(wire: &WireCounters) -> Value {
    json!({
        "packets_sent": wire.packets_sent,
        "packets_received": wire.packets_received,
        "acks_sent": wire.acks_sent,
        "acks_received": wire.acks_received,
        "lost": wire.lost,
        "retransmitted": wire.retransmitted,
        "send_calls": wire.send_calls,
        "receive_calls": wire.receive_calls,
        "largest_payload": wire.largest,
        "held_by_window": wire.held_by_window,
    })
}
