//! Answers about networks, by the range that they cover, for queries to the same server: a server
//! may answer about far more addresses than it is responsible for. The narrowest range counts; the
//! number of stored answers is bounded. A query about an address waits for queries about
//! neighbouring addresses, because their answer could cover it too.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{Mutex, OwnedMutexGuard};

use super::{From, Source};
use crate::answer::{Answer, Covers};

/// The largest number of answers; each takes a few kilobytes.
const MAX_ANSWERS: usize = 4096;

/// Neighbours share this many leading bits: the prefix length of the smallest networks that
/// registries commonly assign.
const NEIGHBOUR_BITS_V4: u32 = 24;
const NEIGHBOUR_BITS_V6: u32 = 48;
/// The largest number of neighbourhoods before those without waiting queries are removed.
const MAX_TURNS: usize = 1024;

/// Makes neighbours wait while it exists.
pub(super) type RangeGuard = OwnedMutexGuard<()>;

#[derive(Default)]
pub(super) struct Ranges {
    /// The answers, by server and range. If two ranges have the same start, the narrower one comes
    /// later.
    kept: BTreeMap<(Rc<str>, IpAddr, Reverse<IpAddr>), Source>,
    turns: HashMap<IpAddr, Arc<Mutex<()>>>,
}

impl Ranges {
    pub(super) fn turn(&mut self, address: IpAddr) -> Arc<Mutex<()>> {
        if self.turns.len() >= MAX_TURNS {
            self.turns.retain(|_, turn| Arc::strong_count(turn) > 1);
        }
        self.turns
            .entry(neighbourhood(address))
            .or_default()
            .clone()
    }

    pub(super) fn keep(&mut self, server: Rc<str>, source: &Source) {
        let covers = source.answer.as_ref().ok().and_then(Answer::covers);
        if let Some(Covers::Ips(first, last)) = covers {
            if self.kept.len() >= MAX_ANSWERS {
                self.kept.pop_first();
            }
            self.kept
                .insert((server, first, Reverse(last)), source.clone());
        }
    }

    /// The narrowest range that covers the whole prefix.
    pub(super) fn find(&self, server: &Rc<str>, address: IpAddr, bits: u8) -> Option<Source> {
        let last = end(address, bits);
        let zero: IpAddr = match address {
            IpAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
            IpAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
        };
        let first = (server.clone(), zero, Reverse(end(zero, 0)));
        let candidates = first..=(server.clone(), address, Reverse(address));
        // Candidates that begin later and cover the address are narrower: ranges are nested or
        // disjoint.
        let mut candidates = self.kept.range(candidates).rev();
        let found = candidates.find(|((_, _, Reverse(end)), _)| last <= *end);
        found.map(|(_, source)| Source {
            from: From::Range,
            other: None,
            patience: Duration::ZERO,
            timing: None,
            ..source.clone()
        })
    }
}

fn neighbourhood(of: IpAddr) -> IpAddr {
    match of {
        IpAddr::V4(v4) => IpAddr::V4(
            (u32::from(v4) >> (32 - NEIGHBOUR_BITS_V4) << (32 - NEIGHBOUR_BITS_V4)).into(),
        ),
        IpAddr::V6(v6) => IpAddr::V6(
            (u128::from(v6) >> (128 - NEIGHBOUR_BITS_V6) << (128 - NEIGHBOUR_BITS_V6)).into(),
        ),
    }
}

/// The last address of a prefix.
fn end(first: IpAddr, bits: u8) -> IpAddr {
    match first {
        IpAddr::V4(v4) => {
            let host = u32::MAX.checked_shr(bits.into()).unwrap_or(0);
            IpAddr::V4((u32::from(v4) | host).into())
        }
        IpAddr::V6(v6) => {
            let host = u128::MAX.checked_shr(bits.into()).unwrap_or(0);
            IpAddr::V6((u128::from(v6) | host).into())
        }
    }
}
