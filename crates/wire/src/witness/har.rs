//! HAR 1.2, with the fields that Chrome, Firefox and WebPageTest add. Browsers compute these times
//! from other times, and the results are sometimes wrong, so all of them are marked as computed.

use std::collections::HashMap;

use serde_json::Value;

use super::items::{Items, parse_without};
use super::{LogTime, MAX_KEPT, TimeSource, ToldConnection, ToldPhase, ToldRequest, Witness};
use super::{nanoseconds, number, text, whole};
use crate::calendar::CivilDate;

/// The number of servers, the newest first, among which a connection is looked for.
const MAX_PEERS: usize = 64;
/// Members that are skipped, because they are long and not needed: bodies and fields.
const LEFT_OUT: [&str; 5] = ["content", "postData", "headers", "cookies", "queryString"];

/// Reads a HAR; `None` if this is not one.
pub fn read(bytes: &[u8]) -> Option<Witness> {
    let log = Items::member(bytes, "log")?;
    let mut witness = Witness::default();
    let mut entries = Items::of_array(Items::member(log, "entries")?)?;
    let mut connections = Connections::default();
    for (_, entry) in entries.by_ref() {
        let is_full = witness.requests.len() >= MAX_KEPT;
        let entry = parse_without(entry, &LEFT_OUT).filter(|_| !is_full);
        let started = entry
            .as_ref()
            .and_then(|entry| entry["startedDateTime"].as_str());
        let (Some(started), Some(entry)) = (started.and_then(time), &entry) else {
            witness.damaged += 1;
            continue;
        };
        let request = read_entry(&mut witness, &mut connections, entry, started);
        witness.requests.push(request);
    }
    witness.is_cut = !entries.is_whole;
    witness.started = witness.requests.iter().map(|request| request.begin).min();
    let first = witness.started.unwrap_or_default();
    for request in &mut witness.requests {
        request.begin -= first;
        request.end = request.end.map(|end| end - first);
        for span in &mut request.spans {
            (span.begin, span.end) = (span.begin - first, span.end - first);
        }
    }
    Some(witness)
}

/// Reads an entry, with its times since 1970.
fn read_entry(
    witness: &mut Witness,
    connections: &mut Connections,
    entry: &Value,
    begin: LogTime,
) -> ToldRequest {
    let mut request = ToldRequest {
        id: witness.requests.len().to_string(),
        method: text(&entry["request"]["method"]).unwrap_or_default(),
        url: text(&entry["request"]["url"]).unwrap_or_default(),
        status: whole(&entry["response"]["status"])
            .and_then(|status| u16::try_from(status).ok())
            .filter(|status| *status != 0),
        protocol: text(&entry["response"]["httpVersion"]).filter(|version| !version.is_empty()),
        begin,
        error: text(&entry["response"]["_error"]),
        ..ToldRequest::default()
    };
    request.initiator = initiator(&entry["_initiator"]);
    request.page = text(&entry["pageref"]).filter(|page| !page.is_empty());
    let id = [&entry["connection"], &entry["_connectionId"]]
        .into_iter()
        .find_map(text);
    // Browsers write "0" or nothing if they do not know it, and Firefox the server's port, which
    // all its connections have in common.
    let names_one = |id: &String| !id.is_empty() && id != "0" && port(&request.url) != Some(id);
    if let Some(id) = id.filter(names_one) {
        let peer = text(&entry["serverIPAddress"]).filter(|peer| !peer.is_empty());
        request.connection = Some(connections.place(witness, id, peer));
    }
    let timings = &entry["timings"];
    let length = |name: &str| number(&timings[name]).and_then(nanoseconds);
    let mut at = begin;
    let mut step = |request: &mut ToldRequest, phase, length: Option<u64>| {
        if let Some(length) = length {
            let end = at.saturating_add(length);
            request.span(phase, at, end, TimeSource::Told);
            at = end;
        }
    };
    // The parts of `blocked`: Chrome says how much of it was the queue, and the proxy.
    let blocked = length("blocked");
    let proxy = length("_blocked_proxy").filter(|proxy| Some(*proxy) <= blocked);
    let queue = blocked.map(|blocked| blocked - proxy.unwrap_or(0));
    step(&mut request, ToldPhase::Queue, queue);
    step(&mut request, ToldPhase::Proxy, proxy);
    step(&mut request, ToldPhase::Name, length("dns"));
    let (connect, handshake) = (length("connect"), length("ssl"));
    let alone = if is_separate(timings, number(&entry["time"])) {
        connect
    } else {
        connect.map(|connect| connect - handshake.unwrap_or(0).min(connect))
    };
    step(&mut request, ToldPhase::Connect, alone);
    step(&mut request, ToldPhase::Handshake, handshake);
    step(&mut request, ToldPhase::Send, length("send"));
    step(&mut request, ToldPhase::Wait, length("wait"));
    step(&mut request, ToldPhase::Body, length("receive"));
    let whole = number(&entry["time"]).and_then(nanoseconds);
    request.end = Some(whole.map_or(at, |whole| begin.saturating_add(whole)));
    request
}

/// Whether the handshake is not a part of the connect time, which it is in HAR 1.2 but not in
/// Firefox: then it may be longer, or it takes both to make the sum.
fn is_separate(timings: &Value, whole: Option<f64>) -> bool {
    let length = |name: &str| number(&timings[name]).filter(|length| *length >= 0.0);
    let Some(handshake) = length("ssl") else {
        return false;
    };
    let others = ["blocked", "dns", "connect", "send", "wait", "receive"];
    let sum: f64 = others.into_iter().filter_map(length).sum();
    let is_nearer = |whole: f64| (whole - sum - handshake).abs() < (whole - sum).abs();
    handshake > length("connect").unwrap_or(0.0) || whole.is_some_and(is_nearer)
}

/// The port of a URL's server.
fn port(url: &str) -> Option<&str> {
    let (scheme, rest) = url.split_once("://")?;
    let authority = rest.split(['/', '?', '#']).next()?;
    let explicit = authority.rsplit_once(':').map(|(_, port)| port);
    let explicit = explicit.filter(|port| port.bytes().all(|byte| byte.is_ascii_digit()));
    explicit.or(match scheme {
        "https" | "wss" => Some("443"),
        "http" | "ws" => Some("80"),
        _ => None,
    })
}

/// The script that made the call, or the document.
fn initiator(initiator: &Value) -> Option<String> {
    let frames = initiator["stack"]["callFrames"].as_array();
    let of_script = frames
        .and_then(|frames| frames.first())
        .and_then(|frame| text(&frame["url"]));
    let url = text(&initiator["url"]).or(of_script);
    url.filter(|url| !url.is_empty())
}

/// The connections by their ids. An id may be the client's port, which is unique only among the
/// connections to one server.
#[derive(Default)]
struct Connections(HashMap<String, Vec<usize>>);

impl Connections {
    fn place(&mut self, witness: &mut Witness, id: String, peer: Option<String>) -> usize {
        let same = self.0.entry(id.clone()).or_default();
        let is_same = |known: &&usize| {
            let known = witness.connections.get(**known);
            known.is_some_and(|known| known.peer == peer || known.peer.is_none() || peer.is_none())
        };
        if let Some(known) = same.iter().rev().take(MAX_PEERS).find(is_same) {
            return *known;
        }
        same.push(witness.connections.len());
        witness.connections.push(ToldConnection {
            id,
            peer,
            ..ToldConnection::default()
        });
        witness.connections.len() - 1
    }
}

/// Nanoseconds since 1970, from a date and time of RFC 3339; without an offset it is UTC.
pub(super) fn time(text: &str) -> Option<u64> {
    let (date, rest) = text.split_once(['T', ' '])?;
    let mut date = date.splitn(3, '-').map(str::parse::<i64>);
    let (year, month, day) = (date.next()?.ok()?, date.next()?.ok()?, date.next()?.ok()?);
    let split = rest.find(['Z', 'z', '+', '-']).unwrap_or(rest.len());
    let (clock, offset) = rest.split_at_checked(split)?;
    let mut clock = clock.splitn(3, ':');
    let hours: i64 = clock.next()?.parse().ok()?;
    let minutes: i64 = clock.next()?.parse().ok()?;
    let seconds: f64 = clock.next().unwrap_or("0").parse().ok()?;
    let offset = match offset.split_at_checked(1) {
        Some((sign @ ("+" | "-"), offset)) => {
            let digits: String = offset.chars().filter(|c| *c != ':').collect();
            let hours: i64 = digits.get(..2)?.parse().ok()?;
            let minutes: i64 = digits.get(2..4).unwrap_or("0").parse().ok()?;
            (hours * 60 + minutes) * if sign == "-" { -1 } else { 1 }
        }
        _ => 0,
    };
    let date = CivilDate {
        year,
        month: u8::try_from(month).ok()?.into(),
        day: u8::try_from(day).ok()?.into(),
    };
    let is_clock = (0..24).contains(&hours)
        && (0..60).contains(&minutes)
        && (0.0..61.0).contains(&seconds)
        && offset.abs() < 24 * 60;
    if !date.exists() || !is_clock || !(1970..2200).contains(&year) {
        return None;
    }
    let minutes = (date.to_days() * 24 + hours) * 60 + minutes - offset;
    let whole = u64::try_from(minutes * 60)
        .ok()?
        .checked_mul(1_000_000_000)?;
    whole.checked_add((seconds * 1e9).round() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_of_any_offset_are_the_same_moment() {
        let expected = Some(1_700_000_000_250_000_000);
        for text in [
            "2023-11-14T22:13:20.250Z",
            "2023-11-14T23:13:20.25+01:00",
            "2023-11-14T16:43:20.250000-0530",
            "2023-11-14 22:13:20.250",
        ] {
            assert_eq!(time(text), expected, "{text}");
        }
        for text in [
            "",
            "2023-11-14",
            "2023-02-30T00:00:00Z",
            "2023-11-14T25:00:00Z",
            "T",
            "1-1-1T1:1:1",
        ] {
            assert_eq!(time(text), None, "{text}");
        }
    }

    const HAR: &str = r#"{"log": {"version": "1.2", "entries": [
        {"startedDateTime": "2023-11-14T22:13:20.100Z", "time": 90.5, "_connectionId": "7",
         "_initiator": {"type": "script", "stack": {"callFrames": [{"url": "https://a/x.js"}]}},
         "request": {"method": "GET", "url": "https://a/b"},
         "response": {"status": 200, "httpVersion": "h2"}, "serverIPAddress": "192.0.2.1",
         "timings": {"blocked": 10, "_blocked_proxy": 2, "_blocked_queueing": 7, "dns": 5,
                     "connect": 40, "ssl": 25, "send": 0.5, "wait": 30, "receive": 5}},
        {"startedDateTime": "nonsense"},
        {"startedDateTime": "2023-11-14T22:13:20Z", "time": 3, "connection": "7",
         "request": {"method": "POST", "url": "https://a/c"}, "response": {"status": 0, "_error": "net::ERR"},
         "timings": {"blocked": -1, "dns": -1, "connect": -1, "send": 1, "wait": 1, "receive": 1}}
    ]}}"#;

    #[test]
    fn the_timings_of_an_entry_follow_each_other() {
        let witness = read(HAR.as_bytes()).unwrap();
        assert_eq!((witness.damaged, witness.is_cut), (1, false));
        assert_eq!(witness.connections.len(), 1);
        let [first, second] = witness.requests.as_slice() else {
            panic!("{witness:?}");
        };
        let spans = |request: &ToldRequest| -> Vec<(ToldPhase, u64, u64)> {
            let spans = request.spans.iter();
            spans
                .map(|span| (span.phase, span.begin / 100_000, span.end / 100_000))
                .collect()
        };
        assert_eq!(
            spans(first),
            [
                (ToldPhase::Queue, 1000, 1080),
                (ToldPhase::Proxy, 1080, 1100),
                (ToldPhase::Name, 1100, 1150),
                (ToldPhase::Connect, 1150, 1300),
                (ToldPhase::Handshake, 1300, 1550),
                (ToldPhase::Send, 1550, 1555),
                (ToldPhase::Wait, 1555, 1855),
                (ToldPhase::Body, 1855, 1905),
            ]
        );
        assert_eq!(first.end, Some(190_500_000));
        assert_eq!(first.initiator.as_deref(), Some("https://a/x.js"));
        assert!(
            first
                .spans
                .iter()
                .all(|span| span.known == TimeSource::Told)
        );
        assert_eq!(
            (second.begin, second.status, second.spans.len()),
            (0, None, 3)
        );
        assert_eq!(second.error.as_deref(), Some("net::ERR"));
    }

    #[test]
    fn firefox_names_no_connection_and_counts_the_handshake_beside_the_connect_time() {
        let entry = |url: &str, ssl: u32| {
            format!(
                r#"{{"startedDateTime": "2023-11-14T22:13:20Z", "time": {}, "connection": "443",
                "request": {{"method": "GET", "url": "{url}"}}, "response": {{"status": 200}},
                "timings": {{"blocked": 0, "dns": 0, "connect": 40, "ssl": {ssl}, "send": 0, "wait": 30,
                "receive": 0}}}}"#,
                70 + ssl
            )
        };
        let entries = [entry("https://a/", 25), entry("https://b:443/", 60)];
        let har = format!(r#"{{"log": {{"entries": [{}]}}}}"#, entries.join(","));
        let witness = read(har.as_bytes()).unwrap();
        assert!(witness.connections.is_empty());
        let took = |request: &ToldRequest, phase| -> u64 {
            let spans = request.spans.iter().filter(|span| span.phase == phase);
            spans.map(|span| (span.end - span.begin) / 1_000_000).sum()
        };
        let phases = [ToldPhase::Connect, ToldPhase::Handshake];
        let told = |request| phases.map(|phase| took(request, phase));
        let all: Vec<_> = witness.requests.iter().map(told).collect();
        assert_eq!(all, [[40, 25], [40, 60]]);
    }

    #[test]
    fn a_port_names_a_connection_only_among_those_of_one_server() {
        let entry = |peer: &str| {
            format!(
                r#"{{"startedDateTime": "2023-11-14T22:13:20Z", "time": 1, "connection": "50123",
                "serverIPAddress": "{peer}", "request": {{"method": "GET", "url": "https://a/"}},
                "response": {{"status": 200}}, "timings": {{"wait": 1}}}}"#
            )
        };
        let entries = ["192.0.2.1", "192.0.2.2", "192.0.2.1"].map(entry).join(",");
        let witness = read(format!(r#"{{"log": {{"entries": [{entries}]}}}}"#).as_bytes()).unwrap();
        let of: Vec<_> = witness
            .requests
            .iter()
            .map(|request| request.connection)
            .collect();
        assert_eq!(of, [Some(0), Some(1), Some(0)]);
    }

    #[test]
    fn each_page_is_a_load_of_its_own_and_that_with_the_most_requests_is_shown() {
        let entry = |page: u8, second: &str, url: &str| {
            format!(
                r#"{{"startedDateTime": "2023-11-14T22:13:{second}Z", "time": 100, "pageref": "{page}",
                "request": {{"method": "GET", "url": "{url}"}}, "response": {{"status": 200}},
                "timings": {{"wait": 100}}}}"#
            )
        };
        // What the page asks of another server late belongs to it, too.
        let entries = [
            entry(1, "20", "https://a/"),
            entry(1, "20.2", "https://a/x"),
            entry(1, "21", "https://b/y"),
            entry(2, "40", "https://a/"),
            entry(2, "45", "https://a/x"),
        ];
        let har = format!(r#"{{"log": {{"entries": [{}]}}}}"#, entries.join(","));
        let witness = read(har.as_bytes()).unwrap();
        let load = crate::witness::page::PageLoad::from_witness(&witness).unwrap();
        assert_eq!(load.length(), 1_100_000_000);
    }

    #[test]
    fn a_log_that_is_cut_off_has_what_is_before() {
        let cut = HAR.find("nonsense").unwrap();
        let witness = read(&HAR.as_bytes()[..cut]).unwrap();
        assert_eq!(
            (witness.requests.len(), witness.damaged, witness.is_cut),
            (1, 1, true)
        );
        assert_eq!(read(b"{}"), None);
    }
}
