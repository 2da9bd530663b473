//! Renders the catalogue of causes as a page: the content of `docs/causes.md`.

use std::fmt::Write as _;

use crate::{Cause, Decidable, FAMILIES};

const HEAD: &str = "# Causes of a slow exchange

Generated from the entries in `crates/explain/src/causes`; a test fails if the two differ. To
regenerate it: `UPDATE_DOCS=1 cargo test -p roundtrip-explain --test it page`.

`roundtrip causes` lists the causes too, `roundtrip causes ID` explains one, and `--json` writes
either as one document: `schema` (`roundtrip/causes/1`) and `causes`, each with `id`, `family`,
`name`, `shows`, `decidable`, `cost`, `remedy`, `settings` (`of`, `is`), `source`.

A finding names a cause only with its evidence. Its cost is a claim on what the phases of the
exchange waited for: no millisecond is claimed twice, and one round trip of the exchange is
never claimed (except after 425 Too Early, when the request is sent again). A cost below 1 ms or 2 %
of the exchange is not named, unless it is a whole round trip of at least 0.2 ms. The rest of the time is
the request's own round trip with the server's time and the name lookup, one round trip each for TCP
and TLS or QUIC, transmission time, and the client's small tasks. Time without any of these reasons
is called unexplained.

Some causes cannot be seen by a client that makes its own requests:

| what happens | what shows instead, or who can see it |
|---|---|
| a SYN met a connection in TIME-WAIT | `syn-lost`; the server's counters, or a capture |
| a ClientHello of two segments is refused | the failure says so, and what to try; a smaller one (`-pq`) shows whether size is the reason |
| Encrypted ClientHello is refused | nothing: it is not offered |
| requests wait for a connection or a stream of another client's pool, or for one another over HTTP/1.1 | that client's own log; `compare --requests` shows what one after the other costs |
| a client fetches revocation lists or missing issuers during its handshake | nothing: they are not fetched; that client's captures |
| a token is fetched before each request, a proxy asks a third party for each | `auth-challenge` if the client is sent there; otherwise `server-think-time` |
| one of several workers is busy | `server-think-time` or `slow-tls-server` in some of many new connections (`-c 20`) |
| QUIC is slower than TCP with much data | `compare --strategies h2+tls1.3,h3`, and `perf` |
| round trips grow while a body flows | `path-varies` for small requests at the same time |
";

const SOURCES: &str = "
## Decidable from which sources

`probe` sees all of the above in its own exchanges. `trace` explains those of other clients, as far
as its source allows: it does not name what a capture at that place cannot show. Over QUIC, what
follows the first packets is readable only with keys. A capture in the middle is as good as one at
the server's end. The times in a log (HAR, NetLog, qlog, curl) decide none of these.

| cause | packets, client's end | packets, server's end | packets and keys, client's end | packets and keys, server's end |
|---|---|---|---|---|
";

/// Whether packets show a cause: captured at the client, captured at the server, and both with
/// keys.
const SOURCE_COLUMNS: [fn(Decidable) -> bool; 4] = [
    |of| matches!(of, Decidable::Packets | Decidable::ClientEnd),
    |of| of == Decidable::Packets,
    |of| of != Decidable::ClientItself,
    |of| matches!(of, Decidable::Packets | Decidable::Content),
];

/// The whole catalogue in Markdown.
pub fn page() -> String {
    let mut page = HEAD.to_owned();
    page.push_str(&sources());
    for family in FAMILIES {
        // Writing to a String cannot fail.
        let _ = write!(page, "\n## {}\n", family.title);
        for cause in family.causes {
            page.push_str(&entry(cause));
        }
    }
    page
}

/// What a recording of another client's exchange must contain to decide about each cause.
fn sources() -> String {
    let mut table = SOURCES.to_owned();
    for family in FAMILIES {
        for cause in family.causes {
            let marks = SOURCE_COLUMNS.map(|shows| if shows(cause.decidable) { "yes" } else { "" });
            let _ = writeln!(table, "| `{}` | {} |", cause.id, marks.join(" | "));
        }
    }
    table
}

fn entry(cause: &Cause) -> String {
    let mut text = format!("\n### `{}`\n\n{}.\n\n", cause.id, cause.name);
    let mut line = |label: &str, value: &str| {
        let _ = writeln!(text, "- {label}: {value}");
    };
    line("Shows", cause.shows);
    line("Decidable from", cause.decidable.title());
    line("Cost", cause.cost);
    line("Remedy", cause.remedy);
    for setting in cause.settings {
        line(setting.of, &format!("`{}`", setting.is));
    }
    line("Source", cause.source);
    text
}
