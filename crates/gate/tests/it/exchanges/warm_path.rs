//! The warm path costs only the request and its answer: no connection, no handshake, no store
//! query, and only two packets on each hop. Counted at the backend, in a real Redis, in gate's own
//! metrics and by the kernel.

use std::net::TcpStream;
use std::process::Command;
use std::sync::Arc;

use roundtrip_wire::resp::Value;
use rustls::pki_types::ServerName;
use rustls::{ClientConnection, StreamOwned};
use std::io::{Read, Write};

use crate::exchanges::backend::{Backend, echo};
use crate::exchanges::raw_client::RawClient;
use crate::lifecycle::scene::{Scene, session};
use crate::runtime;
use crate::server::Server;
use crate::skip;
use crate::tls_client::client_config;

const REQUESTS: usize = 300;
/// Requests on each of the two connections before counting begins.
const WARMING: usize = 3;
/// Redis counts our own INFO queries as well.
const QUESTIONS: u64 = 1;

#[test]
fn a_warm_request_costs_no_dns_no_connection_no_handshake_and_no_query() {
    let runtime = runtime();
    runtime.block_on(async {
        let Some(server) = Server::start("warm path", &[]).await else {
            return;
        };
        let backend = Backend::start(echo);
        let scene = Scene::tuned(backend.at, "", |config| {
            config.session.store = format!("unix:{}", server.socket().display());
            config.listen.https = vec!["127.0.0.1:0".parse().unwrap()];
            config.listen.threads = 1;
        });
        // On another thread, because it has its own runtime.
        let config = scene.config.clone();
        let field = std::thread::spawn(move || session(&config, "s", "u:p"));
        let field = field.join().unwrap();
        let mut redis = server.client().await;
        let (mut clear, mut secure) = (clear(&scene), secure(&scene));
        let request = format!("GET /warm HTTP/1.1\r\nHost: a\r\n{field}\r\n\r\n");
        // The first requests warm the path up.
        for _ in 0..WARMING {
            ask(&mut clear, &request);
            ask(&mut secure, &request);
        }
        let counted = async |redis: &mut crate::server::Client| {
            let stats = text(&redis.ask(&["INFO", "all"]).await);
            // Gate sends PING now and then, whether there are requests or not.
            let ping = "cmdstat_ping:calls=";
            let pings = if stats.contains(ping) {
                number(&stats, ping)
            } else {
                0
            };
            let processed = number(&stats, "total_commands_processed:") - pings;
            let (_, metrics) = scene.admin("/metrics");
            let of = |name: &str| number(&metrics, &format!("roundtrip_gate_{name} "));
            let figures = [
                of("connections_total{protocol=\"h1\"}"),
                of("tls_handshakes_total{kind=\"full\"}"),
                of("tls_handshakes_total{kind=\"resumed\"}"),
                of("upstream_connections_total{event=\"opened\"}"),
                of("upstream_requests_total{connection=\"new\"}"),
                of("sessions_looked_up_total{from=\"asked\"}"),
                backend.connections() as u64,
            ];
            (
                processed,
                figures,
                of("sessions_looked_up_total{from=\"near\"}"),
            )
        };
        // An exchange is recorded after its answer was sent.
        let looked_up = |from: &str| {
            let (_, metrics) = scene.admin("/metrics");
            let name = format!("sessions_looked_up_total{{from=\"{from}\"}}");
            number(&metrics, &format!("roundtrip_gate_{name} "))
        };
        let recorded = async |near: u64| {
            let all = async || looked_up("near") >= near;
            crate::until("all exchanges are recorded", all).await;
        };
        // One of them asked the store.
        recorded(2 * WARMING as u64 - 1).await;
        assert_eq!(looked_up("asked"), 1);
        // So is a connection, a little later.
        let opened = async || {
            let (_, metrics) = scene.admin("/metrics");
            let name = "roundtrip_gate_upstream_connections_total{event=\"opened\"} ";
            number(&metrics, name) == backend.connections() as u64
        };
        crate::until("the connection is recorded", opened).await;
        let before = counted(&mut redis).await;
        for _ in 0..REQUESTS {
            ask(&mut clear, &request);
            ask(&mut secure, &request);
        }
        recorded(before.2 + 2 * REQUESTS as u64).await;
        let after = counted(&mut redis).await;
        assert_eq!(after.0 - before.0, QUESTIONS, "queries of the store");
        assert_eq!(after.1, before.1);
        assert_eq!(after.2 - before.2, 2 * REQUESTS as u64);
    });
}

#[test]
fn a_warm_request_costs_one_packet_each_way_on_each_hop() {
    let backend = Backend::start(echo);
    let scene = Scene::tuned(backend.at, "", |config| config.listen.threads = 1);
    let field = scene.session("s", "u:p");
    let mut client = RawClient::to(scene.gate().addresses().http[0]);
    let request = format!("GET /warm HTTP/1.1\r\nHost: a\r\n{field}\r\n\r\n");
    let mut get = || {
        client.send(&request);
        assert_eq!(client.answer().status(), 200);
    };
    get();
    let port = scene.gate().addresses().http[0].port();
    let count = || [port, backend.at.port()].map(segments);
    let [Some(to_gate), Some(to_backend)] = count() else {
        return skip::lacking("packets of the warm path", "ss, or its counts of segments");
    };
    for _ in 0..REQUESTS {
        get();
    }
    let [Some(gate_after), Some(backend_after)] = count() else {
        panic!("ss reports no more");
    };
    for (before, after) in [(to_gate, gate_after), (to_backend, backend_after)] {
        assert_eq!(after.0 - before.0, REQUESTS as u64, "requests");
        assert_eq!(after.1 - before.1, REQUESTS as u64, "answers");
    }
}

/// Segments with data, sent and received, on the one connection to this port.
fn segments(port: u16) -> Option<(u64, u64)> {
    let filter = format!("dport = :{port}");
    let told = Command::new("ss")
        .args(["-tinH", "state", "established", &filter])
        .output()
        .ok()?;
    let told = String::from_utf8(told.stdout).ok()?;
    let of = |name: &str| {
        let mut words = told.split_whitespace();
        words.find_map(|word| word.strip_prefix(name)?.parse().ok())
    };
    Some((of("data_segs_out:")?, of("data_segs_in:")?))
}

fn clear(scene: &Scene) -> TcpStream {
    let stream = TcpStream::connect(scene.gate().addresses().http[0]).unwrap();
    stream.set_nodelay(true).unwrap();
    stream
}

fn secure(scene: &Scene) -> StreamOwned<ClientConnection, TcpStream> {
    let config = client_config(scene.gate().certificate(), &[], rustls::DEFAULT_VERSIONS);
    let name = ServerName::try_from("localhost").unwrap();
    let tls = ClientConnection::new(Arc::new(config), name).unwrap();
    let stream = TcpStream::connect(scene.gate().addresses().https[0]).unwrap();
    stream.set_nodelay(true).unwrap();
    StreamOwned::new(tls, stream)
}

fn ask(client: &mut (impl Read + Write), request: &str) {
    const END: &[u8] = b"/warm ";
    client.write_all(request.as_bytes()).unwrap();
    client.flush().unwrap();
    let (mut answer, mut piece) = (Vec::new(), [0; 1024]);
    while !answer.ends_with(END) {
        let n = client.read(&mut piece).unwrap();
        assert!(n > 0, "{}", String::from_utf8_lossy(&answer));
        answer.extend_from_slice(&piece[..n]);
    }
    assert!(answer.starts_with(b"HTTP/1.1 200 "));
}

fn text(value: &Value) -> String {
    match value {
        Value::Bulk(bytes) | Value::Verbatim { text: bytes, .. } => {
            String::from_utf8(bytes.clone()).unwrap()
        }
        other => panic!("{other:?}"),
    }
}

fn number(text: &str, name: &str) -> u64 {
    let rest = text.split_once(name).map(|(_, rest)| rest);
    let digits = rest.unwrap_or_else(|| panic!("no {name} in {text}"));
    let end = digits.find(|c: char| !c.is_ascii_digit());
    digits[..end.unwrap_or(digits.len())].parse().unwrap()
}
