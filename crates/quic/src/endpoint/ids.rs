//! Connection ids that only this endpoint can map to their connection: ten bytes, encrypted, so
//! that an observer cannot link two ids of one connection. RFC 9000 §5.1.

use std::fmt;

use aws_lc_rs::aead::quic::{AES_128, HeaderProtectionKey};
use roundtrip_wire::quic::ConnectionId;

use super::Handle;

/// The length of our ids.
pub(super) const ID: usize = 10;
/// The content of an id, from its lowest bit on: the sequence number of the id, the generation and
/// slot of its connection, and the number of its endpoint.
const SEQUENCE_BITS: u32 = 8;
const GENERATION_BITS: u32 = 32;
const SLOT_BITS: u32 = 24;
/// Half of an id: as many bits as AES gives for one header (RFC 9001 §5.4.1).
const HALF_BITS: u32 = 40;
const HALF: u64 = (1 << HALF_BITS) - 1;
/// Luby and Rackoff: four rounds make a block cipher that cannot be distinguished from a random
/// permutation, even with access to its decryption.
const ROUNDS: u8 = 4;
/// How many ids are remembered with their meaning.
const REMEMBERED: usize = 256;

/// The connection that an id belongs to: its endpoint among those with the same key, and its handle
/// there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Owner {
    pub(super) endpoint: u16,
    pub(super) handle: Handle,
}

/// The key of a Feistel network over 80 bits, whose round function is AES.
pub(super) struct IdKey(Option<HeaderProtectionKey>);

impl IdKey {
    pub(super) fn new(key: [u8; 16]) -> Self {
        // A key of this length is always accepted.
        Self(HeaderProtectionKey::new(&AES_128, &key).ok())
    }

    /// The id with this sequence number; numbers of more than eight bits repeat earlier ids.
    pub(super) fn id(&self, owner: Owner, sequence: u64) -> ConnectionId {
        let Owner { endpoint, handle } = owner;
        let place = u128::from(endpoint) << SLOT_BITS | u128::from(handle.slot);
        let place = place << GENERATION_BITS | u128::from(handle.generation);
        let plain = place << SEQUENCE_BITS | u128::from(sequence as u8);
        let (mut left, mut right) = ((plain >> HALF_BITS) as u64, plain as u64 & HALF);
        for round in 0..ROUNDS {
            (left, right) = (right, left ^ self.mix(round, right));
        }
        let sealed = u128::from(left) << HALF_BITS | u128::from(right);
        let sealed = sealed.to_be_bytes();
        let id = sealed.last_chunk::<ID>();
        id.and_then(|id| ConnectionId::new(id)).unwrap_or_default()
    }

    /// The connection that an id belongs to. A foreign id almost never maps to an existing
    /// connection (to each one with a probability of 2^-72); if it does, its packets cannot be
    /// decrypted, and are ignored.
    fn open(&self, id: [u8; ID]) -> Owner {
        let mut sealed = [0; 16];
        for (to, from) in sealed.iter_mut().rev().zip(id.iter().rev()) {
            *to = *from;
        }
        let sealed = u128::from_be_bytes(sealed);
        let (mut left, mut right) = ((sealed >> HALF_BITS) as u64, sealed as u64 & HALF);
        for round in (0..ROUNDS).rev() {
            (left, right) = (right ^ self.mix(round, left), left);
        }
        let plain = u128::from(left) << HALF_BITS | u128::from(right);
        let place = plain >> SEQUENCE_BITS;
        let slot = (place >> GENERATION_BITS) as u32 & (Handle::MAX_SLOTS - 1);
        Owner {
            endpoint: (place >> (GENERATION_BITS + SLOT_BITS)) as u16,
            handle: Handle {
                slot,
                generation: place as u32,
            },
        }
    }

    fn mix(&self, round: u8, half: u64) -> u64 {
        let mut block = [0; 16];
        for (to, from) in block.iter_mut().zip(half.to_be_bytes()) {
            *to = from;
        }
        if let Some(last) = block.last_mut() {
            *last = round;
        }
        let mask = self.0.as_ref().and_then(|key| key.new_mask(&block).ok());
        let bytes = mask.unwrap_or_default().into_iter();
        bytes.fold(0, |mixed, byte| mixed << 8 | u64::from(byte))
    }
}

impl fmt::Debug for IdKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("IdKey")
    }
}

/// Remembers the meaning of recent ids, so that not every packet's id is decrypted.
#[derive(Debug)]
pub(super) struct Router {
    seen: Vec<Option<([u8; ID], Owner)>>,
}

impl Default for Router {
    fn default() -> Self {
        Self {
            seen: vec![None; REMEMBERED],
        }
    }
}

impl Router {
    /// The connection that an id belongs to, if it still exists; an arbitrary one if the id is not
    /// ours.
    #[inline]
    pub(super) fn owner(&mut self, key: &IdKey, id: [u8; ID]) -> Owner {
        let [first, ..] = id;
        let Some(place) = self.seen.get_mut(usize::from(first)) else {
            return key.open(id);
        };
        match place {
            Some((seen, owner)) if *seen == id => *owner,
            _ => {
                let owner = key.open(id);
                *place = Some((id, owner));
                owner
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(id: ConnectionId) -> [u8; ID] {
        id.as_slice().try_into().unwrap()
    }

    #[test]
    fn ids_name_their_endpoint_and_connection_to_us_alone() {
        let (ours, other) = (IdKey::new([1; 16]), IdKey::new([2; 16]));
        let mut router = Router::default();
        let mut all = std::collections::HashSet::new();
        for endpoint in [0, 1, 255, u16::MAX] {
            for slot in [0, 1, 255, 256, 70_000, Handle::MAX_SLOTS - 1] {
                for generation in [0, 1, 1 << 16, u32::MAX] {
                    for sequence in 0..20 {
                        let handle = Handle { slot, generation };
                        let owner = Owner { endpoint, handle };
                        let id = bytes(ours.id(owner, sequence));
                        assert_eq!(router.owner(&ours, id), owner);
                        assert_eq!(router.owner(&ours, id), owner);
                        assert_ne!(other.open(id), owner);
                        assert!(all.insert(id));
                    }
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
        let owner = Owner {
            endpoint: 3,
            handle,
        };
        let ids: Vec<[u8; ID]> = (0..256)
            .map(|sequence| bytes(key.id(owner, sequence)))
            .collect();
        for bit in 0..8 * ID {
            let ones = ids
                .iter()
                .filter(|id| id[bit / 8] >> (bit % 8) & 1 == 1)
                .count();
            // 128 on average; deviates this far once in 10^14.
            assert!((64..192).contains(&ones), "bit {bit}: {ones}");
        }
    }
}
