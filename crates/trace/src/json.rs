//! The contract for programs, schema `roundtrip/trace/1`: `results` are those of
//! `roundtrip/probe/1`, each with its connection added.

use roundtrip_report::json;
use serde_json::{Value, json};

use crate::conversation::{Conversation, Located};
use crate::counts::CaptureCounts;
use crate::ranking::Ranking;

pub const SCHEMA: &str = "roundtrip/trace/1";

/// The whole document. `left_out` is the number of exchanges that did not fit into memory.
pub fn document(
    file: &str,
    counts: &CaptureCounts,
    ranking: &Ranking,
    all: &[Conversation],
    left_out: u64,
) -> Value {
    let exchanges: Vec<_> = all.iter().flat_map(|c| c.exchanges.clone()).collect();
    json!({
        "schema": SCHEMA,
        "file": file,
        "capture": capture(counts),
        "left_out": left_out,
        "results": all.iter().flat_map(results).collect::<Vec<Value>>(),
        "summary": json::summary(&exchanges),
        "ranking": rank(ranking),
    })
}

fn capture(counts: &CaptureCounts) -> Value {
    json!({
        "frames": counts.frames,
        "not_ip": counts.not_ip,
        "other": counts.other,
        "fragments": counts.fragments,
        "cut": counts.cut,
        "connections": counts.connections,
        "one_way": counts.one_way,
        "opened": counts.opened,
        "misfits": counts.misfits,
        "damaged_keys": counts.damaged_keys,
        "forgotten_keys": counts.forgotten_keys,
        "unexplained": counts.left_out,
        "given_up": counts.given_up,
        "first_ns": counts.first,
        "last_ns": counts.first.map(|_| counts.last),
    })
}

/// Each exchange of a connection, as one value.
pub fn results(conversation: &Conversation) -> Vec<Value> {
    let about = connection(conversation);
    let all = conversation.exchanges.iter();
    all.map(|exchange| {
        let mut result = json::result(exchange);
        if let Some(members) = result.as_object_mut() {
            members.insert("connection".to_owned(), about.clone());
        }
        result
    })
    .collect()
}

fn connection(conversation: &Conversation) -> Value {
    let vantage = &conversation.vantage;
    let ms = |span: Option<std::time::Duration>| span.map(|span| rounded(span.as_secs_f64() * 1e3));
    json!({
        "number": conversation.number,
        "client": conversation.client.to_string(),
        "server": conversation.server.to_string(),
        "carrier": conversation.carrier.as_str(),
        "interface": conversation.interface,
        "frames": [conversation.frames.0, conversation.frames.1],
        "packets": conversation.packets,
        "sent_again": {
            "client": conversation.sent_again[0],
            "server": conversation.sent_again[1],
        },
        "vantage": {
            "place": vantage.place.as_str(),
            "evidence": vantage.evidence,
            "to_client_ms": ms(vantage.to_client),
            "to_server_ms": ms(vantage.to_server),
        },
        "located": conversation.located.as_ref().map(located),
        "known": if conversation.is_inferred { "inferred" } else { "seen" },
        "undecidable": conversation
            .undecidable
            .iter()
            .map(|unknown| json!({ "what": unknown.what, "needs": unknown.needs }))
            .collect::<Vec<Value>>(),
    })
}

fn located(located: &Located) -> Value {
    let side = |(sent, lost): &(u64, Vec<u64>)| json!({ "sent": sent, "lost_frames": lost });
    json!({
        "between_ms": rounded(located.between.as_secs_f64() * 1e3),
        "from_client": side(&located.from_client),
        "from_server": side(&located.from_server),
        "server_ms": rounded(located.server.as_secs_f64() * 1e3),
    })
}

/// The ranking of a document.
pub fn rank(ranking: &Ranking) -> Value {
    json!({
        "exchanges": ranking.exchanges,
        "failed": ranking.failed,
        "total_ms": rounded(ranking.total),
        "of_other_servers": ranking.of_other_servers,
        "causes": ranking
            .causes()
            .iter()
            .map(|cause| json!({
                "id": cause.id,
                "exchanges": cause.exchanges,
                "ms": rounded(cause.ms),
                "most_ms": rounded(cause.most),
                "round_trips": cause.round_trips,
                "connections": cause.examples.iter().map(|(_, number, _)| number).collect::<Vec<_>>(),
                "frames": cause.examples.iter().map(|(.., frame)| frame).collect::<Vec<_>>(),
            }))
            .collect::<Vec<Value>>(),
        "servers": ranking
            .servers()
            .iter()
            .map(|server| json!({
                "origin": server.name,
                "exchanges": server.exchanges,
                "median_ms": rounded(server.median),
                "p99_ms": rounded(server.p99),
            }))
            .collect::<Vec<Value>>(),
    })
}

fn rounded(ms: f64) -> f64 {
    (ms * 1e3).round() / 1e3
}
