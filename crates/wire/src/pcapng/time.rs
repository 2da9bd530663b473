//! Timestamps: ticks whose length and origin each interface defines. draft-ietf-opsawg-pcapng §4.2.

const PER_SECOND: u128 = 1_000_000_000;
const NANOSECONDS: u8 = 9;

/// How an interface counts time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Ticks {
    /// The high bit distinguishes powers of two from powers of ten; the rest is the negative
    /// exponent.
    pub(super) resolution: u8,
    /// Seconds to add.
    pub(super) offset: i64,
}

impl Default for Ticks {
    /// Microseconds since 1970.
    fn default() -> Self {
        Self {
            resolution: 6,
            offset: 0,
        }
    }
}

impl Ticks {
    pub(super) const OURS: Self = Self {
        resolution: NANOSECONDS,
        offset: 0,
    };

    /// The time in nanoseconds since 1970, if it fits into 64 bits.
    pub(super) fn nanoseconds(self, ticks: u64) -> Option<u64> {
        let ticks = u128::from(ticks);
        let exponent = self.resolution & 0x7f;
        let since_offset = if self.resolution & 0x80 != 0 {
            // At most 2^64 · 10^9, which is below 2^94.
            (ticks * PER_SECOND) >> exponent
        } else if exponent <= NANOSECONDS {
            ticks * 10_u128.pow(u32::from(NANOSECONDS - exponent))
        } else {
            // If the power of ten does not fit into 128 bits, any 64-bit number of ticks is less
            // than a nanosecond.
            10_u128
                .checked_pow(u32::from(exponent - NANOSECONDS))
                .map_or(0, |divisor| ticks / divisor)
        };
        let offset = i128::from(self.offset) * PER_SECOND.cast_signed();
        u64::try_from(since_offset.cast_signed() + offset).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_resolutions_are_told_in_nanoseconds() {
        let told = |resolution, offset, ticks| Ticks { resolution, offset }.nanoseconds(ticks);
        assert_eq!(Ticks::default().nanoseconds(5), Some(5_000));
        assert_eq!(Ticks::OURS.nanoseconds(u64::MAX), Some(u64::MAX));
        assert_eq!(told(0, 0, 3), Some(3_000_000_000));
        assert_eq!(told(12, 0, 5_999), Some(5));
        assert_eq!(told(127, 0, u64::MAX), Some(0));
        assert_eq!(told(0x8a, 0, 1024), Some(1_000_000_000));
        assert_eq!(told(0xff, 0, u64::MAX), Some(0));
        assert_eq!(told(6, 2, 1), Some(2_000_001_000));
        assert_eq!(told(6, -1, 1), None);
        assert_eq!(told(0, i64::MAX, u64::MAX), None);
    }
}
