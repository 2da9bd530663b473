//! Servers that fail for a while, in the middle of a list: no row is lost, reasons are reported,
//! and failed queries can be asked again.

use std::io::Write;
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

use crate::process::Said;
use crate::rdap::scene::{Scene, said};
use crate::servers::{listen, read_request};

/// An HTTP/1.1 server that fails after some answers, until it has refused some connections.
struct Fickle {
    url: String,
    state: Arc<State>,
}

#[derive(Default)]
struct State {
    /// How many answers are left before it fails.
    answers: AtomicUsize,
    /// How many connections it refuses while it is down.
    refuses: AtomicUsize,
    /// How many requests it answers with 500 before that.
    errors: AtomicUsize,
}

impl Fickle {
    fn start(answers: usize, refuses: usize) -> Self {
        let state = Arc::new(State {
            answers: answers.into(),
            refuses: refuses.into(),
            errors: 0.into(),
        });
        let shared = state.clone();
        let address = listen(move |stream| shared.serve(stream));
        Self {
            url: format!("http://{address}/"),
            state,
        }
    }

    fn recover(&self) {
        self.state.refuses.store(0, SeqCst);
    }
}

impl State {
    fn is_out(&self) -> bool {
        self.answers.load(SeqCst) == 0 && self.refuses.load(SeqCst) > 0
    }

    fn serve(&self, mut stream: TcpStream) {
        if self.is_out() {
            let less = |n: usize| n.checked_sub(1);
            let _ = self.refuses.fetch_update(SeqCst, SeqCst, less);
            return;
        }
        while let Some((head, _)) = read_request(&mut stream) {
            if self.is_out() {
                return;
            }
            let less = |n: usize| n.checked_sub(1);
            let _ = self.answers.fetch_update(SeqCst, SeqCst, less);
            if self.errors.fetch_update(SeqCst, SeqCst, less).is_ok() {
                let _ = stream.write_all(b"HTTP/1.1 500 Oh\r\nContent-Length: 2\r\n\r\n{}");
                continue;
            }
            let name = head.split([' ', '/']).nth(3).unwrap();
            let body = format!(r#"{{"objectClassName":"domain","ldhName":"{name}"}}"#);
            let length = body.len();
            let answer = format!("HTTP/1.1 200 OK\r\nContent-Length: {length}\r\n\r\n{body}");
            if stream.write_all(answer.as_bytes()).is_err() {
                return;
            }
        }
    }
}

const COUNT: usize = 300;

fn run(scene: &Scene, server: &Fickle, arguments: &[&str]) -> Said {
    let list: String = (0..COUNT).map(|n| format!("n{n}.example\n")).collect();
    scene.write("list", list);
    let mut command = scene.plain(&["--no-memory", "--no-follow", "--rate", "off", "-f", "list"]);
    command.args(["--server", &server.url]).args(arguments);
    if !arguments.contains(&"--at-once") {
        command.args(["--at-once", "20"]);
    }
    said(command)
}

fn count(table: &str, word: &str) -> usize {
    table.lines().filter(|line| line.contains(word)).count()
}

#[test]
fn an_outage_in_the_middle_of_a_list_loses_no_row() {
    let scene = Scene::new();
    let server = Fickle::start(60, 30);
    let said = run(&scene, &server, &["--columns", "query,status"]);
    assert_eq!(said.code, 0, "{said:?}");
    assert_eq!(count(&said.out, ",found"), COUNT);
}

#[test]
fn servers_that_stay_out_are_named_and_asked_again_by_the_next_run() {
    let scene = Scene::new();
    let server = Fickle::start(60, usize::MAX);
    let output = ["--csv", "-o", "out", "--patience", "1s"];
    let said = run(&scene, &server, &output);
    assert_eq!(said.code, 1, "{said:?}");
    let table = scene.read("out");
    let failed = count(&table, ",failed,");
    assert_eq!(count(&table, ",found,") + failed, COUNT);
    assert!(failed > 0, "{table}");
    // The reason is in each row and, with its count, on standard error.
    assert_eq!(count(&table, ",failed,,,,,,,\r"), 0);
    assert_eq!(count(&table, "127.0.0.1"), failed, "{table}");
    assert!(
        said.err.contains("127.0.0.1") && said.err.contains("--resume"),
        "{said:?}"
    );
    assert!(said.err.lines().count() < 20, "{said:?}");
    server.recover();
    let again = run(
        &scene,
        &server,
        &["--csv", "-o", "out", "--patience", "1s", "--resume"],
    );
    assert_eq!((again.code, again.err.as_str()), (0, ""), "{again:?}");
    let table = scene.read("out");
    assert_eq!(
        (count(&table, ",found,"), table.lines().count()),
        (COUNT, COUNT + 1)
    );
    assert_eq!(count(&table, "query,status"), 1);
    assert!(!scene.path("out.journal").exists() && !scene.path("out.failed").exists());
}

#[test]
fn a_table_of_nothing_but_failures_has_its_header_first_and_once() {
    let scene = Scene::new();
    let server = Fickle::start(0, 0);
    server.state.errors.store(COUNT, SeqCst);
    let output = ["--columns", "query,status", "-o", "out"];
    assert_eq!(run(&scene, &server, &output).code, 1);
    let table = scene.read("out");
    assert!(table.starts_with("query,status\r\n"), "{table}");
    assert_eq!(count(&table, ",failed"), COUNT);
    let resumed = run(&scene, &server, &[&output[..], &["--resume"]].concat());
    assert_eq!(resumed.code, 0, "{resumed:?}");
    let table = scene.read("out");
    assert!(table.starts_with("query,status\r\n"), "{table}");
    assert_eq!(
        (count(&table, ",found"), table.lines().count()),
        (COUNT, COUNT + 1)
    );
}

#[test]
fn failed_queries_do_not_hinder_the_next_run() {
    let scene = Scene::new();
    let server = Fickle::start(60, usize::MAX);
    let output = ["--csv", "-o", "out", "--patience", "1s"];
    assert_eq!(run(&scene, &server, &output).code, 1);
    server.recover();
    let anew = run(&scene, &server, &output);
    assert_eq!((anew.code, anew.err.as_str()), (0, ""), "{anew:?}");
    assert_eq!(count(&scene.read("out"), ",found,"), COUNT);
    assert!(!scene.path("out.failed").exists());
}

#[test]
fn failed_queries_are_repeated_on_request() {
    for (flag, code, found) in [("--quiet", 1, 0), ("--retry-failed", 0, COUNT)] {
        let scene = Scene::new();
        let server = Fickle::start(0, 0);
        server.state.errors.store(COUNT, SeqCst);
        let said = run(
            &scene,
            &server,
            &["--columns", "query,status", "--at-once", "1", flag],
        );
        assert_eq!(
            (said.code, count(&said.out, ",found")),
            (code, found),
            "{said:?}"
        );
    }
}
