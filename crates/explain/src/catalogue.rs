//! Renders the catalogue of causes as a page: the content of `docs/causes.md`.

use std::fmt::Write as _;

use crate::{Cause, FAMILIES};

const HEAD: &str = "# Causes of a slow exchange

Generated from the entries in `crates/explain/src/causes`; a test fails if the two differ. To
regenerate it: `UPDATE_DOCS=1 cargo test -p roundtrip-explain --test it page`.

`roundtrip causes` lists the causes too, `roundtrip causes ID` explains one, and `--json` writes
either as one document: `schema` (`roundtrip/causes/1`) and `causes`, each with `id`, `family`,
`name`, `shows`, `cost`, `remedy`, `settings` (`of`, `is`), `source`.

A finding names a cause only with its evidence. Its cost is a claim on what the phases of the
exchange waited for: no millisecond is claimed twice, and one round trip of the whole is never
claimed (except for an answer of 425 Too Early, which is asked again). A cost below 1 ms or 2 % of
the whole is not named, unless it is a whole round trip of at least 0.2 ms. The rest of the time is
the request's own round trip with the server's time and the name lookup, one round trip each for TCP
and TLS or QUIC, transmission time, and the client's small tasks. Time without any of these reasons
is called unexplained.
";

/// The whole catalogue in Markdown.
pub fn page() -> String {
    let mut page = HEAD.to_owned();
    for family in FAMILIES {
        // Writing to a String cannot fail.
        let _ = write!(page, "\n## {}\n", family.title);
        for cause in family.causes {
            page.push_str(&entry(cause));
        }
    }
    page
}

fn entry(cause: &Cause) -> String {
    let mut text = format!("\n### `{}`\n\n{}.\n\n", cause.id, cause.name);
    let mut line = |label: &str, value: &str| {
        let _ = writeln!(text, "- {label}: {value}");
    };
    line("Shows", cause.shows);
    line("Cost", cause.cost);
    line("Remedy", cause.remedy);
    for setting in cause.settings {
        line(setting.of, &format!("`{}`", setting.is));
    }
    line("Source", cause.source);
    text
}
