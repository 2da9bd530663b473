//! Clear text is reported: on standard error, in JSON and with `--timing`.

use crate::process::Said;
use crate::rdap::renewal::mirror;
use crate::rdap::scene::{Scene, documents, said};

/// A run that finds these servers in the registry of names.
fn informed(scene: &Scene, servers: &[&str], flags: &[&str]) -> Said {
    let (url, _) = mirror(servers);
    let run = |arguments: &[&str]| {
        let mut command = scene.plain(&["--bootstrap", &url, "--rate", "off", "--no-follow"]);
        command.arg("--memory").arg(scene.path("memory"));
        command.args(arguments);
        said(command)
    };
    run(&[flags, &["one.example"]].concat())
}

#[test]
fn a_registry_without_tls_is_asked_and_that_is_said_everywhere() {
    let scene = Scene::new();
    let clear = format!("http://{}/rdap/", scene.origin.http);
    let said = informed(&scene, &[&clear], &["--json", "--timing"]);
    assert_eq!(said.code, 0, "{said:?}");
    assert!(said.err.contains("in clear text"), "{said:?}");
    let told = &documents(&said.out)[0];
    assert_eq!(
        (&told["clear_text"], &told["timing"][0]["clear_text"]),
        (&true.into(), &true.into())
    );
    let text = informed(&Scene::new(), &[&clear], &["--timing"]).out;
    assert!(text.contains("(in clear text)"), "{text}");
    let timing = text.lines().find(|line| line.starts_with("timing: h1"));
    assert!(
        timing.is_some_and(|line| line.contains("clear text")),
        "{text}"
    );
}

#[test]
fn tls_is_left_only_where_the_flag_allows_it() {
    let scene = Scene::new();
    let clear = format!("http://{}/rdap/", scene.origin.http);
    let servers = ["https://127.0.0.1:9/", &clear];
    let refused = informed(&scene, &servers, &["--json"]);
    assert_eq!(
        (refused.code, scene.stats().requests),
        (1, 0),
        "{refused:?}"
    );
    assert!(refused.out.contains("--insecure-http"), "{refused:?}");
    let allowed = informed(&Scene::new(), &servers, &["--insecure-http", "--json"]);
    assert_eq!(allowed.code, 0, "{allowed:?}");
    assert!(allowed.err.contains("https URL failed"), "{allowed:?}");
}
