//! Buffers of a thread that no connection uses at the moment, so that new connections do not
//! allocate.

use std::cell::RefCell;

/// The capacity of a new buffer, enough for most heads.
const USUAL_CAPACITY: usize = 2048;
/// Larger buffers are freed.
const MAX_CAPACITY: usize = 32 * 1024;
const MAX_BUFFERS: usize = 64;

#[derive(Debug, Default)]
pub(crate) struct BufferPool(RefCell<Vec<Vec<u8>>>);

impl BufferPool {
    /// Lends a buffer if `buffer` has no capacity.
    pub(crate) fn lend(&self, buffer: &mut Vec<u8>) {
        if buffer.capacity() == 0 {
            let spare = self.0.borrow_mut().pop();
            *buffer = spare.unwrap_or_else(|| Vec::with_capacity(USUAL_CAPACITY));
        }
    }

    /// Takes a buffer back and discards its content.
    pub(crate) fn collect(&self, buffer: &mut Vec<u8>) {
        let mut buffer = std::mem::take(buffer);
        let mut spare = self.0.borrow_mut();
        if (1..=MAX_CAPACITY).contains(&buffer.capacity()) && spare.len() < MAX_BUFFERS {
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
        let spare = BufferPool::default();
        let mut buffer = Vec::new();
        spare.lend(&mut buffer);
        buffer.extend_from_slice(b"a secret");
        let room = buffer.as_ptr();
        spare.lend(&mut buffer);
        assert_eq!(buffer, b"a secret", "it has room already");
        spare.collect(&mut buffer);
        assert_eq!(buffer.capacity(), 0);
        spare.lend(&mut buffer);
        assert_eq!((buffer.as_ptr(), buffer.len()), (room, 0));
    }

    #[test]
    fn not_more_is_kept_than_is_good() {
        let spare = BufferPool::default();
        for capacity in [0, MAX_CAPACITY + 1] {
            spare.collect(&mut Vec::with_capacity(capacity));
            assert!(spare.0.borrow().is_empty());
        }
        for _ in 0..2 * MAX_BUFFERS {
            spare.collect(&mut Vec::with_capacity(1));
        }
        assert_eq!(spare.0.borrow().len(), MAX_BUFFERS);
    }
}
