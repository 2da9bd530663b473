//! DNSSEC (RFC 9083, section 5.3; RFC 4034).

use super::{Check, Report, Scene, rules};
use crate::answer::{Class, Item, Node};

rules! { All;
    DS = "ds-member", Error, "RFC 9083, section 5.3, and RFC 4034, section 5.1": "a DS record has keyTag, algorithm, digestType and digest";
    KEY = "key-member", Error, "RFC 9083, section 5.3, and RFC 4034, section 2.1": "a key has flags, protocol, algorithm and publicKey";
    RANGE = "dnssec-range", Error, "RFC 4034, sections 2.1 and 5.1": "key tags and flags fit in 16 bits, the other numbers in 8";
    PROTOCOL = "key-protocol", Error, "RFC 4034, section 2.1.2": "the protocol of a key is 3";
    HEX = "ds-digest-hex", Error, "RFC 4034, section 5.3": "a digest is written in hexadecimal digits";
    LENGTH = "ds-digest-length", Error, "RFC 4034, section 5.1.4": "a digest has the length of its type";
    BASE64 = "key-base64", Error, "RFC 4034, section 2.2": "a public key is written in Base64";
    UNSIGNED = "dnssec-unsigned", Warning, "RFC 9083, section 5.3": "a delegation with DS records or keys is signed";
    WITHOUT = "dnssec-without-data", Warning, "RFC 9083, section 5.3": "a signed delegation has dsData or keyData";
}

pub(super) fn check(scene: &Scene<'_>, report: &mut Report) {
    for place in scene.of(&[Class::Ds]) {
        numbers(
            place.item,
            &place.pointer,
            &[("keyTag", 65_535), ("algorithm", 255), ("digestType", 255)],
            &DS,
            report,
        );
        digest(place.item, &place.pointer, report);
    }
    for place in scene.of(&[Class::Key]) {
        numbers(
            place.item,
            &place.pointer,
            &[("flags", 65_535), ("protocol", 255), ("algorithm", 255)],
            &KEY,
            report,
        );
        key(place.item, &place.pointer, report);
    }
    for place in scene.of(&[Class::SecureDns]) {
        let has = |member: &str| {
            place
                .item
                .node()
                .get(member)
                .is_some_and(|n| !n.items().is_empty())
        };
        match place.item.flag("delegationSigned") {
            Some(true) if !has("dsData") && !has("keyData") => {
                report.add(&WITHOUT, place.pointer.as_str(), "");
            }
            Some(false) if has("dsData") || has("keyData") => {
                report.add(&UNSIGNED, place.pointer.as_str(), "");
            }
            _ => {}
        }
    }
}

fn numbers(
    item: Item<'_>,
    pointer: &str,
    members: &[(&str, u64)],
    check: &'static Check,
    report: &mut Report,
) {
    for (member, most) in members {
        match item.node().get(member) {
            None => report.add(check, pointer, format!("no {member}")),
            Some(Node::Number(number)) if number.as_u64().is_none_or(|n| n > *most) => {
                report.add(&RANGE, format!("{pointer}/{member}"), number.to_string());
            }
            // `member-type` reports any other type.
            Some(_) => {}
        }
    }
}

fn digest(ds: Item<'_>, pointer: &str, report: &mut Report) {
    let Some(digest) = ds.text("digest") else {
        return report.add(&DS, pointer, "no digest");
    };
    let place = format!("{pointer}/digest");
    // White space is allowed in a digest (section 5.3).
    let digits: Vec<u8> = digest
        .bytes()
        .filter(|b| !b.is_ascii_whitespace())
        .collect();
    if !digits.iter().all(u8::is_ascii_hexdigit) {
        return report.add(&HEX, place, digest);
    }
    // SHA-1, SHA-256 (RFC 4509) and SHA-384 (RFC 6605).
    let length = match ds.number("digestType") {
        Some(1) => 40,
        Some(2) => 64,
        Some(4) => 96,
        // Other types have whole octets, too.
        _ => digits.len().next_multiple_of(2).max(2),
    };
    if digits.len() != length {
        report.add(
            &LENGTH,
            place,
            format!("{} digits, not {length}", digits.len()),
        );
    }
}

fn key(key: Item<'_>, pointer: &str, report: &mut Report) {
    if let Some(protocol) = key.number("protocol").filter(|p| *p != 3) {
        report.add(
            &PROTOCOL,
            format!("{pointer}/protocol"),
            protocol.to_string(),
        );
    }
    match key.text("publicKey") {
        None => report.add(&KEY, pointer, "no publicKey"),
        Some(text) => {
            if !is_base64(text) {
                report.add(&BASE64, format!("{pointer}/publicKey"), text);
            }
        }
    }
}

/// Base64 with its padding (RFC 4648, section 4). White space is allowed (RFC 4034, section 2.2).
fn is_base64(text: &str) -> bool {
    let symbols: Vec<u8> = text.bytes().filter(|b| !b.is_ascii_whitespace()).collect();
    let end = symbols
        .iter()
        .rposition(|b| *b != b'=')
        .map_or(0, |i| i + 1);
    let (data, padding) = symbols.split_at(end);
    let symbol = |b: &u8| b.is_ascii_alphanumeric() || b"+/".contains(b);
    padding.len() <= 2 && symbols.len().is_multiple_of(4) && data.iter().all(symbol)
}
