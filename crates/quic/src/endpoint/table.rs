//! The connections by the numbers of their slots; a slot that is taken anew has another generation.

use std::net::SocketAddr;

use roundtrip_wire::quic::ConnectionId;

use crate::Time;
use crate::connection::Connection;

/// Names one connection of an endpoint, and no other after it is gone (until its slot was used 65
/// 536 times).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Handle {
    pub(super) slot: u32,
    pub(super) generation: u16,
}

impl Handle {
    /// Ids have 24 bits for the slot.
    pub(super) const MAX_SLOTS: u32 = 1 << 24;
}

#[derive(Debug)]
pub(super) struct Entry {
    pub(super) connection: Connection,
    /// A server's: see [`super::Endpoint`].
    pub(super) first: Option<(SocketAddr, ConnectionId)>,
    /// A server's: the client has not proved where it is.
    pub(super) unproved: bool,
    /// Its deadline may not be what the timers know.
    pub(super) touched: bool,
    /// The earliest time that the timers have for it.
    pub(super) scheduled: Option<Time>,
}

impl Entry {
    /// True once: the client has proved where it is, or is gone.
    #[inline]
    pub(super) fn settles(&mut self) -> bool {
        let settles = self.unproved && !self.connection.is_unproved();
        self.unproved &= !settles;
        settles
    }
}

#[derive(Debug, Default)]
struct Slot {
    generation: u16,
    entry: Option<Box<Entry>>,
}

#[derive(Debug, Default)]
pub(super) struct Table {
    slots: Vec<Slot>,
    free: Vec<u32>,
    count: usize,
}

impl Table {
    /// A slot to be filled; one that is not is never used again before it is the only one left.
    pub(super) fn reserve(&mut self) -> Option<Handle> {
        let slot = match self.free.pop() {
            Some(slot) => slot,
            None if self.slots.len() < Handle::MAX_SLOTS as usize => {
                self.slots.push(Slot::default());
                (self.slots.len() - 1) as u32
            }
            None => return None,
        };
        let generation = self.slots.get(slot as usize)?.generation;
        Some(Handle { slot, generation })
    }

    /// A reserved slot is not used after all.
    pub(super) fn release(&mut self, handle: Handle) {
        self.free.push(handle.slot);
    }

    pub(super) fn fill(
        &mut self,
        handle: Handle,
        connection: Connection,
        first: Option<(SocketAddr, ConnectionId)>,
    ) {
        if let Some(slot) = self.slots.get_mut(handle.slot as usize) {
            slot.entry = Some(Box::new(Entry {
                unproved: connection.is_unproved(),
                connection,
                first,
                touched: false,
                scheduled: None,
            }));
            self.count += 1;
        }
    }

    #[inline]
    pub(super) fn get(&self, handle: Handle) -> Option<&Entry> {
        let slot = self.slots.get(handle.slot as usize)?;
        if slot.generation != handle.generation {
            return None;
        }
        slot.entry.as_deref()
    }

    #[inline]
    pub(super) fn get_mut(&mut self, handle: Handle) -> Option<&mut Entry> {
        let slot = self.slots.get_mut(handle.slot as usize)?;
        if slot.generation != handle.generation {
            return None;
        }
        slot.entry.as_deref_mut()
    }

    #[inline]
    pub(super) fn holds(&self, handle: Handle) -> bool {
        self.get(handle).is_some()
    }

    pub(super) fn remove(&mut self, handle: Handle) -> Option<Entry> {
        let slot = self.slots.get_mut(handle.slot as usize)?;
        if slot.generation != handle.generation {
            return None;
        }
        let entry = slot.entry.take()?;
        slot.generation = slot.generation.wrapping_add(1);
        self.free.push(handle.slot);
        self.count -= 1;
        Some(*entry)
    }

    pub(super) fn len(&self) -> usize {
        self.count
    }

    pub(super) fn handles(&self) -> impl Iterator<Item = Handle> + '_ {
        self.slots
            .iter()
            .zip(0..)
            .filter(|(slot, _)| slot.entry.is_some())
            .map(|(slot, at)| Handle {
                slot: at,
                generation: slot.generation,
            })
    }
}
