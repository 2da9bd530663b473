//! Request smuggling: bytes that HTTP readers are known to understand differently go through gate
//! to other implementations' servers. Either gate refuses them, or all see the same requests: the
//! same number, targets, hosts and bodies. In the other direction, no answer of a hostile backend
//! is taken for the next one.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)] // a test may panic
#![allow(clippy::too_many_lines)] // the tables of cases

mod answers;
mod case;
mod framing;
mod heads;
mod pipelines;
mod reader;
mod servers;
mod targets;
mod wires;

use std::net::SocketAddr;
use std::time::Duration;

use crate::runtime;
use case::{AFTER, Case, End, Meaning};
use reader::{Kind, Message, messages};
use servers::Make;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::task::{LocalSet, spawn_local};
use tokio::time::timeout;
use wires::{RecordedBytes, RecordingProxy, echo, listener};

/// The fields that an echo server reports.
const TOLD: [&str; 6] = [
    "host",
    "authorization",
    "cookie",
    "x-forwarded-for",
    "x_forwarded_for",
    "x-injected",
];
/// Long enough for any machine; no test waits for it.
const PATIENCE: Duration = Duration::from_secs(20);

#[test]
fn nginx_understands_what_gate_does() {
    plant(Make::Nginx);
}

#[test]
fn apache_understands_what_gate_does() {
    plant(Make::Apache);
}

#[test]
fn haproxy_understands_what_gate_does() {
    plant(Make::Haproxy);
}

#[test]
fn node_understands_what_gate_does() {
    plant(Make::Node);
}

fn plant(make: Make) {
    let mut all = framing::cases();
    all.extend(heads::cases());
    all.extend(pipelines::cases());
    all.extend(targets::cases());
    assert!(all.len() > 200, "{} cases", all.len());
    run(async {
        let Some(server) = make.start(echo().await) else {
            return;
        };
        let mut wrong = Vec::new();
        let mut refused = Vec::new();
        for case in &all {
            let seen = timeout(PATIENCE, send(case, server.address)).await;
            let judged = match &seen {
                Ok(seen) => judge(case, seen),
                Err(_) => Err("it does not end".into()),
            };
            match judged {
                Ok(0) => {}
                Ok(_) => refused.push(case.name.as_str()),
                Err(why) => wrong.push(format!("{}: {why}", case.name)),
            }
        }
        println!("{make:?}: {} cases; refused by it: {refused:#?}", all.len());
        assert!(
            wrong.is_empty(),
            "{} wrong:\n{}",
            wrong.len(),
            wrong.join("\n")
        );
    });
}

pub(crate) fn run(play: impl Future<Output = ()>) {
    let runtime = runtime();
    LocalSet::new().block_on(&runtime, play);
}

struct Seen {
    client: Vec<u8>,
    server: Vec<RecordedBytes>,
}

/// Through a new gate, so that nothing is left from the case before.
async fn send(case: &Case, server: SocketAddr) -> Seen {
    let tap = RecordingProxy::before(server).await;
    let (listener, gate) = listener().await;
    let relay = spawn_local(roundtrip_gate::measuring::relay(listener, tap.address));
    let mut client = TcpStream::connect(gate).await.unwrap();
    let wire = [case.wire.as_slice(), AFTER.as_bytes()].concat();
    let mut answered = Vec::new();
    let (mut from, mut to) = client.split();
    let asking = async {
        // A server that refuses stops reading.
        let _ = to.write_all(&wire).await;
        if case.end == End::Cut {
            let _ = to.shutdown().await;
        }
    };
    let reading = async {
        let mut piece = [0; 4096];
        while let Ok(length @ 1..) = from.read(&mut piece).await {
            answered.extend_from_slice(&piece[..length]);
        }
    };
    tokio::join!(asking, reading);
    drop(client);
    relay.abort();
    Seen {
        client: answered,
        server: tap.finish().await,
    }
}

/// The number of requests that gate passed on and the server refused.
fn judge(case: &Case, seen: &Seen) -> Result<usize, String> {
    let mut expected = case.means.clone();
    if case.end == End::After {
        expected.push(Meaning::of("GET /after", b""));
    }
    let passed = passed_on(case, &seen.server)?;
    let meanings: Vec<Meaning> = passed.iter().map(meaning).collect();
    let told: Vec<Message> = answers(seen)?;
    let understood = told.iter().filter(|answer| answer.status() == 200).count();
    let refused = told.len() - understood;
    // A refusal by the server ends its connection; the rest is not answered, and gate's client sees
    // that.
    let whole = if refused > 0 && case.refusable {
        expected.starts_with(&meanings)
    } else {
        meanings == expected
    };
    if !whole {
        return Err(format!(
            "gate passed on {meanings:?} instead of {expected:?}"
        ));
    }
    for (request, answer) in passed.iter().zip(&told) {
        // Some servers answer `*` themselves.
        let told = !request.asked().ends_with(" *") || !answer.body.is_empty();
        if answer.status() == 200 && told && answer.body != belief(request).as_bytes() {
            return Err(format!(
                "{:?} was understood as {:?}",
                belief(request),
                String::from_utf8_lossy(&answer.body)
            ));
        }
    }
    if told.len() > passed.len() && case.end != End::Cut {
        return Err(format!(
            "{} requests became {}: {told:?}",
            passed.len(),
            told.len()
        ));
    }
    if case.end == End::Cut && understood > 0 {
        return Err(format!("half a request was believed: {told:?}"));
    }
    heard(case, seen, &told)?;
    if case.end == End::Cut {
        return Ok(0);
    }
    if refused > 0 && !case.refusable {
        return Err(format!("refused by the server: {told:?}"));
    }
    Ok(refused)
}

/// The requests that gate wrote, read strictly.
fn passed_on(case: &Case, server: &[RecordedBytes]) -> Result<Vec<Message>, String> {
    let mut all = Vec::new();
    for noted in server {
        let (requests, rest) = messages(&noted.up, Kind::Request)?;
        if !rest.is_empty() && case.end != End::Cut {
            return Err(format!(
                "half a request went on: {:?}",
                String::from_utf8_lossy(rest)
            ));
        }
        for name in [
            "connection",
            "transfer_encoding",
            "content_length",
            "x_forwarded_for",
            "early-data",
            "te",
            "upgrade",
            "proxy-authorization",
        ] {
            if let Some(request) = requests
                .iter()
                .find(|request| request.values(name).next().is_some())
            {
                let old = case.wire.windows(8).any(|w| w == b"HTTP/1.0");
                // RFC 9110 §10.1.4: both together, and nothing else.
                let said = |name| request.values(name).collect::<Vec<_>>();
                let tells = matches!(name, "connection" | "te")
                    && said("connection") == ["TE"]
                    && said("te") == ["trailers"];
                if !(tells || old && name == "connection") {
                    return Err(format!("{name} went on: {request:?}"));
                }
            }
        }
        all.extend(requests);
    }
    Ok(all)
}

/// The server's answers, without interim ones.
fn answers(seen: &Seen) -> Result<Vec<Message>, String> {
    let mut all = Vec::new();
    for noted in &seen.server {
        let (answers, _) = messages(&noted.down, Kind::Response)?;
        all.extend(answers.into_iter().filter(|answer| answer.status() >= 200));
    }
    Ok(all)
}

/// The client gets each answer once, in order, and gate's own refusal at the end.
fn heard(case: &Case, seen: &Seen, told: &[Message]) -> Result<(), String> {
    let (mut heard, rest) = messages(&seen.client, Kind::Response)?;
    heard.retain(|answer| answer.status() >= 200);
    if !rest.is_empty() {
        return Err(format!(
            "half an answer: {:?}",
            String::from_utf8_lossy(rest)
        ));
    }
    if case.end == End::Cut {
        return match heard.as_slice() {
            [] => Ok(()),
            [one] if one.status() >= 400 => Ok(()),
            _ => Err(format!("an answer to half a request: {heard:?}")),
        };
    }
    if let End::Refused(status) = case.end {
        let last = heard.pop().map(|answer| (answer.status(), answer.body));
        // Gate's own answer, whose length is exact.
        let words = format!("{status} ");
        let is_refusal =
            |(said, body): &(u16, Vec<u8>)| *said == status && body.starts_with(words.as_bytes());
        if !last.as_ref().is_some_and(is_refusal) {
            return Err(format!("not refused with {status}: {last:?}"));
        }
    }
    let bodies = |all: &[Message]| {
        all.iter()
            .map(|a| (a.status(), a.body.clone()))
            .collect::<Vec<_>>()
    };
    if bodies(&heard) == bodies(told) {
        Ok(())
    } else {
        Err(format!(
            "the server said {told:?}, the client heard {heard:?}"
        ))
    }
}

fn meaning(request: &Message) -> Meaning {
    Meaning {
        asked: request.asked().into(),
        host: request.value("host").into(),
        body: request.body.clone(),
    }
}

/// An echo server's report about a request.
pub(crate) fn belief(request: &Message) -> String {
    let fields: String = TOLD
        .iter()
        .map(|name| format!("{name}: {}\n", request.value(name)))
        .collect();
    let body: String = request.body.iter().map(|b| format!("{b:02x}")).collect();
    format!("{}\n{fields}body: {body}\n", request.asked())
}
