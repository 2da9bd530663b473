//! The rules for every source file: small, introduced, well named, and `unsafe` only where it is
//! listed.

#![allow(clippy::unwrap_used, clippy::panic)]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

const MAX_LINES: usize = 500;

/// Names that say nothing about the content.
const EMPTY_NAMES: [&str; 8] = [
    "util", "utils", "common", "helper", "helpers", "misc", "shared", "stuff",
];

/// The files that may contain `unsafe`, or folders that end in `/`.
const UNSAFE: [&str; 12] = [
    "crates/net/src/sys.rs",
    "crates/net/src/sys/",
    "crates/doctor/src/kernel.rs",
    "crates/path/src/syscall/",
    "crates/tap/src/sys.rs",
    "crates/tap/src/sys/",
    // Promises to `fork` and to the loader can only be kept where they are made.
    "crates/path/src/reaper.rs",
    "crates/path/src/namespace.rs",
    "crates/path/src/sandbox.rs",
    // Vector instructions: loads and stores, and the step into functions that use them.
    "bench/packet-aead/src/lanes.rs",
    "bench/packet-aead/src/gcm.rs",
    // A C library's handles and buffers.
    "bench/interop/adapters/src/msquic.rs",
];

#[test]
fn no_file_is_long() {
    for (path, text) in sources() {
        let lines = text.lines().count();
        assert!(lines <= MAX_LINES, "{path}: {lines} lines");
    }
}

#[test]
fn each_file_says_what_it_owns() {
    for (path, text) in sources() {
        assert!(text.starts_with("//! "), "{path} does not open with //!");
    }
}

#[test]
fn names_say_what_is_inside() {
    for (path, _) in sources() {
        for part in &Path::new(&path).with_extension("") {
            let part = part.to_str().unwrap();
            assert!(!EMPTY_NAMES.contains(&part), "{path}: '{part}'");
        }
        // `foo.rs` next to `foo/`.
        assert!(!path.ends_with("/mod.rs"), "{path}");
    }
}

/// A search for a name finds one type, or a word of the glossary.
#[test]
fn a_public_type_s_name_means_one_thing_or_stands_in_the_glossary() {
    let mut crates: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for (path, text) in sources().iter().filter(|(path, _)| is_shipped(path)) {
        let owner = path.split('/').nth(1).unwrap_or_default();
        for name in text.lines().filter_map(public_type) {
            let owners = crates.entry(name.to_owned()).or_default();
            owners.insert(owner.to_owned());
        }
    }
    let glossary = concat!(env!("CARGO_MANIFEST_DIR"), "/../../GLOSSARY.md");
    let glossary = fs::read_to_string(glossary).unwrap();
    for (name, owners) in crates.iter().filter(|(_, owners)| owners.len() > 3) {
        let word = format!("| **{}** |", name.to_lowercase());
        assert!(glossary.contains(&word), "{name} is public in {owners:?}");
    }
}

fn public_type(line: &str) -> Option<&str> {
    let (kind, rest) = line.strip_prefix("pub ")?.split_once(' ')?;
    let is_type = ["struct", "enum", "trait", "union", "type"].contains(&kind);
    let name = rest.split(|c: char| !c.is_alphanumeric()).next()?;
    is_type.then_some(name)
}

#[test]
fn unsafe_is_where_it_is_listed() {
    let mut used = [false; UNSAFE.len()];
    for (path, text) in sources().iter().filter(|(path, _)| is_shipped(path)) {
        if !text.lines().any(is_unsafe) {
            continue;
        }
        match UNSAFE.iter().position(|place| is_within(path, place)) {
            Some(place) => used[place] = true,
            None => panic!("{path} holds unsafe code and is not listed here"),
        }
    }
    for (place, used) in UNSAFE.iter().zip(used) {
        assert!(used, "{place} holds no unsafe code and need not be listed");
    }
}

#[test]
fn unsafe_is_told_from_words_that_contain_it() {
    for line in [
        "unsafe { call() }",
        "    let n = unsafe { call() };",
        "pub(crate) unsafe fn fork() {",
        "unsafe impl Send for X {}",
        "#[unsafe(no_mangle)]",
        "#![allow(unsafe_code)]",
    ] {
        assert!(is_unsafe(line), "{line}");
    }
    for line in [
        "// unsafe { call() }",
        "let unsafe_method = 1;",
        "style-src 'unsafe-inline'",
    ] {
        assert!(!is_unsafe(line), "{line}");
    }
}

fn is_unsafe(line: &str) -> bool {
    let code = line.split("//").next().unwrap_or_default();
    let keyword = [
        "unsafe {",
        "unsafe fn",
        "unsafe impl",
        "unsafe extern",
        "unsafe trait",
    ];
    keyword.iter().any(|k| code.contains(k))
        || code.contains("unsafe(")
        || code.contains("allow(unsafe_code)")
        || code.trim_end().ends_with(" unsafe")
}

/// Whether it is part of a crate, but not of its tests.
fn is_shipped(path: &str) -> bool {
    (path.starts_with("crates/") || path.starts_with("bench/")) && path.contains("/src/")
}

fn is_within(path: &str, place: &str) -> bool {
    path == place || (place.ends_with('/') && path.starts_with(place))
}

/// A library's output would be lost, or reach a terminal as it is. The program prints.
#[test]
fn libraries_print_nothing() {
    let shipped = |path: &str| path.starts_with("crates/") && path.contains("/src/");
    let is_test = |path: &str| {
        let ends = ["/tests.rs", "/simulation.rs"];
        path.contains("/tests/") || ends.iter().any(|end| path.ends_with(end))
    };
    for (path, text) in sources() {
        if !shipped(&path) || is_test(&path) || path.starts_with("crates/roundtrip/") {
            continue;
        }
        let code = text.split("#[cfg(test)]\nmod tests {").next().unwrap();
        for line in code.lines().filter(|l| !l.trim_start().starts_with("//")) {
            let prints = ["print!(", "println!(", "dbg!("];
            let prints = prints.iter().any(|name| line.contains(name));
            assert!(!prints, "{path}: {line}");
        }
    }
}

/// Every Rust file of the repository, by its path from the root.
pub(super) fn sources() -> Vec<(String, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut sources = Vec::new();
    for place in ["crates", "bench", "fuzz/fuzz_targets", "tests"] {
        for file in files_in(&root.join(place)) {
            if file.extension().is_some_and(|e| e == "rs") {
                let path = file.strip_prefix(&root).unwrap().to_str().unwrap();
                sources.push((path.to_owned(), fs::read_to_string(&file).unwrap()));
            }
        }
    }
    assert!(sources.len() > 100, "{} files found", sources.len());
    sources
}

pub(super) fn files_in(directory: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files.extend(files_in(&path));
        } else {
            files.push(path);
        }
    }
    files
}
