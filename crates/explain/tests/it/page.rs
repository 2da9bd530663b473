//! The catalogue page equals the one that is rendered from the entries.

use std::path::Path;

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
        assert!(std::ptr::eq(
            roundtrip_explain::by_id(cause.id).unwrap(),
            cause
        ));
    }
    assert!(roundtrip_explain::by_id("gremlins").is_none());
}
