//! The control bits of a TCP header, including those of accurate ECN. RFC 9293 §3.1, RFC 9768 §3.1.

use std::fmt;
use std::ops::BitOr;

/// A set of TCP flags.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Flags(u16);

impl Flags {
    pub const FIN: Self = Self(0x001);
    pub const SYN: Self = Self(0x002);
    pub const RST: Self = Self(0x004);
    pub const PSH: Self = Self(0x008);
    pub const ACK: Self = Self(0x010);
    pub const URG: Self = Self(0x020);
    pub const ECE: Self = Self(0x040);
    pub const CWR: Self = Self(0x080);
    /// Formerly the nonce sum (RFC 3540), now accurate ECN (RFC 9768).
    pub const AE: Self = Self(0x100);

    const NAMES: [(Self, &'static str); 9] = [
        (Self::SYN, "SYN"),
        (Self::FIN, "FIN"),
        (Self::RST, "RST"),
        (Self::PSH, "PSH"),
        (Self::ACK, "ACK"),
        (Self::URG, "URG"),
        (Self::ECE, "ECE"),
        (Self::CWR, "CWR"),
        (Self::AE, "AE"),
    ];
    const ALL: u16 = 0x1ff;

    /// The flags in the thirteenth and fourteenth byte of the header; the data offset in front of
    /// them is ignored.
    pub(super) const fn from_bytes(bytes: [u8; 2]) -> Self {
        Self(u16::from_be_bytes(bytes) & Self::ALL)
    }

    /// Returns the two bytes with these flags set.
    pub(super) const fn put_into(self, bytes: [u8; 2]) -> [u8; 2] {
        (u16::from_be_bytes(bytes) & !Self::ALL | self.0).to_be_bytes()
    }

    pub const fn contains(self, others: Self) -> bool {
        self.0 & others.0 == others.0
    }

    pub const fn intersects(self, others: Self) -> bool {
        self.0 & others.0 != 0
    }

    #[must_use]
    pub const fn without(self, others: Self) -> Self {
        Self(self.0 & !others.0)
    }

    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }
}

impl BitOr for Flags {
    type Output = Self;

    fn bitor(self, others: Self) -> Self {
        Self(self.0 | others.0)
    }
}

/// Writes the names of the flags, such as `SYN+ACK`, or `none`.
impl fmt::Display for Flags {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut separator = "";
        for (flag, name) in Self::NAMES {
            if self.contains(flag) {
                write!(f, "{separator}{name}")?;
                separator = "+";
            }
        }
        if self.is_empty() {
            f.write_str("none")?;
        }
        Ok(())
    }
}

impl fmt::Debug for Flags {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Flags({self})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn they_live_in_nine_bits_and_leave_the_rest() {
        let flags = Flags::from_bytes([0xaf, 0x12]);
        assert_eq!(flags, Flags::SYN | Flags::ACK | Flags::AE);
        assert_eq!(flags.to_string(), "SYN+ACK+AE");
        assert_eq!(Flags::RST.put_into([0xaf, 0x12]), [0xae, 0x04]);
        assert!(
            flags
                .without(Flags::AE | Flags::SYN | Flags::ACK)
                .is_empty()
        );
        assert_eq!(Flags::default().to_string(), "none");
    }

    #[test]
    fn all_are_contained_or_some_intersect() {
        let both = Flags::SYN | Flags::ACK;
        assert!(both.contains(Flags::ACK) && !Flags::ACK.contains(both));
        assert!(both.intersects(Flags::ACK | Flags::RST) && !both.intersects(Flags::RST));
    }
}
