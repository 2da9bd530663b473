//! Reads the frames of a request or a response, by the rules of RFC 9114 §4.1.

use std::ops::Range;

use super::frame::{
    CANCEL_PUSH, DATA, FrameHead, GOAWAY, HEADERS, MAX_PUSH_ID, PUSH_PRIORITY, PUSH_PROMISE,
    REQUEST_PRIORITY, SETTINGS, unexpected,
};
use super::{Code, ProtocolError};
use crate::message::{
    MalformedError, Pair, check_request, check_response, check_trailers, content_length,
};
use crate::qpack::{Section, SectionBounds, SectionError, read_section};
use crate::quic::Side;

/// The largest number of field lines that cookies may be split into. RFC 9114 §4.2.1.
const MAX_COOKIE_PIECES: usize = 1024;
/// The largest number of bytes of frames of unknown types in one message, and of frames without
/// content.
const MAX_IGNORED: u64 = 64 << 10;

/// The largest field section that a message may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SectionLimits {
    /// The number of fields. All cookies together count as one. RFC 9114 §4.2.1.
    pub fields: usize,
    /// The size as RFC 9114 §4.2.2 counts it.
    pub size: usize,
}

/// Why the rest of a message cannot be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum MessageError {
    #[error("a malformed message: {0}")]
    Malformed(#[from] MalformedError),
    #[error("too many fields")]
    TooManyFields,
    #[error("a field section that is too large")]
    TooLarge,
    #[error("too much in frames of unknown types, or too many empty ones")]
    TooMuchIgnored,
    #[error("a request without a head")]
    Incomplete,
    #[error(transparent)]
    Protocol(#[from] ProtocolError),
}

/// The next part of a message.
#[derive(Debug, PartialEq, Eq)]
pub enum Part {
    /// The head of a request, or of an interim or the final response.
    Head(Section),
    /// Content, as its position in the bytes that were given.
    Data(Range<usize>),
    Trailers(Section),
}

/// Follows the frames on the stream of one message. Field sections are returned once they are
/// complete and checked, content as it comes.
#[derive(Debug)]
pub struct MessageReader {
    limits: SectionLimits,
    sender: Side,
    /// The incomplete beginning of a frame's head, or of a section.
    held: Vec<u8>,
    frame: Frame,
    stage: Stage,
    /// The rest of the content, if the head announces its length.
    announced: Option<u64>,
    /// Bytes of frames that were ignored.
    ignored: u64,
}

/// The frame that is being read, with the length of its rest, or of a whole section.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Frame {
    Head,
    Section(usize),
    Data(u64),
    Ignored(u64),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    Head,
    Body,
    Over,
}

impl MessageError {
    /// Whether the message is well-formed, but beyond one of our limits. Then a request can be
    /// answered.
    pub fn is_limit(self) -> bool {
        matches!(self, Self::TooManyFields | Self::TooLarge)
    }

    /// The code that ends the stream, or the connection for a [`ProtocolError`].
    pub fn code(self) -> Code {
        match self {
            Self::Malformed(_) => Code::H3_MESSAGE_ERROR,
            Self::TooManyFields | Self::TooLarge | Self::TooMuchIgnored => Code::H3_EXCESSIVE_LOAD,
            Self::Incomplete => Code::H3_REQUEST_INCOMPLETE,
            Self::Protocol(error) => error.code,
        }
    }
}

impl MessageReader {
    pub fn new(sender: Side, limits: SectionLimits) -> Self {
        Self {
            limits,
            sender,
            held: Vec::new(),
            frame: Frame::Head,
            stage: Stage::Head,
            announced: None,
            ignored: 0,
        }
    }

    /// Looks at the next bytes of the stream, and returns how many must have arrived before any are
    /// taken, and how many may be taken then. A field section is taken only as a whole: until it is
    /// complete, its bytes count against the limits of the transport.
    pub fn wanted(&self, bytes: &[u8]) -> (usize, usize) {
        let mut seen = match self.frame {
            Frame::Section(length) => {
                return (length.saturating_sub(self.held.len()).max(1), usize::MAX);
            }
            Frame::Head if !self.held.is_empty() => return (1, usize::MAX),
            Frame::Head => 0,
            Frame::Data(left) | Frame::Ignored(left) => left,
        };
        while let Some(rest) = usize::try_from(seen)
            .ok()
            .and_then(|seen| bytes.get(seen..))
            && let Some((head, size)) = FrameHead::read(rest)
        {
            let frame = (size as u64).saturating_add(head.length);
            let is_section = head.kind == HEADERS && head.length <= self.limits.size as u64;
            if is_section && (rest.len() as u64) < frame {
                return match seen {
                    0 => (frame as usize, usize::MAX),
                    seen => (1, seen as usize),
                };
            }
            seen = seen.saturating_add(frame);
        }
        (1, usize::MAX)
    }

    /// Takes bytes up to the end of the next part, and returns their number. If it returns no part,
    /// it has taken all bytes.
    pub fn read(&mut self, bytes: &[u8]) -> Result<(usize, Option<Part>), MessageError> {
        let mut seen = 0;
        loop {
            let rest = bytes.get(seen..).unwrap_or_default();
            if rest.is_empty() {
                return Ok((seen, None));
            }
            match self.frame {
                Frame::Head => seen += self.read_head(rest)?,
                Frame::Section(length) => {
                    let (taken, section) = self.read_section(rest, length)?;
                    seen += taken;
                    if let Some(part) = section {
                        return Ok((seen, Some(part)));
                    }
                }
                Frame::Data(left) => {
                    let part = left.min(rest.len() as u64);
                    self.frame = match left - part {
                        0 => Frame::Head,
                        left => Frame::Data(left),
                    };
                    let end = seen + part as usize;
                    return Ok((end, Some(Part::Data(seen..end))));
                }
                Frame::Ignored(left) => {
                    let part = left.min(rest.len() as u64);
                    self.frame = match left - part {
                        0 => Frame::Head,
                        left => Frame::Ignored(left),
                    };
                    seen += part as usize;
                }
            }
        }
    }

    /// The stream has ended in order.
    pub fn end(&self) -> Result<(), MessageError> {
        if self.frame != Frame::Head || !self.held.is_empty() {
            let why = "a frame that is cut off by the end of its stream";
            let code = Code::H3_FRAME_ERROR;
            return Err(ProtocolError { code, why }.into());
        }
        match (self.stage, self.sender, self.announced) {
            (Stage::Head, Side::Client, _) => Err(MessageError::Incomplete),
            (Stage::Head, Side::Server, _) => Err(MalformedError::Status.into()),
            // The length of a response depends on the request: RFC 9114 §4.1.2.
            (_, Side::Client, Some(1..)) => Err(MalformedError::Length.into()),
            _ => Ok(()),
        }
    }

    fn read_head(&mut self, rest: &[u8]) -> Result<usize, MessageError> {
        if self.held.is_empty()
            && let Some((head, size)) = FrameHead::read(rest)
        {
            self.begin(head)?;
            return Ok(size);
        }
        for (at, byte) in rest.iter().enumerate().take(FrameHead::MAX_SIZE) {
            self.held.push(*byte);
            if let Some((head, _)) = FrameHead::read(&self.held) {
                self.held.clear();
                self.begin(head)?;
                return Ok(at + 1);
            }
        }
        Ok(rest.len())
    }

    fn begin(&mut self, head: FrameHead) -> Result<(), MessageError> {
        self.frame = match (head.kind, self.stage) {
            (HEADERS | DATA, Stage::Over) => {
                return Err(unexpected("a frame after the trailers").into());
            }
            (DATA, Stage::Head) => return Err(unexpected("content before a head").into()),
            (DATA, Stage::Body) => {
                if let Some(left) = &mut self.announced {
                    let rest = left.checked_sub(head.length);
                    *left = rest.ok_or(MalformedError::Length)?;
                }
                match head.length {
                    0 => self.ignore(0)?,
                    length => Frame::Data(length),
                }
            }
            (HEADERS, _) => {
                // A decoded section is longer than its encoding, so a longer encoding need not be
                // gathered.
                let length = usize::try_from(head.length).ok();
                let length = length.filter(|length| *length <= self.limits.size);
                let length = length.ok_or(MessageError::TooLarge)?;
                if length == 0 {
                    return Err(decompression_failed().into());
                }
                Frame::Section(length)
            }
            (PUSH_PROMISE, _) if self.sender == Side::Server => {
                // No push was permitted. RFC 9114 §7.2.5.
                let why = "a push that was not permitted";
                let code = Code::H3_ID_ERROR;
                return Err(ProtocolError { code, why }.into());
            }
            (
                PUSH_PROMISE | SETTINGS | GOAWAY | MAX_PUSH_ID | CANCEL_PUSH | REQUEST_PRIORITY
                | PUSH_PRIORITY,
                _,
            ) => {
                return Err(unexpected("a frame for other streams").into());
            }
            _ if head.is_reserved() => return Err(unexpected("a frame type of HTTP/2").into()),
            _ => self.ignore(head.length)?,
        };
        Ok(())
    }

    /// Counts a frame of an unknown type, which is ignored.
    fn ignore(&mut self, length: u64) -> Result<Frame, MessageError> {
        // Two bytes are added for the head, because an empty frame costs work as well.
        self.ignored = self.ignored.saturating_add(length).saturating_add(2);
        if self.ignored > MAX_IGNORED {
            return Err(MessageError::TooMuchIgnored);
        }
        Ok(match length {
            0 => Frame::Head,
            length => Frame::Ignored(length),
        })
    }

    /// Returns how much it took, and the section once it is complete.
    fn read_section(
        &mut self,
        rest: &[u8],
        length: usize,
    ) -> Result<(usize, Option<Part>), MessageError> {
        if self.held.is_empty()
            && let Some(section) = rest.get(..length)
        {
            self.frame = Frame::Head;
            return Ok((length, Some(self.judge(section)?)));
        }
        let taken = rest.len().min(length - self.held.len());
        self.held.extend(rest.iter().take(taken));
        if self.held.len() < length {
            return Ok((taken, None));
        }
        self.frame = Frame::Head;
        let section = std::mem::take(&mut self.held);
        Ok((taken, Some(self.judge(&section)?)))
    }

    fn judge(&mut self, bytes: &[u8]) -> Result<Part, MessageError> {
        let bounds = SectionBounds {
            lines: self.limits.fields.saturating_add(MAX_COOKIE_PIECES),
            size: self.limits.size,
        };
        let section = read_section(bytes, bounds)?;
        if count(section.lines()) > self.limits.fields {
            return Err(MessageError::TooManyFields);
        }
        if self.stage != Stage::Head {
            check_trailers(section.lines())?;
            self.stage = Stage::Over;
            return Ok(Part::Trailers(section));
        }
        let is_final = match self.sender {
            Side::Client => check_request(section.lines()).map(|()| true)?,
            Side::Server => check_response(section.lines())? >= 200,
        };
        if is_final {
            self.stage = Stage::Body;
            self.announced = match (self.sender, content_length(section.lines())) {
                // A client does not forward what it reads.
                (Side::Server, announced) => announced.ok().flatten(),
                (Side::Client, announced) => announced?,
            };
        }
        Ok(Part::Head(section))
    }
}

/// The number of fields, without pseudo-header fields.
fn count<'a>(lines: impl Iterator<Item = Pair<'a>>) -> usize {
    let (mut fields, mut cookies) = (0, false);
    for (name, _) in lines {
        match name {
            b"cookie" => cookies = true,
            name if name.starts_with(b":") => {}
            _ => fields += 1,
        }
    }
    fields + usize::from(cookies)
}

fn decompression_failed() -> ProtocolError {
    ProtocolError {
        code: Code::QPACK_DECOMPRESSION_FAILED,
        why: "a field section that cannot be decoded",
    }
}

impl From<SectionError> for MessageError {
    fn from(error: SectionError) -> Self {
        match error {
            SectionError::Encoding(_) => decompression_failed().into(),
            SectionError::TooManyLines => Self::TooManyFields,
            SectionError::TooLarge => Self::TooLarge,
        }
    }
}
