//! The head of an HTTP/1.x request: bytes → request and framing (RFC 9112). Ambiguous heads are
//! refused.

use std::mem::MaybeUninit;

use bytes::{Bytes, BytesMut};
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, Uri, Version, header};
use roundtrip_wire::http1::{self, Field, HeadError, Strictness};

use crate::request::OriginRequest;
use crate::serve::MAX_HEAD_BYTES;

const MAX_HEADERS: usize = 128;

#[derive(Debug)]
pub(super) struct H1RequestHead {
    pub(super) request: OriginRequest,
    pub(super) framing: BodyFraming,
    /// Whether the client lets the connection continue (RFC 9112, section 9.3).
    pub(super) persistent: bool,
}

/// How the request's body ends (RFC 9112, section 6.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BodyFraming {
    Length(u64),
    Chunked,
}

/// A head that is answered with an error status, after which the connection ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct BadHead(pub(super) StatusCode);

const BAD: BadHead = BadHead(StatusCode::BAD_REQUEST);

/// Takes one head from `input`, if it is complete. `scanned` remembers how much was already
/// searched.
pub(super) fn take(
    input: &mut BytesMut,
    scanned: &mut usize,
    secure: bool,
) -> Result<Option<H1RequestHead>, BadHead> {
    // A client may send empty lines before a request (RFC 9112, section 2.2).
    let blank = input.iter().take_while(|b| matches!(b, b'\r' | b'\n'));
    let blank = blank.count();
    let _ = input.split_to(blank);
    *scanned = scanned.saturating_sub(blank);

    let Some(end) = http1::end_of_head(input, *scanned) else {
        if input.len() >= MAX_HEAD_BYTES {
            return Err(BadHead(StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE));
        }
        *scanned = input.len().saturating_sub(3);
        return Ok(None);
    };
    *scanned = 0;
    if end > MAX_HEAD_BYTES {
        return Err(BadHead(StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE));
    }
    parse(&input.split_to(end).freeze(), secure).map(Some)
}

fn parse(bytes: &Bytes, secure: bool) -> Result<H1RequestHead, BadHead> {
    let mut room = [const { MaybeUninit::uninit() }; MAX_HEADERS];
    let parsed = match http1::request(bytes, &mut room, Strictness::Tolerant) {
        Ok(Some(parsed)) => parsed,
        Err(HeadError::TooManyFields) => {
            return Err(BadHead(StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE));
        }
        Err(HeadError::Version) => {
            return Err(BadHead(StatusCode::HTTP_VERSION_NOT_SUPPORTED));
        }
        Ok(None) | Err(_) => return Err(BAD),
    };
    let version = if parsed.is_http10 {
        Version::HTTP_10
    } else {
        Version::HTTP_11
    };
    let headers = headers(bytes, parsed.fields)?;
    let host_lines = headers.get_all(header::HOST).iter().count();
    // RFC 9112, section 3.2.
    if host_lines > 1 || (host_lines == 0 && version == Version::HTTP_11) {
        return Err(BAD);
    }
    let target = parsed.target.as_bytes();
    Ok(H1RequestHead {
        framing: framing(&headers, version)?,
        persistent: persistent(&headers, version),
        request: OriginRequest {
            method: Method::from_bytes(parsed.method.as_bytes()).map_err(|_| BAD)?,
            uri: Uri::from_maybe_shared(bytes.slice_ref(target)).map_err(|_| BAD)?,
            version,
            headers,
            secure,
            early: false,
        },
    })
}

/// Converts names and values; values are not copied.
fn headers(bytes: &Bytes, fields: &[Field<'_>]) -> Result<HeaderMap, BadHead> {
    let mut headers = HeaderMap::with_capacity(fields.len());
    for line in fields {
        let name = HeaderName::from_bytes(line.name.as_bytes()).map_err(|_| BAD)?;
        // An empty value may be an empty slice outside `bytes`.
        let value = if line.value.is_empty() {
            Bytes::new()
        } else {
            bytes.slice_ref(line.value)
        };
        let value = HeaderValue::from_maybe_shared(value).map_err(|_| BAD)?;
        headers.append(name, value);
    }
    Ok(headers)
}

/// How the body is framed. RFC 9112, section 6.3. Both framings at once are an error, because
/// request smuggling uses requests that can be read in two ways.
fn framing(headers: &HeaderMap, version: Version) -> Result<BodyFraming, BadHead> {
    let mut lengths = headers.get_all(header::CONTENT_LENGTH).iter();
    let mut codings = headers.get_all(header::TRANSFER_ENCODING).iter();
    if let Some(coding) = codings.next() {
        if lengths.next().is_some() || codings.next().is_some() || version == Version::HTTP_10 {
            return Err(BAD);
        }
        return if coding.as_bytes().eq_ignore_ascii_case(b"chunked") {
            Ok(BodyFraming::Chunked)
        } else {
            Err(BadHead(StatusCode::NOT_IMPLEMENTED))
        };
    }
    let Some(length) = lengths.next() else {
        return Ok(BodyFraming::Length(0));
    };
    if lengths.any(|other| other != length) {
        return Err(BAD);
    }
    let digits = length.to_str().map_err(|_| BAD)?;
    if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
        return Err(BAD);
    }
    digits.parse().map(BodyFraming::Length).map_err(|_| BAD)
}

fn persistent(headers: &HeaderMap, version: Version) -> bool {
    let says = |word: &str| {
        headers
            .get_all(header::CONNECTION)
            .iter()
            .filter_map(|line| line.to_str().ok())
            .flat_map(|line| line.split(','))
            .any(|option| option.trim().eq_ignore_ascii_case(word))
    };
    !says("close") && (version == Version::HTTP_11 || says("keep-alive"))
}

#[cfg(test)]
mod tests;
