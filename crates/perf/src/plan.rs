//! What to measure, as a checked value. `arm` and `words` parse it; nothing here does I/O.

mod arm;
mod knobs;
mod work;

pub(crate) use arm::PACKET_AEAD;
pub use arm::{Arm, ArmTransport, EngineName};
pub use knobs::{AckEvery, ArmKnobs, Cipher, Congestion, DatagramLength, Tuning, size};
pub use work::{Amount, Pattern, SideRole, Work, WorkLane};

use crate::error::PlanError;

/// The bytes of an IPv4 header and a UDP header, which are not part of a datagram.
pub const UDP_OVERHEAD: u16 = 28;
const DEFAULT_MTU: u16 = 1500;

/// A whole plan. [`PerfPlan::check`] says whether it is possible.
#[derive(Clone, Debug)]
pub struct PerfPlan {
    /// Measured in turn, round by round.
    pub arms: Vec<Arm>,
    pub work: Work,
    pub rounds: u32,
    pub pin: Pin,
    pub terrain: Terrain,
}

/// The processor of each side.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Pin {
    /// The CPU of the sending side, which is the server unless only the client sends.
    pub sender: Option<usize>,
    pub receiver: Option<usize>,
}

/// The path between the two sides.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Terrain {
    /// Two namespaces, joined by a bare wire.
    Bare(EndConfig),
    /// Two namespaces, joined by an emulated path with these words.
    Emulated(Vec<(String, String)>, EndConfig),
    /// Another machine, by its name. Nothing is known about the network in between.
    Remote(String),
}

/// How both ends are configured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EndConfig {
    /// Whether both leave segmentation to the interface.
    pub offload: bool,
    pub mtu: u16,
}

impl Default for Terrain {
    fn default() -> Self {
        Self::Bare(EndConfig {
            offload: true,
            mtu: DEFAULT_MTU,
        })
    }
}

impl Pin {
    /// Takes two of the allowed cores; none if only one is allowed, which both sides then share.
    pub fn among(allowed: &[usize]) -> Self {
        match *allowed {
            [sender, receiver, ..] => Self {
                sender: Some(sender),
                receiver: Some(receiver),
            },
            _ => Self::default(),
        }
    }

    /// Parses two processors such as `0,1`, or `none`.
    pub fn parse(text: &str) -> Result<Self, PlanError> {
        let wrong = || PlanError::Value {
            what: "pair of CPUs",
            text: text.into(),
            how: "write one for the sender and one for the receiver, as in 0,1, or none",
        };
        if text == "none" {
            return Ok(Self::default());
        }
        let (sender, receiver) = text.split_once(',').ok_or_else(wrong)?;
        let core = |text: &str| text.trim().parse().map(Some).map_err(|_| wrong());
        Ok(Self {
            sender: core(sender)?,
            receiver: core(receiver)?,
        })
    }

    pub fn check(self, allowed: &[usize]) -> Result<(), PlanError> {
        for core in [self.sender, self.receiver].into_iter().flatten() {
            if !allowed.contains(&core) {
                let all: Vec<String> = allowed.iter().map(ToString::to_string).collect();
                return Err(PlanError::Core {
                    core,
                    allowed: all.join(", "),
                });
            }
        }
        Ok(())
    }
}

impl Terrain {
    /// The terrain that these words of a path describe. If they only set an MTU, it is a bare wire.
    pub fn described(words: &[(&str, String)], offload: Option<bool>) -> Result<Self, PlanError> {
        let mut scratch = roundtrip_path::Path::builder();
        let mut mtu = DEFAULT_MTU;
        for (word, value) in words {
            scratch.set(word, value)?;
            if *word == "mtu" {
                mtu = value.trim().parse().unwrap_or(mtu);
            }
        }
        let is_bare = words.iter().all(|(word, _)| *word == "mtu");
        // On an emulated path packets cross one by one, as on a real one.
        let offload = offload.unwrap_or(is_bare);
        let ends = EndConfig { offload, mtu };
        if is_bare {
            return Ok(Self::Bare(ends));
        }
        let words = words
            .iter()
            .map(|(word, value)| ((*word).to_owned(), value.clone()));
        Ok(Self::Emulated(words.collect(), ends))
    }

    pub fn ends(&self) -> Option<EndConfig> {
        match self {
            Self::Bare(ends) | Self::Emulated(_, ends) => Some(*ends),
            Self::Remote(_) => None,
        }
    }
}

pub(crate) fn range(
    what: &'static str,
    given: u64,
    least: u64,
    most: u64,
) -> Result<(), PlanError> {
    if (least..=most).contains(&given) {
        return Ok(());
    }
    Err(PlanError::Range {
        what,
        least,
        most,
        given,
    })
}

#[cfg(test)]
mod tests;
