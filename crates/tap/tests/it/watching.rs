//! Connections of processes that are already running.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Command, Stdio};

use roundtrip_model::Moment;
use roundtrip_tap::watch::{Watch, Watched};

use crate::skip;

#[test]
fn a_process_s_connections_are_sampled_until_it_ends() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut ours = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let (mut peer, _) = listener.accept().unwrap();
    let me = std::process::id().cast_signed();
    let local = ours.local_addr().unwrap();
    let mut watch = Watch::new(Watched::Process(me));
    let mut sample = |ms: f64| {
        let all = watch.sample(Moment::from_millis(ms)).unwrap().unwrap();
        all.into_iter().find(|sample| sample.local == local)
    };
    assert_eq!(sample(0.0).unwrap().bytes_received, 0);
    peer.write_all(&[1; 500]).unwrap();
    ours.peek(&mut [0]).unwrap();
    let then = sample(100.0).unwrap();
    assert_eq!((then.bytes_received, then.unread), (500, 500));
    assert!(then.rtt.is_some() && then.state == "ESTABLISHED");
    // Still unread in the next sample: the program is the slow side.
    let then = sample(200.0).unwrap();
    let ids: Vec<_> = then.symptoms.iter().map(|symptom| symptom.id).collect();
    assert_eq!((then.bytes_received, ids.contains(&"unread")), (0, true));
    ours.read_exact(&mut [0; 500]).unwrap();
    drop((ours, peer));
    assert!(sample(300.0).is_none());

    let mut other = Watch::new(Watched::Process(1 << 23));
    assert!(other.sample(Moment(1)).unwrap().is_none());
}

#[test]
fn a_port_has_the_connections_of_both_sides() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let _ours = TcpStream::connect(address).unwrap();
    let _theirs = listener.accept().unwrap();
    let mut watch = Watch::new(Watched::Port(address.port()));
    let all = watch.sample(Moment(1)).unwrap().unwrap();
    assert_eq!(all.len(), 2);
}

#[test]
fn a_process_that_its_parent_has_not_waited_for_has_ended() {
    let mut child = Command::new("true").spawn().unwrap();
    let id = child.id().cast_signed();
    let stat = format!("/proc/{id}/stat");
    while !std::fs::read_to_string(&stat).unwrap().contains(") Z") {
        std::thread::yield_now();
    }
    let mut watch = Watch::new(Watched::Process(id));
    assert!(watch.sample(Moment(1)).unwrap().is_none());
    child.wait().unwrap();
}

#[test]
fn a_process_in_another_network_namespace_is_not_silently_without_connections() {
    const TEST: &str = "a_process_in_another_network_namespace_is_not_silently_without_connections";
    // It says that it is there, and then waits for its input to end.
    let mut command = Command::new("unshare");
    command.args([
        "--user",
        "--map-root-user",
        "--net",
        "sh",
        "-c",
        "echo; read x",
    ]);
    let child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
    let Ok(mut child) = child else {
        return skip::lacking(TEST, "unshare");
    };
    let mut line = String::new();
    let mut output = BufReader::new(child.stdout.take().unwrap());
    output.read_line(&mut line).unwrap();
    let mut watch = Watch::new(Watched::Process(child.id().cast_signed()));
    let sampled = watch.sample(Moment(1));
    drop(child.stdin.take());
    child.wait().unwrap();
    if line.is_empty() {
        return skip::lacking(TEST, "a network namespace");
    }
    let error = sampled.unwrap_err().to_string();
    assert!(error.contains("another network namespace"), "{error}");
}
