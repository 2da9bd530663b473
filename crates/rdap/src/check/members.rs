//! Members: their types, their names, and those that each object class must have (RFC 9083,
//! sections 2 to 5).

use super::{Report, Scene, rules};
use crate::answer::{Class, Node, Place};

rules! { All;
    TYPE = "member-type", Error, "RFC 9083, sections 4 and 5": "a member has the type given in its definition";
    UTF8 = "member-utf8", Error, "RFC 8259, section 8.1": "an answer is written in UTF-8";
    REPEATED = "member-repeated", Warning, "RFC 8259, section 4": "the names in an object differ";
    CLASS = "class-missing", Error, "RFC 9083, section 4.9": "an object has its objectClassName";
    CLASS_VALUE = "class-value", Error, "RFC 9083, section 5": "objectClassName fits the place of the object";
    CLASS_ASKED = "class-asked", Error, "RFC 9082, section 3.1": "the object is of the requested class";
    LANG = "lang-syntax", Error, "RFC 9083, section 4.4": "lang is a language tag (RFC 5646)";
    HANDLE = "handle-empty", Warning, "RFC 9083, section 5": "a handle is not empty";
    PORT43 = "port43-syntax", Error, "RFC 9083, section 4.7": "port43 is the name or address of a WHOIS server";
    NULL = "member-null", Warning, "RFC 9083, sections 4 and 5": "a missing value is left out, not null";
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
    // In names, and in members that have no type.
    let unread = std::str::from_utf8(scene.answer.raw()).err();
    if let Some(error) = unread.filter(|_| !told) {
        report.add(&UTF8, "", format!("byte {}", error.valid_up_to()));
    }
    asked(scene, report);
    for place in &scene.places {
        names(place, report);
        class(place, report);
        values(place, report);
    }
}

fn names(place: &Place<'_>, report: &mut Report) {
    const MAX_LENGTH: usize = 200;
    let members = place.item.node().members();
    for (i, (name, _)) in members.iter().enumerate().take(MAX_LENGTH) {
        if members.iter().take(i).any(|(n, _)| n == name) {
            report.add(&REPEATED, place.pointer.as_str(), name);
        }
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

/// Compares the topmost object with the requested path, if that is the path of a lookup.
fn asked(scene: &Scene<'_>, report: &mut Report) {
    let Some(url) = scene.delivery.url else {
        return;
    };
    let mut segments = url.path().rsplit('/').filter(|s| !s.is_empty()).skip(1);
    let asked = match (segments.next(), segments.next()) {
        (Some("domain"), _) => "domain",
        (Some("nameserver"), _) => "nameserver",
        (Some("entity"), _) => "entity",
        (Some("autnum"), _) => "autnum",
        (Some("ip"), _) | (_, Some("ip")) => "ip network",
        _ => return,
    };
    let top = scene.answer.top();
    let told = top.class_name().or(scene.class().object_class());
    if scene.class() != Class::Problem && told != Some(asked) {
        let told = told.unwrap_or("another object");
        report.add(&CLASS_ASKED, "", format!("{told}, not {asked}"));
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

/// Whether the subtags have one to eight letters and digits, and the first only letters (RFC 5646,
/// section 2.1).
pub(super) fn is_language_tag(tag: &str) -> bool {
    let mut subtags = tag.split('-');
    let letters = |s: &str| s.bytes().all(|b| b.is_ascii_alphabetic());
    let fits = |s: &str| (1..=8).contains(&s.len()) && s.bytes().all(|b| b.is_ascii_alphanumeric());
    subtags
        .next()
        .is_some_and(|first| fits(first) && letters(first))
        && subtags.all(fits)
}

/// Whether the text is a name of letters, digits, hyphens and dots, or an address.
fn is_host(text: &str) -> bool {
    let label = |l: &str| {
        !l.is_empty() && l.len() <= 63 && l.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-')
    };
    let name = text.strip_suffix('.').unwrap_or(text);
    name.parse::<std::net::IpAddr>().is_ok() || (name.contains('.') && name.split('.').all(label))
}
