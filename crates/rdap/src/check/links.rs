//! Links (RFC 9083, section 4.2).

use url::Url;

use super::nro;
use super::registries::RELATIONS;
use super::{Report, Scene, rules};
use crate::answer::{Class, Item, Link, Node};

rules! { All;
    VALUE = "link-value", Error, "RFC 9083, section 4.2": "a link has its context in value";
    REL = "link-rel", Error, "RFC 9083, section 4.2": "a link has its relation in rel";
    HREF = "link-href", Error, "RFC 9083, section 4.2": "a link has its target in href";
    URI = "link-uri", Error, "RFC 9083, section 4.2": "value and href are URIs";
    RELATION = "link-rel-registered", Warning, "RFC 8288, section 2.1": "a relation is registered, or a URI";
    MEDIA = "link-type-syntax", Error, "RFC 8288, section 3.4.1": "type is a media type";
    SAME = "link-related-self", Error, "RFC 9083, section 4.2": "a related link leads elsewhere than the self link";
    SELF = "link-self", Info, "RFC 9083, section 5": "an object has a link to itself";
    SELF_TYPE = "link-self-type", Info, "RFC 9083, section 4.2": "a self link has the media type of RDAP";
    LANG = "link-hreflang", Error, "RFC 9083, section 4.2": "hreflang holds language tags (RFC 5646)";
}

pub(super) fn check(scene: &Scene<'_>, report: &mut Report) {
    for place in scene.of(&[Class::Link]) {
        link(scene, place.item, &place.pointer, report);
    }
    for place in &scene.places {
        related(place.item, &place.pointer, report);
    }
    let top = scene
        .places
        .first()
        .filter(|p| p.class.object_class().is_some());
    if top.is_some_and(|p| !p.item.links().any(|l| l.has_rel("self"))) {
        report.add(&SELF, "", "");
    }
}

fn link(scene: &Scene<'_>, link: Item<'_>, pointer: &str, report: &mut Report) {
    for (member, check) in [("value", &VALUE), ("rel", &REL), ("href", &HREF)] {
        if link.text(member).is_none() {
            report.add(check, pointer, "");
        }
    }
    for member in ["value", "href"] {
        if let Some(text) = link.text(member).filter(|t| !is_uri(t)) {
            report.add(&URI, format!("{pointer}/{member}"), text);
        }
    }
    if let Some(rel) = link.text("rel") {
        let known = RELATIONS.iter().any(|r| r.eq_ignore_ascii_case(rel))
            || scene.claims("nro_rdap_profile_0") && rel.eq_ignore_ascii_case(nro::INACCURACY);
        if !known && Url::parse(rel).is_err() {
            report.add(&RELATION, format!("{pointer}/rel"), rel);
        }
        let typed = link
            .text("type")
            .and_then(|t| t.split(';').next())
            .is_some_and(|t| t.trim().eq_ignore_ascii_case(crate::answer::MEDIA_TYPE));
        if rel.eq_ignore_ascii_case("self") && !typed {
            report.add(&SELF_TYPE, pointer, link.text("type").unwrap_or_default());
        }
    }
    if let Some(kind) = link.text("type").filter(|t| !is_media_type(t)) {
        report.add(&MEDIA, format!("{pointer}/type"), kind);
    }
    let languages = link.node().get("hreflang").map_or(&[][..], Node::each);
    for tag in languages.iter().filter_map(Node::text) {
        if !super::members::is_language_tag(tag) {
            report.add(&LANG, format!("{pointer}/hreflang"), tag);
        }
    }
}

fn related(item: Item<'_>, pointer: &str, report: &mut Report) {
    let own: Vec<&str> = item
        .links()
        .filter(|l| l.has_rel("self"))
        .filter_map(Link::href)
        .take(20)
        .collect();
    let same = item
        .links()
        .filter(|l| l.has_rel("related"))
        .filter_map(Link::href)
        .find(|h| own.contains(h));
    if let Some(href) = same {
        report.add(&SAME, format!("{pointer}/links"), href);
    }
}

/// `type/subtype`, with parameters or without (RFC 6838, section 4.2).
fn is_media_type(text: &str) -> bool {
    let essence = text.split(';').next().unwrap_or_default().trim();
    let name = |n: &str| {
        let first = n.bytes().next().is_some_and(|b| b.is_ascii_alphanumeric());
        first
            && n.len() <= 127
            && n.bytes()
                .all(|b| b.is_ascii_alphanumeric() || b"!#$&-^_.+".contains(&b))
    };
    essence
        .split_once('/')
        .is_some_and(|(kind, subtype)| name(kind) && name(subtype))
}

/// Whether the text is a URI according to RFC 3986: `Url` alone also accepts blanks and other
/// characters that browsers repair.
pub(super) fn is_uri(text: &str) -> bool {
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.next() {
        let digit = |b: Option<u8>| b.is_some_and(|b| b.is_ascii_hexdigit());
        let allowed = match byte {
            b'%' => digit(bytes.next()) && digit(bytes.next()),
            _ => byte.is_ascii_alphanumeric() || b"-._~:/?#[]@!$&'()*+,;=".contains(&byte),
        };
        if !allowed {
            return false;
        }
    }
    // `Url` takes the host of "https:///host" from the path.
    let hostless = |url: &Url| {
        let rest = text.get(url.scheme().len()..).unwrap_or_default();
        url.has_host() && (!rest.starts_with("://") || rest.starts_with(":///"))
    };
    // A fragment contains no second "#" (section 3.5).
    text.matches('#').count() <= 1 && Url::parse(text).is_ok_and(|url| !hostless(&url))
}
