//! Watches the frames that a server sends, below the library that reads them: it learns what the
//! library does not report, and keeps the library from ending a connection for a server's habits.
//! RFC 9113 §4.1.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep, sleep_until};

use super::CONNECTION_WINDOW;
use super::standing::H2Standing;

const HEADER: usize = 9;
const DATA: u8 = 0;
const HEADERS: u8 = 1;
const SETTINGS: u8 = 4;
const CONTINUATION: u8 = 9;
/// A type that no specification defines. RFC 9113 §5.5: such frames are ignored.
const NO_TYPE: u8 = 0xfe;
/// Flags of DATA.
const END_STREAM: u8 = 0x1;
const PADDED: u8 = 0x8;
const ACK: u8 = 0x1;

/// The library counts smaller frames of data.
pub(super) const SMALL: usize = 256;

/// When this many small frames have arrived and were not taken, reading pauses, so that their
/// exchanges run. Otherwise the library would read the whole socket first, and end the connection
/// after about six times as many.
const MANY_SMALL: usize = 8192;
const PAUSE: Duration = Duration::from_millis(1);

/// The largest number of frames without a part of an answer that are read in this time: each costs
/// work, and some are answered.
const CONTROL_FRAMES: u32 = 1024;
const CONTROL_TIME: Duration = Duration::from_millis(10);

/// The window gets the padding of hidden frames back with the connection's end. When half of it is
/// lost, further requests get another connection.
const MAX_HIDDEN: usize = CONNECTION_WINDOW as usize / 2;

#[derive(Debug)]
pub(super) struct WatchedFrames<W> {
    wire: W,
    watch: Watch,
    pause: Option<Pin<Box<Sleep>>>,
}

#[derive(Debug)]
struct Watch {
    /// The header of the current frame, as far as it has arrived. The length of the padding counts
    /// as part of it.
    header: [u8; HEADER + 1],
    at: usize,
    /// The bytes of the current frame that have not arrived yet, without its header; `None` while
    /// the header is incomplete.
    left: Option<usize>,
    /// Small frames since the last pause.
    small: usize,
    /// Frames without a part of an answer, and since when they are counted.
    control: u32,
    since: Instant,
    /// The bytes of padding that were hidden.
    hidden: usize,
    standing: Arc<H2Standing>,
}

impl<W> WatchedFrames<W> {
    pub(super) fn new(wire: W, standing: Arc<H2Standing>) -> Self {
        let watch = Watch {
            header: [0; HEADER + 1],
            at: 0,
            left: None,
            small: 0,
            control: 0,
            since: Instant::now(),
            hidden: 0,
            standing,
        };
        Self {
            wire,
            watch,
            pause: None,
        }
    }
}

impl Watch {
    fn read(&mut self, mut bytes: &mut [u8]) {
        loop {
            let left = match self.left {
                Some(left) => left,
                None if bytes.is_empty() => return,
                None => {
                    let used = self.read_header(bytes);
                    bytes = bytes.get_mut(used..).unwrap_or_default();
                    continue;
                }
            };
            let here = left.min(bytes.len());
            bytes = bytes.get_mut(here..).unwrap_or_default();
            if here < left {
                self.left = Some(left - here);
                return;
            }
            (self.left, self.at) = (None, 0);
            if self.kind() == SETTINGS && self.flags() & ACK == 0 {
                self.standing.settle();
            }
        }
    }

    /// The number of bytes that belong to the header.
    fn read_header(&mut self, bytes: &mut [u8]) -> usize {
        let before = self.at;
        let mut used = 0;
        while self.at < self.header_size()
            && let Some(byte) = bytes.get(used)
        {
            self.header[self.at] = *byte;
            self.at += 1;
            used += 1;
        }
        // A DATA frame without data means nothing, but the library ends a connection after some of
        // them. If the header arrives in two parts that are split after its type, the frame stays.
        let is_empty = self.at > 4 && self.data() == Some(0) && self.flags() & END_STREAM == 0;
        if is_empty && let Some(kind) = 3_usize.checked_sub(before) {
            bytes[kind] = NO_TYPE;
            self.header[3] = NO_TYPE;
            self.hide();
        }
        if self.at >= self.header_size() {
            self.begin();
        }
        used
    }

    fn hide(&mut self) {
        self.hidden += self.length();
        if self.hidden > MAX_HIDDEN {
            self.standing.suspect();
        }
    }

    /// The header is complete.
    fn begin(&mut self) {
        self.left = Some((HEADER + self.length()).saturating_sub(self.at));
        match self.data() {
            Some(1..SMALL) => {
                self.small += 1;
                self.standing.small_arrived();
            }
            None if !matches!(self.kind(), HEADERS | CONTINUATION) => self.control += 1,
            _ => {}
        }
    }

    fn header_size(&self) -> usize {
        let is_padded = self.at >= HEADER && self.is_padded_data() && self.length() > 0;
        HEADER + usize::from(is_padded)
    }

    fn kind(&self) -> u8 {
        self.header[3]
    }

    fn flags(&self) -> u8 {
        self.header[4]
    }

    fn length(&self) -> usize {
        let [a, b, c, ..] = self.header;
        usize::from(a) << 16 | usize::from(b) << 8 | usize::from(c)
    }

    fn is_padded_data(&self) -> bool {
        self.kind() == DATA && self.flags() & PADDED != 0
    }

    /// The bytes of data in a frame of data, if its header tells them.
    fn data(&self) -> Option<usize> {
        if self.kind() != DATA {
            return None;
        }
        if !self.is_padded_data() {
            return Some(self.length());
        }
        let [.., padding] = self.header;
        let length = self.length().checked_sub(1 + usize::from(padding));
        length.filter(|_| self.at > HEADER)
    }

    /// The time until which reading pauses.
    fn pause(&mut self) -> Option<Instant> {
        if self.small >= MANY_SMALL && self.standing.small() >= MANY_SMALL {
            self.small = 0;
            return Some(Instant::now() + PAUSE);
        }
        if self.control < CONTROL_FRAMES {
            return None;
        }
        let now = Instant::now();
        let until = self.since + CONTROL_TIME * self.control / CONTROL_FRAMES;
        (self.control, self.since) = (0, until.max(now));
        (until > now).then_some(until)
    }
}

impl<W: AsyncRead + Unpin> AsyncRead for WatchedFrames<W> {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let Self { wire, watch, pause } = self.get_mut();
        if pause.is_none() {
            *pause = watch.pause().map(|until| Box::pin(sleep_until(until)));
        }
        if let Some(pausing) = pause {
            ready!(pausing.as_mut().poll(cx));
            *pause = None;
        }
        let before = into.filled().len();
        ready!(Pin::new(wire).poll_read(cx, into))?;
        let came = into.filled_mut().get_mut(before..).unwrap_or_default();
        if !came.is_empty() {
            watch.standing.hear();
            watch.read(came);
        }
        Poll::Ready(Ok(()))
    }
}

impl<W: AsyncWrite + Unpin> AsyncWrite for WatchedFrames<W> {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        data: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.get_mut().wire).poll_write(cx, data)
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        data: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.get_mut().wire).poll_write_vectored(cx, data)
    }

    fn is_write_vectored(&self) -> bool {
        self.wire.is_write_vectored()
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().wire).poll_flush(cx)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().wire).poll_shutdown(cx)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(kind: u8, flags: u8, payload: &[u8]) -> Vec<u8> {
        let length = u8::try_from(payload.len()).unwrap();
        let mut frame = vec![0, 0, length, kind, flags, 0, 0, 0, 1];
        frame.extend_from_slice(payload);
        frame
    }

    /// However the bytes arrive: frames keep their lengths, and only DATA without data or an end
    /// changes, unless the header is cut behind its type.
    #[test]
    fn only_empty_data_is_hidden() {
        const PADDING: &[u8] = b"\x03\0\0\0";
        // Which cuts keep a frame from being hidden.
        let (short, padded) = (Some(4..=4), Some(4..=9));
        let frames = [
            (frame(SETTINGS, 0, &[0, 3, 0, 0, 0, 9]), None),
            (frame(DATA, 0, b""), short.clone()),
            (frame(DATA, 0, b"\0\0\0\0\0\0\0\0\0"), None),
            (frame(DATA, 0, b""), short),
            (frame(SETTINGS, ACK, b""), None),
            (frame(DATA, PADDED, b"\x02data\0\0"), None),
            (frame(DATA, PADDED, PADDING), padded.clone()),
            (frame(DATA, PADDED | END_STREAM, PADDING), None),
            (frame(HEADERS, PADDED, PADDING), None),
            (frame(DATA, PADDED, b"\0"), padded),
            (frame(DATA, PADDED, b"\x09too long"), None),
            (frame(DATA, PADDED, b""), None),
            (frame(DATA, 1, b""), None),
        ];
        let bytes: Vec<u8> = frames.iter().flat_map(|(frame, _)| frame.clone()).collect();
        for size in [1, 2, 3, 5, 7, 9, 10, 64, 1000] {
            let standing = Arc::<H2Standing>::default();
            let mut watch = WatchedFrames::new((), standing.clone()).watch;
            let mut read = bytes.clone();
            for part in read.chunks_mut(size) {
                watch.read(part);
            }
            assert!(standing.is_settled(), "{size}");
            let (mut start, mut hidden) = (0, 0);
            for (frame, cuts) in &frames {
                let end = start + frame.len();
                let is_cut = |mut cuts: std::ops::RangeInclusive<usize>| {
                    cuts.any(|cut| (start + cut).is_multiple_of(size))
                };
                let mut expected = frame.clone();
                if cuts.clone().is_some_and(|cuts| !is_cut(cuts)) {
                    expected[3] = NO_TYPE;
                    hidden += frame.len() - HEADER;
                }
                assert_eq!(read[start..end], expected, "{size} at {start}");
                start = end;
            }
            assert_eq!(watch.hidden, hidden, "{size}");
            // "data", the nine zeros, and what the library refuses.
            assert_eq!(standing.small(), 2, "{size}");
        }
    }

    async fn read_all(frames: Vec<u8>) -> Duration {
        let began = Instant::now();
        let mut watched = WatchedFrames::new(&*frames, Arc::default());
        let read = tokio::io::copy(&mut watched, &mut tokio::io::sink()).await;
        assert_eq!(read.unwrap(), frames.len() as u64);
        began.elapsed()
    }

    #[tokio::test(start_paused = true)]
    async fn frames_that_mean_nothing_are_read_slowly() {
        const COUNT: u32 = 100_000;
        const PING: u8 = 6;
        let many = |frame: Vec<u8>| frame.repeat(COUNT as usize);
        let least = CONTROL_TIME * (COUNT / CONTROL_FRAMES - 10);
        for kind in [PING, SETTINGS, NO_TYPE] {
            let took = read_all(many(frame(kind, 0, &[0; 8]))).await;
            assert!((least..2 * least).contains(&took), "{kind}: {took:?}");
        }
        assert!(read_all(many(frame(DATA, 0, b""))).await >= least);
        for kind in [HEADERS, CONTINUATION] {
            let took = read_all(many(frame(kind, 0, b"\x88"))).await;
            assert_eq!(took, Duration::ZERO);
        }
    }

    #[tokio::test]
    async fn a_connection_that_is_lost_to_padding_gets_no_more_requests() {
        let padded = [&[255][..], &[0; 255]].concat();
        let mut frame = frame(DATA, PADDED, &[0; 0]);
        frame[1..3].copy_from_slice(&[1, 0]);
        frame.extend_from_slice(&padded);
        let standing = Arc::<H2Standing>::default();
        let mut watch = WatchedFrames::new((), standing.clone()).watch;
        for _ in 0..MAX_HIDDEN / 256 {
            watch.read(&mut frame.clone());
        }
        assert!(!standing.is_suspect());
        watch.read(&mut frame);
        assert!(standing.is_suspect());
    }
}
