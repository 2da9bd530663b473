//! Changes that violate the rules about searches of RFC 8977, 8982 and 9536.

use super::Change;

pub(in crate::check::tests) const BROKEN: &[(&str, &str, Change)] = &[
    (
        "paging-count",
        "search",
        ("/paging_metadata/totalCount", None),
    ),
    (
        "paging-page",
        "search",
        ("/paging_metadata/pageNumber", None),
    ),
    (
        "paging-page",
        "search",
        ("/paging_metadata/totalCount", Some("2")),
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
    (
        "sort-path",
        "search",
        (
            "/sorting_metadata/availableSorts/0/jsonPath",
            Some(r#""$.domainSearchResults[*""#),
        ),
    ),
    (
        "subset-default",
        "search",
        (
            "/subsetting_metadata/availableFieldSets",
            Some(r#"[{"name": "id", "default": true}, {"name": "full", "default": true}]"#),
        ),
    ),
    (
        "reverse-properties",
        "help",
        ("/rdapConformance/+", Some(r#""reverse_search""#)),
    ),
    (
        "reverse-property",
        "help",
        (
            "/reverse_search_properties",
            Some(r#"[{"searchableResourceType": "domains", "property": "fn"}]"#),
        ),
    ),
    (
        "reverse-registered",
        "help",
        (
            "/reverse_search_properties",
            Some(
                r#"[{"searchableResourceType": "domains", "relatedResourceType": "entity", "property": "tel"}]"#,
            ),
        ),
    ),
    (
        "member-type",
        "help",
        ("/reverse_search_properties", Some(r#"["fn"]"#)),
    ),
    (
        "reverse-mapping-property",
        "search",
        (
            "/reverse_search_properties_mapping",
            Some(r#"[{"property": "role"}]"#),
        ),
    ),
    (
        "reverse-mapping-path",
        "search",
        (
            "/reverse_search_properties_mapping",
            Some(r#"[{"property": "role", "propertyPath": "entities[*].roles"}]"#),
        ),
    ),
];
