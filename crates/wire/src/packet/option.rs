//! The options of a TCP header. RFC 9293 §3.2, and those listed by IANA.

use super::field;

/// Numbers assigned by IANA.
const END: u8 = 0;
pub(super) const NO_OPERATION: u8 = 1;
const MAXIMUM_SEGMENT_SIZE: u8 = 2;
const WINDOW_SCALE: u8 = 3;
const SACK_PERMITTED: u8 = 4;
const SACK: u8 = 5;
const TIMESTAMPS: u8 = 8;
const MPTCP: u8 = 30;
const FAST_OPEN: u8 = 34;
/// Experiments share two kinds; the next two bytes distinguish them. RFC 6994.
const EXPERIMENT: u8 = 254;
/// RFC 7413 §4.1.1.
const FAST_OPEN_EXPERIMENT: [u8; 2] = [0xf9, 0x89];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TcpOption<'a> {
    /// The position in bytes, counted from the end of the fixed header.
    pub at: usize,
    /// The whole option, including kind and length.
    pub bytes: &'a [u8],
    pub value: OptionValue<'a>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OptionValue<'a> {
    MaximumSegmentSize(u16),
    /// A shift count. RFC 7323 §2.
    WindowScale(u8),
    SackPermitted,
    /// The left and right edges, in pairs; [`TcpOption::sack_blocks`] parses them. RFC 2018 §3.
    Sack(&'a [u8]),
    /// RFC 7323 §3.
    Timestamps {
        value: u32,
        echo: u32,
    },
    /// A fast open cookie (RFC 7413 §4.1.1); an empty one requests a cookie.
    FastOpen {
        cookie: &'a [u8],
        experimental: bool,
    },
    /// The subtype and its data. RFC 8684 §3.
    Mptcp(&'a [u8]),
    /// An option of another kind, or one of the above with an invalid length.
    Unknown {
        kind: u8,
        data: &'a [u8],
    },
}

impl<'a> TcpOption<'a> {
    /// The ranges that the peer has received beyond the acknowledgment; the second number is
    /// exclusive.
    pub fn sack_blocks(&self) -> impl Iterator<Item = (u32, u32)> + use<'a> {
        let blocks = match self.value {
            OptionValue::Sack(blocks) => blocks,
            _ => &[],
        };
        blocks
            .as_chunks::<8>()
            .0
            .iter()
            .map(|block| two_words(*block))
    }
}

/// The options in order, without padding. A malformed option ends the iteration.
#[derive(Debug, Clone)]
pub struct Options<'a> {
    rest: &'a [u8],
    at: usize,
}

impl<'a> Options<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes, at: 0 }
    }

    fn advance(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.rest.split_at_checked(count)?;
        self.rest = rest;
        self.at += count;
        Some(taken)
    }
}

impl<'a> Iterator for Options<'a> {
    type Item = TcpOption<'a>;

    fn next(&mut self) -> Option<TcpOption<'a>> {
        while self.rest.first() == Some(&NO_OPERATION) {
            self.advance(1);
        }
        let &[kind, length, ..] = self.rest else {
            return None;
        };
        // The option is shorter than its own header, so the position of the next one is unknown.
        if kind == END || length < 2 {
            return None;
        }
        let at = self.at;
        let bytes = self.advance(usize::from(length))?;
        let data = bytes.get(2..).unwrap_or_default();
        Some(TcpOption {
            at,
            bytes,
            value: meaning(kind, data),
        })
    }
}

fn meaning(kind: u8, data: &[u8]) -> OptionValue<'_> {
    match (kind, data) {
        (MAXIMUM_SEGMENT_SIZE, &[a, b]) => {
            OptionValue::MaximumSegmentSize(u16::from_be_bytes([a, b]))
        }
        (WINDOW_SCALE, &[shift]) => OptionValue::WindowScale(shift),
        (SACK_PERMITTED, []) => OptionValue::SackPermitted,
        (SACK, blocks) if !blocks.is_empty() && blocks.len().is_multiple_of(8) => {
            OptionValue::Sack(blocks)
        }
        (TIMESTAMPS, data) if data.len() == 8 => {
            let (value, echo) = two_words(field(data, 0));
            OptionValue::Timestamps { value, echo }
        }
        (FAST_OPEN, cookie) => OptionValue::FastOpen {
            cookie,
            experimental: false,
        },
        (EXPERIMENT, &[a, b, ref cookie @ ..]) if [a, b] == FAST_OPEN_EXPERIMENT => {
            OptionValue::FastOpen {
                cookie,
                experimental: true,
            }
        }
        (MPTCP, data) if !data.is_empty() => OptionValue::Mptcp(data),
        (kind, data) => OptionValue::Unknown { kind, data },
    }
}

fn two_words(bytes: [u8; 8]) -> (u32, u32) {
    let both = u64::from_be_bytes(bytes);
    ((both >> 32) as u32, both as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(bytes: &[u8]) -> Vec<OptionValue<'_>> {
        Options::new(bytes).map(|option| option.value).collect()
    }

    #[test]
    fn those_of_a_linux_syn() {
        let bytes = [
            2, 4, 5, 0xb4, 4, 2, 8, 10, 0, 0, 1, 0, 0, 0, 0, 2, 1, 3, 3, 7, 34, 2, 0, 34,
        ];
        let expected = [
            OptionValue::MaximumSegmentSize(1460),
            OptionValue::SackPermitted,
            OptionValue::Timestamps {
                value: 256,
                echo: 2,
            },
            OptionValue::WindowScale(7),
            OptionValue::FastOpen {
                cookie: &[],
                experimental: false,
            },
        ];
        assert_eq!(values(&bytes), expected);
        let places: Vec<_> = Options::new(&bytes)
            .map(|option| (option.at, option.bytes.len()))
            .collect();
        assert_eq!(places, [(0, 4), (4, 2), (6, 10), (17, 3), (20, 2)]);
    }

    #[test]
    fn rarer_ones() {
        assert_eq!(
            values(&[254, 6, 0xf9, 0x89, 7, 8, 254, 4, 1, 2]),
            [
                OptionValue::FastOpen {
                    cookie: &[7, 8],
                    experimental: true
                },
                OptionValue::Unknown {
                    kind: 254,
                    data: &[1, 2]
                },
            ]
        );
        assert_eq!(
            values(&[30, 4, 0x00, 0x01]),
            [OptionValue::Mptcp(&[0x00, 0x01])]
        );
        let sack = [5, 10, 0, 0, 0, 1, 0, 0, 0, 9];
        let option = Options::new(&sack).next().unwrap();
        assert_eq!(option.sack_blocks().collect::<Vec<_>>(), [(1, 9)]);
    }

    #[test]
    fn an_invalid_option_ends_the_list() {
        assert_eq!(values(&[2, 0, 3, 3, 7]), []);
        assert_eq!(values(&[2, 1, 3, 3, 7]), []);
        assert_eq!(values(&[4, 2, 3, 60, 7]), [OptionValue::SackPermitted]);
        assert_eq!(values(&[1, 1, 2]), []);
        // An invalid length for this kind.
        let mss = OptionValue::Unknown {
            kind: 2,
            data: &[5],
        };
        assert_eq!(values(&[2, 3, 5, 4, 2]), [mss, OptionValue::SackPermitted]);
    }
}
