//! The connections by the address of their peer: a stateless reset names no connection, so it is
//! for one of those with the address that it came from. RFC 9000 §10.3.1.

use std::collections::HashMap;
use std::net::SocketAddr;

use super::Handle;

/// The tokens of this many connections are compared, the newest first: every stray datagram costs
/// as much. Other connections end by their timeouts.
const MAX_COMPARED: usize = 256;

#[derive(Debug, Default)]
pub(super) struct Peers(HashMap<SocketAddr, Vec<Handle>>);

impl Peers {
    pub(super) fn add(&mut self, remote: SocketAddr, handle: Handle) {
        self.0.entry(remote).or_default().push(handle);
    }

    pub(super) fn remove(&mut self, remote: SocketAddr, handle: Handle) {
        if let Some(handles) = self.0.get_mut(&remote) {
            handles.retain(|other| *other != handle);
            if handles.is_empty() {
                self.0.remove(&remote);
            }
        }
    }

    /// The connections that a reset from there may be for.
    pub(super) fn at(&self, remote: SocketAddr) -> impl Iterator<Item = Handle> + '_ {
        let handles = self.0.get(&remote).into_iter().flatten();
        handles.rev().take(MAX_COMPARED).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_address_has_its_own_and_nothing_stays() {
        let at = |port| SocketAddr::from(([192, 0, 2, 1], port));
        let handle = |slot| Handle {
            slot,
            generation: 0,
        };
        let mut peers = Peers::default();
        for slot in 0..1000 {
            peers.add(at(1 + slot as u16 % 2), handle(slot));
        }
        let found: Vec<Handle> = peers.at(at(2)).collect();
        assert_eq!((found.len(), found[0]), (MAX_COMPARED, handle(999)));
        assert_eq!(peers.at(at(3)).count(), 0);
        for slot in 0..1000 {
            peers.remove(at(1 + slot as u16 % 2), handle(slot));
        }
        assert!(peers.0.is_empty());
    }
}
