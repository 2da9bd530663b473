//! Buffers that no connection of the thread needs now, for the next one that does: those who come and go do not allocate.

use std::cell::RefCell;

/// Of a new one: a head, as a rule.
const USUAL: usize = 2048;
/// What has grown beyond it is let go.
const LARGEST: usize = 32 * 1024;
const MOST: usize = 64;

#[derive(Debug, Default)]
pub(crate) struct SpareBuffers(RefCell<Vec<Vec<u8>>>);

impl SpareBuffers {
    /// Where `buffer` has no room, it gets one that has.
    pub(crate) fn furnish(&self, buffer: &mut Vec<u8>) {
        if buffer.capacity() == 0 {
            let spare = self.0.borrow_mut().pop();
            *buffer = spare.unwrap_or_else(|| Vec::with_capacity(USUAL));
        }
    }

    /// Takes its room, and what is in it.
    pub(crate) fn collect(&self, buffer: &mut Vec<u8>) {
        let mut buffer = std::mem::take(buffer);
        let mut spare = self.0.borrow_mut();
        if (1..=LARGEST).contains(&buffer.capacity()) && spare.len() < MOST {
            buffer.clear();
            spare.push(buffer);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn room_that_was_given_back_is_used_again_and_empty() {
        let spare = SpareBuffers::default();
        let mut buffer = Vec::new();
        spare.furnish(&mut buffer);
        buffer.extend_from_slice(b"a secret");
        let room = buffer.as_ptr();
        spare.furnish(&mut buffer);
        assert_eq!(buffer, b"a secret", "it has room already");
        spare.collect(&mut buffer);
        assert_eq!(buffer.capacity(), 0);
        spare.furnish(&mut buffer);
        assert_eq!((buffer.as_ptr(), buffer.len()), (room, 0));
    }

    #[test]
    fn not_more_is_kept_than_is_good() {
        let spare = SpareBuffers::default();
        for capacity in [0, LARGEST + 1] {
            spare.collect(&mut Vec::with_capacity(capacity));
            assert!(spare.0.borrow().is_empty());
        }
        for _ in 0..2 * MOST {
            spare.collect(&mut Vec::with_capacity(1));
        }
        assert_eq!(spare.0.borrow().len(), MOST);
    }
}
