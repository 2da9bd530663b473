//! Counts the frames that a client sends besides requests and data: PRIORITY, WINDOW_UPDATE,
//! SETTINGS, PING, and frames of unknown types. Each costs gate work, some need an answer, and none
//! is useful by itself. An honest client sends few of them per request, per amount of answer data,
//! and per second.

use std::cell::Cell;
use std::time::Duration;

use roundtrip_wire::h2::Tally;
use tokio::time::Instant;

/// The number of frames without a request or data (priorities, windows) that one request allows.
const PER_REQUEST: u64 = 16;
/// The number of such frames that a piece of an answer allows: two window updates, however many
/// frames it is sent in.
const PER_PIECE: u64 = 4;
/// The number of bytes of an answer that allow one such frame.
const BYTES: u64 = 1024;
const PER_SECOND: u64 = 10;

/// The counts of one connection.
#[derive(Debug)]
pub(super) struct Frames {
    most: u64,
    left: Cell<u64>,
    /// The time up to which elapsed time has been credited.
    since: Cell<Instant>,
}

impl Frames {
    pub(super) fn new(most: u32) -> Self {
        Self {
            most: most.into(),
            left: Cell::new(most.into()),
            since: Cell::new(Instant::now()),
        }
    }

    /// Credits a piece of an answer that is sent.
    pub(super) fn sends(&self, bytes: usize) {
        self.earn(PER_PIECE + bytes as u64 / BYTES);
    }

    /// Counts a client's frames; returns `false` if it has sent too many useless ones.
    pub(super) fn take(&self, tally: Tally) -> bool {
        self.earn(PER_REQUEST.saturating_mul(tally.requests.into()));
        (0..tally.control_frames).all(|_| self.spend())
    }

    fn earn(&self, frames: u64) {
        let left = self.left.get().saturating_add(frames);
        self.left.set(left.min(self.most));
    }

    fn spend(&self) -> bool {
        if self.left.get() == 0 {
            let whole = self.since.get().elapsed().as_secs();
            self.since
                .set(self.since.get() + Duration::from_secs(whole));
            self.earn(whole.saturating_mul(PER_SECOND));
        }
        let left = self.left.get().checked_sub(1);
        self.left.set(left.unwrap_or(0));
        left.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sent(requests: u32, control_frames: u32) -> Tally {
        Tally {
            requests,
            control_frames,
            ..Tally::default()
        }
    }

    #[tokio::test(start_paused = true)]
    async fn frames_that_mean_nothing_are_counted() {
        let frames = Frames::new(10);
        assert!((0..5).all(|_| frames.take(sent(0, 2))));
        assert!(!frames.take(sent(0, 1)), "one too many");
    }

    #[tokio::test(start_paused = true)]
    async fn justified_frames_are_not_too_many() {
        let frames = Frames::new(10);
        for _ in 0..1000 {
            assert!(frames.take(sent(1, 3)));
            frames.sends(16 * 1024);
            assert!(frames.take(sent(0, 7)));
        }
    }

    #[tokio::test(start_paused = true)]
    async fn time_gives_some() {
        let frames = Frames::new(100);
        for _ in 0..100 {
            assert!(frames.take(sent(0, 10)));
            tokio::time::advance(Duration::from_secs(1)).await;
        }
        assert!(!frames.take(sent(0, 200)));
    }
}
