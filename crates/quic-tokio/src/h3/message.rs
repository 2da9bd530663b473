//! The stream of a request and its response, in both directions.

use std::future::poll_fn;
use std::task::{Context, Poll, ready};

use bytes::{Buf, Bytes};
use roundtrip_wire::h3::{Code, MessageError, MessageReader, MessageWriter, Part, SectionLimits};
use roundtrip_wire::message::{MalformedError, Pair};
use roundtrip_wire::qpack::Section;
use roundtrip_wire::quic::Side;

use super::{H3Error, H3Receiving, H3Sending};

/// The largest number of bytes that are read at once while a head is expected.
const MAX_HEAD_PIECE: usize = 16 << 10;
/// Content up to this size is copied, so that it is sent together with the bytes before it.
const MAX_COPIED: usize = 8 << 10;

/// Reads a message. After an error in the message, dropping this stops the stream, so that a server
/// can answer first. An error that concerns more than the message has already closed the
/// connection.
pub struct MessageStream<R: H3Receiving> {
    receiving: R,
    reader: MessageReader,
    /// Bytes that were read but not yet parsed.
    bytes: Bytes,
    is_ended: bool,
    failed: Option<MessageError>,
}

/// The next part of a message, already checked.
#[derive(Debug)]
pub enum MessagePart {
    Head(Section),
    Data(Bytes),
    Trailers(Section),
}

impl<R: H3Receiving> MessageStream<R> {
    pub(super) fn new(receiving: R, sender: Side, limits: SectionLimits) -> Self {
        Self {
            receiving,
            reader: MessageReader::new(sender, limits),
            bytes: Bytes::new(),
            is_ended: false,
            failed: None,
        }
    }

    /// The head of a request, or of the next interim or the final response.
    pub async fn head(&mut self) -> Result<Section, H3Error> {
        match self.next(MAX_HEAD_PIECE).await? {
            Some(MessagePart::Head(section)) => Ok(section),
            _ => Err(MessageError::Incomplete.into()),
        }
    }

    /// The next part; content is read in pieces of at most `most` bytes. `None` at the end.
    pub async fn next(&mut self, most: usize) -> Result<Option<MessagePart>, H3Error> {
        poll_fn(|cx| self.poll_next(cx, most)).await
    }

    pub fn poll_next(
        &mut self,
        cx: &mut Context<'_>,
        most: usize,
    ) -> Poll<Result<Option<MessagePart>, H3Error>> {
        if let Some(error) = self.failed {
            return Poll::Ready(Err(error.into()));
        }
        loop {
            match self.reader.read(&self.bytes) {
                Ok((_, Some(Part::Data(range)))) => {
                    self.bytes.advance(range.start);
                    let data = self.bytes.split_to(range.len());
                    return Poll::Ready(Ok(Some(MessagePart::Data(data))));
                }
                Ok((used, part)) => {
                    self.bytes.advance(used);
                    match part {
                        Some(Part::Head(section)) => {
                            return Poll::Ready(Ok(Some(MessagePart::Head(section))));
                        }
                        Some(Part::Trailers(section)) => {
                            return Poll::Ready(Ok(Some(MessagePart::Trailers(section))));
                        }
                        Some(Part::Data(_)) | None => {}
                    }
                }
                Err(error) => return Poll::Ready(Err(self.refuse(error))),
            }
            if self.is_ended {
                return Poll::Ready(Ok(None));
            }
            let reader = &self.reader;
            let wanted = |bytes: &[u8]| reader.wanted(bytes);
            match ready!(self.receiving.poll_read_wanted(cx, most, wanted))? {
                Some(bytes) => self.bytes = bytes,
                None => {
                    self.is_ended = true;
                    if let Err(error) = self.reader.end() {
                        return Poll::Ready(Err(self.refuse(error)));
                    }
                }
            }
        }
    }

    /// Refuses a head that obeys the rules of the protocol, but is malformed in another way.
    pub fn refuse_head(&mut self, error: MalformedError) -> H3Error {
        self.refuse(error.into())
    }

    /// Asks the peer to stop sending.
    pub fn stop(&mut self, code: Code) {
        self.receiving.stop(code);
    }

    fn refuse(&mut self, error: MessageError) -> H3Error {
        self.failed = Some(error);
        if let MessageError::Protocol(error) = error {
            self.receiving.close(error.code, error.why);
        }
        error.into()
    }
}

impl<R: H3Receiving> Drop for MessageStream<R> {
    fn drop(&mut self) {
        if let Some(error) = self.failed.filter(|error| !error.is_limit()) {
            self.receiving.stop(error.code());
        }
    }
}

/// Writes a message. Appended bytes are sent with the next [`flush`](Self::flush) or
/// [`finish`](Self::finish), in one write if it is small. If this is dropped before the end, the
/// stream is reset.
pub struct MessageSender<S> {
    sending: S,
    /// The largest field section that the peer accepts.
    max_section: u64,
    writer: MessageWriter,
    /// The size of a section that is larger than the peer accepts: nothing more is written.
    too_large: Option<u64>,
    /// The bytes being written, followed by content that is not copied.
    frames: Bytes,
    content: Bytes,
}

impl<S: H3Sending> MessageSender<S> {
    pub(super) fn new(sending: S, max_section: u64) -> Self {
        Self {
            sending,
            max_section,
            writer: MessageWriter::default(),
            too_large: None,
            frames: Bytes::new(),
            content: Bytes::new(),
        }
    }

    /// The id of the stream.
    pub fn id(&self) -> u64 {
        self.sending.id()
    }

    /// Appends a head, or trailers. Names are written in lower case. If the peer does not accept a
    /// section of this size, the next flush fails.
    pub fn section<'a>(&mut self, lines: impl IntoIterator<Item = Pair<'a>>) {
        let size = self.writer.section(lines);
        if size > self.max_section {
            self.too_large = Some(size);
        }
    }

    /// Appends content.
    pub fn data(&mut self, bytes: &[u8]) {
        self.writer.data(bytes);
    }

    /// Discards appended bytes, unless some of them have been sent.
    pub fn discard(&mut self) {
        self.writer = MessageWriter::default();
        self.too_large = None;
    }

    /// Sends content, after everything that was appended. A small piece may wait for the next
    /// flush.
    pub async fn send_data(&mut self, bytes: Bytes) -> Result<(), H3Error> {
        if bytes.len() <= MAX_COPIED {
            self.writer.data(&bytes);
            return Ok(());
        }
        self.flush().await?;
        self.writer.data_head(bytes.len());
        self.frames = self.writer.take().into();
        self.content = bytes;
        self.flush().await
    }

    /// Sends everything that was appended.
    pub async fn flush(&mut self) -> Result<(), H3Error> {
        poll_fn(|cx| self.poll_flush(cx)).await
    }

    pub fn poll_flush(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), H3Error>> {
        if let Some(size) = self.too_large {
            let limit = self.max_section;
            return Poll::Ready(Err(H3Error::SectionTooLarge { size, limit }));
        }
        loop {
            if !self.frames.is_empty() {
                ready!(self.sending.poll_write(cx, &mut self.frames))?;
            }
            if !self.content.is_empty() {
                ready!(self.sending.poll_write(cx, &mut self.content))?;
            }
            if self.writer.is_empty() {
                return Poll::Ready(Ok(()));
            }
            self.frames = self.writer.take().into();
        }
    }

    /// Sends everything that was appended, and ends the stream.
    pub async fn finish(&mut self) -> Result<(), H3Error> {
        self.flush().await?;
        Ok(self.sending.finish()?)
    }

    /// Resets the stream, unless it has ended. Data that has not arrived is lost.
    pub fn reset(&mut self, code: Code) {
        self.sending.reset(code);
    }
}

#[cfg(test)]
mod tests;
