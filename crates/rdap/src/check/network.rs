//! Networks (RFC 9083, section 5.4) and their blocks (the cidr0 extension).

use std::net::{IpAddr, Ipv6Addr};

use super::registries::is_known_country;
use super::{Check, Profile, Report, Scene, rules};
use crate::answer::{Class, Item, Network};

rules! { All;
    MISSING = "ip-range", Warning, "RFC 9083, section 5.4": "a network has startAddress and endAddress";
    ADDRESS = "ip-address", Error, "RFC 9083, section 5.4": "startAddress and endAddress are addresses";
    ORDER = "ip-order", Error, "RFC 9083, section 5.4": "a network does not end before its start";
    VERSION = "ip-version", Error, "RFC 9083, section 5.4": "ipVersion is v4 or v6";
    FITS = "ip-version-fits", Error, "RFC 9083, section 5.4": "ipVersion is the version of the addresses";
    COUNTRY = "ip-country", Error, "RFC 9083, sections 3 and 5.4": "country is a code of ISO 3166-1: two capital letters";
    ASSIGNED = "country-assigned", Warning, "RFC 9083, section 3": "a country's code is assigned or reserved by ISO 3166-1";
    V6_FORM = "ip-v6-form", Info, "RFC 9083, section 3, and RFC 5952, section 4": "an IPv6 address is written in lower case, with no leading zero and with its longest run of zeros as ::";
    PREFIX = "cidr-prefix", Error, "IANA RDAP Extensions, cidr0": "a block has either v4prefix or v6prefix";
    LENGTH = "cidr-length", Error, "IANA RDAP Extensions, cidr0": "a block has a length that its version allows";
    COVERS = "cidr-covers", Error, "IANA RDAP Extensions, cidr0": "the blocks of a network are its range";
    HOST = "cidr-host-bits", Error, "RFC 4632, section 3.1": "no bit of a block is set after its length";
}

pub(super) fn check(scene: &Scene<'_>, report: &mut Report) {
    for place in scene.of(&[Class::Network]) {
        network(place.item, &place.pointer, report);
        // `nro-cidr-covers` checks the topmost network of that profile.
        let excepted = place.within.is_none() && scene.follows(Profile::Nro);
        if !excepted && covers(Network(place.item)) == Some(false) {
            let pointer = format!("{}/cidr0_cidrs", place.pointer);
            report.add(&COVERS, pointer, Network(place.item).cidrs().join(", "));
        }
    }
    for place in scene.of(&[Class::Cidr]) {
        block(place.item, &place.pointer, report);
    }
}

fn network(item: Item<'_>, pointer: &str, report: &mut Report) {
    let mut read = Vec::new();
    for member in ["startAddress", "endAddress"] {
        match item.text(member).map(|text| (text, text.parse::<IpAddr>())) {
            None => report.add(&MISSING, pointer, format!("no {member}")),
            Some((text, Err(_))) => report.add(&ADDRESS, format!("{pointer}/{member}"), text),
            Some((text, Ok(address))) => {
                form(text, || format!("{pointer}/{member}"), report);
                read.push(address);
            }
        }
    }
    if let [start, end] = *read
        && (start.is_ipv4() != end.is_ipv4() || start > end)
    {
        report.add(&ORDER, pointer, format!("{start} to {end}"));
    }
    let version = item.text("ipVersion");
    match (version, read.first()) {
        (Some("v4" | "v6"), Some(start)) if (version == Some("v4")) != start.is_ipv4() => {
            report.add(
                &FITS,
                format!("{pointer}/ipVersion"),
                version.unwrap_or_default(),
            );
        }
        (Some("v4" | "v6") | None, _) => {}
        (Some(other), _) => report.add(&VERSION, format!("{pointer}/ipVersion"), other),
    }
    country(item, &COUNTRY, pointer, report);
}

/// Checks a country code: whether it has the form that the given rule requires, and whether it
/// exists.
pub(super) fn country(item: Item<'_>, form: &'static Check, pointer: &str, report: &mut Report) {
    let Some(code) = item.text("country") else {
        return;
    };
    let pointer = format!("{pointer}/country");
    if code.len() != 2 || !code.bytes().all(|b| b.is_ascii_uppercase()) {
        report.add(form, pointer, code);
    } else if !is_known_country(code) {
        report.add(&ASSIGNED, pointer, code);
    }
}

fn block(item: Item<'_>, pointer: &str, report: &mut Report) {
    let (v4, v6) = (item.text("v4prefix"), item.text("v6prefix"));
    let prefix = match (v4, v6) {
        (Some(text), None) => text.parse().ok().map(IpAddr::V4),
        (None, Some(text)) => text.parse().ok().map(IpAddr::V6),
        _ => None,
    };
    let Some(prefix) = prefix else {
        let found = [v4, v6]
            .into_iter()
            .flatten()
            .collect::<Vec<_>>()
            .join(" and ");
        return report.add(&PREFIX, pointer, found);
    };
    form(
        v6.unwrap_or_default(),
        || format!("{pointer}/v6prefix"),
        report,
    );
    let width = if prefix.is_ipv4() { 32 } else { 128 };
    match item.number("length").filter(|l| *l <= width) {
        None => report.add(&LENGTH, pointer, ""),
        Some(length) => {
            let free = (width - length) as u32;
            if bits(prefix) & size(free) != 0 {
                report.add(&HOST, pointer, format!("{prefix}/{length}"));
            }
        }
    }
}

/// Compares an IPv6 address with its recommended form.
pub(super) fn form(text: &str, pointer: impl Fn() -> String, report: &mut Report) {
    if let Ok(address) = text.parse::<Ipv6Addr>()
        && address.to_string() != text
    {
        report.add(&V6_FORM, pointer(), format!("{text}, for {address}"));
    }
}

/// Whether the blocks cover exactly the network's range; `None` if either is missing.
pub(super) fn covers(network: Network<'_>) -> Option<bool> {
    let (start, end) = network.range()?;
    let mut ranges: Vec<(u128, u128)> = Vec::new();
    for block in network.items("cidr0_cidrs") {
        let prefix: IpAddr = block
            .text("v4prefix")
            .or(block.text("v6prefix"))?
            .parse()
            .ok()?;
        if prefix.is_ipv4() != start.is_ipv4() {
            return Some(false);
        }
        let width = if prefix.is_ipv4() { 32 } else { 128 };
        let free = u32::try_from(width - block.number("length").filter(|l| *l <= width)?).ok()?;
        ranges.push((bits(prefix), bits(prefix).saturating_add(size(free))));
    }
    ranges.sort_unstable();
    let (first, last) = (ranges.first()?.0, ranges.last()?.1);
    let joined = ranges
        .windows(2)
        .all(|w| matches!(w, [a, b] if a.1.checked_add(1) == Some(b.0)));
    Some(joined && first == bits(start) && last == bits(end))
}

/// A number whose lowest `free` bits are set.
pub(super) fn size(free: u32) -> u128 {
    // A shift by all 128 bits is not defined, hence `checked_shl`.
    1u128.checked_shl(free).map_or(u128::MAX, |one| one - 1)
}

pub(super) fn bits(address: IpAddr) -> u128 {
    match address {
        IpAddr::V4(a) => u128::from(a.to_bits()),
        IpAddr::V6(a) => a.to_bits(),
    }
}
