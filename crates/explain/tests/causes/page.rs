//! The page of the catalogue is the one that the entries make.

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
        "docs/causes.md is stale: UPDATE_DOCS=1 cargo test -p roundtrip-explain --test causes"
    );
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
