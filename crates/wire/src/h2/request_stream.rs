//! One request and its answer.

use std::task::{Context, Poll, Waker};

use super::code::Code;
use super::frame::{MAX_WINDOW, drop_used, signed};
use crate::qpack::Section;

/// A stream that ended too early: it was reset, or its connection has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the stream was reset: {0}")]
pub struct StreamGoneError(pub Code);

/// The state of a stream: received data, and the limits for sending.
#[derive(Debug)]
pub(super) struct RequestStream {
    pub(super) id: u32,
    /// Whether the application has received the request.
    pub(super) is_taken: bool,
    received: Received,
    /// The bytes that the client's window allows.
    window: i64,
    answer: AnswerProgress,
    reset: Option<Code>,
    wakers: Wakers,
}

#[derive(Debug, Default)]
struct Received {
    data: Vec<u8>,
    /// The number of bytes of `data` that the application has read.
    read: usize,
    /// Bytes that the application has read, and has not yet used.
    in_use: usize,
    /// The bytes that the client may send.
    window: i64,
    /// Bytes that were read but not yet returned to the client's window.
    consumed: u32,
    /// The number of bytes that are still to come according to its Content-Length.
    announced: Option<u64>,
    trailers: Option<Section>,
    is_ended: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AnswerProgress {
    /// No final head was sent yet, but maybe interim ones.
    Awaited,
    Begun,
    Ended,
}

#[derive(Debug, Default)]
struct Wakers {
    reader: Option<Waker>,
    writer: Option<Waker>,
    reset: Option<Waker>,
}

impl RequestStream {
    pub(super) fn new(id: u32, window: i64, receive_window: u32) -> Self {
        Self {
            id,
            is_taken: false,
            received: Received {
                window: i64::from(receive_window),
                ..Received::default()
            },
            window,
            answer: AnswerProgress::Awaited,
            reset: None,
            wakers: Wakers::default(),
        }
    }

    pub(super) fn announce(&mut self, length: Option<u64>) {
        self.received.announced = length;
    }

    pub(super) fn answer(&self) -> AnswerProgress {
        self.answer
    }

    pub(super) fn set_answer(&mut self, answer: AnswerProgress) {
        self.answer = answer;
    }

    /// Whether the client has sent everything.
    pub(super) fn is_received(&self) -> bool {
        self.received.is_ended
    }

    pub(super) fn window(&self) -> i64 {
        self.window
    }

    /// Data was sent. Its window may be negative: RFC 9113 §6.9.2.
    pub(super) fn on_sent(&mut self, bytes: usize) {
        self.window -= signed(bytes);
    }

    /// The client's window changes; the stream fails if it gets too large. RFC 9113 §6.9.1.
    pub(super) fn change_window(&mut self, by: i64) -> Result<(), Code> {
        self.window += by;
        if self.window > MAX_WINDOW {
            return Err(Code::FLOW_CONTROL_ERROR);
        }
        Ok(())
    }

    /// Takes all received data, or nothing of it if there is an error. `counted` includes padding.
    pub(super) fn on_data(&mut self, bytes: &[u8], counted: usize, end: bool) -> Result<(), Code> {
        let received = &mut self.received;
        received.window -= signed(counted);
        if received.window < 0 {
            return Err(Code::FLOW_CONTROL_ERROR);
        }
        if let Some(left) = &mut received.announced {
            *left = left
                .checked_sub(bytes.len() as u64)
                .ok_or(Code::PROTOCOL_ERROR)?;
        }
        if end {
            self.on_end(None)?;
        }
        // Padding is consumed at once.
        self.received.consumed += counted.saturating_sub(bytes.len()) as u32;
        self.received.data.extend_from_slice(bytes);
        wake(&mut self.wakers.reader);
        Ok(())
    }

    /// Notes that the client has sent everything. RFC 9113 §8.1.1.
    pub(super) fn on_end(&mut self, trailers: Option<Section>) -> Result<(), Code> {
        if self.received.announced.is_some_and(|left| left > 0) {
            return Err(Code::PROTOCOL_ERROR);
        }
        self.received.is_ended = true;
        self.received.trailers = trailers;
        wake(&mut self.wakers.reader);
        Ok(())
    }

    /// Appends received bytes, at most `most`, to `into`. Returns their number; `None` at the end.
    pub(super) fn poll_read(
        &mut self,
        into: &mut Vec<u8>,
        most: usize,
        cx: &mut Context<'_>,
    ) -> Poll<Result<Option<usize>, StreamGoneError>> {
        if let Some(code) = self.reset {
            return Poll::Ready(Err(StreamGoneError(code)));
        }
        let received = &mut self.received;
        let rest = received.data.get(received.read..).unwrap_or_default();
        let part = rest.get(..most).unwrap_or(rest);
        if !part.is_empty() {
            let length = part.len();
            into.extend_from_slice(part);
            received.read += length;
            received.in_use += length;
            drop_used(&mut received.data, &mut received.read);
            return Poll::Ready(Ok(Some(length)));
        }
        if received.is_ended {
            return Poll::Ready(Ok(None));
        }
        store(&mut self.wakers.reader, cx);
        Poll::Pending
    }

    pub(super) fn take_trailers(&mut self) -> Option<Section> {
        self.received.trailers.take()
    }

    /// Notes that bytes were read and used. Returns the window update to send, if it is worth
    /// sending.
    pub(super) fn on_consumed(&mut self, bytes: u32, enough: u32) -> Option<u32> {
        let received = &mut self.received;
        received.in_use = received.in_use.saturating_sub(bytes as usize);
        received.consumed += bytes;
        if received.is_ended || self.reset.is_some() || received.consumed < enough {
            return None;
        }
        let increment = std::mem::take(&mut received.consumed);
        received.window += i64::from(increment);
        Some(increment)
    }

    #[cfg(test)]
    pub(super) fn memory(&self) -> usize {
        self.received.data.capacity()
    }

    /// The bytes that were received and never used.
    pub(super) fn unused(&self) -> usize {
        self.received.data.len() - self.received.read + self.received.in_use
    }

    pub(super) fn is_reset(&self) -> bool {
        self.reset.is_some()
    }

    pub(super) fn on_reset(&mut self, code: Code) {
        self.reset.get_or_insert(code);
        for waker in [
            &mut self.wakers.reader,
            &mut self.wakers.writer,
            &mut self.wakers.reset,
        ] {
            wake(waker);
        }
    }

    pub(super) fn poll_reset(&mut self, cx: &mut Context<'_>) -> Poll<Code> {
        if let Some(code) = self.reset {
            return Poll::Ready(code);
        }
        store(&mut self.wakers.reset, cx);
        Poll::Pending
    }

    /// Whether the answer may go on; a writer that has to wait is woken later.
    pub(super) fn check_writable(&self) -> Result<(), StreamGoneError> {
        match self.reset {
            Some(code) => Err(StreamGoneError(code)),
            None => Ok(()),
        }
    }

    pub(super) fn wait_to_write(&mut self, cx: &mut Context<'_>) {
        store(&mut self.wakers.writer, cx);
    }

    pub(super) fn wake_writer(&mut self) {
        wake(&mut self.wakers.writer);
    }
}

fn store(place: &mut Option<Waker>, cx: &Context<'_>) {
    match place {
        Some(known) => known.clone_from(cx.waker()),
        None => *place = Some(cx.waker().clone()),
    }
}

pub(super) fn wake(place: &mut Option<Waker>) {
    if let Some(waker) = place.take() {
        waker.wake();
    }
}
