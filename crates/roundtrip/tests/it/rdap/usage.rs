//! Flags that make no sense: rejected in a line or two that suggest an alternative.

use crate::rdap::scene::{Scene, said};

fn refused(arguments: &[&str], words: &[&str]) {
    let scene = Scene::new();
    let said = scene_run(&scene, arguments);
    assert_eq!(said.code, 2, "{arguments:?}: {said:?}");
    assert_eq!(said.out, "", "{arguments:?}");
    for words in words {
        assert!(said.err.contains(words), "{arguments:?}: {words}: {said:?}");
    }
    assert_eq!(scene.stats().requests, 0);
}

fn scene_run(scene: &Scene, arguments: &[&str]) -> crate::process::Said {
    said(scene.plain(&[&["--no-memory"], arguments].concat()))
}

#[test]
fn nothing_asked() {
    refused(&[], &["no query given", "-f"]);
    for empty in ["", " ", "\t"] {
        refused(&[empty], &["is empty", "name a domain"]);
        refused(&["a.example", empty], &["is empty"]);
    }
}

#[test]
fn rates_columns_servers_and_kinds_that_are_none() {
    refused(
        &["--rate", "x", "a.example"],
        &["'x' is not a rate", "10/min"],
    );
    refused(
        &["--columns", "nope", "a.example"],
        &["'nope'", "registrar"],
    );
    refused(&["--field", "nope", "a.example"], &["'nope'", "registrar"]);
    refused(&["--server", "ftp://x/", "a.example"], &["'ftp'", "https"]);
    refused(&["--server", "rdap.example", "a.example"], &["https://"]);
    refused(&["--server", "tcp://x:1", "a.example"], &["https://"]);
    refused(
        &["--bootstrap", "nope", "a.example"],
        &["--bootstrap", "https://"],
    );
    refused(&["-t", "nope", "a.example"], &["'nope'", "nameserver"]);
    refused(&["--max-age", "1y", "a.example"], &["12h"]);
    refused(&["--patience", "long", "a.example"], &["30m"]);
}

#[test]
fn flags_that_contradict_each_other() {
    refused(&["--json", "--csv", "a.example"], &["--json", "--csv"]);
    refused(
        &["--json", "--columns", "name", "a.example"],
        &["--columns"],
    );
    refused(&["--resume", "-f", "x"], &["--output"]);
    refused(&["--user-file", "x", "a.example"], &["--server"]);
    refused(&["--cert", "x", "a.example"], &["--server"]);
    refused(&["--offline", "--refresh", "a.example"], &["--offline"]);
}

#[test]
fn an_output_that_would_replace_its_list() {
    let scene = Scene::new();
    let list = "a.example\nb.example\n";
    let directory = scene.path("lists");
    std::fs::create_dir(&directory).unwrap();
    for name in ["list", "out.failed", "out.journal"] {
        scene.write(&format!("lists/{name}"), list);
    }
    std::os::unix::fs::symlink("list", directory.join("link")).unwrap();
    for (file, output) in [
        ("list", "list"),
        ("list", "./list"),
        ("list", "link"),
        ("link", "list"),
        ("out.failed", "out"),
        ("out.journal", "out"),
    ] {
        for more in [&["--csv"][..], &["--resume"], &["-f", "/dev/null"]] {
            let (file, output) = (directory.join(file), directory.join(output));
            let mut command = scene.plain(&["--no-memory", "--server", &scene.server()]);
            let said = said({
                command.arg("-f").arg(&file).arg("-o").arg(&output);
                command.args(more);
                command
            });
            assert_eq!(said.code, 2, "{output:?}: {said:?}");
            assert!(said.err.contains("would overwrite the list"), "{said:?}");
            assert_eq!(std::fs::read_to_string(&file).unwrap(), list);
        }
    }
    assert_eq!(scene.stats().requests, 0);
}

#[test]
fn files_that_are_not_there() {
    refused(&["-f", "/nonexistent/list"], &["/nonexistent/list"]);
    refused(
        &[
            "--server",
            "https://127.0.0.1:9",
            "--user-file",
            "/nonexistent/file",
            "a.example",
        ],
        &["/nonexistent/file"],
    );
}

#[test]
fn the_names_of_columns_are_told() {
    let scene = Scene::new();
    let said = scene_run(&scene, &["--columns", "help"]);
    assert_eq!(said.code, 0, "{said:?}");
    assert!(said.out.contains("registrar.id") && said.out.contains("/handle"));
}
