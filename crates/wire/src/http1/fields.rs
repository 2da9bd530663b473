//! Writes fields as lines of a head.

use std::ops::Range;

use super::Field;

/// Writes the lines of fields. Most fields of a message are passed on as they came, so those that
/// follow one another in `source` (the bytes from which they were read) are copied together.
pub fn write_fields<'f>(
    fields: impl Iterator<Item = &'f Field<'f>>,
    source: &[u8],
    out: &mut Vec<u8>,
) {
    let mut run = 0..0;
    fields.for_each(|field| match line_in(source, field) {
        Some(line) if line.start == run.end => run.end = line.end,
        Some(line) => {
            let before = std::mem::replace(&mut run, line);
            out.extend_from_slice(source.get(before).unwrap_or_default());
        }
        None => {
            let before = std::mem::replace(&mut run, 0..0);
            out.extend_from_slice(source.get(before).unwrap_or_default());
            write_field(field.name.as_bytes(), field.value, out);
        }
    });
    out.extend_from_slice(source.get(run).unwrap_or_default());
}

/// Writes the line of one field.
pub fn write_field(name: &[u8], value: &[u8], out: &mut Vec<u8>) {
    out.extend_from_slice(name);
    out.extend_from_slice(b": ");
    out.extend_from_slice(value);
    out.extend_from_slice(b"\r\n");
}

/// Where the field's line is in `source`, if it is written there exactly as [`write_field`] would.
fn line_in(source: &[u8], field: &Field<'_>) -> Option<Range<usize>> {
    let start = field
        .name
        .as_ptr()
        .addr()
        .checked_sub(source.as_ptr().addr())?;
    let value = field
        .value
        .as_ptr()
        .addr()
        .checked_sub(source.as_ptr().addr())?;
    let end = value.checked_add(field.value.len() + 2)?;
    let is_as_written = value == start + field.name.len() + 2
        && source.get(value - 2..value)? == b": "
        && source.get(end - 2..end)? == b"\r\n";
    is_as_written.then_some(start..end)
}

#[cfg(test)]
mod tests {
    use std::mem::MaybeUninit;

    use super::*;
    use crate::http1::{Strictness, response};

    /// The fields of a head that `passes` lets through, with and without their source.
    fn written(head: &str, passes: impl Fn(&str) -> bool) -> [String; 2] {
        let mut room = [MaybeUninit::uninit(); 16];
        let bytes = head.as_bytes();
        let read = response(bytes, &mut room, Strictness::Tolerant);
        let fields = read.unwrap().unwrap().fields;
        [bytes, &[]].map(|source| {
            let mut out = Vec::new();
            let kept = fields.iter().filter(|field| passes(field.name));
            write_fields(kept, source, &mut out);
            String::from_utf8(out).unwrap()
        })
    }

    #[test]
    fn lines_are_the_same_however_they_are_copied() {
        let head = "HTTP/1.1 200 OK\r\nA: 1\r\nB:2\r\nC:   3  \r\nD: 4\nE: 5\r\nF:\r\nG:\t7\r\n\
                    H: 8\r\nI: 9\r\n\r\nJ: 10\r\n";
        for removed in ["", "A", "B", "D", "E", "I", "HI", "AH", "ABCDEFGHI"] {
            let [copied, one_by_one] = written(head, |name| !removed.contains(name));
            assert_eq!(copied, one_by_one, "{removed}");
            assert!(!copied.contains('J'), "{copied}");
        }
        let [all, _] = written(head, |_| true);
        let expected = "A: 1\r\nB: 2\r\nC: 3\r\nD: 4\r\nE: 5\r\nF: \r\nG: 7\r\nH: 8\r\nI: 9\r\n";
        assert_eq!(all, expected);
    }

    #[test]
    fn fields_from_elsewhere_are_written() {
        let others = [("X", "1"), ("Y", "")].map(|(name, value)| Field {
            name,
            value: value.as_bytes(),
        });
        let mut out = Vec::new();
        write_fields(others.iter(), b"X: 1\r\n", &mut out);
        assert_eq!(out, b"X: 1\r\nY: \r\n");
    }
}
