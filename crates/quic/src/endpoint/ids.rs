//! Connection ids that tell us alone which connection they are for: eight bytes, encrypted, so that
//! an observer cannot link two ids of one connection. RFC 9000 §5.1.

use std::fmt;

use aws_lc_rs::aead::quic::{AES_128, HeaderProtectionKey};
use roundtrip_wire::quic::ConnectionId;

use super::Handle;

/// How long our ids are.
pub(super) const ID: usize = 8;
/// Ids of one connection differ in these bits of their sequence numbers.
const SEQUENCE_BITS: u32 = 24;
/// Luby and Rackoff: four rounds make a block cipher that even its decryption does not tell from a
/// random one.
const ROUNDS: u8 = 4;
/// How many ids are remembered with what they mean.
const REMEMBERED: usize = 256;

/// The key of a Feistel network over 64 bits, whose round function is AES.
pub(super) struct IdKey(Option<HeaderProtectionKey>);

impl IdKey {
    pub(super) fn new(key: [u8; 16]) -> Self {
        // A key of that length is always taken.
        Self(HeaderProtectionKey::new(&AES_128, &key).ok())
    }

    /// The id of that sequence number.
    pub(super) fn id(&self, handle: Handle, sequence: u64) -> ConnectionId {
        let place = u64::from(handle.slot) << 16 | u64::from(handle.generation);
        let sequence = sequence & ((1 << SEQUENCE_BITS) - 1);
        let plain = place << SEQUENCE_BITS | sequence;
        let (mut left, mut right) = ((plain >> 32) as u32, plain as u32);
        for round in 0..ROUNDS {
            (left, right) = (right, left ^ self.mix(round, right));
        }
        let sealed = u64::from(left) << 32 | u64::from(right);
        ConnectionId::new(&sealed.to_be_bytes()).unwrap_or_default()
    }

    /// The connection that an id is of. An id that is not ours gives one that hardly exists (each
    /// that does, once in 2^40); where it does, what came with it cannot be opened, and is ignored.
    fn open(&self, id: [u8; ID]) -> Handle {
        let sealed = u64::from_be_bytes(id);
        let (mut left, mut right) = ((sealed >> 32) as u32, sealed as u32);
        for round in (0..ROUNDS).rev() {
            (left, right) = (right ^ self.mix(round, left), left);
        }
        let plain = u64::from(left) << 32 | u64::from(right);
        let place = plain >> SEQUENCE_BITS;
        Handle {
            slot: (place >> 16) as u32,
            generation: place as u16,
        }
    }

    fn mix(&self, round: u8, half: u32) -> u32 {
        let mut block = [0; 16];
        for (to, from) in block.iter_mut().zip(half.to_be_bytes()) {
            *to = from;
        }
        if let Some(last) = block.last_mut() {
            *last = round;
        }
        let mask = self.0.as_ref().and_then(|key| key.new_mask(&block).ok());
        let mask = mask.and_then(|mask| mask.first_chunk().copied());
        u32::from_be_bytes(mask.unwrap_or_default())
    }
}

impl fmt::Debug for IdKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("IdKey")
    }
}

/// What ids seen lately mean, so that not every packet's is decrypted.
#[derive(Debug)]
pub(super) struct Router {
    seen: Vec<Option<([u8; ID], Handle)>>,
}

impl Default for Router {
    fn default() -> Self {
        Self {
            seen: vec![None; REMEMBERED],
        }
    }
}

impl Router {
    /// The connection that an id is of, if it is still there, and any at all if it is not ours.
    #[inline]
    pub(super) fn handle(&mut self, key: &IdKey, id: [u8; ID]) -> Handle {
        let [first, ..] = id;
        let Some(place) = self.seen.get_mut(usize::from(first)) else {
            return key.open(id);
        };
        match place {
            Some((seen, handle)) if *seen == id => *handle,
            _ => {
                let handle = key.open(id);
                *place = Some((id, handle));
                handle
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_name_their_connection_to_us_alone() {
        let (ours, other) = (IdKey::new([1; 16]), IdKey::new([2; 16]));
        let mut router = Router::default();
        let mut all = std::collections::HashSet::new();
        for slot in [0, 1, 255, 256, 70_000, Handle::MAX_SLOTS - 1] {
            for generation in [0, 1, u16::MAX] {
                for sequence in 0..20 {
                    let handle = Handle { slot, generation };
                    let id = ours.id(handle, sequence);
                    let bytes = id.as_slice().try_into().unwrap();
                    assert_eq!(router.handle(&ours, bytes), handle);
                    assert_eq!(router.handle(&ours, bytes), handle);
                    assert_ne!(other.open(bytes), handle);
                    assert!(all.insert(id));
                }
            }
        }
    }

    #[test]
    fn ids_of_one_connection_have_nothing_in_common() {
        let key = IdKey::new([7; 16]);
        let handle = Handle {
            slot: 5,
            generation: 9,
        };
        let ids: Vec<[u8; 8]> = (0..256)
            .map(|sequence| key.id(handle, sequence).as_slice().try_into().unwrap())
            .collect();
        for bit in 0..64 {
            let ones = ids
                .iter()
                .filter(|id| u64::from_be_bytes(**id) >> bit & 1 == 1)
                .count();
            // 128 on average; this far off once in 10^14.
            assert!((64..192).contains(&ones), "bit {bit}: {ones}");
        }
    }
}
