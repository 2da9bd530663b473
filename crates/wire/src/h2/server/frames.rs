//! Applies the client's frames to a connection and its streams.

use std::collections::VecDeque;
use std::task::Waker;

use super::{
    AnswerProgress, Arrival, Code, ConnectionError, Decoder, Departure, FrameWriter, HeadError,
    LEAVING, RequestStream, ResetStreams, ServerConfig, StreamGoneError, Tally, wake,
};
use crate::h2::frame::{Frame, signed};
use crate::message::{check_extended_request, check_request, check_trailers, content_length};
use crate::qpack::Section;

type Result<T> = std::result::Result<T, ConnectionError>;

#[derive(Debug)]
pub(super) struct ServerState {
    pub(super) decoder: Decoder,
    pub(super) out: FrameWriter,
    /// The streams, in the order of their ids.
    pub(super) streams: Vec<RequestStream>,
    pub(super) arrivals: VecDeque<Arrival>,
    pub(super) reset: ResetStreams,
    /// The largest stream id that the client has used.
    pub(super) last: u32,
    /// The stream that sent data last.
    pub(super) last_sender: u32,
    /// The bytes that the client may send.
    pub(super) window: i64,
    /// Bytes that were used, but not yet returned to the client's window.
    pub(super) consumed: usize,
    pub(super) config: ServerConfig,
    pub(super) has_settings: bool,
    pub(super) departure: Departure,
    pub(super) tally: Tally,
    pub(super) waker: Option<Waker>,
}

impl ServerState {
    pub(super) fn on_frame(&mut self, frame: Frame<'_>) -> Result<()> {
        if !self.has_settings && !matches!(frame, Frame::Settings(_)) {
            return Err(Code::PROTOCOL_ERROR.because("another frame before SETTINGS"));
        }
        if !matches!(frame, Frame::Data { .. } | Frame::Headers { .. }) {
            self.tally.control_frames += 1;
        }
        match frame {
            Frame::Data {
                stream,
                bytes,
                counted,
                end_stream,
                is_useless,
            } => {
                self.tally.control_frames += u32::from(is_useless);
                self.on_data(stream, bytes, counted, end_stream)
            }
            Frame::Headers {
                stream,
                block,
                end_stream,
                depends_on_itself,
            } => self.on_headers(stream, &block, end_stream, depends_on_itself),
            Frame::Priority { stream, broken } => self.on_priority(stream, broken),
            Frame::Reset { stream, code } => self.on_reset(stream, code),
            Frame::Settings(settings) => self.on_settings(settings),
            Frame::WindowUpdate { stream, increment } => self.on_window_update(stream, increment),
            Frame::Ping(data) => {
                self.out.ping_ack(data);
                Ok(())
            }
            Frame::PingAck(data) => {
                if data == LEAVING {
                    self.finish_leaving();
                }
                Ok(())
            }
            // Requests in progress go on. RFC 9113 §6.8.
            Frame::SettingsAck | Frame::GoAway | Frame::Unknown => Ok(()),
        }
    }

    fn on_data(&mut self, id: u32, bytes: &[u8], counted: usize, end: bool) -> Result<()> {
        self.check_used(id)?;
        self.window -= signed(counted);
        if self.window < 0 {
            return Err(Code::FLOW_CONTROL_ERROR.because("more data than the window allows"));
        }
        let Some(stream) = self.stream(id).filter(|stream| !stream.is_reset()) else {
            self.consume(None, counted);
            return self.check_reset(id);
        };
        let taken = if stream.is_received() {
            Err(Code::STREAM_CLOSED)
        } else {
            stream.on_data(bytes, counted, end)
        };
        match taken {
            Ok(()) => self.consume(None, counted.saturating_sub(bytes.len())),
            Err(code) => {
                self.consume(None, counted);
                self.fail_stream(id, code);
            }
        }
        Ok(())
    }

    fn on_headers(
        &mut self,
        id: u32,
        block: &[u8],
        end: bool,
        depends_on_itself: bool,
    ) -> Result<()> {
        // Every block is decoded, because the next ones refer to its lines.
        let section = self.decoder.read(block, self.config.section);
        let section = section
            .map_err(|_| Code::COMPRESSION_ERROR.because("a header block that is not valid"))?;
        if id.is_multiple_of(2) {
            return Err(Code::PROTOCOL_ERROR.because("a request on a stream of the server"));
        }
        if id <= self.last {
            return self.on_trailers(id, section, end);
        }
        self.last = id;
        if self.departure == Departure::Last {
            // The client has been informed that the request is refused.
            self.reset.insert(id);
            self.tally.control_frames += 1;
            return Ok(());
        }
        if depends_on_itself {
            self.fail_stream(id, Code::PROTOCOL_ERROR);
            return Ok(());
        }
        let open = self.streams.iter().filter(|stream| !is_closed(stream));
        if open.count() >= self.config.streams as usize {
            self.reset_stream(id, Code::REFUSED_STREAM);
            self.tally.control_frames += 1;
            return Ok(());
        }
        self.tally.requests += 1;
        self.begin(id, section, end);
        Ok(())
    }

    fn begin(&mut self, id: u32, section: Option<Section>, end: bool) {
        let window = self.out.initial_window();
        let mut stream = RequestStream::new(id, window, self.config.stream_window);
        let head = section.ok_or(HeadError::TooLarge).and_then(|section| {
            if self.config.extended_connect {
                check_extended_request(section.lines())?;
            } else {
                check_request(section.lines())?;
            }
            Ok(section)
        });
        if let Ok(section) = &head {
            // The code that judges the request refuses a length that is not a single number.
            stream.announce(content_length(section.lines()).ok().flatten());
        }
        let ended = if end { stream.on_end(None) } else { Ok(()) };
        self.streams.push(stream);
        if let Err(code) = ended {
            return self.fail_stream(id, code);
        }
        self.arrivals.push_back(Arrival {
            stream: id,
            head,
            is_ended: end,
        });
    }

    fn on_trailers(&mut self, id: u32, section: Option<Section>, end: bool) -> Result<()> {
        let Some(stream) = self.stream(id).filter(|stream| !stream.is_reset()) else {
            self.tally.control_frames += 1;
            return self.check_reset(id);
        };
        let sound = section.filter(|section| check_trailers(section.lines()).is_ok());
        let taken = match sound {
            _ if stream.is_received() => Err(Code::STREAM_CLOSED),
            Some(section) if end => stream.on_end(Some(section)),
            _ => Err(Code::PROTOCOL_ERROR),
        };
        if let Err(code) = taken {
            self.fail_stream(id, code);
        }
        Ok(())
    }

    fn on_priority(&mut self, id: u32, broken: Option<Code>) -> Result<()> {
        if id == 0 {
            return Err(Code::PROTOCOL_ERROR.because("a priority without a stream"));
        }
        if let Some(code) = broken {
            self.fail_stream(id, code);
        }
        Ok(())
    }

    fn on_reset(&mut self, id: u32, code: Code) -> Result<()> {
        self.check_used(id)?;
        if let Some(stream) = self.stream(id) {
            stream.on_reset(code);
            self.forget_untaken(id);
        }
        Ok(())
    }

    fn on_settings(&mut self, settings: &[u8]) -> Result<()> {
        self.has_settings = true;
        let change = self.out.on_settings(settings)?;
        for stream in &mut self.streams {
            let changed = stream.change_window(change);
            changed.map_err(|code| code.because("a window that is too large"))?;
        }
        self.wake_writers();
        Ok(())
    }

    fn on_window_update(&mut self, id: u32, increment: u32) -> Result<()> {
        if id == 0 {
            if increment == 0 {
                return Err(Code::PROTOCOL_ERROR.because("a window increment of zero"));
            }
            self.out.on_window_update(increment)?;
            self.wake_writers();
            return Ok(());
        }
        self.check_used(id)?;
        let changed = match self.stream(id) {
            None => return Ok(()),
            Some(stream) if stream.is_reset() => return Ok(()),
            Some(_) if increment == 0 => Err(Code::PROTOCOL_ERROR),
            Some(stream) => {
                let changed = stream.change_window(i64::from(increment));
                stream.wake_writer();
                changed
            }
        };
        if let Err(code) = changed {
            self.fail_stream(id, code);
        }
        Ok(())
    }

    /// Frames other than requests name streams that were opened. RFC 9113 §5.1.
    fn check_used(&self, id: u32) -> Result<()> {
        if id == 0 || id > self.last {
            return Err(Code::PROTOCOL_ERROR.because("a frame for a stream that was never opened"));
        }
        Ok(())
    }

    /// A closed stream gets no more data, unless it was closed from here.
    fn check_reset(&self, id: u32) -> Result<()> {
        if self.reset.contains(id) {
            return Ok(());
        }
        Err(Code::STREAM_CLOSED.because("data on a stream that is closed"))
    }
}

impl ServerState {
    pub(super) fn stream(&mut self, id: u32) -> Option<&mut RequestStream> {
        let place = self.streams.binary_search_by_key(&id, |stream| stream.id);
        self.streams.get_mut(place.ok()?)
    }

    pub(super) fn writable(
        &mut self,
        id: u32,
        answer: AnswerProgress,
    ) -> std::result::Result<&mut RequestStream, StreamGoneError> {
        let gone = StreamGoneError(Code::STREAM_CLOSED);
        let stream = self.stream(id).ok_or(gone)?;
        stream.check_writable()?;
        if stream.answer() == answer {
            Ok(stream)
        } else {
            Err(gone)
        }
    }

    pub(super) fn remove(&mut self, id: u32) {
        self.streams.retain(|stream| stream.id != id);
    }

    /// The client broke a rule.
    fn fail_stream(&mut self, id: u32, code: Code) {
        self.reset_stream(id, code);
        if self.stream(id).is_none() {
            self.tally.resets += 1;
        }
        self.forget_untaken(id);
    }

    /// Tells the client that a stream has ended, but only once.
    pub(super) fn reset_stream(&mut self, id: u32, code: Code) {
        if let Some(stream) = self.stream(id) {
            if stream.is_reset() {
                return;
            }
            stream.on_reset(code);
        }
        self.reset.insert(id);
        self.out.reset(id, code);
        self.wake();
    }

    /// Forgets a stream that was reset before the caller received it.
    fn forget_untaken(&mut self, id: u32) {
        let Some(stream) = self.stream(id).filter(|stream| !stream.is_taken) else {
            return;
        };
        let unused = stream.unused();
        self.tally.resets += 1;
        self.arrivals.retain(|arrival| arrival.stream != id);
        self.remove(id);
        self.consume(None, unused);
    }

    /// Notes that data of a stream was used; `None` if the stream has ended.
    pub(super) fn consume(&mut self, id: Option<u32>, bytes: usize) {
        self.consumed += bytes;
        if self.consumed >= self.config.connection_window as usize / 2 {
            let increment = std::mem::take(&mut self.consumed);
            self.window += signed(increment);
            self.out.window_update(0, increment as u32);
            self.wake();
        }
        let enough = self.config.stream_window / 2;
        let increment = id
            .and_then(|id| self.stream(id))
            .and_then(|stream| stream.on_consumed(bytes as u32, enough));
        if let (Some(id), Some(increment)) = (id, increment) {
            self.out.window_update(id, increment);
            self.wake();
        }
    }

    /// Wakes answers that wait for room; the one that sent last comes last.
    pub(super) fn wake_writers(&mut self) {
        let Self {
            out,
            streams,
            last_sender,
            ..
        } = self;
        if !out.has_room() {
            return;
        }
        let place = streams.partition_point(|stream| stream.id <= *last_sender);
        let (before, after) = streams.split_at_mut(place);
        for stream in after.iter_mut().chain(before) {
            stream.wake_writer();
        }
    }

    pub(super) fn finish_leaving(&mut self) {
        if self.departure == Departure::Announced {
            self.departure = Departure::Last;
            self.out.go_away(self.last, Code::NO_ERROR);
            self.wake();
        }
    }

    pub(super) fn wake(&mut self) {
        wake(&mut self.waker);
    }

    pub(super) fn shrink(&mut self) {
        self.out.shrink();
        if self.streams.is_empty() {
            self.streams = Vec::new();
        }
        if self.arrivals.is_empty() {
            self.arrivals = VecDeque::new();
        }
        self.reset.shrink();
    }
}

/// Whether both sides have sent everything.
fn is_closed(stream: &RequestStream) -> bool {
    stream.answer() == AnswerProgress::Ended && stream.is_received()
}
