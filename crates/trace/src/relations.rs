//! Relates a connection to others between the same hosts: how many there were, how they ended, and
//! where they were seen from.

use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr};

use roundtrip_model::NotKept;

use crate::vantage::{Vantage, VantagePoint};

/// The age, in nanoseconds, beyond which an ended connection is unrelated.
const REMEMBERED: u64 = 120_000_000_000;
/// A server that closes at least this many nanoseconds after its answer closes an idle connection.
const IDLE: u64 = 100_000_000;
/// A client repeats a request within this many nanoseconds.
const AT_ONCE: u64 = 1_000_000_000;
/// The number of ends of connections that are remembered.
const MAX_ENDS: usize = 65_536;

/// How a connection ended.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ConnectionEnd {
    pub(crate) at: u64,
    /// The end of the last answer.
    pub(crate) last_answer: u64,
    pub(crate) announced: bool,
    /// The departure of the request that the server answered by ending the connection; `None` if
    /// that was the first request.
    pub(crate) crossed: Option<u64>,
}

impl ConnectionEnd {
    /// Whether a connection that began at `at` was opened to repeat the request that it crossed.
    pub(crate) fn is_repeated_at(&self, at: u64) -> bool {
        self.crossed.is_some() && (self.at..self.at.saturating_add(AT_ONCE)).contains(&at)
    }
}

/// Why a new connection had to be opened although another one had existed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Reopened {
    pub(crate) why: NotKept,
    /// When the request first left, on the connection that was lost.
    pub(crate) asked: Option<u64>,
}

/// How many connections each client has opened.
#[derive(Debug, Default)]
pub(crate) struct Openers(HashMap<IpAddr, u32>);

impl Openers {
    /// Counts a connection; new clients beyond the limit are not counted.
    pub(crate) fn note(&mut self, client: IpAddr) {
        if self.0.len() < MAX_ENDS || self.0.contains_key(&client) {
            *self.0.entry(client).or_default() += 1;
        }
    }

    pub(crate) fn opened_one(&self, client: IpAddr) -> bool {
        self.0.get(&client) == Some(&1)
    }
}

/// How the server closed connections between clients and servers, and where those of two hosts were
/// seen from.
#[derive(Debug, Default)]
pub(crate) struct ConnectionEnds(
    HashMap<(IpAddr, SocketAddr), ConnectionEnd>,
    HashMap<(IpAddr, IpAddr), Vantage>,
);

impl ConnectionEnds {
    /// The place that a connection was seen from; if it does not show that itself, an earlier one
    /// may.
    pub(crate) fn place(&mut self, hosts: (IpAddr, IpAddr), vantage: Vantage) -> Vantage {
        let vantage = vantage.or_as(self.1.get(&hosts));
        if self.1.len() >= MAX_ENDS {
            self.1.clear();
        }
        if vantage.place != VantagePoint::Unknown {
            self.1.insert(hosts, vantage.clone());
        }
        vantage
    }

    pub(crate) fn note(&mut self, client: IpAddr, server: SocketAddr, end: ConnectionEnd) {
        if self.0.len() >= MAX_ENDS {
            self.0.clear();
        }
        self.0.insert((client, server), end);
    }

    /// Why a connection that began at `at` had to be opened, if an earlier one shows that. Each
    /// ended connection explains one new connection.
    pub(crate) fn take(&mut self, client: IpAddr, server: SocketAddr, at: u64) -> Option<Reopened> {
        let end = self.0.get(&(client, server))?;
        if end.at > at || at - end.at > REMEMBERED {
            return None;
        }
        let why = if end.crossed.is_some() {
            end.is_repeated_at(at).then_some(NotKept::Crossed)
        } else if end.announced {
            Some(NotKept::Announced)
        } else if end.at.saturating_sub(end.last_answer) >= IDLE {
            Some(NotKept::Idle)
        } else {
            None
        };
        let asked = end.crossed;
        self.0.remove(&(client, server));
        why.map(|why| Reopened { why, asked })
    }
}
