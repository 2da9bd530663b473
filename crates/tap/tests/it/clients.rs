//! Clients in several languages: the same method explains each.

use std::time::Duration;

use roundtrip_model::{Event, Exchange, Http, PhaseName, Security};
use roundtrip_origin::{Knobs, Running};

use crate::server::{
    Followed, command, follow, has, phases, serve, thinking, thinking_with_tickets,
};
use crate::skip;

const THINK: u64 = 60;

const PYTHON: &str = "
import http.client, ssl, sys
host, port = '127.0.0.1', int(sys.argv[1])
context = ssl.create_default_context()
context.check_hostname = False
context.verify_mode = ssl.CERT_NONE
c = http.client.HTTPSConnection(host, port, context=context)
for n in range(2):
    c.request('GET', '/bytes/1000')
    sys.stdout.write(str(len(c.getresponse().read())) + ' ')
";

const NODE: &str = "
const https = require('https');
const options = {host: '127.0.0.1', port: +process.argv[1], path: '/bytes/1000', rejectUnauthorized: false};
https.get(options, answer => {
  let n = 0;
  answer.on('data', part => n += part.length);
  answer.on('end', () => process.stdout.write(String(n)));
});
";

/// The time from the first byte of the request to the first of the answer belonged to the server.
fn server_thought(exchange: &Exchange) {
    let at = |is: &Event| exchange.timeline.first(|e| e == is).unwrap();
    let waited = at(&Event::FirstByte).since(at(&Event::RequestSent));
    let timeline = &exchange.timeline;
    assert!(
        waited >= Duration::from_millis(THINK),
        "{waited:?}: {timeline:?}"
    );
    let phase = exchange.phases();
    let first_byte = phase.iter().find(|p| p.name == PhaseName::FirstByte);
    let share = first_byte.unwrap().waited.server;
    assert!(share >= THINK as f64 * 0.8, "{share} ms of the server's");
}

fn port(running: &Running) -> String {
    running.https.port().to_string()
}

/// One exchange over a new connection with TLS.
fn is_whole(followed: &Followed, exchange: &Exchange) {
    assert!(exchange.ok(), "{:?}", exchange.failure);
    assert_eq!(
        phases(exchange)
            .into_iter()
            .filter(|name| *name != PhaseName::Request && *name != PhaseName::Body)
            .collect::<Vec<_>>(),
        [PhaseName::Tcp, PhaseName::Tls, PhaseName::FirstByte],
        "{:?}",
        exchange.timeline
    );
    let whole: f64 = exchange
        .phases()
        .iter()
        .map(roundtrip_model::Phase::ms)
        .sum();
    let total = exchange.total().as_secs_f64() * 1e3;
    assert!((whole - total).abs() < 0.01, "{whole} of {total} ms");
    server_thought(exchange);
    assert!(!followed.sight.left_behind && followed.sight.denied == 0);
}

#[test]
fn curl_in_the_clear() {
    const TEST: &str = "curl_in_the_clear";
    if !has("curl") {
        return skip::lacking(TEST, "curl");
    }
    let server = thinking(THINK);
    let url = format!("http://{}/bytes/1000", server.http);
    let followed = follow(command(&["curl", "-sS", &url]));
    assert_eq!(followed.output.stdout.len(), 1000, "{:?}", followed.output);
    let [exchange] = followed.exchanges.as_slice() else {
        panic!("{:?}", followed.exchanges);
    };
    assert_eq!(exchange.url, url);
    assert_eq!(exchange.used.http, Http::H1);
    assert_eq!(exchange.used.security, Security::Clear);
    assert!(exchange.ok() && !phases(exchange).contains(&PhaseName::Tls));
    server_thought(exchange);
    let tcp = exchange.tcp.as_ref().unwrap();
    assert_eq!(tcp.peer, Some(server.http));
    assert!(tcp.handshake_rtt.is_some() && exchange.rtt.is_some());
    // The answer could be looked at, unless curl was faster.
    assert!(exchange.http.as_ref().is_none_or(|http| http.status == 200));
}

#[test]
fn curl_over_tls() {
    const TEST: &str = "curl_over_tls";
    if !has("curl") {
        return skip::lacking(TEST, "curl");
    }
    // Servers with tickets, and without.
    for (tickets, flag, security) in [
        (0, "--tlsv1.3", Security::Tls13),
        (2, "--tlsv1.3", Security::Tls13),
        (4, "--tlsv1.3 --http1.1", Security::Tls13),
        (2, "--tls-max 1.2", Security::Tls12),
    ] {
        let server = thinking_with_tickets(THINK, tickets);
        let url = format!("https://localhost:{}/bytes/1000", server.https.port());
        let flags: Vec<&str> = flag.split(' ').collect();
        let words = [&["curl", "-sSk4"], flags.as_slice(), &[&url]].concat();
        let followed = follow(command(&words));
        assert_eq!(followed.output.stdout.len(), 1000, "{:?}", followed.output);
        let [exchange] = followed.exchanges.as_slice() else {
            panic!("{tickets} {flag}: {:?}", followed.exchanges);
        };
        assert_eq!(exchange.used.security, security);
        assert_eq!(
            exchange.url,
            format!("https://localhost:{}/", server.https.port())
        );
        is_whole(&followed, exchange);
    }
}

#[test]
fn two_requests_on_a_connection_of_python() {
    const TEST: &str = "two_requests_on_a_connection_of_python";
    if !has("python3") {
        return skip::lacking(TEST, "Python");
    }
    let server = thinking(THINK);
    let followed = follow(command(&["python3", "-c", PYTHON, &port(&server)]));
    assert_eq!(
        followed.output.stdout, b"1000 1000 ",
        "{:?}",
        followed.output
    );
    let [first, second] = followed.exchanges.as_slice() else {
        panic!("{:?}", followed.exchanges);
    };
    is_whole(&followed, first);
    assert!(second.reused && second.kept.is_some());
    assert!(!phases(second).contains(&PhaseName::Tls));
    server_thought(second);
}

#[test]
fn node_with_its_own_event_loop() {
    const TEST: &str = "node_with_its_own_event_loop";
    if !has("node") {
        return skip::lacking(TEST, "Node");
    }
    let server = thinking(THINK);
    let followed = follow(command(&["node", "-e", NODE, &port(&server)]));
    assert_eq!(followed.output.stdout, b"1000", "{:?}", followed.output);
    is_whole(&followed, followed.exchanges.first().unwrap());
}

#[test]
fn a_connection_that_is_refused_is_told() {
    const TEST: &str = "a_connection_that_is_refused_is_told";
    if !has("curl") {
        return skip::lacking(TEST, "curl");
    }
    // A port that was free a moment ago.
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = port.local_addr().unwrap();
    drop(port);
    let followed = follow(command(&["curl", "-sS", &format!("http://{address}/")]));
    assert_eq!(followed.output.status.code(), Some(7));
    let [exchange] = followed.exchanges.as_slice() else {
        panic!("{:?}", followed.exchanges);
    };
    let failure = exchange.failure.as_ref().unwrap();
    assert_eq!(failure.kind, roundtrip_model::FailureKind::Refused);
    assert!(failure.message.contains(&address.to_string()));
}

#[test]
fn the_second_address_wins_and_the_first_is_told() {
    const TEST: &str = "the_second_address_wins_and_the_first_is_told";
    if !has("curl") {
        return skip::lacking(TEST, "curl");
    }
    let server = serve(Knobs::default());
    let port = server.http.port();
    // Nothing listens at the first address.
    let to = format!("a.example:{port}:127.0.0.9,127.0.0.1");
    let url = format!("http://a.example:{port}/bytes/10");
    let followed = follow(command(&["curl", "-sS", "--resolve", &to, &url]));
    assert_eq!(followed.output.stdout.len(), 10, "{:?}", followed.output);
    let exchange = followed.exchanges.first().unwrap();
    assert!(exchange.ok(), "{:?}", exchange.failure);
    assert_eq!(exchange.attempts.len(), 2, "{:?}", exchange.attempts);
    assert_eq!(exchange.url, url);
}
