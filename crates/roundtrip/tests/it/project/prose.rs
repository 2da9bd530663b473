//! The rules for prose: comments and guides wrap at 100 columns, comments are sentences, and the
//! glossary stays short.

use std::fs;
use std::path::Path;

use super::sources::{files_in, sources};

const MAX_COLUMNS: usize = 100;
const MAX_WORDS: usize = 40;

/// Pages that a program writes.
const GENERATED: [&str; 2] = ["docs/causes.md", "bench/RESULTS.md"];

pub(super) fn root() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Every page by its path from the root.
pub(super) fn pages() -> Vec<(String, String)> {
    let root = root();
    let mut files: Vec<_> = fs::read_dir(&root)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.is_file())
        .collect();
    for place in ["docs", "bench", "packaging"] {
        files.extend(files_in(&root.join(place)));
    }
    let pages = files
        .iter()
        .filter(|file| file.extension().is_some_and(|e| e == "md"));
    let pages = pages.map(|file| {
        let path = file.strip_prefix(&root).unwrap().to_str().unwrap();
        (path.to_owned(), fs::read_to_string(file).unwrap())
    });
    let pages: Vec<_> = pages
        .filter(|(path, _)| !GENERATED.contains(&&**path))
        .collect();
    assert!(pages.len() > 20, "{} pages", pages.len());
    pages
}

fn is_long(line: &str) -> bool {
    line.chars().count() > MAX_COLUMNS
}

/// The numbers of the lines of prose that are too long. Tables, code, links, and what a program
/// writes between two comments are exempt.
fn long_lines(page: &str) -> Vec<usize> {
    let (mut code, mut generated) = (false, false);
    let mut long = Vec::new();
    for (number, line) in (1..).zip(page.lines()) {
        if line.trim_start().starts_with("```") {
            code = !code;
        }
        if line.starts_with("<!--") {
            generated = line.starts_with("<!-- reference");
            continue;
        }
        let exempt = code || generated || line.starts_with('|') || line.contains("](");
        if is_long(line) && !exempt {
            long.push(number);
        }
    }
    long
}

#[test]
fn pages_wrap_at_100_columns() {
    let pages = pages().into_iter();
    let long = pages.map(|(path, text)| (path, long_lines(&text)));
    let long: Vec<_> = long.filter(|(_, lines)| !lines.is_empty()).collect();
    assert!(long.is_empty(), "{long:?}");
}

#[test]
fn tables_code_and_links_may_be_longer() {
    let words = "word ".repeat(21);
    assert_eq!(long_lines(&words), [1]);
    assert_eq!(long_lines(&format!("```\n{words}\n```\n{words}")), [4]);
    for exempt in [format!("| {words} |"), format!("[{words}](a.md)")] {
        assert!(long_lines(&exempt).is_empty(), "{exempt}");
    }
    let generated = format!("<!-- reference: made -->\n{words}\n<!-- end -->\n{words}");
    assert_eq!(long_lines(&generated), [4]);
}

#[test]
fn comments_wrap_at_100_columns() {
    let mut long = Vec::new();
    for (path, text) in sources() {
        for (number, line) in (1..).zip(text.lines()) {
            let comment = line.trim_start();
            let exempt = line.contains("://") || comment.starts_with("//! |");
            if comment.starts_with("//") && is_long(line) && !exempt {
                long.push(format!("{path}:{number}"));
            }
        }
    }
    assert!(long.is_empty(), "{long:?}");
}

/// "Of the …" and "Who …" begin no sentence that is read once.
#[test]
fn comments_begin_with_a_subject_or_a_verb() {
    let mut headless = Vec::new();
    for (path, text) in sources() {
        let mut before = "";
        for (number, line) in (1..).zip(text.lines()) {
            let comment = line.trim_start();
            let begins = !before.starts_with("//") || before.len() < 4 || before.ends_with('.');
            before = comment;
            let Some(words) = comment
                .strip_prefix("/// ")
                .or(comment.strip_prefix("//! "))
            else {
                continue;
            };
            let first = words.split(' ').next().unwrap_or_default();
            if begins && ["Who", "Whoever", "Whose", "Whence", "Of"].contains(&first) {
                headless.push(format!("{path}:{number}"));
            }
        }
    }
    assert!(headless.is_empty(), "{headless:?}");
}

#[test]
fn the_glossary_has_few_words_with_one_sentence_each() {
    let text = fs::read_to_string(root().join("GLOSSARY.md")).unwrap();
    let rows: Vec<&str> = text
        .lines()
        .filter(|line| line.starts_with("| **"))
        .collect();
    assert!(
        !rows.is_empty() && rows.len() <= MAX_WORDS,
        "{} words",
        rows.len()
    );
    for row in rows {
        let meaning = row.trim_end_matches(" |").rsplit("** | ").next().unwrap();
        let sentences = meaning.matches(". ").count() + 1;
        assert!(meaning.ends_with('.') && sentences == 1, "{row}");
    }
}
