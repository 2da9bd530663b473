//! Chosen fields, a line each: for scripts that want one thing.

use super::Told;
use super::column::{Column, SEPARATOR};
use super::subject::Subject;

/// In the order asked for; an empty line for what there is not, so that lines can be counted.
pub(super) fn lines(told: &Told<'_>, columns: &[Column]) -> String {
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
