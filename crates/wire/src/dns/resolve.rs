//! A message's records about one name: aliases, addresses and services, and how long they are
//! valid.

use std::net::IpAddr;

use super::{Data, Message, Name, Service};
use crate::{Error, Result};

/// The number of consecutive aliases that resolvers commonly follow.
const MAX_ALIASES: usize = 16;

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Resolved {
    pub addresses: Vec<IpAddr>,
    /// The names in the alias chain, in order; the last one owns the addresses.
    pub aliases: Vec<Name>,
    /// The shortest TTL of all records used, in seconds.
    pub ttl: Option<u32>,
}

impl Message {
    /// The addresses of `name` in the answers, at the end of its aliases. RFC 1034 §3.6.2.
    pub fn addresses_for(&self, name: &Name) -> Result<Resolved> {
        let mut resolved = self.follow(name)?;
        let owner = resolved.aliases.last().unwrap_or(name).clone();
        for record in self.answers.iter().filter(|record| record.name == owner) {
            let address = match record.data {
                Data::A(address) => IpAddr::V4(address),
                Data::Aaaa(address) => IpAddr::V6(address),
                _ => continue,
            };
            resolved.shorten(record.ttl);
            if !resolved.addresses.contains(&address) {
                resolved.addresses.push(address);
            }
        }
        Ok(resolved)
    }

    /// The HTTPS records of `name`, at the end of its aliases, the preferred one first. RFC 9460
    /// §2.4.1.
    ///
    /// If [`Service::is_alias`] holds for the first, it overrides the others: ask for its target.
    pub fn https_for(&self, name: &Name) -> Result<Vec<&Service>> {
        let resolved = self.follow(name)?;
        let owner = resolved.aliases.last().unwrap_or(name);
        let mut services: Vec<_> = self
            .answers
            .iter()
            .filter(|record| record.name == *owner)
            .filter_map(|record| match &record.data {
                Data::Https(service) if service.is_usable() => Some(service),
                _ => None,
            })
            .collect();
        services.sort_by_key(|service| service.priority);
        Ok(services)
    }

    /// How long the absence of an answer may be cached, in seconds. RFC 2308 §5.
    pub fn negative_ttl(&self) -> Option<u32> {
        self.authorities
            .iter()
            .find_map(|record| match &record.data {
                Data::Soa(soa) => Some(record.ttl.min(soa.minimum)),
                _ => None,
            })
    }

    fn follow(&self, name: &Name) -> Result<Resolved> {
        let mut resolved = Resolved::default();
        let mut current = name;
        while let Some((ttl, target)) = self.alias_of(current) {
            if resolved.aliases.len() == MAX_ALIASES {
                return Err(Error::AliasLoop {
                    name: name.to_string(),
                    limit: MAX_ALIASES,
                });
            }
            resolved.aliases.push(target.clone());
            resolved.shorten(ttl);
            current = target;
        }
        Ok(resolved)
    }

    fn alias_of(&self, name: &Name) -> Option<(u32, &Name)> {
        self.answers.iter().find_map(|record| match &record.data {
            Data::Cname(target) if record.name == *name => Some((record.ttl, target)),
            _ => None,
        })
    }
}

impl Resolved {
    fn shorten(&mut self, ttl: u32) {
        self.ttl = Some(self.ttl.map_or(ttl, |shortest| shortest.min(ttl)));
    }
}
