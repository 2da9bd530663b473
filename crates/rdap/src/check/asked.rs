//! Checks whether the answer is about the requested object (RFC 9082, section 3).

use std::net::IpAddr;

use super::network::{bits, size};
use super::{Report, Scene, rules};
use crate::answer::{Class, Item, Object};

rules! { All;
    CLASS = "class-asked", Error, "RFC 9082, section 3.1, and RFC 9083, sections 5.1 to 5.5": "the object is of the requested class";
    OBJECT = "object-asked", Error, "RFC 9082, sections 3.1.1 to 3.1.4": "the object is the requested one: it has that name, or its range contains that address, block or number";
}

pub(super) fn check(scene: &Scene<'_>, report: &mut Report) {
    let Some(url) = scene.delivery.url else {
        return;
    };
    let mut segments = url.path().rsplit('/').filter(|s| !s.is_empty());
    let last = segments.next().unwrap_or_default();
    let before = (segments.next(), segments.next());
    if scene.class() == Class::Problem {
        return;
    }
    let (asked, key) = match before {
        (Some("domain"), _) => ("domain", last.to_owned()),
        (Some("nameserver"), _) => ("nameserver", last.to_owned()),
        (Some("entity"), _) => ("entity", last.to_owned()),
        (Some("autnum"), _) => ("autnum", last.to_owned()),
        (Some("ip"), _) => ("ip network", last.to_owned()),
        (Some(address), Some("ip")) => ("ip network", format!("{address}/{last}")),
        _ if last == "help" || url.query().is_some() => return list(scene, last, report),
        _ => return,
    };
    let top = scene.answer.top();
    let told = top.class_name().or(scene.class().object_class());
    if told != Some(asked) {
        let told = told.unwrap_or("another object");
        report.add(&CLASS, "", format!("{told}, not {asked}"));
        return;
    }
    if let Some(found) = other(scene, &key) {
        report.add(&OBJECT, "", format!("{found}, not {key}"));
    }
}

/// The object that the answer is about, if it is not the requested one.
fn other(scene: &Scene<'_>, key: &str) -> Option<String> {
    match scene.answer.object() {
        Object::Network(network) => {
            let (range, asked) = (network.range()?, block(key)?);
            let (start, end) = range;
            (!contains(range, asked)).then(|| format!("{start} to {end}"))
        }
        Object::Autnum(autnum) => {
            let ((start, end), asked) = (autnum.range()?, key.parse().ok()?);
            (!(start..=end).contains(&asked)).then(|| format!("{start} to {end}"))
        }
        // `gtld-name` checks it in answers of that profile.
        Object::Domain(_) | Object::Nameserver(_) if !scene.is_of_gtld() => {
            other_name(scene.answer.top(), key)
        }
        _ => None,
    }
}

/// Compares the answer with the requested list, or with help.
fn list(scene: &Scene<'_>, asked: &str, report: &mut Report) {
    const ASKED: [&str; 6] = [
        "help",
        "domains",
        "nameservers",
        "entities",
        "ips",
        "autnums",
    ];
    let told = scene.answer.object().kind();
    if ASKED.contains(&asked) && told != asked && told != "unknown" {
        report.add(&CLASS, "", format!("{told}, not {asked}"));
    }
}

/// The first and the last requested address.
fn block(key: &str) -> Option<(IpAddr, IpAddr)> {
    let decoded = key.replace("%3A", ":").replace("%3a", ":");
    let (address, length) = match decoded.split_once('/') {
        Some((address, length)) => (address, Some(length.parse::<u32>().ok()?)),
        None => (&*decoded, None),
    };
    let first: IpAddr = address.parse().ok()?;
    let width = if first.is_ipv4() { 32 } else { 128 };
    let free = width - length.filter(|l| *l <= width).unwrap_or(width);
    let last = bits(first) | size(free);
    let last = match first {
        IpAddr::V4(_) => IpAddr::V4(u32::try_from(last).ok()?.into()),
        IpAddr::V6(_) => IpAddr::V6(last.into()),
    };
    Some((first, last))
}

fn contains(range: (IpAddr, IpAddr), asked: (IpAddr, IpAddr)) -> bool {
    range.0.is_ipv4() == asked.0.is_ipv4() && range.0 <= asked.0 && asked.1 <= range.1
}

/// The object's name, if neither the name nor any of its variants is what was requested. A reverse
/// zone answers for the names below it.
fn other_name(top: Item<'_>, key: &str) -> Option<String> {
    // A name has no characters that form encoding and paths encode differently.
    let (decoded, _) = url::form_urlencoded::parse(key.as_bytes()).next()?;
    let asked = unicode(&decoded);
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
