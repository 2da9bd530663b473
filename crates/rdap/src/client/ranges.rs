//! Answers about networks, by the range that they are about. The narrowest counts; how many are kept is bounded.

use std::collections::BTreeMap;
use std::net::IpAddr;

use super::{From, Source};
use crate::answer::Covers;

/// Each holds an answer of a few kilobytes.
const MOST: usize = 4096;

#[derive(Debug, Default)]
pub(super) struct Ranges(BTreeMap<(IpAddr, IpAddr), Source>);

impl Ranges {
    pub(super) fn keep(&mut self, source: &Source) {
        let covers = source
            .answer
            .as_ref()
            .ok()
            .and_then(|answer| answer.covers());
        if let Some(Covers::Ips(first, last)) = covers {
            if self.0.len() >= MOST {
                self.0.pop_first();
            }
            self.0.insert((first, last), source.clone());
        }
    }

    /// The narrowest that holds the whole prefix.
    pub(super) fn find(&self, address: IpAddr, bits: u8) -> Option<Source> {
        let last = end(address, bits);
        let candidates = self.0.range(..=(address, highest(address)));
        // Ranges that begin later and hold the address are narrower, or nothing holds both ends.
        let found = candidates.rev().find(|((first, end), _)| {
            first.is_ipv4() == address.is_ipv4() && *first <= address && last <= *end
        });
        found.map(|(_, source)| Source {
            from: From::Range,
            timing: None,
            ..source.clone()
        })
    }
}

fn highest(of: IpAddr) -> IpAddr {
    match of {
        IpAddr::V4(_) => IpAddr::V4(u32::MAX.into()),
        IpAddr::V6(_) => IpAddr::V6(u128::MAX.into()),
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
