//! Selected fields, one line each, for scripts.

use super::LookupResult;
use super::column::{Column, SEPARATOR};
use super::subject::Subject;

/// The lines in the requested order; a missing value gives an empty line, so that scripts can count
/// lines.
pub(super) fn lines(told: &LookupResult<'_>, columns: &[Column]) -> String {
    let mut text = String::new();
    for subject in Subject::all(told) {
        for column in columns {
            text.push_str(&roundtrip_report::clean(
                &column.values(subject).join(SEPARATOR),
            ));
            text.push('\n');
        }
    }
    text
}
