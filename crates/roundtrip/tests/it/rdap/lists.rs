//! Lists: files, standard input, comments, bad lines, and the order of results.

use std::io::Write;
use std::process::Stdio;
use std::time::Duration;

use crate::rdap::pager::on_a_terminal;
use crate::rdap::scene::{Scene, finish, said, start};

const LIST: &str =
    "\u{feff}one.example\r\n# none\n\n  two.example # why\nnot a name!\nmissing-1.example\n";
const STATES: &str = "query,status\r\none.example,found\r\ntwo.example,found\r\nnot a name!,failed\r\nmissing-1.example,not-registered\r\n";

#[test]
fn a_list_is_told_to_its_end_whatever_is_in_it() {
    let scene = Scene::new();
    let list = scene.write("list", LIST);
    let asked = ["--columns", "query,status", "--ordered"];
    let said = scene.run(&[&asked[..], &["-f", &list]].concat());
    assert_eq!((said.code, said.out.as_str()), (1, STATES), "{said:?}");
    let mut command = scene.command(&[&asked[..], &["-f", "-"]].concat());
    let mut child = start_with_input(&mut command);
    child
        .stdin
        .take()
        .unwrap()
        .write_all(LIST.as_bytes())
        .unwrap();
    let said = finish(child);
    assert_eq!((said.code, said.out.as_str()), (1, STATES), "{said:?}");
}

fn start_with_input(command: &mut std::process::Command) -> std::process::Child {
    command.stdin(Stdio::piped());
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    command.spawn().unwrap()
}

#[test]
fn results_come_before_the_list_has_ended() {
    let scene = Scene::new();
    let out = scene.path("out");
    let mut command = scene.command(&["--columns", "query", "-f", "-", "-o"]);
    let mut child = start_with_input(command.arg(&out));
    let mut input = child.stdin.take().unwrap();
    input.write_all(b"one.example\n").unwrap();
    crate::process::await_some("the first result", || {
        std::fs::read_to_string(&out)
            .ok()?
            .contains("one.example")
            .then_some(())
    });
    input.write_all(b"two.example\n").unwrap();
    drop(input);
    assert_eq!(finish(child).code, 0);
    assert_eq!(scene.read("out"), "query\r\none.example\r\ntwo.example\r\n");
}

#[test]
fn arguments_files_and_several_of_them_are_one_list() {
    let scene = Scene::new();
    let (first, second) = (
        scene.write("1", "b.example"),
        scene.write("2", "c.example\n"),
    );
    let said = scene.run(&[
        "--columns",
        "query",
        "--ordered",
        "a.example",
        "-f",
        &first,
        "-f",
        &second,
    ]);
    assert_eq!(said.out, "query\r\na.example\r\nb.example\r\nc.example\r\n");
}

#[test]
fn a_list_that_is_not_text_ends_there_and_says_where() {
    let scene = Scene::new();
    let list = scene.write("list", b"one.example\n\xff\xfe\n");
    let said = scene.run(&["--columns", "query", "-f", &list]);
    assert_eq!(said.code, 1, "{said:?}");
    assert!(said.err.contains("line 2"), "{said:?}");
    assert!(said.out.contains("one.example"), "{said:?}");
}

#[test]
fn a_pipe_with_a_name_is_read_once() {
    let scene = Scene::new();
    let pipe = scene.path("pipe");
    let made = std::process::Command::new("mkfifo").arg(&pipe).status();
    assert!(made.unwrap().success());
    let child = start(scene.command(&[
        "--columns",
        "query",
        "-f",
        pipe.to_str().unwrap(),
        "-o",
        "out",
    ]));
    std::fs::write(&pipe, "one.example\n").unwrap();
    let said = finish(child);
    assert_eq!(said.code, 0, "{said:?}");
    assert_eq!(scene.read("out"), "query\r\none.example\r\n");
}

#[test]
fn an_output_that_is_not_a_file_is_written_as_it_comes() {
    let scene = Scene::new();
    let list = scene.write("list", "one.example\n");
    let said = scene.run(&["--columns", "query", "-f", &list, "-o", "/dev/stdout"]);
    assert_eq!(
        (said.code, said.out.as_str()),
        (0, "query\r\none.example\r\n")
    );
    let said = scene.run(&["--columns", "query", "-f", &list, "-o", "-"]);
    assert_eq!(
        (said.code, said.out.as_str()),
        (0, "query\r\none.example\r\n")
    );
    let nowhere = scene.run(&["-f", &list, "-o", "/nonexistent/out"]);
    assert_eq!(nowhere.code, 1, "{nowhere:?}");
    assert!(nowhere.err.contains("/nonexistent/out"), "{nowhere:?}");
}

#[test]
fn a_reader_that_leaves_is_not_an_error() {
    let scene = Scene::new();
    let list: String = (0..200).map(|n| format!("n{n}.example\n")).collect();
    let list = scene.write("list", list);
    let mut command = scene.command(&["--json", "--no-follow", "-f", &list]);
    let mut child = start_with_input(&mut command);
    drop(child.stdout.take());
    assert_eq!(finish(child).code, 0);
}

#[test]
fn duplicates_in_flight_are_asked_once() {
    let scene = Scene::with(|knobs| knobs.http.think = std::time::Duration::from_millis(300));
    let list = scene.write("list", "one.example\n".repeat(40));
    let said = said(scene.command(&["--no-follow", "--columns", "query", "-f", &list]));
    assert_eq!(said.out.lines().count(), 41);
    assert_eq!(scene.asked_name("one.example"), 1);
}

#[test]
fn progress_is_shown_before_the_first_result() {
    // Longer than the second after which the line appears.
    let slow = Scene::with(|knobs| knobs.http.think = Duration::from_secs(2));
    let names = "one.example two.example --columns query -o";
    let text = on_a_terminal(
        &slow,
        "",
        &format!("{names} {}", slow.path("out").display()),
    );
    assert!(text.contains("0 of 2 \u{b7} "), "{text}");
    assert!(!text.contains("one.example"), "{text}");
    let quiet = format!("--quiet {names} {}", slow.path("quiet").display());
    assert!(!on_a_terminal(&slow, "", &quiet).contains(" of 2 "));
}
