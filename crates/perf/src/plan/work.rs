//! What the transport has to carry, and how the pattern becomes lanes that each do one thing.

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::range;
use crate::error::PlanError;

const MOST_MESSAGE: u64 = 1 << 30;
const MOST_LANES: u64 = 10_000;

/// The same for every arm.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Work {
    pub pattern: Pattern,
    /// In each connection; over TCP each has a connection of its own.
    pub streams: u32,
    pub connections: u32,
    pub amount: Amount,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Pattern {
    /// The server sends without end.
    Down,
    /// The client does.
    Up,
    /// Each stream is two: one each way.
    Both,
    /// On each stream one request after the other.
    Requests { request: u64, response: u64 },
    /// Down on every stream, and one more on which requests are made.
    Mixed { request: u64, response: u64 },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Amount {
    For(Duration),
    /// In all, divided among the lanes that carry bulk.
    Bytes(u64),
}

/// One thing that goes on until it is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lane {
    Down,
    Up,
    Ask { request: u64, response: u64 },
}

impl Work {
    /// What a connection carries at once.
    pub fn lanes(&self) -> Vec<Lane> {
        let (each, once): (&[Lane], Option<Lane>) = match self.pattern {
            Pattern::Down => (&[Lane::Down], None),
            Pattern::Up => (&[Lane::Up], None),
            Pattern::Both => (&[Lane::Down, Lane::Up], None),
            Pattern::Requests { request, response } => (&[Lane::Ask { request, response }], None),
            Pattern::Mixed { request, response } => {
                (&[Lane::Down], Some(Lane::Ask { request, response }))
            }
        };
        let streams = (0..self.streams).flat_map(|_| each.iter().copied());
        streams.chain(once).collect()
    }

    /// The share of a bulk lane, where bytes are counted and not seconds.
    pub fn share(&self) -> Option<u64> {
        let Amount::Bytes(bytes) = self.amount else {
            return None;
        };
        let bulk = self.lanes().iter().filter(|lane| lane.is_bulk()).count() as u64;
        Some(bytes.div_ceil((bulk * u64::from(self.connections)).max(1)))
    }

    /// Of the two, who sends the payload?
    pub fn sender(&self) -> Role {
        match self.pattern {
            Pattern::Up => Role::Client,
            _ => Role::Server,
        }
    }

    pub(crate) fn check(&self) -> Result<(), PlanError> {
        range("--streams", self.streams.into(), 1, 1000)?;
        range("--connections", self.connections.into(), 1, 1000)?;
        let lanes = self.lanes().len() as u64 * u64::from(self.connections);
        range("streams × connections", lanes, 1, MOST_LANES)?;
        match self.amount {
            Amount::For(time) => range("--seconds", time.as_secs(), 0, 86_400)?,
            Amount::Bytes(bytes) => range("--bytes", bytes, 1, 1 << 50)?,
        }
        if let Pattern::Requests { request, response } | Pattern::Mixed { request, response } =
            self.pattern
        {
            range("--request", request, 0, MOST_MESSAGE)?;
            range("--response", response, 1, MOST_MESSAGE)?;
        }
        let counts_requests = matches!(self.pattern, Pattern::Requests { .. });
        if counts_requests && matches!(self.amount, Amount::Bytes(_)) {
            return Err(PlanError::Contradiction {
                one: "--pattern requests",
                other: "--bytes",
                why: "requests are made for a time; say --seconds",
            });
        }
        Ok(())
    }
}

/// Which end of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Role {
    Server,
    Client,
}

impl Lane {
    pub(crate) fn is_bulk(self) -> bool {
        matches!(self, Self::Down | Self::Up)
    }
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Down => f.write_str("bulk down"),
            Self::Up => f.write_str("bulk up"),
            Self::Both => f.write_str("bulk both ways"),
            Self::Requests { request, response } => {
                write!(f, "requests of {request} bytes, answers of {response}")
            }
            Self::Mixed { request, response } => write!(
                f,
                "bulk down beside requests of {request} bytes, answers of {response}"
            ),
        }
    }
}
