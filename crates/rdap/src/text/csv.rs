//! Rows of selected columns (RFC 4180), safe to open in a spreadsheet.

use super::LookupResult;
use super::column::{Column, SEPARATOR};
use super::subject::Subject;

/// The first row: the columns' names.
pub fn header(columns: &[Column]) -> String {
    row(columns.iter().map(Column::name))
}

/// One row for each result of a search, and one for any other answer.
pub(super) fn rows(told: &LookupResult<'_>, columns: &[Column]) -> String {
    Subject::all(told)
        .into_iter()
        .map(|subject| row(columns.iter().map(|c| c.values(subject).join(SEPARATOR))))
        .collect()
}

/// Ends with CRLF, as RFC 4180, section 2 requires.
fn row(cells: impl Iterator<Item = String>) -> String {
    let cells: Vec<String> = cells.map(|c| cell(&c)).collect();
    cells.join(",") + "\r\n"
}

fn cell(text: &str) -> String {
    let text = guarded(text);
    if text.contains(['"', ',', '\r', '\n']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text
    }
}

/// Spreadsheets execute cells that begin like a formula; a leading apostrophe makes them text.
/// Numbers and telephone numbers are harmless and stay. Line breaks and other control characters
/// are made visible.
fn guarded(text: &str) -> String {
    let text = roundtrip_report::clean(text);
    let numeric = || {
        text.chars()
            .all(|c| c.is_ascii_digit() || "+-. ".contains(c))
    };
    match text.chars().next() {
        Some('=' | '+' | '-' | '@' | '＝' | '＋' | '－' | '＠') if !numeric() => {
            format!("'{text}")
        }
        _ => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_quoted_and_cannot_be_formulas() {
        for (text, expected) in [
            ("plain", "plain"),
            ("a,b", "\"a,b\""),
            ("say \"hi\"", "\"say \"\"hi\"\"\""),
            ("=1+1", "'=1+1"),
            ("@sum(a1)", "'@sum(a1)"),
            ("-cmd|' /c calc'!a0", "'-cmd|' /c calc'!a0"),
            ("+1.5555551212", "+1.5555551212"),
            ("-5", "-5"),
            ("a\r\nb", "a\\u{d}\\u{a}b"),
            ("\t=1", "\\u{9}=1"),
            ("", ""),
        ] {
            assert_eq!(cell(text), expected, "{text:?}");
        }
    }
}
