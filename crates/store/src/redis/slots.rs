//! Which server has which sessions. In a cluster each has some of the slots; a single server, or
//! the master that sentinels name, has all of them.

use std::collections::BTreeSet;
use std::sync::Arc;

use roundtrip_wire::resp::{SLOTS, Value};

use super::settings::Address;
use crate::change::{SlotPart, StorePart};

/// The largest number of servers of a cluster: each thread connects to all of them. Redis
/// recommends no more than 1000 nodes.
const MAX_SERVERS: usize = 1000;

/// The masters, by the slots that they have, and their replicas.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct SlotMap {
    /// The shards in the order of their slots, without overlap.
    ranges: Vec<Shard>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Shard {
    first: u16,
    last: u16,
    master: Address,
    replicas: Vec<Address>,
}

impl SlotMap {
    pub(super) fn whole(master: Address, replicas: Vec<Address>) -> Self {
        Self {
            ranges: vec![Shard {
                first: 0,
                last: SLOTS - 1,
                master,
                replicas,
            }],
        }
    }

    /// Parses the answer to `CLUSTER SLOTS`. `address` makes an address from a host (empty for the
    /// server that answered) and a port; it returns `None` for a server whose host is not known.
    pub(super) fn parse(
        answer: &Value,
        address: impl Fn(&[u8], i64) -> Option<Address>,
    ) -> Option<Self> {
        let Value::Array(shards) = answer else {
            return None;
        };
        let server = |value: &Value| {
            let Value::Array(parts) = value else {
                return None;
            };
            let (host, port) = (parts.first()?, parts.get(1)?);
            let host = match host {
                Value::Null => b"",
                host => host.bytes()?,
            };
            match port {
                Value::Integer(port) => address(host, *port),
                _ => None,
            }
        };
        let shard = |value: &Value| {
            let Value::Array(parts) = value else {
                return None;
            };
            let slot = |at: usize| match parts.get(at) {
                Some(Value::Integer(slot)) => u16::try_from(*slot).ok().filter(|s| *s < SLOTS),
                _ => None,
            };
            Some(Shard {
                first: slot(0)?,
                last: slot(1)?,
                master: server(parts.get(2)?)?,
                replicas: parts.get(3..)?.iter().filter_map(server).collect(),
            })
        };
        let mut ranges: Vec<Shard> = shards.iter().filter_map(shard).collect();
        ranges.sort_by_key(|shard| shard.first);
        let apart = |two: &[Shard]| matches!(two, [a, b] if a.last < b.first);
        let ordered = ranges.iter().all(|shard| shard.first <= shard.last);
        let is_sound = ordered && ranges.windows(2).all(apart);
        let map = Self { ranges };
        (is_sound && map.servers().len() <= MAX_SERVERS).then_some(map)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }

    pub(super) fn owner(&self, slot: u16) -> Option<&Address> {
        self.shard(slot).map(|shard| &shard.master)
    }

    /// Whether this master has a replica that can take its place.
    pub(super) fn is_replicated(&self, master: &Address) -> bool {
        let mut its_own = self.ranges.iter().filter(|shard| shard.master == *master);
        its_own.any(|shard| !shard.replicas.is_empty())
    }

    fn shard(&self, slot: u16) -> Option<&Shard> {
        let at = self.ranges.partition_point(|shard| shard.last < slot);
        self.ranges.get(at).filter(|shard| shard.first <= slot)
    }

    pub(super) fn masters(&self) -> BTreeSet<&Address> {
        self.ranges.iter().map(|shard| &shard.master).collect()
    }

    /// Masters and replicas.
    pub(super) fn servers(&self) -> BTreeSet<Address> {
        let replicas = self.ranges.iter().flat_map(|shard| &shard.replicas);
        self.masters()
            .into_iter()
            .chain(replicas)
            .cloned()
            .collect()
    }

    /// Gives one slot to another master.
    pub(super) fn give(&mut self, slot: u16, master: Address) {
        let mut ranges = Vec::with_capacity(self.ranges.len() + 2);
        for shard in self.ranges.drain(..) {
            if slot < shard.first || slot > shard.last {
                ranges.push(shard);
                continue;
            }
            if shard.first < slot {
                let last = slot - 1;
                ranges.push(Shard {
                    last,
                    ..shard.clone()
                });
            }
            if slot < shard.last {
                let first = slot + 1;
                ranges.push(Shard { first, ..shard });
            }
        }
        let known = ranges.iter().find(|shard| shard.master == master);
        let replicas = known.map(|shard| shard.replicas.clone());
        ranges.push(Shard {
            first: slot,
            last: slot,
            master,
            replicas: replicas.unwrap_or_default(),
        });
        ranges.sort_by_key(|shard| shard.first);
        self.ranges = ranges;
    }

    /// Whether this server has the slot, as master or replica.
    pub(super) fn serves(&self, server: &Address, slot: u16) -> bool {
        self.shard(slot).is_some_and(|shard| shard.has(server))
    }

    /// The first slot of a master or a replica.
    pub(super) fn first_slot(&self, server: &Address) -> Option<u16> {
        let shard = self.ranges.iter().find(|shard| shard.has(server));
        shard.map(|shard| shard.first)
    }

    pub(super) fn is_master(&self, server: &Address) -> bool {
        self.ranges.iter().any(|shard| shard.master == *server)
    }

    /// The part of the store that this master has; `None` if it has nothing.
    pub(super) fn part_of(&self, master: &Address, prefix: &Arc<str>) -> Option<StorePart> {
        let mine = |slot: u16| self.owner(slot) == Some(master);
        let has_some = self.is_master(master);
        has_some.then(|| part(mine, prefix)).flatten()
    }

    /// The slots that have another master in `other`; `None` if there are none.
    pub(super) fn changed(&self, other: &Self, prefix: &Arc<str>) -> Option<StorePart> {
        part(|slot| self.owner(slot) != other.owner(slot), prefix)
    }
}

impl Shard {
    fn has(&self, server: &Address) -> bool {
        self.master == *server || self.replicas.contains(server)
    }
}

/// Whether this answer to `CLUSTER NODES` names a replica of the server that answered, and the
/// cluster has not given it up.
pub(super) fn names_own_replica(nodes: &[u8]) -> bool {
    let text = String::from_utf8_lossy(nodes);
    let nodes = || {
        text.lines().filter_map(|line| {
            let mut words = line.split(' ');
            let (id, flags) = (words.next()?, words.nth(1)?);
            Some((id, flags, words.next()?))
        })
    };
    let has = |flags: &str, flag| flags.split(',').any(|one| one == flag);
    let own = nodes().find(|(_, flags, _)| has(flags, "myself"));
    own.is_some_and(|(own, ..)| {
        nodes().any(|(_, flags, master)| {
            master == own && has(flags, "slave") && !has(flags, "fail") && !has(flags, "noaddr")
        })
    })
}

fn part(has: impl Fn(u16) -> bool, prefix: &Arc<str>) -> Option<StorePart> {
    let mut ranges: Vec<(u16, u16)> = Vec::new();
    for slot in (0..SLOTS).filter(|slot| has(*slot)) {
        match ranges.last_mut() {
            Some((_, last)) if *last + 1 == slot => *last = slot,
            _ => ranges.push((slot, slot)),
        }
    }
    match ranges.as_slice() {
        [] => None,
        [(0, last)] if *last == SLOTS - 1 => Some(StorePart::Whole),
        _ => Some(StorePart::Slots(SlotPart::new(prefix, ranges))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(port: u16) -> Address {
        Address::Tcp {
            host: "h".into(),
            port,
        }
    }

    fn server(host: &str, port: i64) -> Value {
        let id = Value::Bulk(b"id".to_vec());
        Value::Array(vec![Value::Bulk(host.into()), Value::Integer(port), id])
    }

    fn parse(shards: &[(i64, i64, Vec<Value>)]) -> Option<SlotMap> {
        let shard = |(first, last, servers): &(i64, i64, Vec<Value>)| {
            let mut parts = vec![Value::Integer(*first), Value::Integer(*last)];
            parts.extend(servers.clone());
            Value::Array(parts)
        };
        let answer = Value::Array(shards.iter().map(shard).collect());
        SlotMap::parse(&answer, |_, port| Some(at(u16::try_from(port).ok()?)))
    }

    #[test]
    fn a_map_of_too_many_servers_is_refused() {
        let of = |replicas: i64| {
            let servers = (1..=replicas + 1).map(|port| server("h", port)).collect();
            parse(&[(0, 16383, servers)])
        };
        assert!(of(999).is_some());
        assert_eq!(of(1000), None);
    }

    #[test]
    fn the_map_is_read_and_one_slot_moves() {
        let three = [
            (8000, 16383, vec![server("h", 2), server("h", 4)]),
            (0, 7999, vec![server("h", 1)]),
        ];
        let mut map = parse(&three).unwrap();
        assert_eq!(map.owner(7999), Some(&at(1)));
        assert_eq!(map.owner(8000), Some(&at(2)));
        assert!(map.is_replicated(&at(2)) && !map.is_replicated(&at(1)));
        assert_eq!(map.servers().len(), 3);
        let before = map.clone();
        map.give(100, at(2));
        let owners = [99, 100, 101].map(|slot| map.owner(slot).cloned());
        assert_eq!(owners, [Some(at(1)), Some(at(2)), Some(at(1))]);
        let prefix: Arc<str> = "".into();
        let hundredth = SlotPart::new(&prefix, vec![(100, 100)]);
        let changed = before.changed(&map, &prefix);
        assert_eq!(changed, Some(StorePart::Slots(hundredth)));
        assert_eq!(map.changed(&map, &prefix), None);
        let whole = SlotMap::default().changed(&map, &prefix);
        assert_eq!(whole, Some(StorePart::Whole));
    }

    #[test]
    fn a_part_has_the_names_of_its_slots() {
        let mut map = SlotMap::whole(at(1), Vec::new());
        // The slot of "s:foo", by its tag.
        map.give(12182, at(2));
        let prefix: Arc<str> = "s:".into();
        let Some(part) = map.part_of(&at(2), &prefix) else {
            panic!();
        };
        assert!(part.has("{foo}") && part.has("{foo}.x") && !part.has("bar"));
        assert_eq!(map.part_of(&at(3), &prefix), None);
        assert!(map.part_of(&at(1), &prefix).unwrap().has("bar"));
    }

    #[test]
    fn invalid_maps_are_refused_and_unknown_servers_left_out() {
        assert_eq!(parse(&[]).unwrap(), SlotMap::default());
        assert!(parse(&[(5, 1, vec![server("h", 1)])]).is_none());
        let overlap = [(0, 9, vec![server("h", 1)]), (9, 12, vec![server("h", 2)])];
        assert!(parse(&overlap).is_none());
        assert!(
            parse(&[(0, 16384, vec![server("h", 1)])])
                .unwrap()
                .is_empty()
        );
        assert!(parse(&[(0, 9, vec![])]).unwrap().is_empty());
        let no_port = parse(&[(0, 9, vec![server("h", 99_999)])]);
        assert!(no_port.unwrap().is_empty());
        assert!(SlotMap::parse(&Value::Null, |_, _| None).is_none());
    }
}
