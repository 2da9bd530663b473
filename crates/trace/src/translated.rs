//! The same connection in two captures between which its addresses are translated (NAT): it is
//! recognised by the client's first sequence number.

use std::collections::HashMap;

use crate::join::FAR;
use crate::key::FlowKey;

/// The number of connections that are remembered for the other capture.
const MAX_REMEMBERED: usize = 200_000;
/// In nanoseconds, on the clock of the nearer capture: the first packets of one connection are at
/// most this far apart in the two captures.
const MAX_APART: u64 = 4_000_000_000;

/// Connections that began with a SYN, and those that were found to be the same.
#[derive(Debug, Default)]
pub(crate) struct TranslatedConnections {
    /// The connections, each with its beginning, by capture and first sequence number.
    began: HashMap<(bool, u32), (FlowKey, u64)>,
    pairs: HashMap<FlowKey, FlowKey>,
}

impl TranslatedConnections {
    /// Takes a connection that began at `at`. Returns the key of the same connection in the other
    /// capture, if that is known already.
    pub(crate) fn take(&mut self, key: FlowKey, first: u32, at: u64) -> Option<FlowKey> {
        let is_far = key.interface >= FAR;
        let other = self.began.get(&(!is_far, first)).copied();
        let other = other.filter(|(_, began)| began.abs_diff(at) <= MAX_APART);
        if let Some((other, _)) = other {
            self.began.remove(&(!is_far, first));
            self.pairs.insert(key, other);
            self.pairs.insert(other, key);
            return Some(other);
        }
        if self.began.len() < MAX_REMEMBERED {
            self.began.insert((is_far, first), (key, at));
        }
        None
    }

    /// The key of the same connection in the other capture.
    pub(crate) fn of(&self, key: FlowKey) -> Option<FlowKey> {
        self.pairs.get(&key).copied()
    }

    /// Forgets a connection that has ended. The other capture may still have it.
    pub(crate) fn end(&mut self, key: FlowKey, first: Option<u32>) {
        self.pairs.remove(&key);
        if let Some(first) = first {
            self.began.remove(&(key.interface >= FAR, first));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(interface: u32, client: &str) -> FlowKey {
        let server = "192.0.2.1:443".parse().unwrap();
        FlowKey::new(interface, false, client.parse().unwrap(), server)
    }

    #[test]
    fn a_translated_connection_is_recognised_once_and_not_much_later() {
        let (near, far) = (key(0, "10.0.0.1:50000"), key(FAR, "198.51.100.7:1024"));
        let mut twins = TranslatedConnections::default();
        assert_eq!(twins.take(near, 7, 0), None);
        assert_eq!(twins.take(key(FAR, "198.51.100.7:1"), 8, 0), None);
        assert_eq!(twins.take(far, 7, 20_000_000), Some(near));
        assert_eq!((twins.of(near), twins.of(far)), (Some(far), Some(near)));
        twins.end(near, Some(7));
        assert_eq!((twins.of(near), twins.of(far)), (None, Some(near)));
        // Another one of the same capture, and one that is too late.
        assert_eq!(twins.take(key(0, "10.0.0.1:50001"), 9, 0), None);
        assert_eq!(twins.take(key(1, "10.0.0.1:50002"), 9, 0), None);
        assert_eq!(twins.take(far, 9, 2 * MAX_APART), None);
    }
}
