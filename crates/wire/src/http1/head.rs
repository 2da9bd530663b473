//! Heads of requests and responses, read in place: `httparse` finds the parts, no byte is copied.
//! RFC 9112 §2 to §5.

#[cfg(test)]
mod tests;

use std::mem::MaybeUninit;

use httparse::{ParserConfig, Status};

use super::Strictness;

/// A field's name and value.
pub type Field<'a> = httparse::Header<'a>;

/// An empty field, to initialise the array for `room`.
pub const EMPTY_FIELD: Field<'static> = httparse::EMPTY_HEADER;

#[derive(Debug, Clone, Copy)]
pub struct RequestHead<'r, 'b> {
    pub method: &'b str,
    pub target: &'b str,
    pub is_http10: bool,
    pub fields: &'r [Field<'b>],
    /// The length of the head in bytes.
    pub length: usize,
}

#[derive(Debug, Clone, Copy)]
pub struct ResponseHead<'r, 'b> {
    pub status: u16,
    pub reason: &'b str,
    pub is_http10: bool,
    pub fields: &'r [Field<'b>],
    /// The length of the head in bytes.
    pub length: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum HeadError {
    #[error("this is not HTTP/1.0 or HTTP/1.1")]
    Version,
    #[error("the status code is malformed")]
    Status,
    #[error("there are too many fields")]
    TooManyFields,
    #[error("a line ends in LF without CR")]
    BareLineFeed,
    #[error("the head is malformed")]
    Malformed,
}

/// Reads a request's head from the front of `bytes`; `None` while more is needed. The length of
/// `room` limits the number of fields.
pub fn request<'r, 'b>(
    bytes: &'b [u8],
    room: &'r mut [MaybeUninit<Field<'b>>],
    strictness: Strictness,
) -> Result<Option<RequestHead<'r, 'b>>, HeadError> {
    let mut parsed = httparse::Request::new(&mut []);
    let config = ParserConfig::default();
    let status = config.parse_request_with_uninit_headers(&mut parsed, bytes, room);
    let Status::Complete(length) = status? else {
        return Ok(None);
    };
    check_lines(bytes, length, strictness)?;
    Ok(Some(RequestHead {
        method: parsed.method.unwrap_or_default(),
        target: parsed.path.unwrap_or_default(),
        is_http10: parsed.version == Some(0),
        fields: parsed.headers,
        length,
    }))
}

/// Like [`request`], for a response.
pub fn response<'r, 'b>(
    bytes: &'b [u8],
    room: &'r mut [MaybeUninit<Field<'b>>],
    strictness: Strictness,
) -> Result<Option<ResponseHead<'r, 'b>>, HeadError> {
    let mut parsed = httparse::Response::new(&mut []);
    let mut config = ParserConfig::default();
    if strictness == Strictness::AsCurl {
        config.allow_multiple_spaces_in_response_status_delimiters(true);
    }
    let status = config.parse_response_with_uninit_headers(&mut parsed, bytes, room);
    let Status::Complete(length) = status? else {
        return Ok(None);
    };
    check_lines(bytes, length, strictness)?;
    Ok(Some(ResponseHead {
        status: parsed.code.unwrap_or_default(),
        reason: parsed.reason.unwrap_or_default(),
        is_http10: parsed.version == Some(0),
        fields: parsed.headers,
        length,
    }))
}

/// Reads a section of trailers, with the empty line that ends it; `None` if that line is missing.
pub fn trailers<'r, 'b>(
    section: &'b [u8],
    room: &'r mut [Field<'b>],
) -> Result<Option<&'r [Field<'b>]>, HeadError> {
    match httparse::parse_headers(section, room)? {
        Status::Complete((_, fields)) => Ok(Some(fields)),
        Status::Partial => Ok(None),
    }
}

/// The end of a head: after the first empty line whose predecessor ends at or after `from`. That
/// line is empty whether lines end in LF or in CRLF.
pub fn end_of_head(bytes: &[u8], from: usize) -> Option<usize> {
    let tail = bytes.get(from..)?;
    memchr::memchr_iter(b'\n', tail).find_map(|at| match tail.get(at + 1..)? {
        [b'\n', ..] => Some(from + at + 2),
        [b'\r', b'\n', ..] => Some(from + at + 3),
        _ => None,
    })
}

/// Checks line ends: recipients that accept a bare LF and those that do not would see different
/// messages. RFC 9112 §2.2.
fn check_lines(bytes: &[u8], length: usize, strictness: Strictness) -> Result<(), HeadError> {
    let head = bytes.get(..length).unwrap_or_default();
    let is_bare = |at: usize| at == 0 || head.get(at - 1) != Some(&b'\r');
    if strictness == Strictness::Strict && memchr::memchr_iter(b'\n', head).any(is_bare) {
        return Err(HeadError::BareLineFeed);
    }
    Ok(())
}

impl From<httparse::Error> for HeadError {
    fn from(error: httparse::Error) -> Self {
        match error {
            httparse::Error::Version => Self::Version,
            httparse::Error::Status => Self::Status,
            httparse::Error::TooManyHeaders => Self::TooManyFields,
            _ => Self::Malformed,
        }
    }
}
