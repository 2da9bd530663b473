//! Packets that came before their keys. RFC 9001 §5.7.

use crate::RecvMeta;
use crate::crypto::Level;

/// The largest number of bytes that are kept of them: a first flight. RFC 9002 §7.2.
const MAX_BYTES: usize = 16 << 10;
/// The largest number of packets that are kept: each costs more than its bytes.
const MAX_PACKETS: usize = 32;

#[derive(Debug)]
pub(super) struct UndecryptablePacket {
    pub(super) level: Level,
    pub(super) way: RecvMeta,
    pub(super) number_at: usize,
    pub(super) bytes: Vec<u8>,
}

#[derive(Debug, Default)]
pub(super) struct Undecryptable(Vec<UndecryptablePacket>);

impl Undecryptable {
    /// Keeps a packet; returns false if too much is kept already.
    pub(super) fn keep(
        &mut self,
        level: Level,
        way: &RecvMeta,
        number_at: usize,
        packet: &[u8],
    ) -> bool {
        let fits = self.0.len() < MAX_PACKETS && self.memory() + packet.len() <= MAX_BYTES;
        if fits {
            self.0.push(UndecryptablePacket {
                level,
                way: *way,
                number_at,
                bytes: packet.to_vec(),
            });
        }
        fits
    }

    pub(super) fn memory(&self) -> usize {
        self.0.iter().map(|kept| kept.bytes.len()).sum()
    }

    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns all packets if one of them `can_open` now; those that still cannot are kept again.
    pub(super) fn take_if(&mut self, can_open: impl Fn(Level) -> bool) -> Vec<UndecryptablePacket> {
        if self.0.iter().any(|kept| can_open(kept.level)) {
            std::mem::take(&mut self.0)
        } else {
            Vec::new()
        }
    }

    pub(super) fn clear(&mut self) {
        self.0.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keep(kept: &mut Undecryptable, length: usize) -> usize {
        let way = RecvMeta {
            remote: "192.0.2.1:1".parse().unwrap(),
            local: None,
            ecn: 0,
        };
        let packet = vec![0; length];
        let accepted = (0..3000).filter(|_| kept.keep(Level::OneRtt, &way, 9, &packet));
        accepted.count()
    }

    #[test]
    fn small_packets_are_bounded_by_their_number_and_large_ones_by_their_bytes() {
        assert_eq!(keep(&mut Undecryptable::default(), 9), MAX_PACKETS);
        assert_eq!(keep(&mut Undecryptable::default(), 1200), MAX_BYTES / 1200);
    }
}
