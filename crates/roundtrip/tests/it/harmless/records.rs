//! What others recorded: captures and logs for trace, histories, and the reports for pipelines.

use roundtrip_history::{HistoryFile, Reading};
use roundtrip_model::Waited;
use serde_json::{Value, json};

use super::answers::answer;
use crate::harmless::{User, assert_harmless, assert_inert, sent, text, typed};
use crate::servers::one_answer;

/// Shows a record in each form, and checks that the hostile text in it is made harmless.
fn show(test: &str, user: &User, file: &str) {
    let page = user.home().join("page.html");
    let html = ["--html", page.to_str().unwrap()];
    for words in [&[][..], &["-v"], &html] {
        let said = user.run(&[&["trace"], words, &[file]].concat());
        assert_harmless(&text(&said.stdout));
        assert_inert(&text(&said.stderr));
    }
    assert_harmless(&std::fs::read_to_string(page).unwrap());
    if let Some(said) = user.on_a_terminal(test, &["trace", "--json", file]) {
        assert_harmless(&said);
    }
    if let Some(said) = user.on_a_terminal(test, &["trace", "--ndjson", file]) {
        assert_inert(&said);
    }
}

/// A packet of a connection from 10.0.0.1 to port 80 of 10.0.0.2, as a record of pcap.
fn packet(
    ms: u32,
    from_client: bool,
    sequence: u32,
    acked: u32,
    flags: u8,
    data: &[u8],
) -> Vec<u8> {
    let (mut ends, mut ports) = ([[10, 0, 0, 1], [10, 0, 0, 2]], [50_000_u16, 80]);
    if !from_client {
        ends.reverse();
        ports.reverse();
    }
    let length = 40 + u16::try_from(data.len()).unwrap();
    let mut record = Vec::new();
    for number in [1, ms * 1000, length.into(), length.into()] {
        record.extend(u32::to_le_bytes(number));
    }
    record.extend([0x45, 0]);
    record.extend(length.to_be_bytes());
    record.extend([0, 1, 0, 0, 64, 6, 0, 0]);
    record.extend(ends.concat());
    record.extend(ports.map(u16::to_be_bytes).concat());
    record.extend(sequence.to_be_bytes());
    record.extend(acked.to_be_bytes());
    record.extend([0x50, flags, 0xea, 0x60, 0, 0, 0, 0]);
    record.extend(data);
    record
}

fn capture() -> Vec<u8> {
    let hostile = sent();
    let request =
        format!("GET /{hostile} HTTP/1.1\r\nHost: a{hostile}\r\nUser-Agent: {hostile}\r\n\r\n");
    let response = answer("200 OK", &hostile, "ok");
    let (asked, told) = (request.len() as u32, response.len() as u32);
    let mut file = Vec::new();
    for number in [0xa1b2_c3d4, 0x0004_0002, 0, 0, 65_535, 101] {
        file.extend(u32::to_le_bytes(number));
    }
    for packet in [
        packet(0, true, 999, 0, 2, b""),
        packet(20, false, 8999, 1000, 18, b""),
        packet(20, true, 1000, 9000, 16, b""),
        packet(21, true, 1000, 9000, 24, request.as_bytes()),
        packet(141, false, 9000, 1000 + asked, 24, &response),
        packet(142, true, 1000 + asked, 9000 + told, 17, b""),
        packet(162, false, 9000 + told, 1001 + asked, 17, b""),
    ] {
        file.extend(packet);
    }
    file
}

#[test]
fn captures_that_are_traced() {
    let user = User::new();
    let file = user.write("a\u{202e}.pcap", capture());
    show("captures_that_are_traced", &user, &file);
    let said = user.run(&["trace", "--flow", "1", &file]);
    assert_inert(&text(&said.stdout));
}

fn har() -> Value {
    let hostile = typed();
    json!({ "log": { "version": hostile, "creator": { "name": hostile }, "entries": [{
        "startedDateTime": "2026-01-05T10:00:00.000Z", "time": 190, "connection": hostile,
        "serverIPAddress": hostile,
        "request": { "method": hostile, "url": format!("https://a.example/{hostile}") },
        "response": { "status": 200, "statusText": hostile, "httpVersion": hostile },
        "timings": { "dns": 10, "connect": 80, "ssl": 40, "send": 0, "wait": 90, "receive": 10 },
    }] } })
}

fn net_log() -> Value {
    let url = format!("https://a.example/{}", typed());
    let event = |time: u32, kind: u32, phase: u32, params: Value| {
        let source = json!({ "id": 10, "type": 1 });
        json!({ "time": time.to_string(), "source": source, "type": kind, "phase": phase, "params": params })
    };
    json!({
        "constants": {
            "logEventTypes": {
                "REQUEST_ALIVE": 0, "URL_REQUEST_START_JOB": 1, "HTTP_TRANSACTION_SEND_REQUEST": 2,
                "HTTP_TRANSACTION_READ_HEADERS": 3,
            },
            "logSourceType": { "URL_REQUEST": 1 },
            "logEventPhase": { "PHASE_BEGIN": 1, "PHASE_END": 2, "PHASE_NONE": 0 },
            "timeTickOffset": 1_700_000_000_000_u64,
        },
        "events": [
            event(5000, 0, 1, json!({ "url": url, "method": typed() })),
            event(5000, 1, 1, json!({ "url": url, "method": typed() })),
            event(5010, 2, 1, json!({})), event(5011, 2, 2, json!({})),
            event(5011, 3, 1, json!({})), event(5090, 3, 2, json!({})),
            event(5100, 1, 2, json!({})), event(5100, 0, 2, json!({})),
        ],
    })
}

/// A qlog file: a JSON text sequence (RFC 7464).
fn qlog() -> String {
    let hostile = typed();
    let header = json!({
        "qlog_version": "0.4", "qlog_format": "JSON-SEQ", "title": hostile,
        "trace": { "vantage_point": { "type": "client" }, "common_fields": { "reference_time": 0 } },
    });
    let fields = [
        (":method", "GET"),
        (":scheme", "https"),
        (":authority", "a"),
        (":path", &hostile),
    ];
    let fields = fields.map(|(name, value)| json!({ "name": name, "value": value }));
    let status = [json!({ "name": ":status", "value": "200" })];
    let frame = |fields: &[Value]| json!({ "stream_id": 0, "frame": { "frame_type": "headers", "headers": fields } });
    let lost = json!({
        "header": { "packet_type": "1RTT", "packet_number": 7 }, "trigger": hostile,
    });
    let closed = json!({ "owner": "remote", "reason": hostile, "trigger": hostile });
    let events = [
        (1.0, "transport:metrics_updated", json!({ "min_rtt": 50.0 })),
        (2.0, "http:frame_created", frame(&fields)),
        (60.0, "http:frame_parsed", frame(&status)),
        (70.0, "recovery:packet_lost", lost),
        (80.0, "transport:connection_closed", closed),
    ];
    let events =
        events.map(|(time, name, data)| json!({ "time": time, "name": name, "data": data }));
    let records = std::iter::once(&header).chain(&events);
    records.map(|record| format!("\u{1e}{record}\n")).collect()
}

fn curl_log() -> String {
    let hostile = sent();
    format!(
        "10:00:00.900000 == Info:   Trying 127.0.0.1:80...\n\
         10:00:00.950000 == Info: Connected to {hostile} (127.0.0.1) port 80 (#0)\n\
         10:00:00.951000 => Send header, 80 bytes (0x50)\n\
         0000: GET /{hostile} HTTP/1.1\n\
         0010: Host: {hostile}\n\
         10:00:01.011000 <= Recv header, 20 bytes (0x14)\n\
         0000: HTTP/1.1 200 {hostile}\n\
         10:00:01.012000 <= Recv data, 300 bytes (0x12c)\n"
    )
}

#[test]
fn logs_that_are_traced() {
    let test = "logs_that_are_traced";
    for (name, log) in [
        ("har", har().to_string()),
        ("netlog", net_log().to_string()),
        ("sqlog", qlog()),
        ("curl", curl_log()),
    ] {
        let user = User::new();
        let file = user.write(&format!("a\u{202e}.{name}"), log);
        show(test, &user, &file);
    }
}

#[test]
fn histories_that_are_shown() {
    let user = User::new();
    let file = user.home().join("a\u{202e}.history");
    let reading = |at, failure| Reading {
        at,
        url: typed(),
        strategy: typed(),
        every: 60,
        failure,
        total_ms: 10.0,
        waited: Waited::default(),
        rtt_ms: Some(5.0),
        round_trips: 2,
        findings: vec![(typed(), 3.0)],
    };
    let readings = [
        reading(1_800_000_000, None),
        reading(1_800_000_060, Some(typed())),
    ];
    HistoryFile::create(&file).unwrap().add(&readings).unwrap();
    let (file, page) = (file.to_str().unwrap(), user.home().join("page.html"));
    let said = user.run(&["history", "--html", page.to_str().unwrap(), file]);
    assert!(said.status.success(), "{said:?}");
    assert_harmless(&text(&said.stdout));
    assert_inert(&text(&said.stderr));
    assert_harmless(&std::fs::read_to_string(page).unwrap());
    let test = "histories_that_are_shown";
    if let Some(said) = user.on_a_terminal(test, &["history", "--json", file]) {
        assert_harmless(&said);
    }
    let nothing = user.write("b\u{202e}.history", typed());
    assert_harmless(&text(&user.run(&["history", &nothing]).stderr));
}

#[test]
fn reports_for_pipelines() {
    let user = User::new();
    let nonsense = format!("HTTP/1.1 {0}\r\n{0}: {0}\r\n\r\n", typed());
    for answer in [
        answer("503 No", "x", "no"),
        typed().into_bytes(),
        nonsense.into_bytes(),
    ] {
        let url = format!("http://{}/", one_answer(&answer));
        let file = user.home().join("junit.xml");
        let options = ["probe", "--annotations", "--fail-if", "status >= 400"];
        let junit = ["--junit", file.to_str().unwrap(), &url];
        let said = user.run(&[&options[..], &junit].concat());
        assert!(!said.status.success());
        assert_inert(&text(&said.stdout));
        assert_inert(&text(&said.stderr));
        assert_inert(&std::fs::read_to_string(file).unwrap());
    }
}
