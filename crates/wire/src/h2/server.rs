//! A server's side of one connection.
//!
//! Give received bytes to [`Server::receive`]; after an error, write what is pending and close.
//! Write [`Server::pending`] and report it with [`Server::on_written`]; the waker given to
//! [`Server::register`] is woken when there is more to write. Each stream that
//! [`Server::next_request`] returns belongs to the caller until [`Server::release`].

mod frames;
mod reset_streams;

use std::collections::VecDeque;
use std::task::{Context, Poll};

use super::code::{Code, ConnectionError};
use super::frame::{
    ENABLE_CONNECT_PROTOCOL, INITIAL_WINDOW, INITIAL_WINDOW_SIZE, MAX_CONCURRENT_STREAMS,
    MAX_HEADER_LIST_SIZE, MAX_PAYLOAD,
};
use super::frame_writer::FrameWriter;
use super::hpack::Decoder;
use super::reader::FrameReader;
pub use super::request_stream::StreamGoneError;
use super::request_stream::{AnswerProgress, RequestStream, wake};
use crate::message::MalformedError;
use crate::qpack::{Section, SectionBounds};
use frames::ServerState;
use reset_streams::ResetStreams;

/// The data of the PING by which a leaving server learns which requests were sent before its first
/// GOAWAY arrived. RFC 9113 §6.8.
const LEAVING: [u8; 8] = *b"leaving!";
/// The largest stream id.
const LAST_STREAM: u32 = (1 << 31) - 1;

/// The limits that are announced to a client and enforced.
#[derive(Debug, Clone, Copy)]
pub struct ServerConfig {
    /// The largest number of streams at the same time.
    pub streams: u32,
    /// The bytes that may be sent ahead on one stream.
    pub stream_window: u32,
    /// The bytes that may be sent ahead on all streams together.
    pub connection_window: u32,
    pub section: SectionBounds,
    /// Whether streams may become WebSockets. RFC 8441 §3.
    pub extended_connect: bool,
}

/// Why a head was refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum HeadError {
    #[error("a head that is too large")]
    TooLarge,
    #[error("{0}")]
    Malformed(#[from] MalformedError),
}

/// A new request.
#[derive(Debug)]
pub struct Arrival {
    pub stream: u32,
    pub head: Result<Section, HeadError>,
    /// No body follows.
    pub is_ended: bool,
}

/// The client's actions other than exchanges since the last call.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Tally {
    /// Frames that are neither requests nor data: priorities, windows, settings, pings.
    pub control_frames: u32,
    pub requests: u32,
    /// Streams that the client broke or reset before the caller received them.
    pub resets: u32,
}

#[derive(Debug)]
pub struct Server {
    reader: FrameReader,
    connection: ServerState,
}

impl Server {
    pub fn new(config: ServerConfig) -> Self {
        let mut out = FrameWriter::new();
        let list = u32::try_from(config.section.size).unwrap_or(u32::MAX);
        let settings = [
            (MAX_CONCURRENT_STREAMS, config.streams),
            (INITIAL_WINDOW_SIZE, config.stream_window),
            (MAX_HEADER_LIST_SIZE, list),
            (ENABLE_CONNECT_PROTOCOL, 1),
        ];
        let count = if config.extended_connect { 4 } else { 3 };
        out.settings(settings.get(..count).unwrap_or_default());
        let more = i64::from(config.connection_window) - INITIAL_WINDOW;
        if more > 0 {
            out.window_update(0, more as u32);
        }
        Self {
            reader: FrameReader::new(config.section.size + MAX_PAYLOAD),
            connection: ServerState {
                decoder: Decoder::new(),
                out,
                streams: Vec::new(),
                arrivals: VecDeque::new(),
                reset: ResetStreams::default(),
                last: 0,
                last_sender: 0,
                window: i64::from(config.connection_window).max(INITIAL_WINDOW),
                consumed: 0,
                config,
                has_settings: false,
                departure: Departure::Stays,
                tally: Tally::default(),
                waker: None,
            },
        }
    }

    /// Takes the client's bytes. After an error, the connection ends.
    pub fn receive(&mut self, mut bytes: &[u8]) -> Result<(), ConnectionError> {
        let outcome = loop {
            match self.reader.next(&mut bytes) {
                Ok(Some(frame)) => {
                    if let Err(error) = self.connection.on_frame(frame) {
                        break Err(error);
                    }
                }
                Ok(None) => break Ok(()),
                Err(error) => break Err(error),
            }
        };
        outcome.inspect_err(|error| self.abort(error.code))
    }

    pub fn next_request(&mut self) -> Option<Arrival> {
        let arrival = self.connection.arrivals.pop_front()?;
        if let Some(stream) = self.connection.stream(arrival.stream) {
            stream.is_taken = true;
        }
        Some(arrival)
    }

    /// The client's actions since the last call.
    pub fn take_tally(&mut self) -> Tally {
        std::mem::take(&mut self.connection.tally)
    }

    /// Whether the first frame was SETTINGS, which shows that the client speaks HTTP/2.
    pub fn is_greeted(&self) -> bool {
        self.connection.has_settings
    }

    /// The bytes to be written.
    pub fn pending(&self) -> &[u8] {
        self.connection.out.pending()
    }

    pub fn on_written(&mut self, count: usize) {
        self.connection.out.on_written(count);
        if self.connection.out.is_drained() {
            self.connection.wake_writers();
        }
    }

    /// Whether to read from the client: not while it leaves the answers that it caused unread.
    pub fn wants_bytes(&self) -> bool {
        !self.connection.out.is_overfull()
    }

    /// Registers the task to wake when there is something to write.
    pub fn register(&mut self, cx: &Context<'_>) {
        let waker = &mut self.connection.waker;
        match waker {
            Some(known) => known.clone_from(cx.waker()),
            None => *waker = Some(cx.waker().clone()),
        }
    }

    /// Frees what an idle connection does not need.
    pub fn shrink(&mut self) {
        self.reader.shrink();
        self.connection.shrink();
    }

    /// Asks the client to send further requests elsewhere. RFC 9113 §6.8.
    pub fn leave(&mut self) {
        if self.connection.departure == Departure::Stays {
            self.connection.departure = Departure::Announced;
            self.connection.out.go_away(LAST_STREAM, Code::NO_ERROR);
            self.connection.out.ping(LEAVING);
            self.connection.wake();
        }
    }

    /// The client had time to learn that it should leave: further requests are not taken. RFC 9113
    /// §6.8.
    pub fn finish_leaving(&mut self) {
        self.connection.finish_leaving();
    }

    /// Whether the client knows that no more requests are taken, and none is in progress.
    pub fn is_over(&self) -> bool {
        self.connection.departure == Departure::Last && self.connection.streams.is_empty()
    }

    /// Ends all streams, and tells the client why.
    pub fn abort(&mut self, code: Code) {
        let last = self.connection.last;
        self.connection.out.go_away(last, code);
        self.disconnect(code);
    }

    /// Ends all streams, because the client has disconnected.
    pub fn disconnect(&mut self, code: Code) {
        for stream in &mut self.connection.streams {
            stream.on_reset(code);
        }
        self.connection.wake();
    }
}

#[cfg(test)]
impl Server {
    /// The number of bytes that the server's buffers take.
    fn memory(&self) -> usize {
        let streams = self.connection.streams.iter();
        let streams: usize = streams.map(RequestStream::memory).sum();
        streams + self.connection.out.memory()
    }
}

/// The methods for one stream. A stream that does not exist has ended.
impl Server {
    /// Appends received data, and at most `most` bytes, to `into`. Returns their number; `None` at
    /// the end.
    pub fn poll_read(
        &mut self,
        stream: u32,
        into: &mut Vec<u8>,
        most: usize,
        cx: &mut Context<'_>,
    ) -> Poll<Result<Option<usize>, StreamGoneError>> {
        match self.connection.stream(stream) {
            Some(stream) => stream.poll_read(into, most, cx),
            None => Poll::Ready(Err(StreamGoneError(Code::STREAM_CLOSED))),
        }
    }

    /// Reports that read data has been used, so that the client may send as much again. At a
    /// stream's end this happens automatically for the rest.
    pub fn consume(&mut self, stream: u32, bytes: usize) {
        if self.connection.stream(stream).is_some() {
            self.connection.consume(Some(stream), bytes);
        }
    }

    /// The trailers, after the end.
    pub fn take_trailers(&mut self, stream: u32) -> Option<Section> {
        self.connection.stream(stream)?.take_trailers()
    }

    /// Ready when the stream has ended too early.
    pub fn poll_reset(&mut self, stream: u32, cx: &mut Context<'_>) -> Poll<Code> {
        match self.connection.stream(stream) {
            Some(stream) => stream.poll_reset(cx),
            None => Poll::Ready(Code::STREAM_CLOSED),
        }
    }

    /// Sends the head of an interim answer, as [`write_line`](super::write_line) has encoded it.
    pub fn send_interim(&mut self, stream: u32, block: &[u8]) -> Result<(), StreamGoneError> {
        self.connection.writable(stream, AnswerProgress::Awaited)?;
        self.connection.out.headers(stream, block, false);
        self.connection.wake();
        Ok(())
    }

    /// Sends the head of the answer. `end`: no body follows it.
    pub fn send_head(
        &mut self,
        stream: u32,
        block: &[u8],
        end: bool,
    ) -> Result<(), StreamGoneError> {
        let found = self.connection.writable(stream, AnswerProgress::Awaited)?;
        found.set_answer(if end {
            AnswerProgress::Ended
        } else {
            AnswerProgress::Begun
        });
        self.connection.out.headers(stream, block, end);
        self.connection.wake();
        Ok(())
    }

    /// Ready when a head can be sent without too much waiting for the client.
    pub fn poll_ready(
        &mut self,
        stream: u32,
        cx: &mut Context<'_>,
    ) -> Poll<Result<(), StreamGoneError>> {
        let has_room = self.connection.out.has_room();
        let Some(stream) = self.connection.stream(stream) else {
            return Poll::Ready(Err(StreamGoneError(Code::STREAM_CLOSED)));
        };
        stream.check_writable()?;
        if has_room {
            return Poll::Ready(Ok(()));
        }
        stream.wait_to_write(cx);
        Poll::Pending
    }

    /// Waits until something of `wanted` can be sent, and returns how much fits into one frame.
    pub fn poll_room(
        &mut self,
        stream: u32,
        wanted: usize,
        cx: &mut Context<'_>,
    ) -> Poll<Result<usize, StreamGoneError>> {
        let ServerState { out, streams, .. } = &mut self.connection;
        let Ok(place) = streams.binary_search_by_key(&stream, |stream| stream.id) else {
            return Poll::Ready(Err(StreamGoneError(Code::STREAM_CLOSED)));
        };
        let Some(stream) = streams.get_mut(place) else {
            return Poll::Ready(Err(StreamGoneError(Code::STREAM_CLOSED)));
        };
        stream.check_writable()?;
        match out.room(stream.window()).min(wanted) {
            0 => {
                stream.wait_to_write(cx);
                Poll::Pending
            }
            room => Poll::Ready(Ok(room)),
        }
    }

    /// Sends data. The caller has checked that there is room for it.
    pub fn send_data(
        &mut self,
        stream: u32,
        data: &[u8],
        end: bool,
    ) -> Result<(), StreamGoneError> {
        let connection = &mut self.connection;
        let found = connection.writable(stream, AnswerProgress::Begun)?;
        found.on_sent(data.len());
        if end {
            found.set_answer(AnswerProgress::Ended);
        }
        connection.last_sender = stream;
        connection.out.data(stream, data, end);
        connection.wake();
        Ok(())
    }

    /// Sends the trailers, which end the answer.
    pub fn send_trailers(&mut self, stream: u32, block: &[u8]) -> Result<(), StreamGoneError> {
        let found = self.connection.writable(stream, AnswerProgress::Begun)?;
        found.set_answer(AnswerProgress::Ended);
        self.connection.out.headers(stream, block, true);
        self.connection.wake();
        Ok(())
    }

    /// Ends the stream without completing the answer.
    pub fn reset(&mut self, stream: u32, code: Code) {
        self.connection.reset_stream(stream, code);
    }

    /// Call this when the stream is no longer needed. If the answer is incomplete, the stream is
    /// reset; if the request is incomplete, the client is asked to stop. RFC 9113 §8.1.
    pub fn release(&mut self, stream: u32) {
        let connection = &mut self.connection;
        let Some(found) = connection.stream(stream) else {
            return;
        };
        let unused = found.unused();
        let (is_answered, is_received) =
            (found.answer() == AnswerProgress::Ended, found.is_received());
        if !is_answered {
            connection.reset_stream(stream, Code::CANCEL);
        } else if !is_received {
            connection.reset_stream(stream, Code::NO_ERROR);
        }
        connection.remove(stream);
        connection.consume(None, unused);
        // A connection that is leaving may be over now.
        connection.wake();
    }
}

/// Whether the connection should end. RFC 9113 §6.8.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Departure {
    Stays,
    /// The first GOAWAY was sent.
    Announced,
    /// The second was sent: it names the last stream.
    Last,
}

#[cfg(test)]
mod tests;
