//! The catalogue page equals the one that is rendered from the entries.

use std::path::Path;

use roundtrip_explain::Decidable;

#[test]
fn the_page_is_not_stale() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/causes.md");
    let page = roundtrip_explain::page();
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(&path, &page).unwrap();
    }
    let written = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        written == page,
        "docs/causes.md is stale: UPDATE_DOCS=1 cargo test -p roundtrip-explain --test it page"
    );
}

/// Causes named in these tests or in the gauntlet are injected over emulated paths; all others must
/// say that they were not.
#[test]
fn every_cause_is_injected_for_real_or_says_that_it_is_not() {
    let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("../probe/tests/it");
    let gauntlet = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../bench/gauntlet/stories.py");
    let stories = std::fs::read_to_string(gauntlet).unwrap();
    let files = [tests.join("causes.rs")].into_iter().chain(
        std::fs::read_dir(tests.join("causes"))
            .unwrap()
            .map(|f| f.unwrap().path()),
    );
    let written: String = files
        .map(|file| std::fs::read_to_string(file).unwrap())
        .collect();
    for cause in roundtrip_explain::all() {
        let injected = written.contains(&format!("\"{}\"", cause.id)) || stories.contains(cause.id);
        let synthetic = cause.shows.ends_with("(seen only in synthetic exchanges)")
            || cause.shows.contains("(seen only in synthetic exchanges: ");
        assert!(injected != synthetic, "{}", cause.id);
    }
}

#[test]
fn every_cause_has_its_section_and_can_be_found() {
    let page = roundtrip_explain::page();
    for cause in roundtrip_explain::all() {
        assert!(page.contains(&format!("### `{}`", cause.id)));
        let row = page
            .lines()
            .find(|line| line.starts_with(&format!("| `{}` |", cause.id)));
        assert_eq!(
            row.map(|row| row.matches('|').count()),
            Some(6),
            "{}",
            cause.id
        );
        assert!(std::ptr::eq(
            roundtrip_explain::by_id(cause.id).unwrap(),
            cause
        ));
    }
    assert!(roundtrip_explain::by_id("gremlins").is_none());
}

/// The page claims nothing that a place cannot see, and more sources never decide fewer causes.
#[test]
fn keys_add_to_packets_and_the_client_end_to_the_server_end() {
    let page = roundtrip_explain::page();
    let mut rows = 0;
    let table = page.split("## Decidable").nth(1).unwrap_or_default();
    for row in table.lines().filter(|line| line.starts_with("| `")) {
        let cells: Vec<bool> = row
            .split('|')
            .skip(2)
            .take(4)
            .map(|c| c.contains("yes"))
            .collect();
        let [client, server, client_keys, server_keys] = cells[..] else {
            panic!("{row}");
        };
        assert!(client || !server, "{row}");
        assert!(client_keys || !client && !server_keys, "{row}");
        assert!(server_keys || !server, "{row}");
        rows += 1;
    }
    assert_eq!(rows, roundtrip_explain::all().count());
    let kinds: std::collections::HashSet<_> =
        roundtrip_explain::all().map(|c| c.decidable).collect();
    assert_eq!(kinds.len(), Decidable::ALL.len());
}
