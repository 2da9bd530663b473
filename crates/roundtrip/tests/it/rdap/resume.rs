//! Killed in the middle and resumed: nothing is lost, nothing is printed twice, and nothing that
//! was printed is asked again.

use std::collections::{BTreeMap, BTreeSet};
use std::process::Child;
use std::time::Duration;

use crate::process::{Said, await_some, signal};
use crate::rdap::scene::{Scene, finish, said, start};

const COUNT: usize = 240;

/// A slow registry, and a list for it.
fn scene() -> Scene {
    let scene = Scene::with(|knobs| knobs.http.think = Duration::from_millis(40));
    let list: String = (0..COUNT).map(|n| format!("n{n}.example\n")).collect();
    scene.write("list", list);
    scene
}

/// Nothing is remembered, so that a second query would be seen.
const ASK: [&str; 12] = [
    "--no-memory",
    "--rate",
    "off",
    "--no-follow",
    "--at-once",
    "8",
    "--columns",
    "query,status",
    "-f",
    "list",
    "-o",
    "out",
];

fn command(scene: &Scene, more: &[&str]) -> std::process::Command {
    let mut command = scene.plain(&["--server", &scene.server()]);
    command.args(ASK).args(more);
    command
}

fn told(scene: &Scene) -> Vec<String> {
    let text = std::fs::read_to_string(scene.path("out")).unwrap_or_default();
    let whole = text.rsplit_once('\n').map_or("", |(whole, _)| whole);
    whole.lines().skip(1).map(str::to_owned).collect()
}

/// A run that has printed this many results.
fn begun(scene: &Scene, more: &[&str], lines: usize) -> Child {
    let child = start(command(scene, more));
    await_some("results", || (told(scene).len() >= lines).then_some(()));
    child
}

/// How often each name was queried whose answer was certainly written.
fn settled(scene: &Scene) -> BTreeMap<String, u32> {
    let asked = scene.asked();
    let mut told = told(scene);
    // The last may have been written but not yet recorded.
    told.pop();
    let names = told.into_iter().map(|line| {
        let (name, _) = line.split_once(',').unwrap();
        let count = asked[&format!("/rdap/domain/{name}")];
        (name.to_owned(), count)
    });
    names.collect()
}

fn assert_whole(scene: &Scene, ended: &Said) {
    assert_eq!((ended.code, ended.err.as_str()), (0, ""), "{ended:?}");
    let text = scene.read("out");
    assert_eq!(text.matches("query,status").count(), 1);
    let lines = told(scene);
    assert_eq!(lines.len(), COUNT);
    let names: BTreeSet<&str> = lines
        .iter()
        .map(|line| line.split_once(',').unwrap().0)
        .collect();
    assert_eq!(names.len(), COUNT);
    assert!(lines.iter().all(|line| line.trim_end().ends_with(",found")));
    assert!(!scene.path("out.journal").exists());
}

#[test]
fn killed_again_and_again_and_gone_on_with() {
    let scene = scene();
    let mut before: BTreeMap<String, u32> = BTreeMap::new();
    for (n, lines) in [1, 40, 41, 100, 150].into_iter().enumerate() {
        let more: &[&str] = if n == 0 { &[] } else { &["--resume"] };
        let mut child = begun(&scene, more, lines);
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(scene.path("out.journal").exists());
        for (name, count) in &before {
            assert_eq!(scene.asked_name(name), *count, "{name}");
        }
        before = settled(&scene);
        assert!(before.len() + 1 >= lines);
    }
    let ended = said(command(&scene, &["--resume"]));
    assert_whole(&scene, &ended);
    let after = settled(&scene);
    for (name, count) in before {
        assert_eq!(after[&name], count, "{name}");
    }
    // Only queries that were in flight when it was killed were sent twice.
    let asked: u32 = scene.asked().values().sum();
    assert!(asked as usize <= COUNT + 5 * 9, "{asked}");
}

#[test]
fn a_completed_list_is_left_as_it_is() {
    let scene = scene();
    scene.write("list", "n1.example\n");
    assert_eq!(said(command(&scene, &["--resume"])).code, 0);
    let written = scene.read("out");
    let again = said(command(&scene, &["--resume"]));
    assert_eq!(again.code, 1, "{again:?}");
    assert!(again.err.contains("nothing to resume"), "{again:?}");
    assert_eq!(scene.read("out"), written);
    // A journal would refuse the next run without --resume.
    assert!(!scene.path("out.journal").exists());
    assert_eq!(said(command(&scene, &[])).code, 0);
}

#[test]
fn interrupted_it_tells_how_to_go_on() {
    let scene = scene();
    let child = begun(&scene, &[], 20);
    signal(child.id(), "INT");
    let stopped = finish(child);
    assert_eq!(stopped.code, 1, "{stopped:?}");
    let done = told(&scene).len();
    assert!(done < COUNT);
    let expected =
        format!("interrupted; {done} results are in out; the same command with --resume");
    assert!(stopped.err.contains(&expected), "{stopped:?}");
    assert_whole(&scene, &said(command(&scene, &["--resume"])));
}

#[test]
fn in_order_it_stays_in_order() {
    let scene = scene();
    let mut child = begun(&scene, &["--ordered"], 50);
    child.kill().unwrap();
    child.wait().unwrap();
    let ended = said(command(&scene, &["--ordered", "--resume"]));
    assert_whole(&scene, &ended);
    let names = (0..COUNT).map(|n| format!("n{n}.example,found"));
    assert!(
        told(&scene)
            .into_iter()
            .map(|l| l.trim_end().to_owned())
            .eq(names)
    );
}

#[test]
fn unfinished_output_is_not_overwritten_nor_mixed_up() {
    let scene = scene();
    let mut child = begun(&scene, &[], 20);
    child.kill().unwrap();
    child.wait().unwrap();
    let (out, journal) = (
        scene.read("out"),
        std::fs::read(scene.path("out.journal")).unwrap(),
    );
    let again = said(command(&scene, &[]));
    assert_eq!(again.code, 1, "{again:?}");
    assert!(again.err.contains("--resume"), "{again:?}");
    for options in [
        &["--check"][..],
        &["--pages", "2"],
        &["--ordered"],
        &["other.example"],
    ] {
        let other = said(command(&scene, &[&["--resume"], options].concat()));
        assert_eq!(other.code, 1, "{options:?}: {other:?}");
        assert!(other.err.contains("out.journal"), "{other:?}");
        assert!(other.err.lines().count() <= 2, "{other:?}");
    }
    let list = scene.read("list");
    scene.write("list", format!("{list}one-more.example\n"));
    let other = said(command(&scene, &["--resume"]));
    assert_eq!(other.code, 1, "{other:?}");
    assert!(other.err.contains("list"), "{other:?}");
    assert_eq!(scene.read("out"), out);
    assert_eq!(std::fs::read(scene.path("out.journal")).unwrap(), journal);
    scene.write("list", list);
    assert_whole(&scene, &said(command(&scene, &["--resume"])));
}

#[test]
fn it_says_why_a_run_cannot_be_resumed() {
    let scene = scene();
    for (arguments, words) in [
        (&["--resume", "-o", "out", "one.example"][..], "-f FILE"),
        (&["--resume", "-o", "out", "-f", "-"], "-f FILE"),
        (&["--resume", "-o", "-", "-f", "list"], "-o FILE"),
        (&["--resume", "-o", "/dev/null", "-f", "list"], "-o FILE"),
    ] {
        let refused = scene.run(arguments);
        assert_eq!(refused.code, 1, "{refused:?}");
        assert!(refused.err.contains(words), "{refused:?}");
    }
    assert_eq!(scene.stats().requests, 0);
    // Resuming a list that has not begun starts it.
    assert_whole(&scene, &said(command(&scene, &["--resume"])));
}
