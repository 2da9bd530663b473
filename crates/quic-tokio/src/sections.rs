//! Checks the field sections of a request before `h3` makes a map of them. A map merges fields that
//! must not come twice, and forgets their order. RFC 9114 §4.1.

use bytes::{Bytes, BytesMut};
use h3::error::Code;
use roundtrip_wire::message::{MalformedError, Pair, check_request, check_trailers};
use roundtrip_wire::qpack::{SectionBounds, SectionError, read_section};

const DATA: u64 = 0;
const HEADERS: u64 = 1;
/// The most field lines that cookies may come in. RFC 9114 §4.2.1.
const MAX_COOKIE_PIECES: usize = 1024;
/// A HEADERS frame without fields, passed on in place of a refused head. `h3` refuses it as a
/// malformed request by itself, and counts the stream as ended.
const EMPTY: &[u8] = &[1, 2, 0, 0];

/// The largest field section that a request may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SectionLimits {
    /// The number of fields. All cookies together are one. RFC 9114 §4.2.1.
    pub fields: usize,
    /// The size as RFC 9114 §4.2.2 counts it.
    pub size: usize,
}

/// Why a request is not passed on to `h3`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum RequestError {
    #[error("a malformed request: {0}")]
    Malformed(#[from] MalformedError),
    #[error("too many fields")]
    TooManyFields,
    #[error("a field section that is too large")]
    TooLarge,
    #[error("a field section that cannot be decoded")]
    Encoding,
    #[error("a frame behind the trailers")]
    FrameBehindTrailers,
}

impl RequestError {
    /// Is the request well-formed, but beyond a limit? Then it can be answered with a status.
    pub fn can_be_answered(self) -> bool {
        matches!(self, Self::TooManyFields | Self::TooLarge)
    }

    /// The error code that ends the whole connection, for errors that do.
    pub(crate) fn connection_code(self) -> Option<u64> {
        match self {
            Self::Encoding => Some(Code::QPACK_DECOMPRESSION_FAILED.value()),
            Self::FrameBehindTrailers => Some(Code::H3_FRAME_UNEXPECTED.value()),
            Self::Malformed(_) | Self::TooManyFields | Self::TooLarge => None,
        }
    }
}

/// Follows the frames of a request stream, and holds each HEADERS frame back until it is whole and
/// valid.
#[derive(Debug)]
pub(crate) struct Sections {
    limits: SectionLimits,
    /// The beginning of a section or of a frame's head, whose rest is still to come.
    held: BytesMut,
    /// The bytes still to come of a frame that is passed on as it comes.
    passing: u64,
    stage: Stage,
    refused: Option<RequestError>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    Head,
    Body,
    Over,
}

impl Sections {
    pub(crate) fn new(limits: SectionLimits) -> Self {
        Self {
            limits,
            held: BytesMut::new(),
            passing: 0,
            stage: Stage::Head,
            refused: None,
        }
    }

    /// Why nothing is passed on any more, if nothing is.
    pub(crate) fn refused(&self) -> Option<RequestError> {
        self.refused
    }

    /// The same, for errors that concern more than the trailers.
    pub(crate) fn refused_at_once(&self) -> Option<RequestError> {
        let at_head = self.stage == Stage::Head;
        self.refused
            .filter(|error| at_head || error.connection_code().is_some())
    }

    /// Takes the next bytes of the stream, and returns those that may be passed on by now.
    pub(crate) fn take(&mut self, bytes: Bytes) -> Bytes {
        if self.held.is_empty() && bytes.len() as u64 <= self.passing {
            self.passing -= bytes.len() as u64;
            return bytes;
        }
        if self.held.is_empty() {
            self.held = BytesMut::from(bytes);
        } else {
            self.held.extend_from_slice(&bytes);
        }
        let mut seen = 0;
        loop {
            match self.step(seen) {
                Ok(Some(next)) => seen = next,
                Ok(None) => break,
                Err(error) => {
                    self.refused = Some(error);
                    break;
                }
            }
        }
        if self.refused.is_some() && self.stage == Stage::Head {
            self.held.truncate(seen);
            self.held.extend_from_slice(EMPTY);
            seen += EMPTY.len();
        }
        self.held.split_to(seen).freeze()
    }

    /// At the end of the stream: the beginning of a frame that is not whole.
    pub(crate) fn rest(&mut self) -> Bytes {
        std::mem::take(&mut self.held).freeze()
    }

    /// Goes from offset `seen` to a later one, up to which everything may be passed on. `None`
    /// until more has come.
    fn step(&mut self, seen: usize) -> Result<Option<usize>, RequestError> {
        let rest = self.held.get(seen..).unwrap_or_default();
        if self.passing > 0 {
            let part = self.passing.min(rest.len() as u64);
            self.passing -= part;
            return Ok((part > 0).then_some(seen + part as usize));
        }
        let Some((kind, length, head)) = frame_head(rest) else {
            return Ok(None);
        };
        if matches!(kind, DATA | HEADERS) && self.stage == Stage::Over {
            return Err(RequestError::FrameBehindTrailers);
        }
        if kind != HEADERS {
            self.passing = length;
            return Ok(Some(seen + head));
        }
        // A decoded section is longer than its encoding, so a longer encoding need not be gathered.
        let end = usize::try_from(length)
            .ok()
            .filter(|l| *l <= self.limits.size);
        let end = end.ok_or(RequestError::TooLarge)? + head;
        let Some(section) = rest.get(head..end) else {
            return Ok(None);
        };
        check(section, self.stage, self.limits)?;
        self.stage = match self.stage {
            Stage::Head => Stage::Body,
            Stage::Body | Stage::Over => Stage::Over,
        };
        Ok(Some(seen + end))
    }
}

/// A frame's type, its length, and the length of both together.
fn frame_head(bytes: &[u8]) -> Option<(u64, u64, usize)> {
    let (kind, first) = varint(bytes)?;
    let (length, second) = varint(bytes.get(first..)?)?;
    Some((kind, length, first + second))
}

/// RFC 9000 §16.
fn varint(bytes: &[u8]) -> Option<(u64, usize)> {
    let first = *bytes.first()?;
    let length = 1 << (first >> 6);
    let rest = bytes.get(1..length)?;
    let high = u64::from(first & 0x3f);
    let value = rest.iter().fold(high, |sum, b| sum << 8 | u64::from(*b));
    Some((value, length))
}

fn check(section: &[u8], stage: Stage, limits: SectionLimits) -> Result<(), RequestError> {
    let bounds = SectionBounds {
        lines: limits.fields.saturating_add(MAX_COOKIE_PIECES),
        size: limits.size,
    };
    let lines = read_section(section, bounds)?;
    let pairs = || lines.lines();
    if count(pairs()) > limits.fields {
        return Err(RequestError::TooManyFields);
    }
    match stage {
        Stage::Head => check_request(pairs())?,
        Stage::Body | Stage::Over => check_trailers(pairs())?,
    }
    Ok(())
}

/// The number of fields, without pseudo-header fields.
fn count<'a>(pairs: impl Iterator<Item = Pair<'a>>) -> usize {
    let (mut fields, mut cookies) = (0, false);
    for (name, _) in pairs {
        match name {
            b"cookie" => cookies = true,
            name if name.starts_with(b":") => {}
            _ => fields += 1,
        }
    }
    fields + usize::from(cookies)
}

impl From<SectionError> for RequestError {
    fn from(error: SectionError) -> Self {
        match error {
            SectionError::Encoding(_) => Self::Encoding,
            SectionError::TooManyLines => Self::TooManyFields,
            SectionError::TooLarge => Self::TooLarge,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: SectionLimits = SectionLimits {
        fields: 4,
        size: 1024,
    };
    /// `GET https://x/`, by the static table.
    const HEAD: &[u8] = &[1, 8, 0, 0, 0xd1, 0xd7, 0xc1, 0x50, 1, b'x'];
    const BODY: &[u8] = &[0, 3, b'a', b'b', b'c'];
    /// `age: 0`.
    const TRAILERS: &[u8] = &[1, 3, 0, 0, 0xc2];

    fn sections() -> Sections {
        Sections::new(LIMITS)
    }

    /// All that is passed on of a stream that comes in pieces of one length.
    fn pass(stream: &[u8], piece: usize) -> Result<Vec<u8>, (RequestError, Vec<u8>)> {
        let mut sections = sections();
        let mut passed = Vec::new();
        for bytes in stream.chunks(piece) {
            passed.extend_from_slice(&sections.take(Bytes::copy_from_slice(bytes)));
            if let Some(error) = sections.refused() {
                return Err((error, passed));
            }
        }
        assert!(sections.rest().is_empty());
        Ok(passed)
    }

    #[test]
    fn a_sound_stream_is_passed_on_however_it_comes() {
        let odd = [0x40, 0x21, 0x40, 2, 7, 7];
        let stream = [&odd, HEAD, BODY, &[0, 0], BODY, &odd, TRAILERS, &odd].concat();
        for piece in 1..=stream.len() {
            assert_eq!(pass(&stream, piece).unwrap(), stream, "{piece}");
        }
    }

    #[test]
    fn a_section_is_held_until_it_was_judged() {
        let mut sections = sections();
        let (begun, end) = HEAD.split_at(HEAD.len() - 1);
        assert!(sections.take(begun.to_vec().into()).is_empty());
        let whole = [end, BODY].concat();
        let passed = sections.take(whole.into());
        assert_eq!(passed, [HEAD, BODY].concat());
        // Of a body, nothing is.
        assert_eq!(sections.take(vec![0, 9, 1].into()), [0, 9, 1][..]);
        assert_eq!(sections.take(vec![1, 1].into()), [1, 1][..]);
        // Whoever reads the stream is to see that it breaks off.
        let mut sections = Sections::new(LIMITS);
        assert!(sections.take(begun.to_vec().into()).is_empty());
        assert_eq!(sections.rest(), begun);
    }

    #[test]
    fn malformed_and_misplaced_sections_are_not_passed_on() {
        let twice = [1, 4, 0, 0, 0xd1, 0xd1];
        let dynamic = [1, 3, 0, 0, 0x80];
        let many_in_head = [1, 7, 0, 0, 0xc2, 0xc2, 0xc2, 0xc2, 0xc2];
        let many = [HEAD, &[1, 7, 0, 0, 0xc2, 0xc2, 0xc2, 0xc2, 0xc2]].concat();
        let path = [HEAD, &[1, 3, 0, 0, 0xc1]].concat();
        let behind = [HEAD, TRAILERS, BODY].concat();
        let third = [HEAD, TRAILERS, TRAILERS].concat();
        let sound = HEAD.len();
        for (stream, error, passed) in [
            (&many_in_head[..], RequestError::TooManyFields, 0),
            (&twice, MalformedError::RepeatedPseudo.into(), 0),
            (&dynamic, RequestError::Encoding, 0),
            (&many, RequestError::TooManyFields, sound),
            (&path, MalformedError::PseudoInTrailers.into(), sound),
            (&behind, RequestError::FrameBehindTrailers, sound + 5),
            (&third, RequestError::FrameBehindTrailers, sound + 5),
        ] {
            for piece in 1..=stream.len() {
                let in_its_place = if passed == 0 { EMPTY } else { &[] };
                let expected = Err((error, [&stream[..passed], in_its_place].concat()));
                assert_eq!(pass(stream, piece), expected, "{piece}");
            }
        }
        let long = vec![b'y'; 1000];
        let line = [&[0, 0, 0x21, b'x', 0x7f, 0xe9, 0x06], long.as_slice()].concat();
        let frame = [&[1, 0x43, 0xef], line.as_slice()].concat();
        assert_eq!(
            pass(&frame, 64),
            Err((RequestError::TooLarge, EMPTY.to_vec()))
        );
    }

    #[test]
    fn pieces_of_cookies_are_one_field_and_bounded() {
        let cookies = |count: usize| {
            let lines = vec![0xc5; count];
            let section = [&HEAD[2..], lines.as_slice()].concat();
            let limits = SectionLimits {
                fields: 1,
                size: 1 << 20,
            };
            check(&section, Stage::Head, limits)
        };
        assert_eq!(cookies(100), Ok(()));
        assert_eq!(
            cookies(MAX_COOKIE_PIECES + 2),
            Err(RequestError::TooManyFields)
        );
    }
}
