//! Counts the frames that a client sends besides requests and data: PRIORITY, WINDOW_UPDATE,
//! SETTINGS, PING, and frames of unknown types. Each costs gate work, some need an answer, and none
//! is useful by itself. An honest client sends few of them per request, per amount of answer data,
//! and per second.

use std::cell::{Cell, RefCell};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use tokio::time::Instant;

/// RFC 9113 §3.4.
const PREFACE: usize = 24;
/// RFC 9113 §4.1.
const HEAD: usize = 9;
const DATA: u8 = 0;
const HEADERS: u8 = 1;
const CONTINUATION: u8 = 9;

/// The number of such frames that a request allows: priorities, windows.
const PER_REQUEST: u64 = 16;
/// The number of such frames that a piece of an answer allows: two window updates, however many
/// frames it is sent in.
const PER_PIECE: u64 = 4;
/// The bytes of an answer that allow one frame.
const BYTES: u64 = 1024;
const PER_SECOND: u64 = 10;

/// The counts of one connection.
#[derive(Debug)]
pub(super) struct Frames {
    most: u64,
    left: Cell<u64>,
    /// When time was last credited.
    since: Cell<Instant>,
    excess: Cell<bool>,
    waker: RefCell<Option<Waker>>,
    reader: Cell<Reader>,
}

/// The position in the client's frames.
#[derive(Debug, Clone, Copy)]
enum Reader {
    /// This many bytes of a payload are still to be skipped.
    Skip(usize),
    Head([u8; HEAD], usize),
}

impl Frames {
    pub(super) fn new(most: u32) -> Self {
        Self {
            most: most.into(),
            left: Cell::new(most.into()),
            since: Cell::new(Instant::now()),
            excess: Cell::new(false),
            waker: RefCell::default(),
            reader: Cell::new(Reader::Skip(PREFACE)),
        }
    }

    /// Credits a piece of an answer that is sent.
    pub(super) fn sends(&self, bytes: usize) {
        self.earn(PER_PIECE + bytes as u64 / BYTES);
    }

    /// Takes received bytes; `false` if they contain too many useless frames.
    pub(super) fn take(&self, mut bytes: &[u8]) -> bool {
        let mut reader = self.reader.get();
        while let Some((first, rest)) = bytes.split_first() {
            reader = match reader {
                Reader::Skip(left) => {
                    let here = left.min(bytes.len());
                    bytes = bytes.get(here..).unwrap_or_default();
                    match left - here {
                        0 => Reader::Head([0; HEAD], 0),
                        left => Reader::Skip(left),
                    }
                }
                Reader::Head(mut head, have) => {
                    bytes = rest;
                    if let Some(place) = head.get_mut(have) {
                        *place = *first;
                    }
                    if have + 1 < HEAD {
                        Reader::Head(head, have + 1)
                    } else {
                        self.count(head)
                    }
                }
            };
        }
        self.reader.set(reader);
        !self.excess.get()
    }

    fn count(&self, [a, b, c, kind, ..]: [u8; HEAD]) -> Reader {
        let length = u32::from_be_bytes([0, a, b, c]) as usize;
        match kind {
            // The engine refuses empty or endless ones.
            DATA | CONTINUATION => {}
            HEADERS => self.earn(PER_REQUEST),
            _ => self.spend(),
        }
        match length {
            0 => Reader::Head([0; HEAD], 0),
            length => Reader::Skip(length),
        }
    }

    fn earn(&self, frames: u64) {
        let left = self.left.get().saturating_add(frames);
        self.left.set(left.min(self.most));
    }

    fn spend(&self) {
        if self.left.get() == 0 {
            let whole = self.since.get().elapsed().as_secs();
            self.since
                .set(self.since.get() + Duration::from_secs(whole));
            self.earn(whole.saturating_mul(PER_SECOND));
        }
        match self.left.get().checked_sub(1) {
            Some(left) => self.left.set(left),
            None => {
                self.excess.set(true);
                if let Some(waker) = self.waker.borrow_mut().take() {
                    waker.wake();
                }
            }
        }
    }

    /// Ready once there were too many.
    pub(super) fn poll_excess(&self, cx: &Context<'_>) -> Poll<()> {
        if self.excess.get() {
            return Poll::Ready(());
        }
        *self.waker.borrow_mut() = Some(cx.waker().clone());
        Poll::Pending
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(kind: u8, length: u8) -> Vec<u8> {
        let mut frame = vec![0, 0, length, kind, 0, 0, 0, 0, 1];
        frame.extend(vec![7; length.into()]);
        frame
    }

    fn begun(most: u32) -> Frames {
        let frames = Frames::new(most);
        assert!(frames.take(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"));
        frames
    }

    #[tokio::test(start_paused = true)]
    async fn frames_that_mean_nothing_are_counted_however_they_come() {
        for piece in [1, 5, 9, 1000] {
            let frames = begun(10);
            let sent: Vec<u8> = [2, 4, 6, 8, 77]
                .iter()
                .flat_map(|kind| frame(*kind, 5))
                .collect();
            let twice = [sent.clone(), sent].concat();
            assert!(twice.chunks(piece).all(|bytes| frames.take(bytes)));
            assert!(!frames.take(&frame(8, 4)), "one too many");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn what_there_is_a_reason_for_is_not() {
        let frames = begun(10);
        for _ in 0..1000 {
            assert!(frames.take(&frame(1, 20)));
            assert!(frames.take(&frame(0, 200)));
            assert!((0..3).all(|_| frames.take(&frame(8, 4))));
            frames.sends(16 * 1024);
            assert!((0..7).all(|_| frames.take(&frame(8, 4))));
        }
    }

    #[tokio::test(start_paused = true)]
    async fn time_gives_some() {
        let frames = begun(100);
        for _ in 0..100 {
            assert!((0..10).all(|_| frames.take(&frame(6, 8))));
            tokio::time::advance(Duration::from_secs(1)).await;
        }
        assert!(!(0..200).all(|_| frames.take(&frame(6, 8))));
    }
}
