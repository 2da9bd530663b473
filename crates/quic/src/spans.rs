//! A set of offsets, as spans that neither touch nor overlap. Ranges of packet numbers belong to
//! `ranges`.

use std::collections::VecDeque;

/// A range from `start` up to but not including `end`; never empty.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Span {
    pub(crate) start: u64,
    pub(crate) end: u64,
}

#[derive(Debug, Clone, Default)]
pub(crate) struct Spans {
    spans: VecDeque<Span>,
}

impl Spans {
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.spans.is_empty()
    }

    pub(crate) fn first(&self) -> Option<Span> {
        self.spans.front().copied()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = Span> + '_ {
        self.spans.iter().copied()
    }

    pub(crate) fn clear(&mut self) {
        self.spans = VecDeque::new();
    }

    pub(crate) fn insert(&mut self, start: u64, end: u64) {
        if start >= end {
            return;
        }
        // The first span that touches it or follows it.
        let at = self.spans.partition_point(|span| span.end < start);
        let mut new = Span { start, end };
        let mut upto = at;
        while let Some(span) = self.spans.get(upto)
            && span.start <= end
        {
            new.start = new.start.min(span.start);
            new.end = new.end.max(span.end);
            upto += 1;
        }
        match self.spans.get_mut(at) {
            Some(place) if upto > at => {
                *place = new;
                self.spans.drain(at + 1..upto);
            }
            _ => self.spans.insert(at, new),
        }
    }

    pub(crate) fn remove(&mut self, start: u64, end: u64) {
        if start >= end {
            return;
        }
        let mut at = self.spans.partition_point(|span| span.end <= start);
        if let Some(span) = self.spans.get_mut(at)
            && span.start < start
        {
            let behind = Span {
                start: end,
                end: span.end,
            };
            span.end = start;
            at += 1;
            if behind.start < behind.end {
                self.spans.insert(at, behind);
                return;
            }
        }
        let mut upto = at;
        while let Some(span) = self.spans.get_mut(upto) {
            if span.end > end {
                span.start = span.start.max(end);
                break;
            }
            upto += 1;
        }
        self.spans.drain(at..upto);
    }

    /// Removes everything before `end`.
    pub(crate) fn cut(&mut self, end: u64) {
        while let Some(span) = self.spans.front_mut()
            && span.start < end
        {
            if span.end > end {
                span.start = end;
                return;
            }
            self.spans.pop_front();
        }
    }

    /// Removes the first span if it starts at or before `offset`; returns its end.
    pub(crate) fn join(&mut self, offset: u64) -> Option<u64> {
        let span = self.first().filter(|span| span.start <= offset)?;
        self.spans.pop_front();
        Some(span.end)
    }

    /// The spans that overlap the range from `start` to `end`.
    pub(crate) fn within(&self, start: u64, end: u64) -> impl Iterator<Item = Span> {
        let at = self.spans.partition_point(|span| span.end <= start);
        let behind = self.spans.range(at..).copied();
        behind.take_while(move |span| start < end && span.start < end)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn model(spans: &Spans) -> Vec<bool> {
        let mut bits = vec![false; 64];
        let mut last = None;
        for span in spans.iter() {
            assert!(span.start < span.end && last.is_none_or(|end| end < span.start));
            last = Some(span.end);
            bits[span.start as usize..span.end as usize].fill(true);
        }
        bits
    }

    proptest! {
        #[test]
        fn spans_are_a_set(steps in prop::collection::vec((0..5, 0..60u64, 0..8u64), 1..60)) {
            let mut spans = Spans::default();
            let mut bits = vec![false; 64];
            for (kind, start, length) in steps {
                let end = (start + length).min(64);
                let place = start as usize..end as usize;
                match kind {
                    0..=2 => {
                        spans.insert(start, end);
                        bits[place].fill(true);
                    }
                    3 => {
                        spans.remove(start, end);
                        bits[place].fill(false);
                    }
                    _ => {
                        spans.cut(start / 4);
                        bits[..start as usize / 4].fill(false);
                    }
                }
                prop_assert_eq!(model(&spans), bits.clone());
                let touched = spans.within(start, end).count();
                prop_assert_eq!(touched > 0, bits[start as usize..end as usize].contains(&true));
            }
        }
    }

    #[test]
    fn spans_join_what_they_touch() {
        let mut spans = Spans::default();
        spans.insert(10, 20);
        spans.insert(30, 40);
        assert_eq!(spans.join(9), None);
        assert_eq!(spans.join(10), Some(20));
        assert_eq!(spans.join(35), Some(40));
        assert_eq!(spans.join(99), None);
    }
}
