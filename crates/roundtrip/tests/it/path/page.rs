//! The crate makes the tables of `docs/path.md`, and the output of `--list`.

use std::fmt::Write;
use std::path::Path;
use std::process::Command;

use roundtrip_path::{Middlebox, PRESETS, WORDS};
use serde_json::Value;

use crate::path::run::said;
use crate::process::ROUNDTRIP;

const BEGIN: &str = "<!-- tables: made from the crate; UPDATE_DOCS=1 cargo test -p roundtrip --test it path::page -->\n";

#[test]
fn the_tables_are_not_stale() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/path.md");
    let page = std::fs::read_to_string(&path).unwrap();
    let (text, tables) = page.split_once(BEGIN).unwrap();
    if std::env::var_os("UPDATE_DOCS").is_some() {
        return std::fs::write(&path, format!("{text}{BEGIN}{}", made())).unwrap();
    }
    assert!(
        tables == made(),
        "docs/path.md is stale: UPDATE_DOCS=1 cargo test -p roundtrip --test it path::page"
    );
}

fn made() -> String {
    let mut page = String::from("\n## Words\n\n| word | value | |\n|---|---|---|\n");
    for word in WORDS {
        let value = cell(word.value);
        writeln!(page, "| `{}` | {value} | {} |", word.name, word.help).unwrap();
    }
    page += "\n## Networks by name\n\n| name | words | source |\n|---|---|---|\n";
    for preset in PRESETS {
        let (name, words) = (preset.name, preset.words);
        writeln!(page, "| `{name}` | `{words}` | {} |", preset.source).unwrap();
    }
    page += "\n## Boxes in the way\n\n| name | argument | |\n|---|---|---|\n";
    for (name, argument, does) in Middlebox::kinds() {
        let argument = argument.map_or(String::new(), cell);
        writeln!(page, "| `{name}` | {argument} | {does} |").unwrap();
    }
    page
}

/// A bar would end the cell.
fn cell(code: &str) -> String {
    format!("`{}`", code.replace('|', "\\|"))
}

#[test]
fn the_list_names_them_all() {
    let listed = |flags: &[&str]| {
        let mut command = Command::new(ROUNDTRIP);
        command.args(["path", "--list"]).args(flags);
        let said = said(command);
        assert_eq!(said.code, 0, "{said:?}");
        said.out
    };
    let (text, document) = (listed(&[]), listed(&["--json"]));
    let document: Value = serde_json::from_str(&document).unwrap();
    assert_eq!(document["presets"].as_array().unwrap().len(), PRESETS.len());
    assert_eq!(
        document["middleboxes"][0]["name"],
        Middlebox::kinds().next().unwrap().0
    );
    for preset in PRESETS {
        assert!(text.contains(preset.source), "{}", preset.name);
    }
}
