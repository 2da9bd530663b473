//! The Internet checksum: computed from all bytes (RFC 1071), or updated after a change (RFC 1624).

/// The ones' complement sum of 16-bit words; an odd last byte is padded with zero. RFC 1071 §1.
pub fn sum(bytes: &[u8]) -> u16 {
    // In this arithmetic 2^16 equals 1, so words of 32 bits can be added and folded at the end. RFC
    // 1071 §2.
    let (words, rest) = bytes.as_chunks::<4>();
    let mut total: u64 = words
        .iter()
        .map(|word| u64::from(u32::from_be_bytes(*word)))
        .sum();
    let mut last = [0; 4];
    for (to, from) in last.iter_mut().zip(rest) {
        *to = *from;
    }
    total += u64::from(u32::from_be_bytes(last));
    fold(total)
}

pub(super) fn fold(mut sum: u64) -> u16 {
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    sum as u16
}

/// How overwritten bytes change a sum that covers them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct ChecksumDelta {
    /// The sum of ~m and m' of RFC 1624 over all changed words.
    added: u64,
}

impl ChecksumDelta {
    /// The change from `old` to `new` bytes of equal length; `at_odd_offset` says whether they
    /// begin at an odd offset.
    pub(super) fn between(old: &[u8], new: &[u8], at_odd_offset: bool) -> Self {
        // The sum does not depend on byte order: bytes that begin inside a word give the same sum,
        // swapped. RFC 1071 §2.
        let sum_there = |bytes| {
            if at_odd_offset {
                sum(bytes).swap_bytes()
            } else {
                sum(bytes)
            }
        };
        Self {
            added: u64::from(!sum_there(old)) + u64::from(sum_there(new)),
        }
    }

    /// RFC 1624 eq. 3: HC' = ~(~HC + ~m + m').
    pub(super) fn apply(self, checksum: u16) -> u16 {
        !fold(u64::from(!checksum) + self.added)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sum_of_the_rfc() {
        // RFC 1071 §3.
        assert_eq!(
            sum(&[0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7]),
            0xddf2
        );
        assert_eq!(sum(&[0x12]), 0x1200);
        assert_eq!(sum(&[0xff, 0xff, 0x00, 0x01, 0x80]), 0x8001);
        assert_eq!(sum(&[]), 0);
    }

    #[test]
    fn the_difference_of_the_rfc() {
        // RFC 1624 §4: 0xdd2f, a word from 0x5555 to 0x3285, gives 0x0000 and not 0xffff.
        let change = ChecksumDelta::between(&[0x55, 0x55], &[0x32, 0x85], false);
        assert_eq!(change.apply(0xdd2f), 0x0000);
    }

    #[test]
    fn a_change_at_an_odd_offset_counts_in_its_place() {
        let before = [1, 2, 3, 4, 5, 6];
        let after = [1, 2, 3, 200, 100, 255];
        let change = ChecksumDelta::between(&before[3..], &after[3..], true);
        assert_eq!(change.apply(!sum(&before)), !sum(&after));
        assert_ne!(
            ChecksumDelta::between(&before[3..], &after[3..], false).apply(!sum(&before)),
            !sum(&after)
        );
    }
}
