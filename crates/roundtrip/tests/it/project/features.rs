//! The page of gate's features names tests that exist.

#![allow(clippy::unwrap_used, clippy::panic)]

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use super::sources::sources;

/// The names of all tests.
fn tests() -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for (_, text) in sources() {
        let mut is_test = false;
        for line in text.lines().map(str::trim_start) {
            is_test |= line.starts_with("#[test]") || line.starts_with("#[tokio::test");
            let Some((_, rest)) = line.split_once("fn ").filter(|_| is_test) else {
                continue;
            };
            is_test = false;
            names.extend(rest.split_once('(').map(|(name, _)| name.to_owned()));
        }
    }
    assert!(names.len() > 1000, "{} tests", names.len());
    names
}

#[test]
fn each_feature_that_is_there_names_tests_that_exist() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/gate-features.md");
    let page = fs::read_to_string(page).unwrap();
    let tests = tests();
    let mut features = 0;
    for line in page.lines().filter(|line| line.starts_with("| ")) {
        let [_, feature, mark, shown, _] = line.split('|').map(str::trim).collect::<Vec<_>>()[..]
        else {
            panic!("{line} does not have three cells");
        };
        let named: Vec<&str> = shown.split('`').skip(1).step_by(2).collect();
        let unknown: Vec<&&str> = named
            .iter()
            .filter(|name| !tests.contains(**name))
            .collect();
        assert!(
            unknown.is_empty(),
            "{feature}: there is no test {unknown:?}"
        );
        assert!(mark != "✔" || !named.is_empty(), "{feature}: no test");
        features += u32::from(mark == "✔");
    }
    assert!(features > 20, "{features} features");
}
