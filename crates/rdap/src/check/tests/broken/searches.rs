//! Changes that violate the rules about searches that RFC 8977 has.

use super::Change;

pub(in crate::check::tests) const BROKEN: &[(&str, &str, Change)] = &[
    (
        "paging-count",
        "search",
        ("/paging_metadata/totalCount", None),
    ),
    ("sort-metadata", "search", ("/sorting_metadata", Some("{}"))),
    (
        "sort-default",
        "search",
        (
            "/sorting_metadata/availableSorts",
            Some(
                r#"[{"property": "name", "default": true}, {"property": "handle", "default": true}]"#,
            ),
        ),
    ),
];
