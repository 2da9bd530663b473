//! Datagrams that only probe how large a packet the path carries: they hold padding. RFC 8899 §4.1,
//! RFC 9000 §14.3.

use std::collections::HashSet;

use super::{Datagram, Kinds};

const ONLY_SHORT: Kinds = Kinds {
    initial: false,
    handshake: false,
    early: false,
    retry: false,
    negotiation: false,
    short: true,
};

/// The frames of the probes: a side uses a size only after a probe of it was acknowledged, so that
/// the first datagram of a larger size than before is one.
pub(super) fn probes(datagrams: &[(u64, &Datagram)]) -> HashSet<u64> {
    let mut found = HashSet::new();
    let mut used = [0; 2];
    let mut probed: [HashSet<u64>; 2] = Default::default();
    for (_, datagram) in datagrams {
        let side = datagram.from.index();
        if datagram.bytes <= used[side] {
            continue;
        }
        let is_new = probed[side].insert(datagram.bytes);
        if datagram.kinds == ONLY_SHORT && used[side] > 0 && is_new {
            found.insert(datagram.frame);
        } else {
            used[side] = datagram.bytes;
        }
    }
    found
}
