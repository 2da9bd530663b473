//! `docs/rdap-checks.md` is made of the table of checks.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::Path;

use roundtrip_rdap::check::{Check, Scope, table};

const HEAD: &str = "# What `rdap --check` checks

Made from the table in `crates/rdap/src/check.rs`; a test fails when the two differ. To write it anew:
`UPDATE_DOCS=1 cargo test -p roundtrip-rdap --test it checks`.

`roundtrip rdap --check` ([guide](rdap.md#is-the-answer-right---check)) names what does not hold, the worst first, each with its place in
the answer. An *error* is against a requirement, a *warning* against a recommendation or against what makes sense, *info* is allowed and
worth knowing. Identifiers never change.
";

/// Whom rules bind, and what is said of them.
const SCOPES: [(Scope, &str); 3] = [
    (Scope::All, "Every server"),
    (
        Scope::Gtld,
        "Registries and registrars of generic top-level domains: answers that claim `icann_rdap_…`",
    ),
    (
        Scope::Nro,
        "Regional registries of addresses and numbers: answers that claim `nro_rdap_profile…`",
    ),
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

fn page() -> String {
    let all = table();
    let mut page = HEAD.to_owned();
    for (scope, title) in SCOPES {
        let of_scope: Vec<&&Check> = all.iter().filter(|c| c.scope == scope).collect();
        write!(page, "\n## {title}\n\n").unwrap();
        page += "| check | | what must hold | source |\n|---|---|---|---|\n";
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

/// A bar would end it.
fn cell(text: &str) -> String {
    text.replace('|', "\\|")
}
