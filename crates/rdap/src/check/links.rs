//! Links (RFC 9083, section 4.2).

use url::Url;

use super::nro;
use super::registries::RELATIONS;
use super::{Profile, Report, Scene, rules, uri};
use crate::answer::{Class, Item, Link, Node, Place};

rules! { All;
    VALUE = "link-value", Error, "RFC 9083, section 4.2": "a link has its context in value";
    REL = "link-rel", Error, "RFC 9083, section 4.2": "a link has its relation in rel";
    HREF = "link-href", Error, "RFC 9083, section 4.2": "a link has its target in href";
    URI = "link-uri", Error, "RFC 9083, section 4.2": "value and href are URIs";
    RELATION = "link-rel-registered", Warning, "RFC 8288, section 2.1": "a relation is registered, or a URI";
    MEDIA = "link-type-syntax", Error, "RFC 8288, section 3.4.1": "type is a media type";
    SAME = "link-related-self", Error, "RFC 9083, section 4.2": "a related link leads elsewhere than the self link";
    SELF = "link-self", Warning, "RFC 9083, section 5": "each object has a link to itself, except name servers of domains";
    SELF_TYPE = "link-self-type", Error, "RFC 9083, section 5": "the self link of an object has the media type of RDAP";
    LANG = "link-hreflang", Error, "RFC 9083, section 4.2": "hreflang holds language tags (RFC 5646)";
}

pub(super) fn check(scene: &Scene<'_>, report: &mut Report) {
    for place in scene.of(&[Class::Link]) {
        let of_object = place
            .within
            .is_some_and(|class| class.object_class().is_some());
        link(scene, place.item, of_object, &place.pointer, report);
    }
    for place in &scene.places {
        related(place.item, &place.pointer, report);
    }
    selves(scene, report);
}

/// Reports all objects without a self link together, because an answer that lacks one usually lacks
/// all.
fn selves(scene: &Scene<'_>, report: &mut Report) {
    // `nro-self` requires them in that profile.
    if scene.follows(Profile::Nro) {
        return;
    }
    let may_lack = |p: &Place<'_>| p.class == Class::Nameserver && p.within == Some(Class::Domain);
    let objects = scene.places.iter();
    let objects = objects.filter(|p| p.class.object_class().is_some() && !may_lack(p));
    let mut without = objects.filter(|p| !p.item.links().any(|l| l.has_rel("self")));
    if let Some(first) = without.next() {
        let found = match without.count() {
            0 => String::new(),
            more => format!("none, nor in {more} other objects"),
        };
        report.add(&SELF, first.pointer.as_str(), found);
    }
}

fn link(scene: &Scene<'_>, link: Item<'_>, of_object: bool, pointer: &str, report: &mut Report) {
    for (member, check) in [("value", &VALUE), ("rel", &REL), ("href", &HREF)] {
        if link.text(member).is_none() {
            report.add(check, pointer, "");
        }
    }
    for member in ["value", "href"] {
        if let Some(text) = link.text(member).filter(|t| !uri::is_uri(t)) {
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
        if of_object && rel.eq_ignore_ascii_case("self") && !typed {
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
