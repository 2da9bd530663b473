//! Reordering: packets that are overtaken.

use std::str::FromStr;
use std::time::Duration;

/// The share of packets that are held back, and for how long.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Reorder {
    pub share: f64,
    pub by: Duration,
}

impl FromStr for Reorder {
    type Err = String;

    /// `2%` (held back by 1 ms), or `2%,5ms`.
    fn from_str(text: &str) -> Result<Self, String> {
        let (share, by) = text.split_once(',').unwrap_or((text, "1ms"));
        Ok(Self {
            share: super::parse_share(share)?,
            by: roundtrip_model::parse_duration(by)?,
        })
    }
}
