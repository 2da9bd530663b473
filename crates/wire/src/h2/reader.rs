//! Splits the client's bytes into frames. Payloads of DATA are passed on as they come; other frames
//! are gathered until they are complete.

use std::borrow::Cow;

use super::code::{Code, ConnectionError};
use super::frame::{
    ACK, CONTINUATION, DATA, END_HEADERS, END_STREAM, Frame, FrameHead, GOAWAY, HEAD, HEADERS,
    MAX_PAYLOAD, PADDED, PING, PREFACE, PRIORITY, PUSH_PROMISE, RST_STREAM, SETTINGS,
    WINDOW_UPDATE, WITH_PRIORITY,
};

type Result<T> = std::result::Result<T, ConnectionError>;

/// More CONTINUATION frames than the largest block needs.
const EXTRA_CONTINUATIONS: usize = 4;

#[derive(Debug)]
pub(super) struct FrameReader {
    /// The part of the preface that is still expected.
    preface: &'static [u8],
    /// An incomplete frame.
    held: Vec<u8>,
    /// `held` was returned as a frame, and can be cleared.
    is_returned: bool,
    data: Option<DataFrame>,
    block: Option<HeaderBlock>,
    /// The largest header block in bytes.
    max_block: usize,
}

/// The rest of a DATA frame that has no padding.
#[derive(Debug, Clone, Copy)]
struct DataFrame {
    stream: u32,
    left: usize,
    end_stream: bool,
}

/// A header block that CONTINUATION frames continue.
#[derive(Debug)]
struct HeaderBlock {
    stream: u32,
    bytes: Vec<u8>,
    continuations: usize,
    end_stream: bool,
    depends_on_itself: bool,
}

impl FrameReader {
    pub(super) fn new(max_block: usize) -> Self {
        Self {
            preface: PREFACE,
            held: Vec::new(),
            is_returned: false,
            data: None,
            block: None,
            max_block,
        }
    }

    /// Frees what an idle connection does not need.
    pub(super) fn shrink(&mut self) {
        if self.is_returned || self.held.is_empty() {
            self.held = Vec::new();
            self.is_returned = false;
        }
    }

    /// The next frame, or part of DATA; `None` if more bytes are needed.
    pub(super) fn next<'a, 'i: 'a>(
        &'a mut self,
        input: &mut &'i [u8],
    ) -> Result<Option<Frame<'a>>> {
        if std::mem::take(&mut self.is_returned) {
            self.held.clear();
        }
        self.read_preface(input)?;
        loop {
            if let Some(frame) = self.data {
                return Ok(self.data_part(frame, input));
            }
            if input.is_empty() {
                return Ok(None);
            }
            let Some(head) = self.head(input)? else {
                return Ok(None);
            };
            self.check_order(head)?;
            if head.kind == DATA && !head.has(PADDED) {
                skip_head(&mut self.held, input);
                self.data = Some(DataFrame {
                    stream: head.stream,
                    left: head.length,
                    end_stream: head.has(END_STREAM),
                });
                if head.length == 0 {
                    self.data = None;
                    return Ok(Some(empty_data(head)));
                }
                continue;
            }
            if self.held.is_empty()
                && let Some((frame, rest)) = input.split_at_checked(HEAD + head.length)
            {
                *input = rest;
                let payload = frame.get(HEAD..).unwrap_or_default();
                match parse(&mut self.block, self.max_block, head, payload)? {
                    Some(frame) => return Ok(Some(frame)),
                    None => continue,
                }
            }
            let missing = (HEAD + head.length).saturating_sub(self.held.len());
            let taken = take(input, missing);
            self.held.extend_from_slice(taken);
            if taken.len() < missing {
                return Ok(None);
            }
            if starts_block(head) {
                // The block is gathered elsewhere, so this frame is not returned.
                let payload = self.held.get(HEAD..).unwrap_or_default();
                parse(&mut self.block, self.max_block, head, payload)?;
                self.held.clear();
                continue;
            }
            self.is_returned = true;
            let payload = self.held.get(HEAD..).unwrap_or_default();
            return parse(&mut self.block, self.max_block, head, payload);
        }
    }

    fn read_preface(&mut self, input: &mut &[u8]) -> Result<()> {
        if self.preface.is_empty() {
            return Ok(());
        }
        let given = take(input, self.preface.len());
        match self.preface.strip_prefix(given) {
            Some(rest) => self.preface = rest,
            None => return Err(Code::PROTOCOL_ERROR.because("a preface other than that of HTTP/2")),
        }
        Ok(())
    }

    /// The head of the next frame, which stays where it is, in `held` or in the input.
    fn head(&mut self, input: &mut &[u8]) -> Result<Option<FrameHead>> {
        if self.held.is_empty()
            && let Some(head) = input.first_chunk()
        {
            return FrameHead::parse(*head).map(Some);
        }
        let missing = HEAD.saturating_sub(self.held.len());
        self.held.extend_from_slice(take(input, missing));
        match self.held.first_chunk() {
            Some(head) => FrameHead::parse(*head).map(Some),
            None => Ok(None),
        }
    }

    /// Checks that nothing comes between the frames of a header block. RFC 9113 §4.3.
    fn check_order(&self, head: FrameHead) -> Result<()> {
        let awaited = self.block.as_ref().map(|block| block.stream);
        let continues = (head.kind == CONTINUATION).then_some(head.stream);
        if awaited == continues {
            return Ok(());
        }
        Err(Code::PROTOCOL_ERROR.because("a CONTINUATION frame that is missing or out of place"))
    }

    fn data_part<'a>(&mut self, frame: DataFrame, input: &mut &'a [u8]) -> Option<Frame<'a>> {
        let bytes = take(input, frame.left);
        if bytes.is_empty() {
            return None;
        }
        let left = frame.left - bytes.len();
        self.data = (left > 0).then_some(DataFrame { left, ..frame });
        Some(Frame::Data {
            stream: frame.stream,
            bytes,
            counted: bytes.len(),
            end_stream: frame.end_stream && left == 0,
            is_useless: false,
        })
    }
}

/// Whether the frame begins or continues a block that another frame ends.
fn starts_block(head: FrameHead) -> bool {
    matches!(head.kind, HEADERS | CONTINUATION) && !head.has(END_HEADERS)
}

fn empty_data(head: FrameHead) -> Frame<'static> {
    let end_stream = head.has(END_STREAM);
    Frame::Data {
        stream: head.stream,
        bytes: &[],
        counted: 0,
        end_stream,
        is_useless: !end_stream,
    }
}

fn skip_head(held: &mut Vec<u8>, input: &mut &[u8]) {
    if held.is_empty() {
        take(input, HEAD);
    } else {
        held.clear();
    }
}

/// Up to `most` bytes from the beginning of `input`.
fn take<'a>(input: &mut &'a [u8], most: usize) -> &'a [u8] {
    let (taken, rest) = input.split_at(most.min(input.len()));
    *input = rest;
    taken
}

/// Parses a frame; `None` for a part of a header block that is not complete.
fn parse<'a>(
    pending: &mut Option<HeaderBlock>,
    max_block: usize,
    head: FrameHead,
    payload: &'a [u8],
) -> Result<Option<Frame<'a>>> {
    let stream = head.stream;
    let frame = match head.kind {
        DATA => {
            let bytes = unpadded(head, payload)?;
            let end_stream = head.has(END_STREAM);
            Frame::Data {
                stream,
                bytes,
                counted: payload.len(),
                end_stream,
                is_useless: bytes.is_empty() && !end_stream,
            }
        }
        HEADERS => return headers(pending, head, payload),
        CONTINUATION => return continuation(pending, max_block, head, payload),
        PRIORITY => Frame::Priority {
            stream,
            broken: if payload.len() != 5 {
                Some(Code::FRAME_SIZE_ERROR)
            } else if dependency(payload) == Some(stream) {
                Some(Code::PROTOCOL_ERROR)
            } else {
                None
            },
        },
        RST_STREAM => Frame::Reset {
            stream,
            code: Code::from_value(number(payload)?),
        },
        SETTINGS if stream != 0 => {
            return Err(Code::PROTOCOL_ERROR.because("SETTINGS on a stream"));
        }
        SETTINGS if head.has(ACK) && payload.is_empty() => Frame::SettingsAck,
        SETTINGS if head.has(ACK) || !payload.len().is_multiple_of(6) => {
            return Err(Code::FRAME_SIZE_ERROR.because("SETTINGS of a wrong length"));
        }
        SETTINGS => Frame::Settings(payload),
        PING | GOAWAY if stream != 0 => {
            return Err(Code::PROTOCOL_ERROR.because("PING or GOAWAY on a stream"));
        }
        PING => {
            let Ok(data) = payload.try_into() else {
                return Err(Code::FRAME_SIZE_ERROR.because("PING of a wrong length"));
            };
            if head.has(ACK) {
                Frame::PingAck(data)
            } else {
                Frame::Ping(data)
            }
        }
        GOAWAY if payload.len() < 8 => {
            return Err(Code::FRAME_SIZE_ERROR.because("GOAWAY of a wrong length"));
        }
        GOAWAY => Frame::GoAway,
        WINDOW_UPDATE => Frame::WindowUpdate {
            stream,
            increment: number(payload)? & 0x7fff_ffff,
        },
        PUSH_PROMISE => return Err(Code::PROTOCOL_ERROR.because("PUSH_PROMISE from a client")),
        _ => Frame::Unknown,
    };
    Ok(Some(frame))
}

fn headers<'a>(
    pending: &mut Option<HeaderBlock>,
    head: FrameHead,
    payload: &'a [u8],
) -> Result<Option<Frame<'a>>> {
    let mut block = unpadded(head, payload)?;
    let mut depends_on_itself = false;
    if head.has(WITH_PRIORITY) {
        let Some((priority, rest)) = block.split_at_checked(5) else {
            return Err(Code::FRAME_SIZE_ERROR.because("HEADERS without its priority"));
        };
        depends_on_itself = dependency(priority) == Some(head.stream);
        block = rest;
    }
    let end_stream = head.has(END_STREAM);
    if head.has(END_HEADERS) {
        return Ok(Some(Frame::Headers {
            stream: head.stream,
            block: Cow::Borrowed(block),
            end_stream,
            depends_on_itself,
        }));
    }
    *pending = Some(HeaderBlock {
        stream: head.stream,
        bytes: block.to_vec(),
        continuations: 0,
        end_stream,
        depends_on_itself,
    });
    Ok(None)
}

fn continuation(
    pending: &mut Option<HeaderBlock>,
    max_block: usize,
    head: FrameHead,
    payload: &[u8],
) -> Result<Option<Frame<'static>>> {
    let Some(mut block) = pending.take() else {
        return Err(Code::PROTOCOL_ERROR.because("CONTINUATION without HEADERS"));
    };
    block.bytes.extend_from_slice(payload);
    block.continuations += 1;
    if block.bytes.len() > max_block
        || block.continuations > max_block / MAX_PAYLOAD + EXTRA_CONTINUATIONS
    {
        return Err(Code::ENHANCE_YOUR_CALM.because("a header block that does not end"));
    }
    if !head.has(END_HEADERS) {
        *pending = Some(block);
        return Ok(None);
    }
    Ok(Some(Frame::Headers {
        stream: block.stream,
        block: Cow::Owned(block.bytes),
        end_stream: block.end_stream,
        depends_on_itself: block.depends_on_itself,
    }))
}

/// RFC 9113 §6.1.
fn unpadded(head: FrameHead, payload: &[u8]) -> Result<&[u8]> {
    if !head.has(PADDED) {
        return Ok(payload);
    }
    let Some((padding, rest)) = payload.split_first() else {
        return Err(Code::FRAME_SIZE_ERROR.because("a padded frame without its padding"));
    };
    let length = rest.len().checked_sub(usize::from(*padding));
    let inner = length.and_then(|length| rest.get(..length));
    inner.ok_or(Code::PROTOCOL_ERROR.because("padding that is longer than its frame"))
}

/// The stream that a priority names. RFC 9113 §5.3.2.
fn dependency(priority: &[u8]) -> Option<u32> {
    let stream = u32::from_be_bytes(*priority.first_chunk()?);
    Some(stream & 0x7fff_ffff)
}

/// The payload of a frame that consists of 32 bits.
fn number(payload: &[u8]) -> Result<u32> {
    let Ok(bytes) = payload.try_into() else {
        return Err(Code::FRAME_SIZE_ERROR.because("a frame that is not of four bytes"));
    };
    Ok(u32::from_be_bytes(bytes))
}
