//! Where a finding's key is in the file.

use std::ops::Range;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::CheckReport;
use crate::config::line_and_column;

impl CheckReport {
    /// Adds the line and the column to each finding. A key that the file does not have is looked
    /// for in its table.
    pub fn locate(&mut self, text: &str) {
        let Ok(table) = DeTable::parse(text) else {
            return;
        };
        for finding in &mut self.findings {
            if let Some(span) = in_table(table.get_ref(), &finding.place) {
                let (line, column) = line_and_column(text, span.start);
                finding.line = Some(line);
                finding.column = Some(column);
            }
        }
    }
}

/// The position of the key that is nearest to `place`. Names of upstreams may contain dots, so the
/// longest key counts.
fn in_table(table: &DeTable<'_>, place: &str) -> Option<Range<usize>> {
    let rests = table.iter().filter_map(|(key, value)| {
        let rest = place.strip_prefix(&**key.get_ref())?;
        let ends = rest.is_empty() || rest.starts_with(['.', '[']);
        ends.then_some((rest, key, value))
    });
    let (rest, key, value) = rests.min_by_key(|(rest, ..)| rest.len())?;
    in_value(value, rest).or_else(|| Some(key.span()))
}

fn in_value(value: &Spanned<DeValue<'_>>, rest: &str) -> Option<Range<usize>> {
    match value.get_ref() {
        DeValue::Table(table) => in_table(table, rest.strip_prefix('.')?),
        DeValue::Array(list) => {
            let (number, rest) = rest.strip_prefix('[')?.split_once(']')?;
            let element = list.get(number.parse::<usize>().ok()?)?;
            in_value(element, rest).or_else(|| Some(element.span()))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = "\
[listen]
http = [\"127.0.0.1:1\",
  \"127.0.0.1:1\"]

[upstream.\"my.api\"]
servers = []
health = { path = \"x\", every = \"1s\" }

[upstream.my]
servers = [\"http://a\"]

[[route]]
path = \"/a\"

[[route]]
  path = \"b\"
";

    #[test]
    fn the_nearest_place_is_found() {
        for (place, expected) in [
            ("listen.http[1]", Some((3, 3))),
            ("listen.http", Some((2, 1))),
            ("listen.backlog", Some((1, 2))),
            ("upstream.my.api.servers", Some((6, 1))),
            ("upstream.my.api.health.path", Some((7, 12))),
            ("upstream.my.servers[0]", Some((10, 12))),
            ("upstream.my.connect", Some((9, 11))),
            ("route[1].path", Some((16, 3))),
            ("route[1].upstream", Some((15, 1))),
            ("route[0]", Some((12, 1))),
            ("limits.head", None),
        ] {
            let mut report = CheckReport::default();
            report.error(place, "");
            report.locate(FILE);
            let finding = &report.findings[0];
            let position = finding.line.zip(finding.column);
            assert_eq!(position, expected, "{place}");
        }
    }

    #[test]
    fn a_file_that_cannot_be_parsed_has_no_places() {
        let mut report = CheckReport::default();
        report.error("listen", "");
        report.locate("[listen");
        assert_eq!(report.findings[0].line, None);
    }
}
