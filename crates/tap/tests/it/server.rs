//! A server to ask, and a program that is followed while it asks.

use std::process::{Command, Output, Stdio};
use std::sync::{Arc, Mutex};

use roundtrip_model::{Exchange, PhaseName};
use roundtrip_origin::{HttpKnobs, Knobs, Origin, Running, TlsKnobs};
use roundtrip_tap::{Sight, Tap};

pub(crate) fn serve(knobs: Knobs) -> Running {
    Origin::spawn_thread(knobs).unwrap()
}

/// A server that waits this long, in milliseconds, before each answer. It sends two tickets after a
/// handshake of TLS 1.3, as servers do.
pub(crate) fn thinking(ms: u64) -> Running {
    thinking_with_tickets(ms, TlsKnobs::default().ticket_count)
}

pub(crate) fn thinking_with_tickets(ms: u64, ticket_count: u8) -> Running {
    serve(Knobs {
        http: HttpKnobs {
            think: std::time::Duration::from_millis(ms),
            ..HttpKnobs::default()
        },
        tls: TlsKnobs {
            ticket_count,
            ..TlsKnobs::default()
        },
        ..Knobs::default()
    })
}

/// What a followed program did.
pub(crate) struct Followed {
    pub(crate) output: Output,
    pub(crate) exchanges: Vec<Exchange>,
    pub(crate) sight: Sight,
}

pub(crate) fn follow(command: Command) -> Followed {
    follow_with(command, Stdio::null())
}

/// Follows a program with this standard input.
pub(crate) fn follow_with(mut command: Command, input: Stdio) -> Followed {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let sink = seen.clone();
    let add = move |exchange| sink.lock().unwrap().push(exchange);
    let tap = Tap::arm(&mut command, add).unwrap();
    command.stdin(input);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = command.spawn();
    drop(command);
    let output = child.unwrap().wait_with_output().unwrap();
    let sight = tap.finish().unwrap();
    let mut exchanges = std::mem::take(&mut *seen.lock().unwrap());
    exchanges.sort_by_key(|exchange: &Exchange| exchange.started);
    Followed {
        output,
        exchanges,
        sight,
    }
}

/// The words of a command, without those that would go to a proxy.
pub(crate) fn command(words: &[&str]) -> Command {
    let (program, arguments) = words.split_first().unwrap();
    let mut command = Command::new(program);
    command.args(arguments);
    for name in [
        "http_proxy",
        "https_proxy",
        "all_proxy",
        "HTTP_PROXY",
        "HTTPS_PROXY",
    ] {
        command.env_remove(name);
    }
    command
}

pub(crate) fn phases(exchange: &Exchange) -> Vec<PhaseName> {
    exchange.phases().iter().map(|phase| phase.name).collect()
}

pub(crate) fn has(program: &str) -> bool {
    let found = Command::new("sh")
        .args(["-c", "command -v \"$0\"", program])
        .stdout(Stdio::null())
        .status();
    found.is_ok_and(|status| status.success())
}
