//! The entries of one registry, each leading to its service: names and tags by hash, prefixes by
//! length and bits, AS numbers by binary search in sorted ranges. A lookup costs a few hashes,
//! whatever the size of the registry.

use std::borrow::Cow;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::Registry;
use super::file::Faults;
use crate::query::Key;

#[derive(Debug)]
pub(super) enum Entries {
    /// Names in A-labels and lower case.
    Names(HashMap<Cow<'static, str>, u32>),
    /// Tags in upper case, as in RFC 8521 §3; people also write them in lower case.
    Tags(HashMap<Cow<'static, str>, u32>),
    Prefixes(Prefixes),
    /// The first and the last number of each range, and its service. In the end, they are in order
    /// and do not overlap.
    Ranges(Vec<(u32, u32, u32)>),
}

#[derive(Debug)]
pub(super) struct Prefixes {
    is_v6: bool,
    /// Services by prefix length and first address, which is left-aligned in 128 bits.
    services: HashMap<(u8, u128), u32>,
    /// The prefix lengths that occur, longest first.
    lengths: Vec<u8>,
}

impl Default for Entries {
    fn default() -> Self {
        Self::Names(HashMap::new())
    }
}

impl Entries {
    pub(super) fn new(registry: Registry) -> Self {
        let prefixes = |is_v6| Prefixes {
            is_v6,
            services: HashMap::new(),
            lengths: Vec::new(),
        };
        match registry {
            Registry::Dns => Self::Names(HashMap::new()),
            Registry::ObjectTags => Self::Tags(HashMap::new()),
            Registry::Ipv4 => Self::Prefixes(prefixes(false)),
            Registry::Ipv6 => Self::Prefixes(prefixes(true)),
            Registry::Asn => Self::Ranges(Vec::new()),
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        match self {
            Self::Names(words) | Self::Tags(words) => words.is_empty(),
            Self::Prefixes(prefixes) => prefixes.services.is_empty(),
            Self::Ranges(ranges) => ranges.is_empty(),
        }
    }

    /// Adds an entry, or returns the reason why not. Of two equal entries, the first stays.
    pub(super) fn insert<'a>(
        &mut self,
        entry: Cow<'a, str>,
        service: u32,
        keep: &impl Fn(Cow<'a, str>) -> Cow<'static, str>,
    ) -> Result<(), &'static str> {
        let added = match self {
            Self::Names(words) => add(words, keep(name(entry)?), service),
            Self::Tags(words) => add(words, keep(tag(entry)?), service),
            Self::Prefixes(prefixes) => {
                let (length, bits) = prefix(&entry, prefixes.is_v6)?;
                prefixes.lengths.push(length);
                add(&mut prefixes.services, (length, bits), service)
            }
            Self::Ranges(ranges) => {
                let (first, last) = range(&entry)?;
                ranges.push((first, last, service));
                true
            }
        };
        if added { Ok(()) } else { Err("is repeated") }
    }

    /// Sorts what lookups need in order and drops overlapping ranges; called after the last entry
    /// was added.
    pub(super) fn finish(&mut self, faults: &mut Faults) {
        match self {
            Self::Prefixes(prefixes) => {
                prefixes.lengths.sort_unstable_by(|a, b| b.cmp(a));
                prefixes.lengths.dedup();
            }
            Self::Ranges(ranges) => {
                ranges.sort_unstable();
                let mut end = None;
                ranges.retain(|(first, last, _)| {
                    let overlaps = end.is_some_and(|end| *first <= end);
                    if overlaps {
                        faults.add(|| format!("the range {first}-{last} overlaps with another"));
                    } else {
                        end = Some(*last);
                    }
                    !overlaps
                });
            }
            Self::Names(_) | Self::Tags(_) => {}
        }
    }

    /// The longest matching entry, and its service.
    pub(super) fn find(&self, key: &Key<'_>) -> Option<(String, u32)> {
        match (self, key) {
            (Self::Names(names), Key::Domain(name)) => closest(names, name),
            (Self::Tags(tags), Key::Tag(tag)) => {
                let tag = tag.to_ascii_uppercase();
                let service = *tags.get(tag.as_str())?;
                Some((tag, service))
            }
            (Self::Prefixes(prefixes), Key::Ip(address, asked)) => {
                prefixes.narrowest(*address, *asked)
            }
            (Self::Ranges(ranges), Key::Autnum(number)) => containing(ranges, *number),
            _ => None,
        }
    }
}

fn add<K: Eq + std::hash::Hash>(map: &mut HashMap<K, u32>, key: K, service: u32) -> bool {
    match map.entry(key) {
        Entry::Vacant(place) => {
            place.insert(service);
            true
        }
        Entry::Occupied(_) => false,
    }
}

fn name(entry: Cow<'_, str>) -> Result<Cow<'_, str>, &'static str> {
    let fits = |b: u8| b.is_ascii_alphanumeric() || b"-._".contains(&b);
    if entry.len() > 253 || !entry.bytes().all(fits) {
        return Err("is not a name in A-labels");
    }
    // Addresses and ranges of AS numbers are not accepted here: no top-level domain consists of
    // digits.
    let top = entry.trim_end_matches('.').rsplit('.').next();
    let is_number = |top: &str| top.bytes().all(|b| b.is_ascii_digit() || b == b'-');
    if top.is_some_and(|top| !top.is_empty() && is_number(top)) {
        return Err("is a number, not a name");
    }
    if entry.ends_with('.') || entry.bytes().any(|b| b.is_ascii_uppercase()) {
        let lower = entry.trim_end_matches('.').to_ascii_lowercase();
        return Ok(Cow::Owned(lower));
    }
    Ok(entry)
}

fn tag(entry: Cow<'_, str>) -> Result<Cow<'_, str>, &'static str> {
    let fits = |b: u8| b.is_ascii_graphic() && b != b'-';
    if entry.is_empty() || entry.len() > 64 || !entry.bytes().all(fits) {
        return Err("is not a tag");
    }
    if entry.bytes().any(|b| b.is_ascii_lowercase()) {
        return Ok(Cow::Owned(entry.to_ascii_uppercase()));
    }
    Ok(entry)
}

fn prefix(entry: &str, is_v6: bool) -> Result<(u8, u128), &'static str> {
    let (address, length) = entry.split_once('/').ok_or("is not a prefix")?;
    let address: IpAddr = address.parse().map_err(|_| "is not a prefix")?;
    let length: u8 = length.parse().map_err(|_| "is not a prefix")?;
    if address.is_ipv6() != is_v6 {
        return Err("is of the other address family");
    }
    if length > if is_v6 { 128 } else { 32 } {
        return Err("has a prefix that is too long");
    }
    let bits = left_aligned(address);
    if bits & !mask(length) != 0 {
        return Err("has bits set beyond its prefix");
    }
    Ok((length, bits))
}

fn range(entry: &str) -> Result<(u32, u32), &'static str> {
    let (first, last) = entry.split_once('-').unwrap_or((entry, entry));
    let number = |text: &str| text.parse().map_err(|_| "is not a range of AS numbers");
    let (first, last): (u32, u32) = (number(first)?, number(last)?);
    if first > last {
        return Err("ends before it begins");
    }
    Ok((first, last))
}

/// The longest match by whole labels from the right. RFC 9224 §4.
fn closest(names: &HashMap<Cow<'static, str>, u32>, name: &str) -> Option<(String, u32)> {
    let mut rest = name;
    loop {
        if let Some(service) = names.get(rest) {
            return Some((rest.to_owned(), *service));
        }
        rest = match rest.split_once('.') {
            Some((_, behind)) => behind,
            None if rest.is_empty() => return None,
            None => "", // the root, which RFC 9224 §4 lets a registry list
        };
    }
}

impl Prefixes {
    /// The longest prefix that contains the whole queried prefix. RFC 9224 §5.1.
    fn narrowest(&self, address: IpAddr, asked: u8) -> Option<(String, u32)> {
        let bits = left_aligned(address);
        let wide_enough = self.lengths.iter().filter(|length| **length <= asked);
        for &length in wide_enough {
            let masked = bits & mask(length);
            if let Some(service) = self.services.get(&(length, masked)) {
                let first: IpAddr = if self.is_v6 {
                    Ipv6Addr::from_bits(masked).into()
                } else {
                    Ipv4Addr::from_bits((masked >> 96) as u32).into()
                };
                return Some((format!("{first}/{length}"), *service));
            }
        }
        None
    }
}

fn containing(ranges: &[(u32, u32, u32)], number: u32) -> Option<(String, u32)> {
    let after = ranges.partition_point(|(first, ..)| *first <= number);
    let (first, last, service) = *ranges.get(after.checked_sub(1)?)?;
    let entry = if first == last {
        first.to_string()
    } else {
        format!("{first}-{last}")
    };
    (number <= last).then_some((entry, service))
}

fn left_aligned(address: IpAddr) -> u128 {
    match address {
        IpAddr::V4(v4) => u128::from(v4.to_bits()) << 96,
        IpAddr::V6(v6) => v6.to_bits(),
    }
}

fn mask(length: u8) -> u128 {
    let below = 128u32.saturating_sub(u32::from(length));
    u128::MAX.checked_shl(below).unwrap_or(0)
}
