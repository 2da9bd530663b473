//! Datagrams of connections at another endpoint: the kernel distributes by addresses, and the
//! address of a client may change. RFC 9000 §9. They wait here until the owner of the socket hands
//! them over.

use std::collections::VecDeque;

use crate::RecvMeta;

/// The largest number of waiting datagrams, and of their bytes: as much as one read of a socket
/// returns.
const MAX_DATAGRAMS: usize = 512;
const MAX_BYTES: usize = 512 << 10;

/// A datagram for a connection of another endpoint.
#[derive(Debug)]
pub struct Misdirected {
    /// The number of that endpoint among its siblings; `None` if it may belong to another process.
    pub to: Option<u16>,
    pub way: RecvMeta,
    pub datagram: Vec<u8>,
}

#[derive(Debug, Default)]
pub(super) struct MisdirectedQueue {
    waiting: VecDeque<Misdirected>,
    bytes: usize,
}

impl MisdirectedQueue {
    /// Adds a datagram. If there is no room, it is dropped and counts as lost.
    pub(super) fn push(&mut self, to: Option<u16>, way: &RecvMeta, datagram: &[u8]) {
        let bytes = self.bytes + datagram.len();
        if self.waiting.len() < MAX_DATAGRAMS && bytes <= MAX_BYTES {
            self.bytes = bytes;
            self.waiting.push_back(Misdirected {
                to,
                way: *way,
                datagram: datagram.to_vec(),
            });
        }
    }

    pub(super) fn pop(&mut self) -> Option<Misdirected> {
        let first = self.waiting.pop_front()?;
        self.bytes -= first.datagram.len();
        Some(first)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waiting_datagrams_are_bounded_by_number_and_size() {
        let way = RecvMeta {
            remote: "192.0.2.1:9".parse().unwrap(),
            local: None,
            ecn: 0,
        };
        for (size, kept) in [(1, MAX_DATAGRAMS), (60_000, MAX_BYTES / 60_000)] {
            let mut queue = MisdirectedQueue::default();
            for _ in 0..2 {
                for _ in 0..2 * MAX_DATAGRAMS {
                    queue.push(Some(3), &way, &vec![7; size]);
                }
                let mut count = 0;
                while let Some(next) = queue.pop() {
                    assert_eq!((next.to, next.datagram.len()), (Some(3), size));
                    count += 1;
                }
                assert_eq!((count, queue.bytes), (kept, 0));
            }
        }
    }
}
