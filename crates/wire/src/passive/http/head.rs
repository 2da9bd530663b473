//! The stored parts of a head: enough to show the request and the answer, and their size.

use crate::server_timing::{self, Metric};
use crate::text::printable;

/// The largest size of each stored text, in bytes.
const MAX_TEXT: usize = 4096;
/// The number of lines that are kept as they are.
const MAX_LINES: usize = 100;

#[derive(Debug, Clone, PartialEq, Default)]
pub struct RequestFacts {
    pub method: String,
    /// The authority in the target, or in the Host field. Empty if neither is known.
    pub authority: String,
    /// The path with the query; or `*`, or the target of CONNECT.
    pub path: String,
    /// The size of the head in bytes, as sent.
    pub size: usize,
    /// The number of field lines, without pseudo-header fields.
    pub fields: usize,
    pub content_length: Option<u64>,
    pub referer: Option<String>,
    /// Whether the request asks for an answer before it sends content.
    pub expects_continue: bool,
}

#[derive(Debug, Clone, PartialEq, Default)]
pub struct ResponseFacts {
    /// The status; 0 if it is unknown.
    pub status: u16,
    /// The size of the head in bytes, as sent.
    pub size: usize,
    pub fields: usize,
    pub content_length: Option<u64>,
    pub content_type: Option<String>,
    pub content_encoding: Option<String>,
    pub location: Option<String>,
    /// The age in seconds.
    pub age: Option<u64>,
    pub server_timing: Vec<Metric>,
    /// All field lines except pseudo-header fields, up to a limit.
    pub lines: Vec<(String, Vec<u8>)>,
}

impl RequestFacts {
    pub(super) fn read<'a>(
        size: usize,
        lines: impl IntoIterator<Item = (&'a [u8], &'a [u8])>,
    ) -> Self {
        let mut facts = Self {
            size,
            ..Self::default()
        };
        for (name, value) in lines {
            facts.fields += usize::from(!name.starts_with(b":"));
            match name.to_ascii_lowercase().as_slice() {
                b":method" => facts.method = text(value),
                b":authority" => facts.authority = text(value),
                b":path" => facts.path = text(value),
                b"host" if facts.authority.is_empty() => facts.authority = text(value),
                b"content-length" => facts.content_length = number(value),
                b"referer" => facts.referer = Some(text(value)),
                b"expect" => facts.expects_continue = value.eq_ignore_ascii_case(b"100-continue"),
                _ => {}
            }
        }
        facts
    }
}

impl ResponseFacts {
    pub(super) fn read<'a>(
        size: usize,
        lines: impl IntoIterator<Item = (&'a [u8], &'a [u8])>,
    ) -> Self {
        let mut facts = Self {
            size,
            ..Self::default()
        };
        for (name, value) in lines {
            if !name.starts_with(b":") {
                facts.fields += 1;
                if facts.lines.len() < MAX_LINES {
                    let kept = value.get(..MAX_TEXT).unwrap_or(value);
                    facts.lines.push((text(name), kept.to_vec()));
                }
            }
            match name.to_ascii_lowercase().as_slice() {
                b":status" => facts.status = number(value).unwrap_or(0).min(999) as u16,
                b"content-length" => facts.content_length = number(value),
                b"content-type" => facts.content_type = Some(text(value)),
                b"content-encoding" => facts.content_encoding = Some(text(value)),
                b"location" => facts.location = Some(text(value)),
                b"age" => facts.age = number(value),
                b"server-timing" => {
                    let value = value.get(..MAX_TEXT).unwrap_or(value);
                    facts.server_timing.extend(server_timing::parse(value));
                }
                _ => {}
            }
        }
        facts
    }
}

fn text(value: &[u8]) -> String {
    printable(value.get(..MAX_TEXT).unwrap_or(value))
}

pub(super) fn number(value: &[u8]) -> Option<u64> {
    std::str::from_utf8(value.trim_ascii()).ok()?.parse().ok()
}
