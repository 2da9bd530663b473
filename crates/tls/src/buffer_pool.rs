//! The buffers that no stream of a thread uses at the moment: a stream holds one only while there
//! is something in it, so that thousands of idle connections need none.

use std::cell::RefCell;
use std::thread::LocalKey;

/// Room for the largest record and the bytes that may follow it. RFC 8446 §5.2.
pub(crate) const ROOM: usize = 32 * 1024;
/// A buffer that has grown beyond this is freed.
const MAX_KEPT_SIZE: usize = 128 * 1024;
const MAX_KEPT: usize = 16;

type Buffers = RefCell<Vec<Vec<u8>>>;

thread_local! {
    /// Buffers of at least [`ROOM`] bytes.
    static ROOMS: Buffers = const { RefCell::new(Vec::new()) };
    static EMPTY: Buffers = const { RefCell::new(Vec::new()) };
}

/// A buffer of at least [`ROOM`] bytes, with any content.
pub(crate) fn lend_room() -> Vec<u8> {
    let kept = ROOMS.with_borrow_mut(Vec::pop);
    kept.unwrap_or_else(|| vec![0; ROOM])
}

/// Takes back a buffer that [`lend_room`] has lent.
pub(crate) fn keep_room(room: Vec<u8>) {
    if (ROOM..=MAX_KEPT_SIZE).contains(&room.len()) {
        keep(&ROOMS, room);
    }
}

/// An empty buffer; it may have capacity.
pub(crate) fn lend_empty() -> Vec<u8> {
    EMPTY.with_borrow_mut(Vec::pop).unwrap_or_default()
}

/// Takes back a buffer that [`lend_empty`] has lent, and discards its content.
pub(crate) fn keep_empty(mut buffer: Vec<u8>) {
    if (1..=MAX_KEPT_SIZE).contains(&buffer.capacity()) {
        buffer.clear();
        keep(&EMPTY, buffer);
    }
}

fn keep(pool: &'static LocalKey<Buffers>, buffer: Vec<u8>) {
    // While the thread ends, the pool no longer exists.
    let _ = pool.try_with(|pool| {
        let mut pool = pool.borrow_mut();
        if pool.len() < MAX_KEPT {
            pool.push(buffer);
        }
    });
}

/// The number of kept buffers: with room, and empty ones.
#[cfg(test)]
pub(crate) fn kept() -> (usize, usize) {
    (ROOMS.with_borrow(Vec::len), EMPTY.with_borrow(Vec::len))
}
