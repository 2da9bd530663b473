//! Members: their types, their names, and those that each object class must have (RFC 9083,
//! sections 2 to 5).

use std::collections::BTreeMap;

use super::{Report, Scene, rules};
use crate::answer::{Class, Node, Place, bare_controls, lone_surrogates, token};

rules! { All;
    TYPE = "member-type", Error, "RFC 9083, sections 4 and 5": "a member has the type given in its definition";
    UTF8 = "member-utf8", Error, "RFC 8259, section 8.1": "an answer is written in UTF-8";
    CONTROL = "member-control", Error, "RFC 8259, section 7": "control characters in strings are escaped";
    SURROGATE = "member-surrogate", Warning, "RFC 8259, section 8.2": "an escape is not half of a surrogate pair";
    REPEATED = "member-repeated", Warning, "RFC 8259, section 4": "the names in an object differ";
    CLASS = "class-missing", Error, "RFC 9083, section 4.9": "an object has its objectClassName";
    CLASS_VALUE = "class-value", Error, "RFC 9083, section 5": "objectClassName fits the place of the object";
    LANG = "lang-syntax", Error, "RFC 9083, section 4.4": "lang is a language tag (RFC 5646)";
    HANDLE = "handle-empty", Warning, "RFC 9083, section 5": "a handle is not empty";
    PORT43 = "port43-syntax", Error, "RFC 9083, section 4.7": "port43 is the name or address of a WHOIS server";
    NULL = "member-null", Warning, "common sense": "a missing value is left out, not null";
}

pub(super) fn check(scene: &Scene<'_>, report: &mut Report) {
    let mut told = false;
    for oddity in scene.answer.oddities() {
        let found = format!("{}, not {}", oddity.found, oddity.expected);
        if oddity.is_of_bytes() || oddity.is_of_stray_bytes() {
            told = true;
            report.add(&UTF8, oddity.pointer, oddity.found);
        } else if oddity.found == "null" {
            report.add(&NULL, oddity.pointer, "");
        } else {
            report.add(&TYPE, oddity.pointer, found);
        }
    }
    // This covers names, and members without a type.
    let unread = std::str::from_utf8(scene.answer.raw()).err();
    if let Some(error) = unread.filter(|_| !told) {
        report.add(&UTF8, "", format!("byte {}", error.valid_up_to()));
    }
    let text = String::from_utf8_lossy(scene.answer.raw());
    for (check, found) in [
        (&CONTROL, bare_controls(&text)),
        (&SURROGATE, lone_surrogates(&text)),
    ] {
        if !found.is_empty() {
            report.add(check, "", format!("{} of them", found.len()));
        }
    }
    repeated(scene.answer.root(), &mut String::new(), report);
    for place in &scene.places {
        class(place, report);
        values(place, report);
    }
}

/// Finds repeated names at any depth. As with other readers, the last member with a name counts.
fn repeated(node: &Node, pointer: &mut String, report: &mut Report) {
    let own = pointer.len();
    let mut last: BTreeMap<&str, &Node> = BTreeMap::new();
    for (name, value) in node.members() {
        if last.insert(name, value).is_some() {
            report.add(&REPEATED, pointer.as_str(), name);
        }
    }
    let items = node.items().iter().enumerate();
    let items = items.map(|(i, item)| (i.to_string(), item));
    let members = last.into_iter().map(|(name, value)| (token(name), value));
    let below: Vec<(String, &Node)> = items.chain(members).collect();
    for (step, value) in below {
        pointer.push('/');
        pointer.push_str(&step);
        repeated(value, pointer, report);
        pointer.truncate(own);
    }
}

fn class(place: &Place<'_>, report: &mut Report) {
    let Some(expected) = place.class.object_class() else {
        return;
    };
    match place.item.node().get("objectClassName").map(Node::text) {
        None => report.add(
            &CLASS,
            place.pointer.as_str(),
            format!("none, for '{expected}'"),
        ),
        Some(Some(class)) if class != expected => {
            let pointer = format!("{}/objectClassName", place.pointer);
            report.add(
                &CLASS_VALUE,
                pointer,
                format!("'{class}', not '{expected}'"),
            );
        }
        Some(_) => {}
    }
}

fn values(place: &Place<'_>, report: &mut Report) {
    // "lang" may occur in any object, even if `answer` does not read it there (section 4.4).
    let lang = place.item.node().get("lang");
    let known = place.class.object_class().is_some() || place.within.is_none();
    if let Some(other) =
        lang.filter(|l| l.text().is_none() && !known && place.class != Class::Words)
    {
        let found = format!("{}, not a string", other.kind());
        report.add(&TYPE, format!("{}/lang", place.pointer), found);
    }
    let text = |member: &str| place.item.node().get(member).and_then(Node::text);
    let mut tell = |check, member: &str, found: &str| {
        report.add(check, format!("{}/{member}", place.pointer), found);
    };
    if let Some(lang) = text("lang").filter(|l| !is_language_tag(l)) {
        tell(&LANG, "lang", lang);
    }
    if place.class == Class::Link {
        return;
    }
    if text("handle").is_some_and(|h| h.trim().is_empty()) {
        tell(&HANDLE, "handle", "");
    }
    if let Some(server) = text("port43").filter(|s| !is_host(s)) {
        tell(&PORT43, "port43", server);
    }
}

/// Whether the subtags have one to eight letters and digits, and the first two or more letters, or
/// is `x` or `i` (RFC 5646, sections 2.1 and 2.2).
pub(super) fn is_language_tag(tag: &str) -> bool {
    let mut subtags = tag.split('-');
    let letters = |s: &str| s.bytes().all(|b| b.is_ascii_alphabetic());
    let fits = |s: &str| (1..=8).contains(&s.len()) && s.bytes().all(|b| b.is_ascii_alphanumeric());
    subtags.next().is_some_and(|first| {
        let private = first.eq_ignore_ascii_case("x") || first.eq_ignore_ascii_case("i");
        fits(first) && letters(first) && (private == (first.len() == 1))
    }) && subtags.all(fits)
}

/// Whether the text is a name of letters, digits, hyphens and dots, or an address.
fn is_host(text: &str) -> bool {
    let label = |l: &str| {
        !l.is_empty() && l.len() <= 63 && l.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-')
    };
    let name = text.strip_suffix('.').unwrap_or(text);
    name.parse::<std::net::IpAddr>().is_ok() || (name.contains('.') && name.split('.').all(label))
}
