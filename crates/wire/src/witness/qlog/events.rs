//! The events of a qlog that concern time. Names are given without the namespace; early drafts had
//! other ones.

use serde_json::Value;

use crate::witness::{
    LogTime, MAX_KEPT, TimeSource, ToldPhase, ToldRequest, TransportEvent, Witness, number, text,
    whole,
};

pub(super) fn read_event(
    witness: &mut Witness,
    connection: usize,
    (at, unit): (LogTime, f64),
    name: &str,
    data: &Value,
) {
    let span = |name: &str| number(&data[name]).map(|span| span * unit);
    let frames = data["frames"]
        .as_array()
        .map(Vec::as_slice)
        .unwrap_or_default();
    let said = match name {
        "packet_sent" => {
            blocked(witness, connection, at, frames);
            let (space, number, length) = packet(data);
            Some(TransportEvent::PacketSent {
                space,
                number,
                length,
            })
        }
        "packet_received" => {
            let (space, number, length) = packet(data);
            Some(TransportEvent::PacketReceived {
                space,
                number,
                length,
            })
        }
        "packet_lost" => Some(TransportEvent::PacketLost {
            number: packet(data).1,
            trigger: text(&data["trigger"]),
        }),
        "metrics_updated" | "recovery_metrics_updated" | "metric_update" => {
            let windows = [&data["congestion_window"], &data["cwnd"]];
            Some(TransportEvent::Metrics {
                min_rtt: span("min_rtt"),
                smoothed_rtt: span("smoothed_rtt"),
                latest_rtt: span("latest_rtt"),
                congestion_window: windows.into_iter().find_map(whole_or_fraction),
                bytes_in_flight: whole_or_fraction(&data["bytes_in_flight"]),
            })
        }
        "connection_state_updated" | "congestion_state_updated" => {
            text(&data["new"]).map(TransportEvent::State)
        }
        "connection_closed" | "connection_close" => {
            Some(TransportEvent::State("closed".to_owned()))
        }
        "connection_started" | "connection_new" => {
            let remote = &data["remote"];
            let peers = [&data["dst_ip"], &remote["ip_v4"], &remote["ip_v6"]];
            if let Some(known) = witness.connections.get_mut(connection) {
                known.peer = peers.into_iter().find_map(text);
            }
            Some(TransportEvent::State("started".to_owned()))
        }
        "frame_created" | "frame_parsed" => {
            http(witness, connection, at, data);
            None
        }
        _ => None,
    };
    if let Some(said) = said {
        push(witness, connection, at, said);
    }
}

fn push(witness: &mut Witness, connection: usize, at: LogTime, event: TransportEvent) {
    if let Some(known) = witness.connections.get_mut(connection) {
        known.events.push((at, event));
    }
}

fn packet(data: &Value) -> (String, Option<u64>, Option<u64>) {
    let header = &data["header"];
    let kinds = [&header["packet_type"], &data["packet_type"], &data["type"]];
    let space = kinds.into_iter().find_map(text).unwrap_or_default();
    let number = whole(&header["packet_number"]).or(whole(&data["packet_number"]));
    let lengths = [
        &data["raw"]["length"],
        &header["packet_size"],
        &data["packet_size"],
    ];
    (space, number, lengths.into_iter().find_map(whole))
}

fn blocked(witness: &mut Witness, connection: usize, at: LogTime, frames: &[Value]) {
    for frame in frames {
        let stream = match frame["frame_type"].as_str() {
            Some("data_blocked") => None,
            Some("stream_data_blocked") => whole(&frame["stream_id"]),
            _ => continue,
        };
        push(witness, connection, at, TransportEvent::Blocked { stream });
    }
}

fn whole_or_fraction(value: &Value) -> Option<u64> {
    whole(value).or_else(|| number(value).filter(|n| *n >= 0.0).map(|n| n as u64))
}

/// A frame of HTTP/3: which requests there are, and when their heads and contents were sent.
fn http(witness: &mut Witness, connection: usize, at: LogTime, data: &Value) {
    let frame = &data["frame"];
    let kinds = [&frame["frame_type"], &frame["type"]];
    let kind = kinds
        .into_iter()
        .find_map(Value::as_str)
        .unwrap_or_default();
    let Some(stream) = whole(&data["stream_id"]).filter(|stream| stream.is_multiple_of(4)) else {
        return;
    };
    if !matches!(kind, "headers" | "data") {
        return;
    }
    let id = format!("{connection}-{stream}");
    let found = witness
        .requests
        .iter()
        .rposition(|request| request.id == id);
    let index = found.unwrap_or(witness.requests.len());
    if found.is_none() {
        if witness.requests.len() >= MAX_KEPT {
            witness.damaged += 1;
            return;
        }
        witness.requests.push(ToldRequest {
            id,
            connection: Some(connection),
            protocol: Some("h3".to_owned()),
            begin: at,
            ..ToldRequest::default()
        });
    }
    let Some(request) = witness.requests.get_mut(index) else {
        return;
    };
    let field = |wanted: &str| {
        let lines = frame["headers"]
            .as_array()
            .map(Vec::as_slice)
            .unwrap_or_default();
        lines
            .iter()
            .find(|line| line["name"] == wanted)
            .and_then(|line| text(&line["value"]))
    };
    if let Some(method) = field(":method") {
        request.method = method;
        let authority = field(":authority").unwrap_or_default();
        let scheme = field(":scheme").unwrap_or_else(|| "https".to_owned());
        request.url = format!(
            "{scheme}://{authority}{}",
            field(":path").unwrap_or_default()
        );
    }
    let status = field(":status").and_then(|status| status.parse::<u16>().ok());
    match status {
        Some(100..200) => {}
        Some(status) => {
            request.status = Some(status);
            let since = request.end_of(ToldPhase::Send).unwrap_or(request.begin);
            request.span(ToldPhase::Wait, since, at, TimeSource::Seen);
            request.end = Some(at);
        }
        None if request.status.is_none() => {
            let begin = request.begin;
            grow(request, ToldPhase::Send, begin, at);
        }
        None => {
            let begin = request.end_of(ToldPhase::Wait).unwrap_or(at);
            grow(request, ToldPhase::Body, begin, at);
            request.end = Some(at);
        }
    }
}

fn grow(request: &mut ToldRequest, phase: ToldPhase, begin: LogTime, end: LogTime) {
    match request.spans.iter_mut().find(|span| span.phase == phase) {
        Some(span) => span.end = span.end.max(end),
        None => request.span(phase, begin, end, TimeSource::Seen),
    }
}
