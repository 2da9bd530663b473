//! The same connection in each form of log.

use super::*;
use crate::witness::{ToldPhase, TransportEvent};

/// Times in milliseconds, names without a namespace, and data.
const EVENTS: [(f64, &str, &str); 6] = [
    (
        0.5,
        "packet_sent",
        r#"{"header":{"packet_type":"initial","packet_number":0},"raw":{"length":1200},"frames":[{"frame_type":"stream_data_blocked","stream_id":4,"limit":9}]}"#,
    ),
    (
        50.5,
        "metrics_updated",
        r#"{"min_rtt":50.0,"congestion_window":12000}"#,
    ),
    (
        51.0,
        "frame_created",
        r#"{"stream_id":0,"frame":{"frame_type":"headers","headers":[{"name":":method","value":"GET"},{"name":":scheme","value":"https"},{"name":":authority","value":"a"},{"name":":path","value":"/b"}]}}"#,
    ),
    (
        101.0,
        "frame_parsed",
        r#"{"stream_id":0,"frame":{"frame_type":"headers","headers":[{"name":":status","value":"200"}]}}"#,
    ),
    (
        103.0,
        "frame_parsed",
        r#"{"stream_id":0,"frame":{"frame_type":"data"}}"#,
    ),
    (
        104.0,
        "packet_lost",
        r#"{"header":{"packet_type":"1RTT","packet_number":7},"trigger":"time_threshold"}"#,
    ),
];

fn objects(space: &str, time: impl Fn(usize) -> f64) -> Vec<String> {
    let event = |at: usize| {
        let (_, name, data) = EVENTS[at];
        let space = if name.starts_with("frame") {
            "http"
        } else {
            space
        };
        format!(
            r#"{{"time":{},"name":"{space}:{name}","data":{data}}}"#,
            time(at)
        )
    };
    (0..EVENTS.len()).map(event).collect()
}

fn check(log: &str) -> Witness {
    let witness = read(log.as_bytes()).unwrap_or_else(|| panic!("no qlog: {log}"));
    assert_eq!((witness.damaged, witness.is_cut), (0, false), "{log}");
    let [connection] = witness.connections.as_slice() else {
        panic!("{witness:?}");
    };
    let times: Vec<_> = connection
        .events
        .iter()
        .map(|(at, _)| at / 100_000)
        .collect();
    let from = times[0];
    assert_eq!(times, [from, from, from + 500, from + 1035], "{log}");
    assert_eq!(
        connection.events[0].1,
        TransportEvent::Blocked { stream: Some(4) }
    );
    let sent = TransportEvent::PacketSent {
        space: "initial".to_owned(),
        number: Some(0),
        length: Some(1200),
    };
    assert_eq!(connection.events[1].1, sent);
    let lost = TransportEvent::PacketLost {
        number: Some(7),
        trigger: Some("time_threshold".to_owned()),
    };
    assert_eq!(connection.events[3].1, lost);
    let [request] = witness.requests.as_slice() else {
        panic!("{witness:?}");
    };
    assert_eq!(
        (request.url.as_str(), request.status),
        ("https://a/b", Some(200))
    );
    let spans: Vec<_> = request
        .spans
        .iter()
        .map(|span| (span.phase, (span.end - span.begin) / 1_000_000))
        .collect();
    assert_eq!(
        spans,
        [
            (ToldPhase::Send, 0),
            (ToldPhase::Wait, 50),
            (ToldPhase::Body, 2)
        ]
    );
    witness
}

#[test]
fn json_with_times_of_each_kind_is_read() {
    let json = |common: &str, events: &[String]| {
        format!(
            r#"{{"qlog_version":"0.3","traces":[{{"common_fields":{{{common}}},"events":[{}]}}]}}"#,
            events.join(",\n")
        )
    };
    let relative = objects("transport", |at| EVENTS[at].0);
    let witness = check(&json(
        r#""ODCID":"ab12","time_format":"relative","reference_time":1700000000000.5"#,
        &relative,
    ));
    assert_eq!(witness.started, Some(1_700_000_000_000_500_000));
    assert_eq!(witness.connections[0].id, "ab12");
    let epoch = r#""time_format":"relative_to_epoch","reference_time":{"clock_type":"system","epoch":"2023-11-14T22:13:20.000Z"}"#;
    let witness = check(&json(epoch, &objects("quic", |at| EVENTS[at].0)));
    assert_eq!(witness.started, Some(1_700_000_000_000_000_000));
    let previous = |at: usize| EVENTS[at].0 - at.checked_sub(1).map_or(0.0, |at| EVENTS[at].0);
    for name in ["delta", "relative_to_previous_event"] {
        check(&json(
            &format!(r#""time_format":"{name}""#),
            &objects("quic", previous),
        ));
    }
    let absolute = |at: usize| 1_700_000_000_000.0 + EVENTS[at].0;
    let witness = check(&json(r#""group_id":"x""#, &objects("recovery", absolute)));
    assert_eq!(witness.started, Some(1_700_000_000_000_500_000));
}

#[test]
fn records_and_lines_are_read() {
    let head = r#"{"qlog_version":"0.4","qlog_format":"JSON-SEQ","trace":{"common_fields":{"time_format":"relative","reference_time":1.0,"group_id":"g"}}}"#;
    let mut all = vec![head.to_owned()];
    all.extend(objects("quic", |at| EVENTS[at].0));
    let records: String = all
        .iter()
        .map(|record| format!("\u{1e}{record}\n"))
        .collect();
    check(&records);
    check(&(all.join("\n") + "\n"));
    // Cut off in the last record.
    let witness = read(&records.as_bytes()[..records.len() - 9]).unwrap();
    assert_eq!((witness.damaged, witness.is_cut), (1, true));
    assert_eq!(witness.connections[0].events.len(), 3);
}

#[test]
fn events_as_arrays_of_early_drafts_are_read() {
    let events: Vec<_> = EVENTS
        .iter()
        .map(|(time, name, data)| format!(r#"[{},"any","{name}",{data}]"#, time * 1000.0))
        .collect();
    check(&format!(
        r#"{{"traces":[{{"configuration":{{"time_units":"us"}},"event_fields":["relative_time","category","event","data"],"events":[{}]}}]}}"#,
        events.join(",")
    ));
}

#[test]
fn a_file_that_is_not_a_qlog_is_refused() {
    for log in ["", "{}", "[]", "{\"log\":{}}", "\u{1e}12\n"] {
        assert_eq!(read(log.as_bytes()), None, "{log}");
    }
}

#[test]
fn metrics_of_early_drafts_have_the_unit_of_the_times() {
    let log = r#"{"traces":[{"configuration":{"time_units":"us"},"common_fields":{"reference_time":"1566844755588000"},
        "event_fields":["relative_time","CATEGORY","EVENT_TYPE","DATA"],"events":[
        ["126536","RECOVERY","METRIC_UPDATE",{"min_rtt":126000,"latest_rtt":127000,"cwnd":17300}]]}]}"#;
    let witness = read(log.as_bytes()).unwrap();
    assert_eq!(witness.started, Some(1_566_844_755_588_000_000));
    let [
        (
            at,
            TransportEvent::Metrics {
                min_rtt,
                latest_rtt,
                congestion_window,
                ..
            },
        ),
    ] = witness.connections[0].events.as_slice()
    else {
        panic!("{witness:?}");
    };
    assert_eq!((*at, *congestion_window), (126_536_000, Some(17_300)));
    assert_eq!((*min_rtt, *latest_rtt), (Some(126.0), Some(127.0)));
}
