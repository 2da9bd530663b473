//! Converts between the pool's knowledge about an origin and the stored data about it.

use std::time::Duration;

use roundtrip_model::Origin;

use super::{Addresses, Alternative, OriginState, Reached, Stamp};
use crate::pool::{self, OriginKnowledge};

/// Addresses without a TTL are looked up again.
const UNSAID: Duration = Duration::ZERO;

impl OriginState {
    /// The unexpired knowledge, for the pool.
    pub fn knowledge(&self, origin: &Origin, now: Stamp) -> OriginKnowledge {
        let alternative = self.alt_svc.as_ref().filter(|known| known.expires > now);
        let addresses = self.addresses.as_ref().filter(|known| known.expires > now);
        OriginKnowledge {
            origin: origin.clone(),
            alpn: self.alpn.clone(),
            alt_svc: alternative.map(|known| pool::Alternative {
                port: known.port,
                left: known.expires.since(now),
                persist: known.persist,
            }),
            rtt: self.rtt,
            addresses: addresses
                .map(|known| known.list.clone())
                .unwrap_or_default(),
            ttl: addresses.map(|known| known.expires.since(now)),
            streams: self
                .streams
                .and_then(|streams| usize::try_from(streams).ok()),
            reached: self
                .reached
                .as_ref()
                .filter(|known| known.expires > now)
                .map(|known| pool::Reached {
                    address: known.address,
                    left: known.expires.since(now),
                }),
        }
    }

    /// Stores the pool's knowledge. Values that the pool lacks stay unchanged, unless it would have
    /// learnt them if they were still true.
    pub fn learn(&mut self, known: &OriginKnowledge, now: Stamp) {
        self.alt_svc = known.alt_svc.as_ref().map(|alternative| Alternative {
            port: alternative.port,
            persist: alternative.persist,
            expires: now.plus(alternative.left),
        });
        if !known.addresses.is_empty() {
            self.addresses = Some(Addresses {
                list: known.addresses.clone(),
                expires: now.plus(known.ttl.unwrap_or(UNSAID)),
            });
        }
        self.alpn = known.alpn.clone().or(self.alpn.take());
        self.rtt = known.rtt.or(self.rtt);
        let streams = known
            .streams
            .and_then(|streams| u32::try_from(streams).ok());
        self.streams = streams.or(self.streams);
        self.reached = known.reached.map(|reached| Reached {
            address: reached.address,
            expires: now.plus(reached.left),
        });
    }
}

#[cfg(test)]
mod tests {
    use roundtrip_model::Target;

    use super::*;

    const NOW: Stamp = Stamp(1_790_000_000_000);

    #[test]
    fn knowledge_is_returned_until_it_expires() {
        let minutes = Duration::from_mins;
        let known = OriginKnowledge {
            origin: Target::parse("https://a.example/").unwrap().origin(),
            alpn: Some("h2".into()),
            alt_svc: Some(pool::Alternative {
                port: 443,
                left: minutes(60),
                persist: true,
            }),
            rtt: Some(Duration::from_millis(20)),
            addresses: vec![[192, 0, 2, 1].into(), std::net::Ipv6Addr::LOCALHOST.into()],
            ttl: Some(minutes(5)),
            streams: Some(100),
            reached: Some(pool::Reached {
                address: [192, 0, 2, 1].into(),
                left: minutes(8),
            }),
        };
        let mut state = OriginState::default();
        state.learn(&known, NOW);
        let state = OriginState::decode(&state.encode()).unwrap();
        assert_eq!(state.knowledge(&known.origin, NOW), known);
        let later = state.knowledge(&known.origin, NOW.plus(minutes(10)));
        assert!(later.addresses.is_empty() && later.ttl.is_none());
        assert_eq!(later.reached, None);
        assert_eq!(later.alt_svc.map(|known| known.left), Some(minutes(50)));
        let last = state.knowledge(&known.origin, NOW.plus(minutes(60)));
        assert_eq!(
            (last.alt_svc, last.alpn, last.streams),
            (None, known.alpn, known.streams)
        );
    }

    #[test]
    fn values_that_the_pool_lacks_are_kept() {
        let origin = Target::parse("https://a.example/").unwrap().origin();
        let mut state = OriginState {
            alpn: Some("h2".into()),
            rtt: Some(Duration::from_millis(20)),
            streams: Some(7),
            ..OriginState::default()
        };
        let before = state.clone();
        let nothing = OriginState::default().knowledge(&origin, NOW);
        state.learn(&nothing, NOW);
        assert_eq!(state, before);
    }
}
