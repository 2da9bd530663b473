//! Reverse searches (RFC 9536): the properties that a server offers, and where they are in results.

use url::Url;

use super::{Check, Report, Scene, rules, search};
use crate::answer::{Class, Place};

rules! { All;
    OFFER = "reverse-properties", Error, "RFC 9536, section 4": "help that names reverse_search has reverse_search_properties";
    PROPERTY = "reverse-property", Error, "RFC 9536, section 4": "an offered property has searchableResourceType, relatedResourceType and property";
    OFFERED = "reverse-registered", Warning, "RFC 9536, section 3, and RFC 9910, section 5": "an offered reverse search is registered with IANA";
    MAPPING = "reverse-mapping", Error, "RFC 9536, section 5": "the answer to a reverse search has reverse_search_properties_mapping, with each property that the query uses";
    MAPPED = "reverse-mapping-property", Error, "RFC 9536, section 5": "a mapping has property and propertyPath";
    PATH = "reverse-mapping-path", Error, "RFC 9536, section 5": "propertyPath is a valid JSONPath";
}

/// The registered reverse searches (RFC 9536, section 11.2.3.2, and RFC 9910, section 10.3): each
/// of these properties of a related entity, for each of these types.
const REGISTERED: [&str; 4] = ["fn", "handle", "email", "role"];
const SEARCHABLE: [&str; 5] = ["domains", "nameservers", "entities", "ips", "autnums"];

/// The parameters of a query that are not properties (RFC 8977, section 2.2, and RFC 8982, section
/// 2).
const NO_PROPERTIES: [&str; 4] = ["count", "cursor", "sort", "fieldSet"];

pub(super) fn check(scene: &Scene<'_>, report: &mut Report) {
    let top = scene.answer.top().node();
    let is_help = scene.class() == Class::Help && scene.claims("reverse_search");
    if is_help && top.get("reverse_search_properties").is_none() {
        report.add(&OFFER, "", "");
    }
    if scene.class() == Class::Search && is_reverse(scene) {
        mapping(scene, report);
    }
    for place in scene.of(&[Class::ReverseProperty]) {
        let members = ["searchableResourceType", "relatedResourceType", "property"];
        missing(place, &members, &PROPERTY, report);
        if let [Some(of), Some(by), Some(property)] = members.map(|m| place.item.text(m))
            && !(SEARCHABLE.contains(&of) && by == "entity" && REGISTERED.contains(&property))
        {
            let found = format!("{of} by {by} and {property}");
            report.add(&OFFERED, place.pointer.as_str(), found);
        }
    }
    for place in scene.of(&[Class::ReverseMapping]) {
        missing(place, &["property", "propertyPath"], &MAPPED, report);
        search::path(place, "propertyPath", &PATH, report);
    }
}

/// Compares the mapping with the properties in the query.
fn mapping(scene: &Scene<'_>, report: &mut Report) {
    const MEMBER: &str = "reverse_search_properties_mapping";
    let top = scene.answer.top();
    if top.node().get(MEMBER).is_none() {
        return report.add(&MAPPING, "", "");
    }
    let mapped: Vec<&str> = top
        .items(MEMBER)
        .filter_map(|m| m.text("property"))
        .collect();
    // The URL of a further page is the server's own.
    let asked: Vec<_> = scene
        .delivery
        .url
        .into_iter()
        .flat_map(Url::query_pairs)
        .collect();
    if asked.iter().any(|(name, _)| name == "cursor") {
        return;
    }
    let mut names = asked.iter().map(|(name, _)| &**name);
    let left_out = names.find(|name| !NO_PROPERTIES.contains(name) && !mapped.contains(name));
    if let Some(name) = left_out {
        report.add(&MAPPING, format!("/{MEMBER}"), format!("no {name}"));
    }
}

/// Whether the requested URL is that of a reverse search (section 2).
fn is_reverse(scene: &Scene<'_>) -> bool {
    let mut path = scene
        .delivery
        .url
        .and_then(Url::path_segments)
        .into_iter()
        .flatten();
    path.any(|segment| segment == "reverse_search")
}

fn missing(place: &Place<'_>, members: &[&str], check: &'static Check, report: &mut Report) {
    for member in members {
        // `member-type` reports any other type.
        if place.item.node().get(member).is_none() {
            report.add(check, place.pointer.as_str(), format!("no {member}"));
        }
    }
}
