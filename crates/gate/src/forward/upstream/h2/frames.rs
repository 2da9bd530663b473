//! Watches the frames that a server sends, below the library that reads them: it learns what the
//! library does not tell, and keeps the library from ending a connection for a server's habits.
//! RFC 9113 §4.1.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Sleep, sleep};

use super::standing::H2Standing;

const HEADER: usize = 9;
const DATA: u8 = 0;
const SETTINGS: u8 = 4;
/// A type that no specification defines. RFC 9113 §5.5: such frames are ignored.
const NO_TYPE: u8 = 0xfe;
/// END_STREAM or PADDED, of DATA.
const ENDS_OR_PADDED: u8 = 0x1 | 0x8;
const ACK: u8 = 0x1;

/// The library counts smaller frames of data.
pub(super) const SMALL: usize = 256;

/// When this many small frames have arrived and were not taken, reading pauses, so that their
/// exchanges run. Otherwise the library would read the whole socket first, and end the connection
/// after about six times as many.
const MANY_SMALL: usize = 8192;
const PAUSE: Duration = Duration::from_millis(1);

#[derive(Debug)]
pub(super) struct WatchedFrames<W> {
    wire: W,
    watch: Watch,
    pause: Option<Pin<Box<Sleep>>>,
}

#[derive(Debug)]
struct Watch {
    /// The header of the current frame, as far as it has arrived.
    header: [u8; HEADER],
    at: usize,
    /// The bytes of the current frame that have not arrived yet, without its header.
    left: usize,
    /// Small frames since the last pause.
    small: usize,
    standing: Arc<H2Standing>,
}

impl<W> WatchedFrames<W> {
    pub(super) fn new(wire: W, standing: Arc<H2Standing>) -> Self {
        let watch = Watch {
            header: [0; HEADER],
            at: 0,
            left: 0,
            small: 0,
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
        while !bytes.is_empty() {
            if self.at < HEADER {
                let used = self.read_header(bytes);
                bytes = bytes.get_mut(used..).unwrap_or_default();
            }
            if self.at < HEADER {
                return;
            }
            let here = self.left.min(bytes.len());
            self.left -= here;
            bytes = bytes.get_mut(here..).unwrap_or_default();
            if self.left == 0 {
                self.at = 0;
                if self.header[3] == SETTINGS && self.header[4] & ACK == 0 {
                    self.standing.settle();
                }
            }
        }
    }

    /// The number of bytes that belong to the header.
    fn read_header(&mut self, bytes: &mut [u8]) -> usize {
        let before = self.at;
        for (byte, place) in bytes.iter().zip(&mut self.header[before..]) {
            *place = *byte;
            self.at += 1;
        }
        let [a, b, c, kind, flags, ..] = self.header;
        let length = usize::from(a) << 16 | usize::from(b) << 8 | usize::from(c);
        // An empty DATA frame means nothing, but the library ends a connection after some of them.
        // If the header arrives in two parts that are split between these bytes, the frame stays.
        let is_whole = before <= 3 && self.at > 4;
        if is_whole
            && (kind, length) == (DATA, 0)
            && flags & ENDS_OR_PADDED == 0
            && let Some(kind) = bytes.get_mut(3 - before)
        {
            *kind = NO_TYPE;
        }
        if self.at == HEADER {
            self.left = length;
            if kind == DATA && (1..SMALL).contains(&length) {
                self.small += 1;
                self.standing.small_arrived();
            }
        }
        self.at - before
    }
}

impl<W: AsyncRead + Unpin> AsyncRead for WatchedFrames<W> {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let Self { wire, watch, pause } = self.get_mut();
        if watch.small >= MANY_SMALL && watch.standing.small() >= MANY_SMALL {
            let pausing = pause.get_or_insert_with(|| Box::pin(sleep(PAUSE)));
            ready!(pausing.as_mut().poll(cx));
            *pause = None;
            watch.small = 0;
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

    /// However the bytes arrive: frames keep their lengths, and only empty DATA without an end
    /// changes, unless the header is cut between its type and its flags.
    #[test]
    fn only_empty_data_is_hidden() {
        let frames = [
            (frame(SETTINGS, 0, &[0, 3, 0, 0, 0, 9]), false),
            (frame(DATA, 0, b""), true),
            (frame(DATA, 0, b"\0\0\0\0\0\0\0\0\0"), false),
            (frame(DATA, 0, b""), true),
            (frame(SETTINGS, ACK, b""), false),
            (frame(DATA, 0x8, b"\x02\0\0"), false),
            (frame(DATA, 1, b""), false),
        ];
        let bytes: Vec<u8> = frames.iter().flat_map(|(frame, _)| frame.clone()).collect();
        let hidden: Vec<u8> = frames
            .iter()
            .flat_map(|(frame, hides)| {
                let mut frame = frame.clone();
                if *hides {
                    frame[3] = NO_TYPE;
                }
                frame
            })
            .collect();
        for size in [1, 2, 3, 5, 7, 9, 10, 64, 1000] {
            let standing = Arc::<H2Standing>::default();
            let mut watch = WatchedFrames::new((), standing.clone()).watch;
            let mut read = bytes.clone();
            for part in read.chunks_mut(size) {
                watch.read(part);
            }
            assert!(standing.is_settled(), "{size}");
            let (mut at, mut pieces) = (0, Vec::new());
            for (frame, _) in &frames {
                pieces.push(at);
                at += frame.len();
            }
            for (start, (frame, hides)) in pieces.into_iter().zip(&frames) {
                let end = start + frame.len();
                let is_cut = (start + 4) % size == 0;
                let expected = if *hides && is_cut { &bytes } else { &hidden };
                assert_eq!(read[start..end], expected[start..end], "{size} at {start}");
            }
        }
    }
}
