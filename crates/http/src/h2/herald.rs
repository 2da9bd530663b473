//! A stream below the `h2` crate that says when a response begins to arrive: the crate reads on before it tells anybody.

use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, ready};

use roundtrip_model::{Event, Recorder};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// Whoever waits for the first HEADERS of a response.
#[derive(Clone, Default)]
pub(super) struct Herald(Arc<Mutex<Option<Recorder>>>);

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
    pub(super) fn await_response(&self, recorder: &Recorder) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(recorder.clone());
    }

    /// The response is here: its first byte came with what arrived last, unless that was said already.
    pub(super) fn announce(&self) {
        let waiting = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(recorder) = waiting {
            recorder.record_arrival(Event::FirstByte);
        }
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
    /// Does the header of a HEADERS frame end in these bytes?
    fn pass(&mut self, mut bytes: &[u8]) -> bool {
        let mut found = false;
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
                let [high, middle, low, kind, ..] = self.header;
                self.payload = u32::from_be_bytes([0, high, middle, low]) as usize;
                self.passed = 0;
                found |= kind == HEADERS;
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
        if this
            .frames
            .pass(buffer.filled().get(before..).unwrap_or_default())
        {
            this.herald.announce();
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

    use roundtrip_model::{Clock, Moment};

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
            assert_eq!(found, (cut >= end_of_header, cut < end_of_header), "{cut}");
        }
    }

    #[test]
    fn a_response_began_with_the_bytes_that_held_its_headers() {
        let recorder = Recorder::new(Arc::new(Frozen));
        let herald = Herald::default();
        herald.await_response(&recorder);
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
        herald.announce();
        let timeline = recorder.snapshot();
        let told: Vec<_> = timeline
            .iter()
            .filter(|(_, e)| *e == Event::FirstByte)
            .collect();
        assert_eq!(told, [&(Moment(5), Event::FirstByte)]);
    }
}
