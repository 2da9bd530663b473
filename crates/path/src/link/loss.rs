//! The packets that a link loses.

use std::collections::BTreeSet;
use std::str::FromStr;

#[derive(Clone, Debug, PartialEq)]
pub enum Loss {
    /// Each packet is lost with this probability: `1%`.
    Share(f64),
    /// The same share of packets is lost, but in bursts of this mean length: `1%x4`.
    Bursts { share: f64, length: f64 },
    /// Packets by number; the first packet of the direction is 1: `nth:3` or `nth:3+4+9`.
    Numbers(BTreeSet<u64>),
    /// The first segment of a kind: `syn`, or the first two: `syn*2`.
    First { what: LossTarget, times: u32 },
}

/// A kind of TCP segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LossTarget {
    Syn,
    SynAck,
    Fin,
    /// A segment with data.
    Data,
    /// The last segment of a write: with data and PSH.
    LastSegment,
    /// A segment that begins with a TLS ClientHello.
    ClientHello,
}

impl LossTarget {
    const ALL: [(&'static str, Self); 6] = [
        ("syn", Self::Syn),
        ("syn-ack", Self::SynAck),
        ("fin", Self::Fin),
        ("data", Self::Data),
        ("last", Self::LastSegment),
        ("client-hello", Self::ClientHello),
    ];
}

impl FromStr for Loss {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if let Some(numbers) = text.strip_prefix("nth:") {
            return numbers_of(numbers).map(Self::Numbers);
        }
        if let Some((share, length)) = text.split_once('x') {
            return bursts(super::parse_share(share)?, length);
        }
        let (kind, times) = text.split_once('*').unwrap_or((text, "1"));
        if let Some((_, what)) = LossTarget::ALL.into_iter().find(|(word, _)| *word == kind) {
            let times = times
                .parse()
                .map_err(|_| format!("`{times}` is not a number of repetitions"))?;
            return Ok(Self::First { what, times });
        }
        super::parse_share(text).map(Self::Share).map_err(|_| {
            format!(
                "`{text}` is not a loss; write 1%, 1%x4 (in bursts of four), nth:3+7 (by number), or one of {}",
                LossTarget::ALL.map(|(word, _)| word).join(", ")
            )
        })
    }
}

fn numbers_of(text: &str) -> Result<BTreeSet<u64>, String> {
    let number = |text: &str| {
        text.trim()
            .parse::<u64>()
            .ok()
            .filter(|number| *number > 0)
            .ok_or_else(|| format!("packets are counted from 1: `{text}` is not a packet's number"))
    };
    text.split('+').map(number).collect()
}

fn bursts(share: f64, length: &str) -> Result<Loss, String> {
    let length: f64 = length
        .parse()
        .ok()
        .filter(|length| (1.0..=1e6).contains(length))
        .ok_or_else(|| format!("`{length}` is not the length of a burst, which is 1 or more"))?;
    // The densest losses are bursts of this length with one packet between them.
    if share > length / (length + 1.0) {
        return Err(format!(
            "a loss of {}% leaves no room between bursts of {length}",
            share * 100.0
        ));
    }
    Ok(Loss::Bursts { share, length })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_form() {
        let loss = |text: &str| text.parse::<Loss>();
        assert_eq!(loss("1%"), Ok(Loss::Share(0.01)));
        let (share, length) = (0.01, 4.0);
        assert_eq!(loss("1%x4"), Ok(Loss::Bursts { share, length }));
        assert_eq!(loss("nth:3+7"), Ok(Loss::Numbers([3, 7].into())));
        let what = LossTarget::SynAck;
        assert_eq!(loss("syn-ack*2"), Ok(Loss::First { what, times: 2 }));
        for text in ["", "nth:0", "nth:", "1%x0", "99%x2", "synx", "syn*x", "2"] {
            assert!(loss(text).is_err(), "{text}");
        }
    }
}
