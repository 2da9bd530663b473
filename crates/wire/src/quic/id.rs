//! Connection ids, which say to which connection a packet belongs. RFC 9000 §5.1.

use std::fmt;

/// The longest id in bytes. RFC 9000 §17.2. Unknown versions may have ids of up to 255 bytes (RFC
/// 8999 §5.1).
const MAX_LENGTH: usize = 20;

/// A connection id: at most 20 bytes, stored in place.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct ConnectionId {
    length: u8,
    /// Zeros follow the first `length` bytes, so that equal ids have equal arrays.
    bytes: [u8; MAX_LENGTH],
}

impl ConnectionId {
    pub const EMPTY: Self = Self {
        length: 0,
        bytes: [0; MAX_LENGTH],
    };
    pub const MAX_LENGTH: usize = MAX_LENGTH;

    /// Makes an id; `None` for more than 20 bytes.
    #[inline]
    pub fn new(id: &[u8]) -> Option<Self> {
        let mut bytes = [0; MAX_LENGTH];
        bytes.get_mut(..id.len())?.copy_from_slice(id);
        Some(Self {
            length: id.len() as u8,
            bytes,
        })
    }

    #[inline]
    pub fn as_slice(&self) -> &[u8] {
        self.bytes
            .get(..usize::from(self.length))
            .unwrap_or_default()
    }

    #[inline]
    pub fn len(&self) -> usize {
        usize::from(self.length)
    }

    #[inline]
    pub fn is_empty(&self) -> bool {
        self.length == 0
    }
}

impl fmt::Debug for ConnectionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ConnectionId({})", crate::text::hex(self.as_slice()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_hold_twenty_bytes_and_no_more() {
        for length in 0..=MAX_LENGTH {
            let bytes = vec![0xab; length];
            let id = ConnectionId::new(&bytes).unwrap();
            assert_eq!((id.as_slice(), id.len()), (&bytes[..], length));
            assert_eq!(id.is_empty(), length == 0);
        }
        assert_eq!(ConnectionId::new(&[0; MAX_LENGTH + 1]), None);
        // Zeros at the end are significant.
        assert_ne!(ConnectionId::new(&[1]), ConnectionId::new(&[1, 0]));
        assert_eq!(ConnectionId::new(&[]), Some(ConnectionId::EMPTY));
    }
}
