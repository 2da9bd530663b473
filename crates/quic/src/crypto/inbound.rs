//! Handshake bytes that the peer sent at one level, put in order. RFC 9000 §7.5 and §19.6.

use crate::error::{Code, TransportError};
use crate::spans::Spans;

/// How far ahead of what was taken bytes may lie; RFC 9000 §7.5 asks for 4 096. The longest TLS
/// handshake message that is read has as many.
const WINDOW: u64 = 64 * 1024;
/// How many pieces with holes between them are kept: a peer that needs more wants to cost us
/// something.
const MAX_PIECES: usize = 256;

#[derive(Debug, Default)]
pub(super) struct Inbound {
    /// All before this was taken.
    taken: u64,
    /// What lies behind `taken`, with holes.
    bytes: Vec<u8>,
    /// Which of them are there.
    come: Spans,
}

impl Inbound {
    pub(super) fn push(&mut self, offset: u64, data: &[u8]) -> Result<(), TransportError> {
        let too_much = || {
            TransportError::new(
                Code::CRYPTO_BUFFER_EXCEEDED,
                "its handshake bytes lie too far ahead",
            )
        };
        let end = offset
            .checked_add(data.len() as u64)
            .filter(|end| end.saturating_sub(self.taken) <= WINDOW)
            .ok_or_else(too_much)?;
        if end <= self.taken {
            return Ok(());
        }
        let known = self.taken.saturating_sub(offset);
        let fresh = data.get(known as usize..).unwrap_or_default();
        let from = offset.max(self.taken);
        let (start, stop) = ((from - self.taken) as usize, (end - self.taken) as usize);
        if self.bytes.len() < stop {
            self.bytes.resize(stop, 0);
        }
        if let Some(room) = self.bytes.get_mut(start..stop) {
            room.copy_from_slice(fresh);
        }
        self.come.insert(from, end);
        if self.come.len() > MAX_PIECES {
            return Err(too_much());
        }
        Ok(())
    }

    /// Everything before the first hole that was not taken yet.
    pub(super) fn take(&mut self) -> Option<Vec<u8>> {
        let end = self.come.join(self.taken)?;
        let ready = (end - self.taken) as usize;
        self.taken = end;
        let rest = self.bytes.split_off(ready.min(self.bytes.len()));
        Some(std::mem::replace(&mut self.bytes, rest))
    }

    /// The same, and it stays.
    pub(super) fn ready(&self) -> &[u8] {
        let first = self.come.first();
        let end = first.filter(|span| span.start <= self.taken);
        let length = end.map_or(0, |span| span.end.saturating_sub(self.taken));
        self.bytes.get(..length as usize).unwrap_or_default()
    }

    /// Bytes lie behind a hole.
    pub(super) fn has_rest(&self) -> bool {
        !self.come.is_empty()
    }

    /// All that may come at this level has come before `end`. RFC 9001 §4.1.3.
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
        assert_eq!(inbound.bytes.capacity(), 0);
        inbound.push(WINDOW - 1, b"x").unwrap();
        inbound.push(0, b"abc").unwrap();
        assert_eq!(inbound.take().unwrap(), b"abc");
        inbound.push(WINDOW + 2, b"x").unwrap();
        inbound.push(WINDOW + 3, b"x").unwrap_err();
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
