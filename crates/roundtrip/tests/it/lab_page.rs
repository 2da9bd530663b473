//! `roundtrip lab run --html` from outside: a page of the measurements, and the error if none can
//! be written.

#![allow(clippy::unwrap_used, clippy::panic)]

use std::process::{Command, Output};

const FILE: &str = "
question = 'Is a <connection> worth keeping?'
article = 'none'
measure = 'total'
runs = 2
requests = 2
baseline = 'each'
[path]
rtt = '20ms'
[[server]]
name = 'origin'
knobs = {}
[[arm]]
name = 'each'
strategy = 'h1+clear'
[[arm]]
name = 'kept'
strategy = 'h1+clear'
manner = 'kept'
[[arm]]
name = 'absent'
program = 'no-such-program'
[[claim]]
text = 'it is'
holds = 'round_trips(kept) == 3 and round_trips(each) == 4'
";

fn lab(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_roundtrip"))
        .args(["lab", "run"])
        .args(arguments)
        .output()
        .unwrap()
}

#[test]
fn the_page_holds_what_was_measured() {
    let directory = tempfile::tempdir().unwrap();
    let mine = directory.path().join("mine.toml").display().to_string();
    std::fs::write(&mine, FILE).unwrap();
    let page = directory.path().join("page.html").display().to_string();
    let output = lab(&[&mine, "--html", &page]);
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{told}");
    assert_eq!(told, format!("page written to {page}\n"));
    assert!(!output.stdout.is_empty(), "the table is printed as well");
    let html = std::fs::read_to_string(&page).unwrap();
    let kernel = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap();
    for words in [
        "Is a &lt;connection&gt; worth keeping?",
        "each (A/A)",
        "1 of 1 hold",
        "no-such-program",
        ">3 RT<",
        ">4 RT<",
        &format!("roundtrip lab run {mine} --seed 1 --html {page}"),
        kernel.trim(),
    ] {
        assert!(html.contains(words), "{words}");
    }
}

#[test]
fn a_page_that_cannot_be_written_is_told_before_anything_is_measured() {
    let output = lab(&["persistence", "--html", "/nowhere/page.html"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(output.stdout.is_empty(), "nothing was measured");
    assert_eq!(
        String::from_utf8_lossy(&output.stderr),
        "roundtrip: cannot write the page to /nowhere/page.html: No such file or directory (os error 2)\n"
    );
}
