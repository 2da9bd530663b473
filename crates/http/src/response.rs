//! The content of a response's head, as HTTP/2 and 3 deliver it.

use roundtrip_model::HttpFacts;

/// The largest size of a response's head in bytes, with all interim responses before it. (curl
/// allows 300 KiB.)
pub(crate) const MAX_HEAD_SIZE: usize = 256 * 1024;

/// The largest number of interim responses (1xx) before the final one.
pub(crate) const MAX_INTERIM: usize = 32;

/// Writes the head of a final response into the facts.
pub(crate) fn describe(parts: &http::response::Parts, version: &str, facts: &mut HttpFacts) {
    facts.version = version.into();
    facts.status = parts.status.as_u16();
    facts.keep_alive = true;
    facts.headers = fields(&parts.headers);
    facts.header_bytes += head_size(&parts.headers);
}

/// The fields of a section, in order.
pub(crate) fn fields(section: &http::HeaderMap) -> Vec<(String, Vec<u8>)> {
    section
        .iter()
        .map(|(n, v)| (n.as_str().to_owned(), v.as_bytes().to_vec()))
        .collect()
}

/// The size of the head as HTTP/1.1 would write it, which is what curl counts.
pub(crate) fn head_size(headers: &http::HeaderMap) -> u64 {
    let lines: usize = headers
        .iter()
        .map(|(n, v)| n.as_str().len() + v.len() + ": \r\n".len())
        .sum();
    ("HTTP/2 200 \r\n".len() + lines + "\r\n".len()) as u64
}

/// The value of `content-length`, if there is one.
pub(crate) fn expected_length(facts: &HttpFacts) -> Option<u64> {
    std::str::from_utf8(facts.header("content-length")?)
        .ok()?
        .trim()
        .parse()
        .ok()
}
