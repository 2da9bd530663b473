//! `docs/rdap-checks.md` is generated from the table of checks.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::Path;

use roundtrip_rdap::check::{Check, Scope, table};

const HEAD: &str = "# The checks of `rdap --check`

This page is generated from the table in `crates/rdap/src/check.rs`; a test fails when the two
differ. To update it: `UPDATE_DOCS=1 cargo test -p roundtrip-rdap --test it checks`.

`roundtrip rdap --check` ([guide](rdap.md#is-the-answer-right---check)) lists the violations, the
worst first, each with its place in the answer. An *error* violates a requirement, a *warning*
violates a recommendation or common sense, and *info* is allowed but worth knowing. Identifiers
never change.

For how the sections were checked, and for the verdicts of other checkers, see
[the comparison](rdap-checkers.md).
";

/// The scopes of rules, with their descriptions.
const SCOPES: [(Scope, &str); 4] = [
    (Scope::All, "Every server"),
    (
        Scope::Gtld,
        "Registries and registrars of generic top-level domains: answers that claim `icann_rdap_…`",
    ),
    (
        Scope::Nro,
        "Regional registries of addresses and numbers: answers that claim `nro_rdap_profile…`",
    ),
    (Scope::Server, "Servers as a whole: `rdap --check-server`"),
];

#[test]
fn the_page_is_not_stale() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/rdap-checks.md");
    let page = page();
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(&path, &page).unwrap();
    }
    let written = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        written == page,
        "docs/rdap-checks.md is stale: UPDATE_DOCS=1 cargo test -p roundtrip-rdap --test it checks"
    );
}

#[test]
fn every_check_is_on_the_page_once() {
    let page = page();
    let ids: BTreeSet<&str> = table().iter().map(|check| check.id).collect();
    assert_eq!(ids.len(), table().len());
    for id in ids {
        assert_eq!(page.matches(&format!("| `{id}` |")).count(), 1, "{id}");
    }
}

/// The comparison names rules by their identifiers, as a word in backquotes with a hyphen.
#[test]
fn the_comparison_names_rules_that_exist() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/rdap-checkers.md");
    let page = std::fs::read_to_string(path).unwrap();
    let ids: BTreeSet<&str> = table().iter().map(|check| check.id).collect();
    let families: BTreeSet<&str> = ids.iter().filter_map(|id| id.split('-').next()).collect();
    let words = page.split('`').skip(1).step_by(2);
    let named: Vec<&str> = words
        .filter(|word| {
            word.split_once('-')
                .is_some_and(|(f, _)| families.contains(f))
        })
        .collect();
    assert!(named.len() > 150, "{}", named.len());
    for word in named {
        assert!(ids.contains(word), "{word}");
    }
}

fn page() -> String {
    let all = table();
    let mut page = HEAD.to_owned();
    for (scope, title) in SCOPES {
        let of_scope: Vec<&&Check> = all.iter().filter(|c| c.scope == scope).collect();
        write!(page, "\n## {title}\n\n").unwrap();
        page += "| check | | requirement | source |\n|---|---|---|---|\n";
        for check in of_scope {
            let (id, word, rule) = (check.id, check.severity.word(), cell(check.rule));
            writeln!(
                page,
                "| `{id}` | {word} | {rule} | {} |",
                cell(check.source)
            )
            .unwrap();
        }
    }
    page
}

/// Escapes bars, which would end the cell.
fn cell(text: &str) -> String {
    text.replace('|', "\\|")
}

/// A rule that no other checker has is listed as such, or belongs to a group that is listed.
#[test]
fn the_comparison_leaves_no_rule_out() {
    const GROUPS: [&str; 10] = [
        "autnum",
        "cidr",
        "country",
        "ip",
        "jscontact",
        "nro",
        "paging",
        "reverse",
        "sort",
        "subset",
    ];
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/rdap-checkers.md");
    let page = std::fs::read_to_string(path).unwrap();
    for check in table() {
        let group = check.id.split('-').next().unwrap();
        let is_named = page.contains(&format!("`{}`", check.id));
        assert!(is_named || GROUPS.contains(&group), "{}", check.id);
    }
}
