//! The object that a URL asks for (RFC 9082, section 3.1), and whether an answer is about another.

use std::net::IpAddr;

use roundtrip_wire::percent;

use crate::answer::{Answer, Item, Object};
use crate::query::filled;

/// The class of the requested object, and its name, number, address or handle.
#[derive(Debug)]
pub(crate) struct Requested {
    pub(crate) class: &'static str,
    pub(crate) key: String,
}

impl Requested {
    /// Reads the last segments of a path, with or without a query. `None` if it is not the path of
    /// a lookup.
    pub(crate) fn from_path(path: &str) -> Option<Self> {
        let path = path.split('?').next()?;
        let mut segments = path.rsplit('/').filter(|s| !s.is_empty());
        let last = segments.next()?;
        let (class, key) = match (segments.next()?, segments.next()) {
            ("domain", _) => ("domain", last.to_owned()),
            ("nameserver", _) => ("nameserver", last.to_owned()),
            ("entity", _) => ("entity", last.to_owned()),
            ("autnum", _) => ("autnum", last.to_owned()),
            ("ip", _) => ("ip network", last.to_owned()),
            (address, Some("ip")) => ("ip network", format!("{address}/{last}")),
            _ => return None,
        };
        let key = percent::decode_strict(&key).collect::<Result<_, _>>();
        let key = String::from_utf8(key.ok()?).ok()?;
        Some(Self { class, key })
    }

    /// The object that the answer is about, if that is known and not the requested one.
    pub(crate) fn other(&self, answer: &Answer) -> Option<String> {
        match answer.object() {
            Object::Network(network) => {
                let (range, asked) = (network.range()?, block(&self.key)?);
                let (start, end) = range;
                (!contains(range, asked)).then(|| format!("{start} to {end}"))
            }
            Object::Autnum(autnum) => {
                let ((start, end), asked) = (autnum.range()?, self.key.parse().ok()?);
                let found = if start == end {
                    start.to_string()
                } else {
                    format!("{start} to {end}")
                };
                (!(start..=end).contains(&asked)).then_some(found)
            }
            Object::Domain(_) | Object::Nameserver(_) => other_name(answer.top(), &self.key),
            Object::Entity(_) => other_handle(answer.top(), &self.key),
            _ => None,
        }
    }
}

/// The first and the last requested address.
fn block(key: &str) -> Option<(IpAddr, IpAddr)> {
    let (address, prefix) = match key.split_once('/') {
        Some((address, length)) => (address, length.parse::<u32>().ok()?),
        None => (key, u32::MAX),
    };
    let first: IpAddr = address.parse().ok()?;
    // A prefix that is longer than an address stands for this address.
    let prefix = u8::try_from(prefix).unwrap_or(u8::MAX);
    Some((first, filled(first, prefix)))
}

fn contains(range: (IpAddr, IpAddr), asked: (IpAddr, IpAddr)) -> bool {
    range.0.is_ipv4() == asked.0.is_ipv4() && range.0 <= asked.0 && asked.1 <= range.1
}

/// The object's name, if neither the name nor any of its variants is what was requested. A reverse
/// zone answers for the names below it.
fn other_name(top: Item<'_>, key: &str) -> Option<String> {
    let asked = unicode(key);
    let names = |item: Item<'_>| {
        let own = ["ldhName", "unicodeName"].map(|member| item.text(member).map(unicode));
        own.into_iter().flatten().collect::<Vec<_>>()
    };
    let own = names(top);
    let is_asked = |name: &String| {
        let below = asked.strip_suffix(name.as_str());
        let reverse = name.rsplit('.').next() == Some("arpa");
        *name == asked || reverse && below.is_some_and(|below| below.ends_with('.'))
    };
    let variants = top.items("variants").flat_map(|v| v.items("variantNames"));
    let mut all = own.iter().cloned().chain(variants.flat_map(names));
    if own.is_empty() || all.any(|name| is_asked(&name)) {
        return None;
    }
    own.into_iter().next()
}

fn unicode(name: &str) -> String {
    let (name, _) = idna::domain_to_unicode(name.trim().trim_end_matches('.'));
    name
}

/// The object's handle, if neither the handle nor any public identifier is what was requested.
fn other_handle(top: Item<'_>, key: &str) -> Option<String> {
    let is_asked = |text: &str| text.trim().eq_ignore_ascii_case(key.trim());
    let handle = top.handle()?;
    let mut ids = top.public_ids().map(|(_, id)| id);
    (!is_asked(handle) && !ids.any(is_asked)).then(|| handle.trim().to_owned())
}
