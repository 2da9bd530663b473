//! A browser's log: what is reported from it, and what is not.

use super::*;

/// A page of three requests on a path of 40 ms, as a browser exports it.
const HAR: &str = r#"{"log": {"version": "1.2", "entries": [
 {"startedDateTime": "2026-01-05T10:00:00.000Z", "time": 190, "connection": "1",
  "request": {"method": "GET", "url": "https://a.example/"},
  "response": {"status": 200, "httpVersion": "http/1.1"},
  "timings": {"blocked": 0, "dns": 10, "connect": 80, "ssl": 40, "send": 0, "wait": 90, "receive": 10}},
 {"startedDateTime": "2026-01-05T10:00:00.200Z", "time": 100, "connection": "1",
  "request": {"method": "GET", "url": "https://a.example/app.js"},
  "response": {"status": 200, "httpVersion": "http/1.1"},
  "timings": {"blocked": 0, "dns": -1, "connect": -1, "ssl": -1, "send": 0, "wait": 45, "receive": 55}},
 {"startedDateTime": "2026-01-05T10:00:00.210Z", "time": 640, "connection": "1",
  "request": {"method": "GET", "url": "https://a.example/api?x=1"},
  "response": {"status": 503, "httpVersion": "http/1.1"},
  "timings": {"blocked": 90, "dns": -1, "connect": -1, "ssl": -1, "send": 0, "wait": 500, "receive": 50}}
]}}"#;

fn log() -> Log {
    Log::read(HAR.as_bytes()).unwrap()
}

#[test]
fn a_connect_is_a_round_trip_and_the_rest_of_a_wait_is_nobodys() {
    let log = log();
    assert_eq!(log.format, Format::Har);
    let slowest = log.slowest()[0];
    assert_eq!(slowest.url, "https://a.example/api?x=1");
    assert_eq!(log.round_trip(slowest), Some(40_000_000));
    assert_eq!(log.beyond(slowest), Some(460_000_000));
    let told = json::document("a.har", &log);
    assert_eq!(told["results"].as_array().unwrap().len(), 0);
    assert_eq!(told["told"]["requests"][2]["waited_beyond_ms"], 460.0);
    assert_eq!(told["told"]["requests"][2]["status"], 503);
    assert_eq!(told["told"]["page"]["took_ms"], 850.0);
}

#[test]
fn the_report_names_who_held_the_connection_and_what_would_decide() {
    let style = roundtrip_report::terminal::Style::default();
    let text = text::report(&log(), false, &style);
    for part in [
        "The critical path: 850.0 ms",
        "behind https://a.example/app.js",
        "no queueing for a connection",
        "wait 500.0, queue 90.0",
        "nothing in the log shows where the other 460.0 ms were spent",
        "not decidable from this log",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
}

#[test]
fn limits_see_the_same_times() {
    let log = log();
    let exchange = log.exchange(log.slowest()[0]);
    assert_eq!(exchange.total(), Duration::from_millis(640));
    let at = |event: Event| exchange.timeline.first(|e| *e == event).unwrap();
    assert_eq!(at(Event::FirstByte), Moment(590_000_000));
    assert!(exchange.findings.is_empty());
}

#[test]
fn a_file_that_is_not_a_log_is_refused() {
    for bytes in ["", "{}", "hello\n", "{\"log\": {\"entries\": []}}", "[1, 2"] {
        assert!(Log::read(bytes.as_bytes()).is_none(), "{bytes}");
    }
}
