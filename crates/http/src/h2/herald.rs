//! A stream below the `h2` crate that says when each response begins to arrive: the crate reads on before it tells anybody.

use std::collections::HashMap;
use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::Pen;

/// Whoever waits for the first HEADERS of a response, by stream.
#[derive(Clone, Default)]
pub(super) struct Herald(Arc<Mutex<HashMap<u32, Pen>>>);

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

const HEADER_LENGTH: usize = 9;
/// RFC 9113 §6.2.
const HEADERS: u8 = 1;

impl Herald {
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
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
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
    /// The streams of those HEADERS frames whose headers end in these bytes.
    fn pass(&mut self, mut bytes: &[u8]) -> Vec<u32> {
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
                let [high, middle, low, kind, _, a, b, c, d] = self.header;
                self.payload = u32::from_be_bytes([0, high, middle, low]) as usize;
                self.passed = 0;
                if kind == HEADERS {
                    // The highest bit is reserved.
                    found.push(u32::from_be_bytes([a, b, c, d]) & 0x7fff_ffff);
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
        for stream in this.frames.pass(passed) {
            this.herald.announce(stream);
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
        let stream = [frame(4, 18), frame(0, 40), frame(HEADERS, 7), frame(0, 3)].concat();
        let end_of_header = 27 + 49 + HEADER_LENGTH;
        for cut in 0..=stream.len() {
            let (first, second) = stream.split_at(cut);
            let mut frames = Frames::default();
            let found = (frames.pass(first), frames.pass(second));
            let expected = if cut < end_of_header {
                (vec![], vec![1])
            } else {
                (vec![1], vec![])
            };
            assert_eq!(found, expected, "{cut}");
        }
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
