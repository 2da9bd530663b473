//! Stores streams in slots. The ring of sent packets holds the slots' keys, so that an
//! acknowledgement finds its stream without a search.
//!
//! A key consists of a slot and its generation: an acknowledgement that arrives after its stream
//! was forgotten finds no stream.

use std::collections::VecDeque;

use super::stream::Stream;

const SLOT_BITS: u32 = 20;
const SLOT_MASK: u32 = (1 << SLOT_BITS) - 1;
/// The largest number of slots: one less than the bits can address, because `u32::MAX` is not a
/// key.
const MAX_SLOTS: usize = SLOT_MASK as usize;
/// How many slots stay free before one is used again: a generation repeats after 4096 × 64 streams
/// at the earliest.
const RESTING: usize = 64;

#[derive(Debug, Default)]
pub(super) struct Slab {
    slots: Vec<StreamSlot>,
    free: VecDeque<u32>,
}

#[derive(Debug)]
struct StreamSlot {
    generation: u32,
    stream: Option<Stream>,
}

impl Slab {
    /// The memory in bytes, without what streams store elsewhere.
    pub(super) fn memory(&self) -> usize {
        self.slots.capacity() * size_of::<StreamSlot>()
    }

    /// Returns `None` if there are a million streams already.
    pub(super) fn insert(&mut self, stream: Stream) -> Option<u32> {
        if self.free.len() > RESTING || self.slots.len() >= MAX_SLOTS {
            let index = self.free.pop_front()?;
            let slot = self.slots.get_mut(index as usize)?;
            slot.stream = Some(stream);
            return Some(slot.generation << SLOT_BITS | index);
        }
        let index = self.slots.len() as u32;
        self.slots.push(StreamSlot {
            generation: 0,
            stream: Some(stream),
        });
        Some(index)
    }

    #[inline]
    pub(super) fn get(&self, key: u32) -> Option<&Stream> {
        let slot = self.slots.get((key & SLOT_MASK) as usize)?;
        if slot.generation != key >> SLOT_BITS {
            return None;
        }
        slot.stream.as_ref()
    }

    #[inline]
    pub(super) fn get_mut(&mut self, key: u32) -> Option<&mut Stream> {
        let slot = self.slots.get_mut((key & SLOT_MASK) as usize)?;
        if slot.generation != key >> SLOT_BITS {
            return None;
        }
        slot.stream.as_mut()
    }

    pub(super) fn remove(&mut self, key: u32) -> Option<Stream> {
        self.get(key)?;
        let index = key & SLOT_MASK;
        let slot = self.slots.get_mut(index as usize)?;
        slot.generation = (slot.generation + 1) % (1 << (u32::BITS - SLOT_BITS));
        self.free.push_back(index);
        slot.stream.take()
    }

    pub(super) fn len(&self) -> usize {
        self.slots.len() - self.free.len()
    }

    /// The keys of all streams.
    pub(super) fn keys(&self) -> impl Iterator<Item = u32> {
        let slots = self.slots.iter().zip(0u32..);
        slots
            .filter(|(slot, _)| slot.stream.is_some())
            .map(|(slot, index)| slot.generation << SLOT_BITS | index)
    }

    pub(super) fn streams_mut(&mut self) -> impl Iterator<Item = &mut Stream> {
        self.slots
            .iter_mut()
            .filter_map(|slot| slot.stream.as_mut())
    }

    #[cfg(test)]
    pub(super) fn slots(&self) -> usize {
        self.slots.len()
    }
}
