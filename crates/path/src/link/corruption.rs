//! Corruption: `2%`, or `2%,unnoticed` if checksums must be right nevertheless.

use std::str::FromStr;

use super::parse_share;

/// The share of damaged packets, and whether the receiver's checksum detects the damage.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Corruption {
    /// The share of packets in which one bit is flipped.
    pub share: f64,
    /// Whether the bit is in the payload of TCP or UDP and the checksum is recomputed, as a NAT
    /// router with faulty memory would do it. Only an application with its own checksums detects
    /// this.
    pub is_unnoticed: bool,
}

impl FromStr for Corruption {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (share, is_unnoticed) = match text.split_once(',') {
            None => (text, false),
            Some((share, "unnoticed")) => (share, true),
            Some((_, other)) => {
                return Err(format!(
                    "`{other}`: only `unnoticed` can follow the share, as in 2%,unnoticed"
                ));
            }
        };
        let share = parse_share(share)?;
        Ok(Self {
            share,
            is_unnoticed,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_with_or_without_matching_checksums() {
        for (text, share, is_unnoticed) in [("2%", 0.02, false), ("0.5,unnoticed", 0.5, true)] {
            let expected = Corruption {
                share,
                is_unnoticed,
            };
            assert_eq!(text.parse(), Ok(expected));
        }
        for text in ["", "2%,", "2%,seen", "unnoticed", "200%,unnoticed"] {
            assert!(text.parse::<Corruption>().is_err(), "{text}");
        }
    }
}
