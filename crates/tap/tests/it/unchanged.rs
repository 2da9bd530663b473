//! A program that is followed behaves as if it were not.

use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::process::Command;

use roundtrip_origin::Knobs;

use crate::server::{command, follow, has, serve};
use crate::skip;

fn sh(script: &str) -> Command {
    command(&["sh", "-c", script])
}

#[test]
fn outputs_and_exit_codes_are_the_program_s() {
    let followed = follow(sh("echo out; echo err >&2; exit 42"));
    assert_eq!(followed.output.status.code(), Some(42));
    assert_eq!(followed.output.stdout, b"out\n");
    assert_eq!(followed.output.stderr, b"err\n");
    assert_eq!(followed.exchanges.len(), 0);
}

#[test]
fn a_crash_is_a_crash() {
    let followed = follow(sh("kill -SEGV $$"));
    assert_eq!(followed.output.status.signal(), Some(libc_segv()));
    assert!(!followed.sight.left_behind);
}

fn libc_segv() -> i32 {
    11
}

#[test]
fn a_program_that_is_not_there_does_not_start() {
    let mut missing = Command::new("/nonexistent/program");
    let tap = roundtrip_tap::Tap::arm(&mut missing, |_| ()).unwrap();
    let error = missing.spawn().unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::NotFound);
    drop(missing);
    assert_eq!(tap.finish().unwrap().connections, 0);
}

#[test]
fn files_are_written_as_always() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("file");
    let script = format!(
        "i=0; while [ $i -lt 300 ]; do echo 'a line that is long enough' ; i=$((i+1)); done > {}",
        file.display()
    );
    let followed = follow(sh(&script));
    assert!(followed.output.status.success());
    let text = fs::read_to_string(&file).unwrap();
    assert_eq!(text.lines().count(), 300);
}

#[test]
fn a_server_sees_the_end_of_a_connection_when_the_program_closes_it() {
    const TEST: &str = "a_server_sees_the_end_of_a_connection_when_the_program_closes_it";
    if !has("python3") {
        return skip::lacking(TEST, "Python");
    }
    // The program continues after it has closed: only its own end may matter.
    let script = "
import socket
listener = socket.create_server(('127.0.0.1', 0))
client = socket.create_connection(listener.getsockname())
server, _ = listener.accept()
server.settimeout(20)
client.sendall(b'GET / HTTP/1.1\\r\\n\\r\\n')
server.sendall(b'HTTP/1.1 200 OK\\r\\n\\r\\n')
client.recv(100)
client.close()
while server.recv(100): pass
print('ended')
";
    let followed = follow(command(&["python3", "-c", script]));
    assert_eq!(followed.output.stdout, b"ended\n", "{:?}", followed.output);
    assert_eq!(followed.exchanges.len(), 1);
}

#[test]
fn children_of_the_program_keep_running() {
    const TEST: &str = "children_of_the_program_keep_running";
    if !has("curl") {
        return skip::lacking(TEST, "curl");
    }
    let server = serve(Knobs::default());
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("answer");
    let ready = directory.path().join("ready");
    // It asks after the tap has gone.
    let script = format!(
        "(while [ ! -e {ready} ]; do sleep 0.05; done; curl -sS http://{}/bytes/50 > {file}.part; mv {file}.part {file}) > /dev/null 2>&1 &",
        server.http,
        ready = ready.display(),
        file = file.display()
    );
    let followed = follow(sh(&script));
    assert!(followed.sight.left_behind);
    fs::write(&ready, "").unwrap();
    let begun = std::time::Instant::now();
    while !file.exists() && begun.elapsed().as_secs() < 60 {
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    assert_eq!(fs::read(&file).unwrap().len(), 50);
}
