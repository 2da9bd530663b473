//! A stream below the `h2` crate that says when each response begins to arrive: the crate reads on before it tells anybody.
//! It also says what the crate keeps to itself: that the peer has made its settings known, and that it is leaving.

use std::collections::HashMap;
use std::io;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::sync::watch;

use crate::Pen;

#[derive(Clone)]
pub(super) struct Herald(Arc<News>);

struct News {
    /// Whoever waits for the first HEADERS of a response, by stream.
    waiting: Mutex<HashMap<u32, Pen>>,
    settled: watch::Sender<bool>,
    leaving: AtomicBool,
}

pub(super) struct Heralded<S> {
    inner: S,
    frames: Frames,
    herald: Herald,
}

/// The frames that pass, told apart by their headers. RFC 9113 §4.1.
#[derive(Default)]
struct Frames {
    header: [u8; HEADER_LENGTH],
    /// How much of the header has passed, and how much of the payload is still to come.
    passed: usize,
    payload: usize,
}

/// A frame that somebody wants to hear of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Seen {
    Headers(u32),
    Settings,
    GoAway,
}

const HEADER_LENGTH: usize = 9;
/// RFC 9113 §6.2, §6.5, §6.8.
const HEADERS: u8 = 1;
const SETTINGS: u8 = 4;
const GOAWAY: u8 = 7;
const ACK: u8 = 1;

impl Default for Herald {
    fn default() -> Self {
        Self(Arc::new(News {
            waiting: Mutex::default(),
            settled: watch::Sender::new(false),
            leaving: AtomicBool::new(false),
        }))
    }
}

impl Herald {
    /// Has the peer said how many streams it allows? The crate knows how many as soon as it has read on.
    pub(super) fn settled(&self) -> watch::Receiver<bool> {
        self.0.settled.subscribe()
    }

    /// Has the peer said that it takes no further request? RFC 9113 §6.8.
    pub(super) fn is_leaving(&self) -> bool {
        self.0.leaving.load(Ordering::Relaxed)
    }

    /// Nobody waits for that response any more.
    pub(super) fn forget(&self, stream: u32) {
        self.waiting().remove(&stream);
    }

    fn tell(&self, seen: Seen) {
        match seen {
            Seen::Headers(stream) => self.announce(stream),
            Seen::Settings => {
                self.0.settled.send_replace(true);
            }
            Seen::GoAway => self.0.leaving.store(true, Ordering::Relaxed),
        }
    }

    pub(super) fn await_response(&self, stream: u32, pen: &Pen) {
        self.waiting().insert(stream, pen.clone());
    }

    /// The response is here: its first byte came with what arrived last, unless that was said already.
    pub(super) fn announce(&self, stream: u32) {
        let waiting = self.waiting().remove(&stream);
        if let Some(pen) = waiting {
            pen.arrived();
        }
    }

    fn waiting(&self) -> MutexGuard<'_, HashMap<u32, Pen>> {
        let waiting = self.0.waiting.lock();
        waiting.unwrap_or_else(PoisonError::into_inner)
    }
}

impl<S> Heralded<S> {
    pub(super) fn new(inner: S, herald: Herald) -> Self {
        Self {
            inner,
            frames: Frames::default(),
            herald,
        }
    }
}

impl Frames {
    /// What was seen of those frames whose headers end in these bytes.
    fn pass(&mut self, mut bytes: &[u8]) -> Vec<Seen> {
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
                    HEADERS => found.push(Seen::Headers(stream)),
                    SETTINGS if flags & ACK == 0 => found.push(Seen::Settings),
                    GOAWAY => found.push(Seen::GoAway),
                    _ => {}
                }
            }
        }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Heralded<S> {
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
            this.herald.tell(seen);
        }
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Heralded<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        data: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.inner).poll_write(cx, data)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_shutdown(cx)
    }
}

#[cfg(test)]
mod tests {
    use std::task::Waker;

    use roundtrip_model::{Clock, Event, Moment, Recorder};

    use super::*;

    struct Frozen;

    impl Clock for Frozen {
        fn now(&self) -> Moment {
            Moment::ZERO
        }
    }

    fn frame(kind: u8, payload: usize) -> Vec<u8> {
        let mut frame = vec![0, 0, payload as u8, kind, 0, 0, 0, 0, 1];
        frame.resize(HEADER_LENGTH + payload, HEADERS);
        frame
    }

    #[test]
    fn headers_are_found_wherever_reads_cut() {
        let stream = [frame(9, 18), frame(0, 40), frame(HEADERS, 7), frame(0, 3)].concat();
        let end_of_header = 27 + 49 + HEADER_LENGTH;
        let headers = vec![Seen::Headers(1)];
        for cut in 0..=stream.len() {
            let (first, second) = stream.split_at(cut);
            let mut frames = Frames::default();
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
        let herald = Herald::default();
        let mut acknowledged = frame(SETTINGS, 0);
        acknowledged[4] = ACK;
        let told = |bytes: &[u8]| {
            let seen = Frames::default().pass(bytes);
            for seen in seen {
                herald.tell(seen);
            }
            (*herald.settled().borrow(), herald.is_leaving())
        };
        assert_eq!(told(&acknowledged), (false, false));
        assert_eq!(told(&frame(SETTINGS, 6)), (true, false));
        assert_eq!(told(&frame(GOAWAY, 8)), (true, true));
    }

    #[test]
    fn a_response_began_with_the_bytes_that_held_its_headers() {
        let recorder = Recorder::new(Arc::new(Frozen));
        let herald = Herald::default();
        herald.await_response(1, &Pen::alone(&recorder));
        let stream = [frame(4, 0), frame(HEADERS, 9), frame(0, 40)].concat();
        let mut reader = Heralded::new(&*stream, herald.clone());
        for at in [5, 9] {
            recorder.record_at(Moment(at), Event::Received { bytes: 1 });
            let mut buffer = [0; 30];
            let polled = Pin::new(&mut reader).poll_read(
                &mut Context::from_waker(Waker::noop()),
                &mut ReadBuf::new(&mut buffer),
            );
            assert!(polled.is_ready());
        }
        herald.announce(1);
        let timeline = recorder.snapshot();
        let told: Vec<_> = timeline
            .iter()
            .filter(|(_, e)| *e == Event::FirstByte)
            .collect();
        assert_eq!(told, [&(Moment(5), Event::FirstByte)]);
    }
}
