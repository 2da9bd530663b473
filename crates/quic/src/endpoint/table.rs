//! The connections by slot number; a slot that is used again gets another generation.

use std::collections::VecDeque;
use std::net::SocketAddr;

use super::unvalidated::First;
use crate::Time;
use crate::connection::Connection;

/// Names one connection of an endpoint. A handle is never used for another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Handle {
    pub(super) slot: u32,
    pub(super) generation: u32,
}

impl Handle {
    /// Ids have 24 bits for the slot number.
    pub(super) const MAX_SLOTS: u32 = 1 << 24;
}

#[derive(Debug)]
pub(super) struct ConnectionEntry {
    pub(super) connection: Connection,
    /// The address of the peer, as far as the endpoint knows.
    pub(super) peer: SocketAddr,
    /// The connection's number among those with the same address.
    pub(super) peer_number: u64,
    /// Only on a server: the address and the destination id of the client's first packet.
    pub(super) first: Option<First>,
    /// Whether, on a server, the client has not validated its address.
    pub(super) unvalidated: bool,
    /// The connection has ended, but packets may still arrive.
    pub(super) has_ended: bool,
    /// The connection's deadline has to be read again.
    pub(super) touched: bool,
    /// The connection's deadline when it was last read, and the earliest time that is scheduled for
    /// it.
    pub(super) deadline: Option<Time>,
    pub(super) scheduled: Option<Time>,
}

impl ConnectionEntry {
    /// Returns true once: when the client has validated its address. A client whose connection has
    /// ended before that counts until it leaves the table.
    #[inline]
    pub(super) fn settles(&mut self) -> bool {
        let settles = self.unvalidated && !self.connection.is_unvalidated();
        self.unvalidated &= !settles;
        settles
    }

    /// Returns true once: when the connection has ended.
    #[inline]
    pub(super) fn ends(&mut self) -> bool {
        let ends = !self.has_ended && self.connection.is_closed();
        self.has_ended |= ends;
        ends
    }
}

#[derive(Debug, Default)]
struct ConnectionSlot {
    generation: u32,
    entry: Option<Box<ConnectionEntry>>,
}

#[derive(Debug, Default)]
pub(super) struct ConnectionTable {
    slots: Vec<ConnectionSlot>,
    /// First in, first out, so that the ids of one slot change slowly.
    free: VecDeque<u32>,
    count: usize,
}

impl ConnectionTable {
    /// Reserves the slot that has been free for longest, to be filled or released.
    pub(super) fn reserve(&mut self) -> Option<Handle> {
        let slot = match self.free.pop_front() {
            Some(slot) => slot,
            None if self.slots.len() < Handle::MAX_SLOTS as usize => {
                self.slots.push(ConnectionSlot::default());
                (self.slots.len() - 1) as u32
            }
            None => return None,
        };
        let generation = self.slots.get(slot as usize)?.generation;
        Some(Handle { slot, generation })
    }

    /// Returns a reserved slot that was not used.
    pub(super) fn release(&mut self, handle: Handle) {
        self.free.push_back(handle.slot);
    }

    pub(super) fn fill(&mut self, handle: Handle, connection: Connection, first: Option<First>) {
        if let Some(slot) = self.slots.get_mut(handle.slot as usize) {
            slot.entry = Some(Box::new(ConnectionEntry {
                unvalidated: connection.is_unvalidated(),
                peer: connection.remote(),
                peer_number: 0,
                connection,
                first,
                has_ended: false,
                touched: false,
                deadline: None,
                scheduled: None,
            }));
            self.count += 1;
        }
    }

    #[inline]
    pub(super) fn get(&self, handle: Handle) -> Option<&ConnectionEntry> {
        let slot = self.slots.get(handle.slot as usize)?;
        if slot.generation != handle.generation {
            return None;
        }
        slot.entry.as_deref()
    }

    #[inline]
    pub(super) fn get_mut(&mut self, handle: Handle) -> Option<&mut ConnectionEntry> {
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

    /// Whether a connection with that handle existed and has been removed.
    pub(super) fn has_held(&self, handle: Handle) -> bool {
        let slot = self.slots.get(handle.slot as usize);
        slot.is_some_and(|slot| handle.generation < slot.generation)
    }

    pub(super) fn remove(&mut self, handle: Handle) -> Option<ConnectionEntry> {
        let slot = self.slots.get_mut(handle.slot as usize)?;
        if slot.generation != handle.generation {
            return None;
        }
        let entry = slot.entry.take()?;
        // When the generations are used up, the slot is never used again: its ids would repeat, and
        // with them the tokens of their resets. RFC 9000 §10.3.2.
        if let Some(next) = slot.generation.checked_add(1) {
            slot.generation = next;
            self.free.push_back(handle.slot);
        }
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

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::super::{ClientConfig, Endpoint};
    use super::*;
    use crate::Transport;

    /// Begins a connection whose configuration does not matter.
    fn begin(endpoint: &mut Endpoint) -> Handle {
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let tls = rustls::ClientConfig::builder_with_provider(provider)
            .with_protocol_versions(&[&rustls::version::TLS13])
            .unwrap()
            .with_root_certificates(rustls::RootCertStore::empty())
            .with_no_client_auth();
        let config = ClientConfig::new(Arc::new(tls), Arc::new(Transport::default()));
        let server = "192.0.2.1:443".parse().unwrap();
        let begun = endpoint.connect(Time(1), &config, server, "server.test");
        begun.unwrap()
    }

    #[test]
    fn free_slots_are_used_in_turn() {
        let mut endpoint = Endpoint::new(None, [1; 32]);
        let begun: Vec<Handle> = (0..3).map(|_| begin(&mut endpoint)).collect();
        for at in [1, 0, 2] {
            endpoint.remove(begun[at]).unwrap();
        }
        let next: Vec<u32> = (0..4).map(|_| begin(&mut endpoint).slot).collect();
        assert_eq!(next, [1, 0, 2, 3]);
    }

    /// RFC 9000 §10.3.2: a reset token belongs to one connection only.
    #[test]
    fn no_handle_comes_again() {
        let mut endpoint = Endpoint::new(None, [1; 32]);
        let mut handles = std::collections::HashSet::new();
        for generation in [0, 0xffff, 0x1_0000, 0xffff_ffff] {
            if let Some(slot) = endpoint.table.slots.first_mut() {
                slot.generation = generation;
            }
            let handle = begin(&mut endpoint);
            assert_eq!(handle.slot, 0);
            assert!(handles.insert(endpoint.secrets.ids.id(endpoint.owner(handle), 0)));
            endpoint.remove(handle).unwrap();
        }
        let next = begin(&mut endpoint);
        assert_eq!(next.slot, 1, "the first has no generation left");
    }
}
