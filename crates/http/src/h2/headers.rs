//! A stream below the `h2` crate that observes frames. It notes when each request without a body
//! has left, which may be later than the connection's preface, and when each response begins to
//! arrive, because the crate reads further before it reports that. It also notes what the crate
//! does not report: that SETTINGS or GOAWAY were received.

use std::collections::HashMap;
use std::io;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, ready};

use roundtrip_model::Moment;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::sync::watch;

use crate::RequestRecorder;

/// The frames that were seen on one connection.
#[derive(Clone)]
pub(super) struct HeadersObserver(Arc<HeadersShared>);

struct HeadersShared {
    /// Requests that wait for the head of their response, by stream.
    waiting: Mutex<HashMap<u32, AwaitedHead>>,
    settings_received: watch::Sender<bool>,
    going_away: AtomicBool,
}

/// The HEADERS that came for one request: of interim responses, then of the final one.
struct AwaitedHead {
    recorder: RequestRecorder,
    /// The request has no body: it ends with its HEADERS.
    is_whole: bool,
    came: Vec<Option<Moment>>,
}

/// The stream below the `h2` crate.
pub(super) struct ObservedStream<S> {
    inner: S,
    frames: FrameTracker,
    sent: FrameTracker,
    /// The streams whose HEADERS were written and not flushed.
    leaving: Vec<u32>,
    observer: HeadersObserver,
}

/// Follows the headers of the frames that pass. RFC 9113 §4.1.
#[derive(Default)]
struct FrameTracker {
    header: [u8; HEADER_LENGTH],
    /// The number of bytes of the header that have passed, and of the payload that are still to
    /// come.
    passed: usize,
    payload: usize,
}

/// A kind of frame that this observer needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SeenFrame {
    Headers(u32),
    Settings,
    GoAway,
}

const HEADER_LENGTH: usize = 9;
/// The length of what a client sends before its frames. RFC 9113 §3.4.
const PREFACE_LENGTH: usize = 24;
/// More interim responses than this are an error.
const MAX_HEADS: usize = 40;
/// RFC 9113 §6.2, §6.5, §6.8.
const HEADERS: u8 = 1;
const SETTINGS: u8 = 4;
const GOAWAY: u8 = 7;
const ACK: u8 = 1;

impl Default for HeadersObserver {
    fn default() -> Self {
        Self(Arc::new(HeadersShared {
            waiting: Mutex::default(),
            settings_received: watch::Sender::new(false),
            going_away: AtomicBool::new(false),
        }))
    }
}

impl HeadersObserver {
    /// Becomes true once the peer has announced its limit of streams. The crate knows the number
    /// once it has read further.
    pub(super) fn settings_received(&self) -> watch::Receiver<bool> {
        self.0.settings_received.subscribe()
    }

    /// Has the peer sent GOAWAY? RFC 9113 §6.8.
    pub(super) fn is_going_away(&self) -> bool {
        self.0.going_away.load(Ordering::Relaxed)
    }

    /// Stops waiting for the response on a stream.
    pub(super) fn forget(&self, stream: u32) {
        self.waiting().remove(&stream);
    }

    fn on_frame(&self, seen: SeenFrame) {
        match seen {
            SeenFrame::Headers(stream) => self.head_arrived(stream),
            SeenFrame::Settings => {
                self.0.settings_received.send_replace(true);
            }
            SeenFrame::GoAway => self.0.going_away.store(true, Ordering::Relaxed),
        }
    }

    pub(super) fn await_response(&self, stream: u32, recorder: &RequestRecorder, is_whole: bool) {
        let awaited = AwaitedHead {
            recorder: recorder.clone(),
            is_whole,
            came: Vec::new(),
        };
        self.waiting().insert(stream, awaited);
    }

    /// Records that the HEADERS on a stream left with the bytes that were sent last.
    fn head_left(&self, stream: u32) {
        if let Some(awaited) = self.waiting().get(&stream).filter(|a| a.is_whole) {
            awaited.recorder.departed();
        }
    }

    /// Records that the final response has come, after this many interim ones. The crate may have
    /// read further before it reported that.
    pub(super) fn answered(&self, stream: u32, interim: usize) {
        if let Some(awaited) = self.waiting().remove(&stream) {
            let came = awaited.came.get(interim).copied().flatten();
            awaited.recorder.answered_at(came);
        }
    }

    /// Notes HEADERS in the bytes that arrived last. The first HEADERS are the first byte of the
    /// response.
    fn head_arrived(&self, stream: u32) {
        if let Some(awaited) = self.waiting().get_mut(&stream) {
            if awaited.came.is_empty() {
                awaited.recorder.arrived();
            }
            if awaited.came.len() < MAX_HEADS {
                awaited.came.push(awaited.recorder.last_arrival());
            }
        }
    }

    fn waiting(&self) -> MutexGuard<'_, HashMap<u32, AwaitedHead>> {
        let waiting = self.0.waiting.lock();
        waiting.unwrap_or_else(PoisonError::into_inner)
    }
}

impl<S> ObservedStream<S> {
    pub(super) fn new(inner: S, observer: HeadersObserver) -> Self {
        Self {
            inner,
            frames: FrameTracker::default(),
            sent: FrameTracker {
                payload: PREFACE_LENGTH,
                ..FrameTracker::default()
            },
            leaving: Vec::new(),
            observer,
        }
    }
}

impl FrameTracker {
    /// Returns the frames whose headers end in these bytes.
    fn pass(&mut self, mut bytes: &[u8]) -> Vec<SeenFrame> {
        let mut found = Vec::new();
        loop {
            let skipped = self.payload.min(bytes.len());
            self.payload -= skipped;
            bytes = bytes.get(skipped..).unwrap_or_default();
            let Some((byte, rest)) = bytes.split_first() else {
                return found;
            };
            bytes = rest;
            if let Some(place) = self.header.get_mut(self.passed) {
                *place = *byte;
            }
            self.passed += 1;
            if self.passed == HEADER_LENGTH {
                let [high, middle, low, kind, flags, a, b, c, d] = self.header;
                self.payload = u32::from_be_bytes([0, high, middle, low]) as usize;
                self.passed = 0;
                // The highest bit is reserved.
                let stream = u32::from_be_bytes([a, b, c, d]) & 0x7fff_ffff;
                match kind {
                    HEADERS => found.push(SeenFrame::Headers(stream)),
                    SETTINGS if flags & ACK == 0 => found.push(SeenFrame::Settings),
                    GOAWAY => found.push(SeenFrame::GoAway),
                    _ => {}
                }
            }
        }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for ObservedStream<S> {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let before = buffer.filled().len();
        ready!(Pin::new(&mut this.inner).poll_read(cx, buffer))?;
        let passed = buffer.filled().get(before..).unwrap_or_default();
        for seen in this.frames.pass(passed) {
            this.observer.on_frame(seen);
        }
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for ObservedStream<S> {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        data: &[u8],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        let written = ready!(Pin::new(&mut this.inner).poll_write(cx, data))?;
        for seen in this.sent.pass(data.get(..written).unwrap_or_default()) {
            if let SeenFrame::Headers(stream) = seen {
                this.leaving.push(stream);
            }
        }
        Poll::Ready(Ok(written))
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        ready!(Pin::new(&mut this.inner).poll_flush(cx))?;
        for stream in this.leaving.drain(..) {
            this.observer.head_left(stream);
        }
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_shutdown(cx)
    }
}

#[cfg(test)]
mod tests {
    use std::task::Waker;

    use roundtrip_model::{Event, Recorder};

    use super::*;

    fn frame(kind: u8, payload: usize) -> Vec<u8> {
        let mut frame = vec![0, 0, payload as u8, kind, 0, 0, 0, 0, 1];
        frame.resize(HEADER_LENGTH + payload, HEADERS);
        frame
    }

    #[test]
    fn headers_are_found_wherever_reads_cut() {
        let stream = [frame(9, 18), frame(0, 40), frame(HEADERS, 7), frame(0, 3)].concat();
        let end_of_header = 27 + 49 + HEADER_LENGTH;
        let headers = vec![SeenFrame::Headers(1)];
        for cut in 0..=stream.len() {
            let (first, second) = stream.split_at(cut);
            let mut frames = FrameTracker::default();
            let found = (frames.pass(first), frames.pass(second));
            let expected = if cut < end_of_header {
                (vec![], headers.clone())
            } else {
                (headers.clone(), vec![])
            };
            assert_eq!(found, expected, "{cut}");
        }
    }

    #[test]
    fn settings_and_farewells_are_told() {
        let observer = HeadersObserver::default();
        let mut acknowledged = frame(SETTINGS, 0);
        acknowledged[4] = ACK;
        let told = |bytes: &[u8]| {
            let seen = FrameTracker::default().pass(bytes);
            for seen in seen {
                observer.on_frame(seen);
            }
            (
                *observer.settings_received().borrow(),
                observer.is_going_away(),
            )
        };
        assert_eq!(told(&acknowledged), (false, false));
        assert_eq!(told(&frame(SETTINGS, 6)), (true, false));
        assert_eq!(told(&frame(GOAWAY, 8)), (true, true));
    }

    #[test]
    fn a_response_began_and_ended_its_head_with_the_bytes_that_held_them() {
        let recorder = Recorder::new(Arc::new(Moment::ZERO));
        let observer = HeadersObserver::default();
        observer.await_response(1, &RequestRecorder::alone(&recorder), true);
        let (interim, last) = (frame(HEADERS, 9), frame(HEADERS, 9));
        let stream = [frame(4, 0), interim, last, frame(0, 40)].concat();
        let mut reader = ObservedStream::new(&*stream, observer.clone());
        for at in [5, 9, 12] {
            recorder.record_at(Moment(at), Event::Received { bytes: 1 });
            let mut buffer = [0; 30];
            let polled = Pin::new(&mut reader).poll_read(
                &mut Context::from_waker(Waker::noop()),
                &mut ReadBuf::new(&mut buffer),
            );
            assert!(polled.is_ready());
        }
        observer.answered(1, 1);
        let timeline = recorder.snapshot();
        let of_head = |e: &Event| matches!(e, Event::FirstByte | Event::Answered);
        let told: Vec<_> = timeline.iter().filter(|(_, e)| of_head(e)).collect();
        let first = (Moment(5), Event::FirstByte);
        assert_eq!(told, [&first, &(Moment(9), Event::Answered)]);
    }

    /// The preface and SETTINGS leave first, and the process may stop before it sends the rest.
    #[test]
    fn a_request_left_with_the_bytes_that_held_its_headers() {
        let recorder = Recorder::new(Arc::new(Moment::ZERO));
        let observer = HeadersObserver::default();
        observer.await_response(1, &RequestRecorder::alone(&recorder), true);
        let preface = [vec![b' '; PREFACE_LENGTH], frame(SETTINGS, 6)].concat();
        let mut writer = ObservedStream::new(Vec::new(), observer);
        let cx = &mut Context::from_waker(Waker::noop());
        for (at, bytes) in [(5, preface), (9, frame(HEADERS, 9)), (12, frame(0, 0))] {
            let written = Pin::new(&mut writer).poll_write(cx, &bytes);
            assert!(matches!(written, Poll::Ready(Ok(n)) if n == bytes.len()));
            recorder.record_at(Moment(at), Event::Sent { bytes: 1 });
            assert!(Pin::new(&mut writer).poll_flush(cx).is_ready());
        }
        let timeline = recorder.snapshot();
        let left: Vec<_> = timeline
            .iter()
            .filter(|(_, e)| *e == Event::RequestSent)
            .collect();
        assert_eq!(left, [&(Moment(9), Event::RequestSent)]);
    }
}
