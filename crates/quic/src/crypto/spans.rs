//! A few ranges of stream offsets: sorted, apart from each other. For handshake bytes, of which there are never many.

use std::ops::Range;

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Spans(Vec<Range<u64>>);

impl Spans {
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// How many ranges there are.
    pub(super) fn count(&self) -> usize {
        self.0.len()
    }

    pub(super) fn first(&self) -> Option<Range<u64>> {
        self.0.first().cloned()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = Range<u64>> + '_ {
        self.0.iter().cloned()
    }

    pub(super) fn clear(&mut self) {
        self.0.clear();
    }

    pub(super) fn insert(&mut self, span: Range<u64>) {
        if span.is_empty() {
            return;
        }
        // All that touch it become one with it.
        let from = self.0.partition_point(|own| own.end < span.start);
        let to = self.0.partition_point(|own| own.start <= span.end);
        let touched = self.0.get(from..to).unwrap_or_default();
        let start = touched
            .first()
            .map_or(span.start, |own| own.start.min(span.start));
        let end = touched.last().map_or(span.end, |own| own.end.max(span.end));
        self.0.splice(from..to, std::iter::once(start..end));
    }

    pub(super) fn remove(&mut self, span: &Range<u64>) {
        if span.is_empty() {
            return;
        }
        let from = self.0.partition_point(|own| own.end <= span.start);
        let to = self.0.partition_point(|own| own.start < span.end);
        let touched = self.0.get(from..to).unwrap_or_default();
        let before = touched.first().map(|own| own.start..span.start);
        let after = touched.last().map(|own| span.end..own.end);
        let rest = [before, after];
        let rest = rest.into_iter().flatten().filter(|own| !own.is_empty());
        self.0.splice(from..to, rest);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// A set of single offsets does the same, slowly.
        #[test]
        fn they_are_a_set(steps in prop::collection::vec((any::<bool>(), 0..40_u64, 0..12_u64), 0..30)) {
            let mut spans = Spans::default();
            let mut model = std::collections::BTreeSet::new();
            for (adds, start, length) in steps {
                let span = start..start + length;
                if adds {
                    spans.insert(span.clone());
                    model.extend(span);
                } else {
                    spans.remove(&span);
                    model.retain(|offset| !span.contains(offset));
                }
                let held: Vec<u64> = spans.iter().flatten().collect();
                prop_assert_eq!(&held, &model.iter().copied().collect::<Vec<_>>());
                let ranges: Vec<_> = spans.iter().collect();
                let apart = ranges.windows(2).all(|pair| pair[0].end < pair[1].start);
                prop_assert!(apart, "{:?}", ranges);
                prop_assert!(ranges.iter().all(|range| !range.is_empty()));
            }
        }
    }
}
