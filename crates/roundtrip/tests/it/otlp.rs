//! Spans and metrics of `probe`, `exporter` and `gate` reach a real collector's receiver, over HTTP
//! and gRPC; a busy one is asked again, and one that is down is only counted.

mod refused;

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::process::{ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;

use serde_json::Value;

use crate::exporter::scene::{ask, free, origin, samples, start, write};
use crate::process::{Process, ROUNDTRIP, TIMEOUT, await_some, wait_until};
use crate::servers::{answering, field};
use crate::skip;

const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";
const PARENT: &str = "00f067aa0ba902b7";

/// The collector's receiver; each of its lines is a request that it took.
struct Collector {
    _process: Process,
    /// It ends with its input.
    _input: ChildStdin,
    lines: Receiver<Value>,
    http: String,
    grpc: String,
}

impl Collector {
    fn start(test: &str) -> Option<Self> {
        let found = skip::installed("install-otelcol");
        let found = found.inspect_err(|why| eprintln!("SKIPPED {test}: {why}"));
        let program = found.ok()?;
        let (http, grpc) = (free().to_string(), free().to_string());
        let mut command = Command::new(program);
        command.args([&http, &grpc]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut output = BufReader::new(child.stdout.take().unwrap()).lines();
        assert_eq!(output.next().unwrap().unwrap(), "ready");
        let (sender, lines) = channel();
        thread::spawn(move || {
            for line in output.map_while(Result::ok) {
                let _ = sender.send(serde_json::from_str(&line).unwrap());
            }
        });
        Some(Self {
            _input: child.stdin.take().unwrap(),
            _process: Process(child),
            lines,
            http: format!("http://{http}"),
            grpc: format!("http://{grpc}"),
        })
    }

    /// The next request that has this key: spans or metrics.
    fn next(&self, key: &str) -> Value {
        loop {
            let request = self.lines.recv_timeout(TIMEOUT).unwrap();
            if let Some(found) = request[key].as_array() {
                return found[0].clone();
            }
        }
    }

    fn spans(&self) -> (Value, Vec<Value>) {
        let found = self.next("resourceSpans");
        let spans = found["scopeSpans"][0]["spans"].as_array().unwrap();
        (found["resource"].clone(), spans.clone())
    }
}

/// The value of an attribute, without its type.
fn attribute(of: &Value, key: &str) -> Option<String> {
    let all = of["attributes"].as_array()?;
    let found = all.iter().find(|attribute| attribute["key"] == key)?;
    let (_, value) = found["value"].as_object()?.iter().next()?;
    Some(
        value
            .as_str()
            .map_or_else(|| value.to_string(), str::to_owned),
    )
}

fn named<'a>(spans: &'a [Value], name: &str) -> Vec<&'a Value> {
    spans.iter().filter(|span| span["name"] == name).collect()
}

/// A server that reports the `traceparent` of each request, after a redirect.
fn server() -> (String, Receiver<String>) {
    let (sender, fields) = channel();
    let address = answering(move |head, _| {
        let parent = field(head, "traceparent").unwrap_or_default();
        let _ = sender.send(parent.to_owned());
        if head.starts_with("GET /first") {
            "HTTP/1.1 302 Found\r\nLocation: /second\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
        } else {
            "HTTP/1.1 404 Not Found\r\nContent-Length: 2\r\nConnection: close\r\n\r\nno"
        }
    });
    (format!("http://{address}/first"), fields)
}

#[test]
fn spans_of_a_probe_arrive_over_http() {
    arrives("spans_of_a_probe_arrive_over_http", "http/protobuf");
}

#[test]
fn spans_of_a_probe_arrive_over_grpc() {
    arrives("spans_of_a_probe_arrive_over_grpc", "grpc");
}

fn arrives(test: &str, protocol: &str) {
    let Some(collector) = Collector::start(test) else {
        return;
    };
    let (url, heard) = server();
    let endpoint = match protocol {
        "grpc" => &collector.grpc,
        _ => &collector.http,
    };
    let probed = Command::new(ROUNDTRIP)
        .args(["probe", "-q", "--location", "--noproxy", "*", &url])
        .env("OTEL_EXPORTER_OTLP_ENDPOINT", endpoint)
        .env("OTEL_EXPORTER_OTLP_PROTOCOL", protocol)
        .env("OTEL_SERVICE_NAME", "the-service")
        .env("TRACEPARENT", format!("00-{TRACE}-{PARENT}-01"))
        .output()
        .unwrap();
    assert_eq!(String::from_utf8_lossy(&probed.stderr), "");
    let (resource, spans) = collector.spans();
    assert_eq!(attribute(&resource, "service.name").unwrap(), "the-service");
    assert!(spans.iter().all(|span| span["traceId"] == TRACE));
    let [whole] = named(&spans, "probe")[..] else {
        panic!("{spans:#?}");
    };
    assert_eq!(whole["parentSpanId"], PARENT);
    // Each request has a span below the whole, and the server learns that one's id.
    let requests = named(&spans, "GET");
    assert_eq!(requests.len(), 2);
    for (request, status) in requests.iter().zip(["302", "404"]) {
        assert_eq!(request["parentSpanId"], whole["spanId"]);
        assert_eq!(request["kind"], 3);
        let passed_on = heard.recv_timeout(TIMEOUT).unwrap();
        let id = request["spanId"].as_str().unwrap();
        assert_eq!(passed_on, format!("00-{TRACE}-{id}-01"));
        let value = |key| attribute(request, key);
        assert_eq!(value("http.response.status_code").unwrap(), status);
        assert_eq!(value("server.address").unwrap(), "127.0.0.1");
        assert_eq!(value("network.protocol.version").unwrap(), "1.1");
        assert_eq!(value("roundtrip.round_trips").unwrap(), "2");
        // Its phases cover it, one after the other.
        let phases = spans
            .iter()
            .filter(|span| span["parentSpanId"] == request["spanId"]);
        let mut end = request["startTimeUnixNano"].clone();
        for phase in phases {
            assert_eq!(phase["startTimeUnixNano"], end, "{phase:#}");
            end = phase["endTimeUnixNano"].clone();
        }
        assert_eq!(end, request["endTimeUnixNano"]);
    }
    assert_eq!(attribute(requests[1], "error.type").unwrap(), "404");
    assert_eq!(
        attribute(requests[1], "http.request.resend_count").unwrap(),
        "1"
    );
    let metrics = collector.next("resourceMetrics");
    let metrics = metrics["scopeMetrics"][0]["metrics"].as_array().unwrap();
    assert_eq!(metrics[0]["name"], "http.client.request.duration");
    let points = metrics[0]["histogram"]["dataPoints"].as_array().unwrap();
    assert_eq!((points.len(), points[0]["count"].as_str()), (2, Some("1")));
}

/// The scrape's trace goes on in the probe, findings are events, and what is not sampled is not
/// sent.
#[test]
fn the_exporter_continues_the_trace_of_its_scrape() {
    let test = "the_exporter_continues_the_trace_of_its_scrape";
    let Some(collector) = Collector::start(test) else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let (_origin, http, _) = origin(&folder.path().join("ca.pem"), &["--think", "60ms"]);
    let modules = "modules: {m: {prober: http, http: {preferred_ip_protocol: ip4}}}\n";
    let config = write(folder.path(), "b.yml", modules);
    let running = start(
        &[
            "exporter",
            "--listen",
            "127.0.0.1:0",
            "--config",
            config.to_str().unwrap(),
            "--otlp",
            &collector.http,
        ],
        "exporter",
    );
    let at = running.said[0].trim_start_matches("exporter http://");
    let at = at.trim_end_matches('/').parse().unwrap();
    let path = format!("/probe?module=m&target={http}/bytes/10");
    for (id, flags) in [(PARENT, "00"), (PARENT, "01")] {
        let field = format!("traceparent: 00-{TRACE}-{id}-{flags}\r\n");
        assert_eq!(ask(at, "GET", &path, &field).0, 200);
    }
    let (_, spans) = collector.spans();
    let [whole] = named(&spans, "probe m")[..] else {
        panic!("{spans:#?}");
    };
    assert!(whole["traceId"] == TRACE && whole["parentSpanId"] == PARENT);
    assert_eq!(attribute(whole, "roundtrip.probe.success").unwrap(), "true");
    let request = named(&spans, "GET")[0];
    let events = request["events"].as_array().unwrap();
    let ids: Vec<_> = events
        .iter()
        .map(|e| attribute(e, "roundtrip.finding.id"))
        .collect();
    assert!(ids.contains(&Some("server-think-time".into())), "{ids:?}");
    wait_until("all spans", || {
        let own = samples(&ask(at, "GET", "/metrics", "").1);
        own["roundtrip_exporter_spans_total{fate=\"sent\"}"] as usize == spans.len()
    });
}

#[test]
fn a_collector_that_is_down_costs_a_line_and_no_exit_code() {
    let (url, _heard) = server();
    let probed = Command::new(ROUNDTRIP)
        .args(["probe", "-q", "--noproxy", "*", &url])
        .args(["--otlp", &format!("http://{}", free())])
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&probed.stderr);
    assert!(probed.status.success(), "{said}");
    assert!(said.contains("spans did not reach the collector"), "{said}");
    let wrong = Command::new(ROUNDTRIP)
        .args(["probe", "-q", &url])
        .env("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:9")
        .env("OTEL_EXPORTER_OTLP_PROTOCOL", "carrier-pigeon")
        .output()
        .unwrap();
    assert_eq!(wrong.status.code(), Some(2));
    let said = String::from_utf8_lossy(&wrong.stderr);
    assert!(said.contains("carrier-pigeon"), "{said}");
}

/// A gate without TLS in front of `backend`, and where it serves and tells its metrics.
fn gate(folder: &Path, backend: &str, more: &[&str]) -> (Process, SocketAddr, SocketAddr) {
    gate_that_speaks("http/protobuf", folder, backend, more)
}

fn gate_that_speaks(
    protocol: &str,
    folder: &Path,
    backend: &str,
    more: &[&str],
) -> (Process, SocketAddr, SocketAddr) {
    let (http, admin) = (free(), free());
    let config = format!(
        "[listen]\nhttp = [\"{http}\"]\nhttps = []\nh3 = false\n[admin]\nlisten = \"{admin}\"\n\
         [upstream.b]\nservers = [\"{backend}\"]\n[[route]]\nupstream = \"b\"\nauth = false\n"
    );
    let config = write(folder, "gate.toml", &config);
    let mut command = Command::new(ROUNDTRIP);
    command.args(["gate", "run", "--config", config.to_str().unwrap()]);
    command.args(more).stdin(Stdio::null());
    command.env("OTEL_EXPORTER_OTLP_PROTOCOL", protocol);
    let gate = Process(command.spawn().unwrap());
    wait_until("both ports", || {
        TcpStream::connect(http).is_ok() && TcpStream::connect(admin).is_ok()
    });
    (gate, http, admin)
}

#[test]
fn gate_stands_in_the_trace_of_its_client() {
    let test = "gate_stands_in_the_trace_of_its_client";
    let Some(collector) = Collector::start(test) else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let (backend, heard) = server();
    let backend = backend.trim_end_matches("/first");
    let (_gate, http, admin) = gate(folder.path(), backend, &["--otlp", &collector.http]);
    let client = format!("traceparent: 00-{TRACE}-{PARENT}-01\r\ntracestate: a=b\r\n");
    assert_eq!(ask(http, "GET", "/second?secret=1", &client).0, 404);
    let (resource, spans) = collector.spans();
    assert_eq!(
        attribute(&resource, "service.name").unwrap(),
        "roundtrip-gate"
    );
    let [whole] = named(&spans, "GET")[..] else {
        panic!("{spans:#?}");
    };
    assert_eq!(
        (&whole["parentSpanId"], &whole["kind"]),
        (&PARENT.into(), &2.into())
    );
    assert!(spans.iter().all(|span| span["traceId"] == TRACE));
    let id = whole["spanId"].as_str().unwrap();
    let passed_on = heard.recv_timeout(TIMEOUT).unwrap();
    assert_eq!(passed_on, format!("00-{TRACE}-{id}-01"));
    let value = |key| attribute(whole, key);
    assert_eq!(value("http.response.status_code").unwrap(), "404");
    assert_eq!(value("url.path").unwrap(), "/second");
    assert_eq!(value("client.address").unwrap(), "127.0.0.1");
    assert_eq!(value("roundtrip.upstream.name").unwrap(), "b");
    // A backend's 404 is not a failure of the server.
    assert_eq!(value("error.type"), None);
    assert!(!whole.to_string().contains("secret"));
    // Its phases cover it, one after the other.
    let mut end = whole["startTimeUnixNano"].clone();
    for phase in spans.iter().filter(|span| span["parentSpanId"] == *id) {
        assert_eq!(phase["startTimeUnixNano"], end, "{phase:#}");
        end = phase["endTimeUnixNano"].clone();
    }
    assert_eq!(end, whole["endTimeUnixNano"]);
    // If the trace is not sampled, it is passed on, and no span is sent.
    let client = format!("traceparent: 00-{TRACE}-{PARENT}-00\r\n");
    assert_eq!(ask(http, "GET", "/second", &client).0, 404);
    let passed_on = heard.recv_timeout(TIMEOUT).unwrap();
    assert!(passed_on.starts_with(&format!("00-{TRACE}-")) && passed_on.ends_with("-00"));
    assert!(!passed_on.contains(PARENT));
    // Without a client's trace, gate begins one; an invalid one is not continued.
    assert_eq!(ask(http, "GET", "/second", "traceparent: 00-x\r\n").0, 404);
    let passed_on = heard.recv_timeout(TIMEOUT).unwrap();
    assert!(passed_on.len() == 55 && passed_on.ends_with("-01"));
    let (_, spans) = collector.spans();
    assert!(passed_on.contains(spans[0]["traceId"].as_str().unwrap()));
    await_some("both spans", || {
        let own = samples(&ask(admin, "GET", "/metrics", "").1);
        let sent = own.get("roundtrip_gate_spans_total{fate=\"sent\"}")?;
        (*sent >= 2.0).then_some(())
    });
}

#[test]
fn durations_of_gate_arrive_over_grpc_at_its_end() {
    let test = "durations_of_gate_arrive_over_grpc_at_its_end";
    let Some(collector) = Collector::start(test) else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    // No backend listens there.
    let backend = format!("http://{}", free());
    let config = ["--otlp", &collector.grpc];
    let (mut gate, http, _) = gate_that_speaks("grpc", folder.path(), &backend, &config);
    assert_eq!(ask(http, "BREW", "/", "").0, 502);
    gate.signal("TERM");
    gate.0.wait().unwrap();
    let metrics = collector.next("resourceMetrics");
    let metrics = metrics["scopeMetrics"][0]["metrics"].as_array().unwrap();
    assert_eq!(metrics[0]["name"], "http.server.request.duration");
    let point = &metrics[0]["histogram"]["dataPoints"][0];
    assert_eq!(point["count"], "1");
    let value = |key| attribute(point, key).unwrap();
    assert_eq!(value("http.request.method"), "_OTHER");
    assert_eq!(value("http.response.status_code"), "502");
    assert_ne!(value("error.type"), "");
}

/// Without a collector, a client's trace passes unchanged.
#[test]
fn gate_alone_changes_no_trace() {
    let folder = tempfile::tempdir().unwrap();
    let (backend, heard) = server();
    let (_gate, http, _) = gate(folder.path(), backend.trim_end_matches("/first"), &[]);
    let field = format!("00-{TRACE}-{PARENT}-01");
    assert_eq!(
        ask(http, "GET", "/second", &format!("traceparent: {field}\r\n")).0,
        404
    );
    assert_eq!(heard.recv_timeout(TIMEOUT).unwrap(), field);
    assert_eq!(ask(http, "GET", "/second", "").0, 404);
    assert_eq!(heard.recv_timeout(TIMEOUT).unwrap(), "");
}

#[test]
fn a_probe_again_and_again_sends_each_round() {
    let test = "a_probe_again_and_again_sends_each_round";
    let Some(collector) = Collector::start(test) else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let (url, heard) = server();
    let store = folder.path().join("h.redb");
    let mut command = Command::new(ROUNDTRIP);
    command.args(["probe", "-q", "--noproxy", "*", "--every", "1s", "--store"]);
    command.arg(store).args(["--otlp", &collector.http, &url]);
    let _running = Process(command.stdin(Stdio::null()).spawn().unwrap());
    let (mut requests, mut traces) = (Vec::new(), BTreeSet::new());
    while traces.len() < 2 {
        // A batch may have the spans of several rounds.
        let (_, spans) = collector.spans();
        for request in named(&spans, "GET") {
            requests.push(request["spanId"].as_str().unwrap().to_owned());
            traces.insert(request["traceId"].as_str().unwrap().to_owned());
        }
    }
    for id in &requests {
        let passed_on = heard.recv_timeout(TIMEOUT).unwrap();
        assert!(passed_on.contains(id), "{passed_on} {requests:?}");
    }
}
