//! The two halves of a remote measurement, over loopback.

use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpStream};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use roundtrip_perf::plan::{Amount, Pattern, Pin, Terrain};
use roundtrip_perf::remote::{PerfServer, visit};
use roundtrip_perf::{PerfError, run};

use crate::{BYTES, plan};

fn server() -> (SocketAddr, JoinHandle<Result<(), PerfError>>) {
    let server = PerfServer::listen("127.0.0.1:0".parse().unwrap(), None).unwrap();
    let address = server.address().unwrap();
    (address, thread::spawn(move || server.serve_one()))
}

#[test]
fn both_halves_come_together_at_the_client() {
    let (at, serving) = server();
    let host = at.to_string();
    // The congestion control that every user may use.
    let mut plan = plan(&["tcp+reno", "tls+reno", "quic+reno"], Pattern::Down);
    (plan.pin, plan.terrain) = (Pin::default(), Terrain::Remote(host.clone()));
    plan.rounds = 2;
    let mut seen = 0;
    let outcome = visit(plan, &host, &mut |now| seen = now.round).unwrap();
    serving.join().unwrap().unwrap();
    assert_eq!(seen, 2);
    for arm in &outcome.arms {
        for visit in &arm.visits {
            assert_eq!((visit.server.sent, visit.client.received), (BYTES, BYTES));
            assert!(visit.server.usage.cpu() > Duration::ZERO, "{arm:?}");
        }
    }
}

#[test]
fn messages_of_strangers_are_checked() {
    for (line, answer) in [
        ("nonsense\n", ""),
        ("{}\n", ""),
        (&format!("{}\n", "x".repeat(100_000)), ""),
        (&asking_for(9_000_000_000), "from 1 to 1048576"),
    ] {
        let (at, serving) = server();
        let mut stream = TcpStream::connect(at).unwrap();
        // It may have hung up in the midst of a line that is too long.
        let _ = stream.write_all(line.as_bytes());
        let mut said = String::new();
        let _ = BufReader::new(stream).read_line(&mut said);
        assert!(said.contains(answer), "{said}");
        assert!(serving.join().unwrap().is_err(), "{line:.40}");
    }
}

/// A client's request to write `write_size` bytes at once.
fn asking_for(write_size: u64) -> String {
    let plan = plan(&["tls"], Pattern::Down);
    let mut arm = serde_json::to_value(&plan.arms[0]).unwrap();
    arm["knobs"]["write_size"] = write_size.into();
    let request = serde_json::json!({ "arm": arm, "work": plan.work });
    format!("{request}\n")
}

#[test]
fn a_server_that_does_not_answer_is_named() {
    let mut plan = plan(&["tcp"], Pattern::Down);
    plan.work.amount = Amount::Bytes(1);
    plan.arms[0].knobs.write_size = 0;
    assert!(run(plan.clone(), &mut |_| {}).unwrap_err().is_usage());
    plan.arms[0].knobs.write_size = 1;
    let error = visit(plan, "127.0.0.1:1", &mut |_| {}).unwrap_err();
    assert!(
        error.to_string().contains("cannot connect to 127.0.0.1:1"),
        "{error}"
    );
}
