//! This side's handshake bytes at one level: kept until they are acknowledged, and sent again if
//! they were lost. RFC 9000 §13.3.

use std::ops::Range;

use crate::spans::Spans;

#[derive(Debug, Default)]
pub(super) struct Outbound {
    /// Everything before this offset was acknowledged and is forgotten.
    base: u64,
    bytes: Vec<u8>,
    /// Nothing from this offset on has been sent yet.
    fresh: u64,
    /// Sent and lost.
    lost: Spans,
    /// Acknowledged, beyond `base`.
    acked: Spans,
}

impl Outbound {
    pub(super) fn push(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    pub(super) fn memory(&self) -> usize {
        self.bytes.capacity()
    }

    pub(super) fn wants_to_send(&self) -> bool {
        !self.lost.is_empty() || self.fresh < self.end()
    }

    /// Returns what to send next, and its offset; it then counts as sent.
    pub(super) fn chunk(&mut self, room: usize) -> Option<(u64, &[u8])> {
        let lost = self.lost.first().map(|span| (span.start, span.end));
        let (start, end) = lost.unwrap_or((self.fresh, self.end()));
        let length = (end - start).min(room as u64);
        if length == 0 {
            return None;
        }
        let end = start + length;
        self.lost.remove(start, end);
        self.fresh = self.fresh.max(end);
        let range = self.range(start..end)?;
        self.bytes.get(range).map(|bytes| (start, bytes))
    }

    pub(super) fn on_acked(&mut self, span: Range<u64>) {
        self.lost.remove(span.start, span.end);
        self.acked.insert(span.start.max(self.base), span.end);
        let Some(end) = self.acked.join(self.base) else {
            return;
        };
        let gone = (end - self.base) as usize;
        self.bytes.drain(..gone.min(self.bytes.len()));
        self.base = end;
    }

    pub(super) fn on_lost(&mut self, span: Range<u64>) {
        self.lost.insert(span.start.max(self.base), span.end);
        for acked in self.acked.iter() {
            self.lost.remove(acked.start, acked.end);
        }
    }

    /// Marks everything that is not acknowledged to be sent again.
    pub(super) fn rewind(&mut self) {
        self.lost.clear();
        self.on_lost(self.base..self.fresh);
    }

    /// Forgets all data, so that none of it is sent again.
    pub(super) fn forget(&mut self) {
        let end = self.end();
        *self = Self {
            base: end,
            fresh: end,
            ..Self::default()
        };
    }

    fn end(&self) -> u64 {
        self.base + self.bytes.len() as u64
    }

    fn range(&self, span: Range<u64>) -> Option<Range<usize>> {
        let start = span.start.checked_sub(self.base)?;
        let end = span.end.checked_sub(self.base)?;
        Some(start as usize..end as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sent(outbound: &mut Outbound, room: usize) -> Option<(u64, String)> {
        let (offset, bytes) = outbound.chunk(room)?;
        Some((offset, String::from_utf8(bytes.to_vec()).unwrap()))
    }

    fn text(offset: u64, text: &str) -> (u64, String) {
        (offset, text.to_owned())
    }

    #[test]
    fn lost_bytes_are_sent_again_first() {
        let mut outbound = Outbound::default();
        assert!(!outbound.wants_to_send());
        outbound.push(b"hello world");
        assert_eq!(sent(&mut outbound, 5), Some(text(0, "hello")));
        assert_eq!(sent(&mut outbound, 0), None);
        assert_eq!(sent(&mut outbound, 1), Some(text(5, " ")));
        outbound.on_lost(0..5);
        assert_eq!(sent(&mut outbound, 3), Some(text(0, "hel")));
        assert_eq!(sent(&mut outbound, 9), Some(text(3, "lo")));
        assert_eq!(sent(&mut outbound, 9), Some(text(6, "world")));
        assert_eq!(sent(&mut outbound, 9), None);
        assert!(!outbound.wants_to_send());
    }

    #[test]
    fn acknowledged_bytes_are_forgotten() {
        let mut outbound = Outbound::default();
        outbound.push(b"hello world");
        sent(&mut outbound, 11);
        outbound.on_acked(6..11);
        outbound.on_lost(4..8);
        assert_eq!(sent(&mut outbound, 9), Some(text(4, "o ")));
        outbound.on_acked(0..4);
        assert_eq!((outbound.base, outbound.bytes.len()), (4, 7));
        outbound.on_acked(0..6);
        assert_eq!((outbound.base, outbound.bytes.len()), (11, 0));
        outbound.on_lost(0..11);
        assert!(!outbound.wants_to_send());
        outbound.push(b"!");
        assert_eq!(sent(&mut outbound, 9), Some(text(11, "!")));
    }

    #[test]
    fn all_can_be_sent_anew() {
        let mut outbound = Outbound::default();
        outbound.push(b"hello");
        sent(&mut outbound, 3);
        outbound.rewind();
        assert_eq!(sent(&mut outbound, 3), Some(text(0, "hel")));
        assert_eq!(sent(&mut outbound, 9), Some(text(3, "lo")));
    }
}
