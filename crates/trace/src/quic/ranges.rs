//! Which parts of a stream have been seen, in any order: clients may send the pieces of a hello
//! mixed up, and in several packets.

/// The most parts that are kept apart.
const MAX_PARTS: usize = 64;

#[derive(Debug, Default)]
pub(super) struct SeenRanges(Vec<(u64, u64)>);

impl SeenRanges {
    pub(super) fn covers(&self, start: u64, end: u64) -> bool {
        let mut parts = self.0.iter();
        start < end && parts.any(|(from, until)| *from <= start && end <= *until)
    }

    pub(super) fn add(&mut self, start: u64, end: u64) {
        let touches = |(from, until): &mut (u64, u64)| *from <= end && start <= *until;
        let (mut from, mut until) = (start, end);
        for (start, end) in self.0.extract_if(.., touches) {
            (from, until) = (from.min(start), until.max(end));
        }
        if self.0.len() < MAX_PARTS {
            self.0.push((from, until));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_in_any_order_become_one() {
        let mut seen = SeenRanges::default();
        for (start, end) in [(10, 20), (0, 5), (30, 40), (5, 10)] {
            assert!(!seen.covers(start, end));
            seen.add(start, end);
        }
        assert!(seen.covers(0, 20) && seen.covers(31, 39));
        assert!(!seen.covers(15, 31) && !seen.covers(3, 3));
    }
}
