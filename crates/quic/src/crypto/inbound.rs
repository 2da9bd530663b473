//! The peer's handshake bytes at one level, put in order. RFC 9000 §7.5 and §19.6.

use std::collections::BTreeMap;

use crate::error::{Code, TransportError};

/// How far bytes may be ahead of those that TLS has taken; RFC 9000 §7.5 requires 4 096. The
/// longest TLS handshake message that is read has this size.
const WINDOW: u64 = 64 * 1024;
/// The largest number of pieces that are stored ahead; a peer that needs more is trying to use up
/// our memory.
const MAX_PIECES: usize = 256;

#[derive(Debug, Default)]
pub(super) struct Inbound {
    /// Everything before this offset was taken.
    taken: u64,
    /// What follows `taken` without a gap.
    ready: Vec<u8>,
    /// The data behind a gap, by offset. The pieces do not overlap.
    ahead: BTreeMap<u64, Vec<u8>>,
}

impl Inbound {
    pub(super) fn push(&mut self, offset: u64, data: &[u8]) -> Result<(), TransportError> {
        let too_much = || {
            TransportError::new(
                Code::CRYPTO_BUFFER_EXCEEDED,
                "its handshake bytes are too far ahead",
            )
        };
        let end = offset
            .checked_add(data.len() as u64)
            .filter(|end| end.saturating_sub(self.taken) <= WINDOW)
            .ok_or_else(too_much)?;
        let mut at = offset.max(self.ready_end());
        while at < end {
            let before = self.ahead.range(..=at).next_back();
            let known = before.map_or(at, |(start, piece)| start + piece.len() as u64);
            if known > at {
                at = known;
                continue;
            }
            let next = self.ahead.range(at..).next();
            let stop = next.map_or(end, |(start, _)| end.min(*start));
            let fresh = data.get((at - offset) as usize..(stop - offset) as usize);
            self.fill(at, fresh.unwrap_or_default());
            at = stop.max(self.ready_end());
        }
        if self.ahead.len() > MAX_PIECES {
            return Err(too_much());
        }
        Ok(())
    }

    /// Stores those bytes that are not there yet.
    fn fill(&mut self, at: u64, fresh: &[u8]) {
        if at == self.ready_end() {
            self.ready.extend_from_slice(fresh);
            while let Some(piece) = self.ahead.remove(&self.ready_end()) {
                self.ready.extend_from_slice(&piece);
            }
            return;
        }
        match self.ahead.range_mut(..at).next_back() {
            Some((start, piece)) if start + piece.len() as u64 == at => {
                piece.extend_from_slice(fresh);
            }
            _ => {
                self.ahead.insert(at, fresh.to_vec());
            }
        }
    }

    fn ready_end(&self) -> u64 {
        self.taken + self.ready.len() as u64
    }

    /// Takes everything before the first gap that was not taken yet.
    pub(super) fn take(&mut self) -> Option<Vec<u8>> {
        if self.ready.is_empty() {
            return None;
        }
        self.taken = self.ready_end();
        Some(std::mem::take(&mut self.ready))
    }

    /// Returns the same bytes without removing them.
    pub(super) fn ready(&self) -> &[u8] {
        &self.ready
    }

    pub(super) fn memory(&self) -> usize {
        let ahead: usize = self.ahead.values().map(Vec::capacity).sum();
        self.ready.capacity() + ahead
    }

    /// Whether there are received bytes that were not taken.
    pub(super) fn has_rest(&self) -> bool {
        !self.ready.is_empty() || !self.ahead.is_empty()
    }

    /// Whether every byte before `end` was already taken. RFC 9001 §4.1.3.
    pub(super) fn reaches(&self, end: u64) -> bool {
        end <= self.taken
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_lies_too_far_ahead_is_refused() {
        let mut inbound = Inbound::default();
        for offset in [WINDOW, u64::MAX, u64::MAX - 1, 1 << 61] {
            let refused = inbound.push(offset, b"x").unwrap_err();
            assert_eq!(refused.code, Code::CRYPTO_BUFFER_EXCEEDED);
        }
        assert!(!inbound.has_rest());
        inbound.push(WINDOW - 1, b"x").unwrap();
        inbound.push(0, b"abc").unwrap();
        assert_eq!(inbound.take().unwrap(), b"abc");
        inbound.push(WINDOW + 2, b"x").unwrap();
        inbound.push(WINDOW + 3, b"x").unwrap_err();
    }

    #[test]
    fn data_far_ahead_takes_only_its_own_bytes() {
        let mut inbound = Inbound::default();
        inbound.push(WINDOW - 1, b"x").unwrap();
        inbound.push(100, b"abc").unwrap();
        inbound.push(103, b"def").unwrap();
        let held: usize = inbound.ahead.values().map(Vec::capacity).sum();
        assert!(held < 100 && inbound.ahead.len() == 2, "{held}");
    }

    #[test]
    fn crumbs_are_refused() {
        let mut inbound = Inbound::default();
        let refused = (1..1000).find(|crumb| inbound.push(crumb * 2, b"x").is_err());
        assert_eq!(refused, Some(MAX_PIECES as u64 + 1));
    }

    proptest! {
        #[test]
        fn order_and_repetition_do_not_matter(
            text in prop::collection::vec(any::<u8>(), 1..400),
            cuts in prop::collection::vec((0..400_usize, 1..100_usize), 0..60),
        ) {
            let mut inbound = Inbound::default();
            let mut got = Vec::new();
            let all = (0..text.len()).map(|at| (at, 1));
            for (at, length) in cuts.into_iter().chain(all) {
                let at = at.min(text.len());
                let piece = &text[at..text.len().min(at + length)];
                inbound.push(at as u64, piece).unwrap();
                let ready = inbound.ready().to_vec();
                let taken = inbound.take().unwrap_or_default();
                prop_assert_eq!(&ready, &taken);
                got.extend(taken);
                prop_assert!(inbound.take().is_none());
                prop_assert!(text.starts_with(&got));
            }
            prop_assert_eq!(got, text);
            prop_assert!(!inbound.has_rest());
        }
    }
}
