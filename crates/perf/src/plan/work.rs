//! The work of the transport, and how a pattern becomes lanes that do one thing each.

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::range;
use crate::error::PlanError;

const MAX_MESSAGE: u64 = 1 << 30;
const MAX_LANES: u64 = 10_000;

/// The work, which is the same for every arm.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Work {
    pub pattern: Pattern,
    /// Streams of each connection; over TCP, each stream is a connection.
    pub streams: u32,
    pub connections: u32,
    pub amount: Amount,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Pattern {
    /// The server sends continuously.
    Down,
    /// The client sends continuously.
    Up,
    /// Both ends send. Each stream counts as two: one in each direction.
    Both,
    /// One request after the other on each stream.
    Requests { request: u64, response: u64 },
    /// The server sends on every stream, and one more stream carries requests.
    Mixed { request: u64, response: u64 },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Amount {
    For(Duration),
    /// The total, divided among the bulk lanes.
    Bytes(u64),
}

/// The task of a stream, which continues until the work is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WorkLane {
    Down,
    Up,
    Ask { request: u64, response: u64 },
}

impl Work {
    /// The lanes of one connection.
    pub fn lanes(&self) -> Vec<WorkLane> {
        let (each, once): (&[WorkLane], Option<WorkLane>) = match self.pattern {
            Pattern::Down => (&[WorkLane::Down], None),
            Pattern::Up => (&[WorkLane::Up], None),
            Pattern::Both => (&[WorkLane::Down, WorkLane::Up], None),
            Pattern::Requests { request, response } => {
                (&[WorkLane::Ask { request, response }], None)
            }
            Pattern::Mixed { request, response } => {
                (&[WorkLane::Down], Some(WorkLane::Ask { request, response }))
            }
        };
        let streams = (0..self.streams).flat_map(|_| each.iter().copied());
        streams.chain(once).collect()
    }

    /// The bytes of one bulk lane, if the amount is in bytes.
    pub fn share(&self) -> Option<u64> {
        let Amount::Bytes(bytes) = self.amount else {
            return None;
        };
        let bulk = self.lanes().iter().filter(|lane| lane.is_bulk()).count() as u64;
        Some(bytes.div_ceil((bulk * u64::from(self.connections)).max(1)))
    }

    /// Which side sends the payload.
    pub fn sender(&self) -> SideRole {
        match self.pattern {
            Pattern::Up => SideRole::Client,
            _ => SideRole::Server,
        }
    }

    pub(crate) fn check(&self) -> Result<(), PlanError> {
        range("--streams", self.streams.into(), 1, 1000)?;
        range("--connections", self.connections.into(), 1, 1000)?;
        let lanes = self.lanes().len() as u64 * u64::from(self.connections);
        range("streams × connections", lanes, 1, MAX_LANES)?;
        match self.amount {
            Amount::For(time) => range("--seconds", time.as_secs(), 0, 86_400)?,
            Amount::Bytes(bytes) => range("--bytes", bytes, 1, 1 << 50)?,
        }
        if let Pattern::Requests { request, response } | Pattern::Mixed { request, response } =
            self.pattern
        {
            range("--request", request, 0, MAX_MESSAGE)?;
            range("--response", response, 1, MAX_MESSAGE)?;
        }
        let counts_requests = matches!(self.pattern, Pattern::Requests { .. });
        if counts_requests && matches!(self.amount, Amount::Bytes(_)) {
            return Err(PlanError::Contradiction {
                one: "--pattern requests",
                other: "--bytes",
                why: "requests are made for a time; give --seconds",
            });
        }
        Ok(())
    }
}

/// One end of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SideRole {
    Server,
    Client,
}

impl WorkLane {
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
                "bulk down with requests of {request} bytes, answers of {response}"
            ),
        }
    }
}
