//! The guide's reference is made from the template, so a key is explained in one place.

#![allow(clippy::unwrap_used)]

use std::fmt::Write;
use std::path::Path;

use roundtrip_gate::config::template::tables;

const BEGIN: &str = "<!-- reference: made from the template; UPDATE_DOCS=1 cargo test -p roundtrip-gate --test it guide -->\n";
const END: &str = "<!-- end of the reference -->\n";

#[test]
fn the_reference_is_not_stale() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/gate.md");
    let page = std::fs::read_to_string(&path).unwrap();
    let (before, rest) = page.split_once(BEGIN).unwrap();
    let (reference, after) = rest.split_once(END).unwrap();
    if std::env::var_os("UPDATE_DOCS").is_some() {
        let page = format!("{before}{BEGIN}{}{END}{after}", made());
        return std::fs::write(&path, page).unwrap();
    }
    assert!(
        reference == made(),
        "docs/gate.md is stale: UPDATE_DOCS=1 cargo test -p roundtrip-gate --test it guide"
    );
}

fn made() -> String {
    let mut page = String::new();
    for table in tables() {
        write!(page, "\n### `{}`\n\n{}\n", table.header, table.about).unwrap();
        if table.keys.is_empty() {
            continue;
        }
        page += "\n| key | value | |\n|---|---|---|\n";
        for key in table.keys {
            let value = key.value.replace('|', "\\|");
            let value = if key.example {
                format!("none; `{value}`")
            } else {
                format!("`{value}`")
            };
            let about = key.about.replace('|', "\\|");
            writeln!(page, "| `{}` | {value} | {about} |", key.name).unwrap();
        }
    }
    page.push('\n');
    page
}
