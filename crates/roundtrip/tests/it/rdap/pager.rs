//! Text on a terminal goes through a pager; other output does not.

use std::process::Command;

use crate::process::ROUNDTRIP;
use crate::rdap::scene::Scene;

/// Runs the binary on a terminal of `script`, with this pager, and returns what is on it.
pub(crate) fn on_a_terminal(scene: &Scene, pager: &str, arguments: &str) -> String {
    let command = format!(
        "{ROUNDTRIP} rdap --cacert {} --server {} --no-memory --no-follow {arguments}",
        scene.path("ca.pem").display(),
        scene.server()
    );
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
