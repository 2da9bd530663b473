//! Text on a terminal goes through a pager; other output does not.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::process::{ROUNDTRIP, await_some};
use crate::rdap::scene::Scene;

/// Runs the binary on a terminal of `script`, with this pager, and returns what is on it.
pub(crate) fn on_a_terminal(scene: &Scene, pager: &str, arguments: &str) -> String {
    let (ca, server) = (scene.path("ca.pem"), scene.server());
    let trusted = format!("--cacert {} --server {server}", ca.display());
    with_pager(pager, &format!("{trusted} {arguments}"))
}

fn with_pager(pager: &str, arguments: &str) -> String {
    let command = format!("{ROUNDTRIP} rdap --no-memory --no-follow {arguments}");
    let output = Command::new("script")
        .args(["-qec", &command, "/dev/null"])
        .env("PAGER", pager)
        .env("TERM", "xterm")
        .stdin(std::process::Stdio::null())
        .output()
        .unwrap();
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn a_terminal_gets_its_text_through_the_pager() {
    let scene = Scene::new();
    let mark = "sed s/^/paged:/";
    let text = on_a_terminal(&scene, mark, "one.example");
    assert!(
        text.contains("paged:") && text.contains("one.example"),
        "{text}"
    );
    let timed = on_a_terminal(&scene, mark, "--timing one.example");
    assert!(timed.contains("paged:timing"), "{timed}");
    for (pager, arguments) in [
        (mark, "--no-pager one.example"),
        ("cat", "one.example"),
        ("", "one.example"),
        // A pager that does not exist loses no text.
        ("/nonexistent/pager -x", "one.example"),
        (mark, "--json one.example"),
        (mark, "one.example | cat"),
    ] {
        let text = on_a_terminal(&scene, pager, arguments);
        assert!(
            text.contains("one.example") && !text.contains("paged:"),
            "{arguments}: {text}"
        );
    }
}

#[test]
fn a_reader_that_leaves_early_is_not_an_error() {
    let scene = Scene::new();
    let text = on_a_terminal(
        &scene,
        "head -n 1",
        "--verbose one.example two.example; echo ended $?",
    );
    assert!(text.contains("ended 0"), "{text}");
}

#[test]
fn nothing_more_is_asked_for_a_reader_who_has_left() {
    const COUNT: usize = 60;
    let scene = Scene::new();
    let names: Vec<String> = (0..COUNT).map(|n| format!("n{n}.example")).collect();
    // All texts are longer than the pipe to the pager holds.
    let arguments = format!("--serial --verbose {}; echo ended $?", names.join(" "));
    let text = on_a_terminal(&scene, "true", &arguments);
    assert!(text.contains("ended 0"), "{text}");
    let asked: u32 = scene.asked().values().sum();
    assert!(asked < COUNT as u32, "{asked}");
}

/// Answers the name `long` with more text than a pipe holds. It redirects the name `moved` when the
/// pager runs, and writes the file `released` when that redirect is followed.
fn serve(mut stream: TcpStream, place: &Path) {
    loop {
        let (mut head, mut byte) = (Vec::new(), [0]);
        while !head.ends_with(b"\r\n\r\n") {
            if !matches!(stream.read(&mut byte), Ok(1)) {
                return;
            }
            head.push(byte[0]);
        }
        let head = String::from_utf8(head).unwrap();
        let path = head.split(' ').nth(1).unwrap();
        let name = path.rsplit('/').next().unwrap();
        let (status, body) = if name.starts_with("moved") {
            await_some("the pager", || place.join("paging").exists().then_some(()));
            // The text fills the pipe in the meantime.
            std::thread::sleep(std::time::Duration::from_millis(300));
            (
                format!("302 Found\r\nLocation: /domain/n.{name}"),
                String::new(),
            )
        } else {
            let lines = if name.starts_with("long") { 4000 } else { 1 };
            if !name.starts_with("long") {
                std::fs::write(place.join("released"), "").unwrap();
            }
            let lines = vec!["\"a line of a remark that is long enough to be one\""; lines];
            let remark = format!(r#"[{{"description":[{}]}}]"#, lines.join(","));
            let body =
                format!(r#"{{"objectClassName":"domain","ldhName":"{name}","remarks":{remark}}}"#);
            ("200 OK".to_owned(), body)
        };
        let length = body.len();
        let answer = format!("HTTP/1.1 {status}\r\nContent-Length: {length}\r\n\r\n{body}");
        if stream.write_all(answer.as_bytes()).is_err() {
            return;
        }
    }
}

#[test]
fn lookups_go_on_while_the_reader_reads() {
    let scene = Scene::new();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let place: PathBuf = scene.directory.path().into();
    let files = place.clone();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let (stream, files) = (stream.unwrap(), files.clone());
            std::thread::spawn(move || serve(stream, &files));
        }
    });
    // It takes nothing until the other lookup has gone on.
    let pager = scene.write(
        "pager",
        ": > $1/paging; n=0\n\
         while [ ! -e $1/released ] && [ $n -lt 200 ]; do sleep 0.1; n=$((n + 1)); done\n\
         [ $n -lt 200 ] && echo released\ncat\n",
    );
    let text = with_pager(
        &format!("sh {pager} {}", place.display()),
        &format!("--server http://{address}/ --verbose long.example moved.example"),
    );
    assert!(text.contains("released"), "{}", text.len());
    assert!(text.contains("n.moved.example"), "{}", text.len());
}
