//! The three packet number spaces. RFC 9000 §12.3.

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Space {
    Initial,
    Handshake,
    Data,
}

impl Space {
    pub(crate) const ALL: [Self; 3] = [Self::Initial, Self::Handshake, Self::Data];

    pub(crate) fn index(self) -> usize {
        self as usize
    }
}
