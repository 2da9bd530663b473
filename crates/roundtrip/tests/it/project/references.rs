//! The tests, files, settings and figures that the guides name exist.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use super::prose::{pages, root};
use super::sources::{files_in, sources};

/// The fewest words of a name that cannot be mistaken for anything else.
const MIN_WORDS: usize = 4;

/// A table of requirements is only as good as its tests.
#[test]
fn tests_that_the_table_of_requirements_names_exist() {
    let table = fs::read_to_string(root().join("docs/quic-conformance.md")).unwrap();
    let tests = tests();
    let rows = table
        .lines()
        .filter(|line| line.starts_with("| ") && !line.contains("---"));
    let mut count = 0;
    for row in rows.filter(|row| row[2..].starts_with(|c: char| c.is_ascii_digit())) {
        count += 1;
        let cell = row.rsplit('|').nth(1).unwrap();
        let named: Vec<&str> = code_spans(cell).collect();
        assert!(!named.is_empty() || cell.contains("no test: "), "{row}");
        for name in named {
            assert!(tests.contains(name), "there is no test '{name}': {row}");
        }
    }
    assert!(count >= 138, "{count} rows");
}

/// A long name in a guide is a test, a setting or a figure. It occurs in the code, or it is stale.
#[test]
fn long_names_in_pages_occur_in_the_code() {
    let mut code: String = sources().into_iter().map(|(_, text)| text).collect();
    let configurations = files_in(&root().join("packaging")).into_iter();
    let configurations = configurations.filter(|file| file.extension().is_none_or(|e| e != "md"));
    code.extend(configurations.filter_map(|file| fs::read_to_string(file).ok()));
    let mut count = 0;
    for (page, text) in current_pages() {
        let spans = text.lines().flat_map(code_spans);
        for name in spans.filter(|span| is_long_name(span)) {
            count += 1;
            assert!(code.contains(name), "{page}: nothing is called '{name}'");
        }
    }
    assert!(count > 200, "{count} names");
}

#[test]
fn files_that_pages_name_exist() {
    let places = ["crates", "bench", "fuzz", "lab", "tests"];
    let files: Vec<_> = places
        .iter()
        .flat_map(|place| files_in(&root().join(place)))
        .collect();
    let mut count = 0;
    for (page, text) in current_pages() {
        let spans = text.lines().flat_map(code_spans);
        for name in spans.filter(|span| is_source(span)) {
            count += 1;
            let exists = files.iter().any(|file| file.ends_with(name));
            assert!(exists, "{page}: there is no {name}");
        }
    }
    assert!(count > 50, "{count} files");
}

/// A test that is skipped says which one it is.
#[test]
fn skipped_tests_call_themselves_by_their_names() {
    let tests = tests();
    for (path, text) in sources() {
        for call in text.split("lacking(\"").skip(1) {
            let name = call.split('"').next().unwrap();
            let exists = !is_long_name(name) || tests.contains(name);
            assert!(exists, "{path}: there is no test '{name}'");
        }
    }
}

#[test]
fn names_are_told_from_other_code() {
    for name in ["a_final_size_does_not_change", "probe_wait_by_seconds"] {
        assert!(is_long_name(name), "{name}");
    }
    for other in [
        "three_words_only",
        "a b_c_d_e",
        "A_B_C_D",
        "a_b_c_d=1",
        "",
        "___",
    ] {
        assert!(!is_long_name(other), "{other}");
    }
    assert!(is_source("quic/src/pacer.rs") && is_source("bench/harness/peer.py"));
    assert!(!is_source("pacer.rs") && !is_source("foo/tests.rs") && !is_source("a b/c.rs"));
    let spans: Vec<_> = code_spans("`a` and `b c`, not d").collect();
    assert_eq!(spans, ["a", "b c"]);
}

/// Every page except the history of changes, which mentions old names.
fn current_pages() -> Vec<(String, String)> {
    let mut pages = pages();
    pages.retain(|(path, _)| path != "CHANGELOG.md");
    pages
}

/// The names of all tests.
fn tests() -> BTreeSet<String> {
    let mut tests = BTreeSet::new();
    for (_, text) in sources() {
        for (at, _) in text.match_indices("test]\n") {
            let name = text[at..]
                .split_once("fn ")
                .and_then(|(_, rest)| rest.split_once('('));
            tests.extend(name.map(|(name, _)| name.to_owned()));
        }
    }
    tests
}

fn code_spans(line: &str) -> impl Iterator<Item = &str> {
    line.split('`').skip(1).step_by(2)
}

fn is_long_name(span: &str) -> bool {
    let is_word = |word: &str| {
        let mut chars = word.chars();
        !word.is_empty() && chars.all(|c| c.is_ascii_lowercase() || c.is_ascii_digit())
    };
    span.split('_').count() >= MIN_WORDS && span.split('_').all(is_word)
}

/// Whether it is the path of a program's source, and no example of one.
fn is_source(span: &str) -> bool {
    let path = Path::new(span);
    let is_code = path.extension().is_some_and(|e| e == "rs" || e == "py");
    let is_plain = !span.contains([' ', '*', '…', '<', '{']) && !span.starts_with("foo/");
    is_code && is_plain && span.contains('/')
}
