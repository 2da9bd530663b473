//! Reverse searches (RFC 9536): the properties that a server offers, and where they are in results.

use url::Url;

use super::{Check, Report, Scene, rules, search};
use crate::answer::{Class, Place};

rules! { All;
    OFFER = "reverse-properties", Error, "RFC 9536, section 4": "help that names reverse_search has reverse_search_properties";
    PROPERTY = "reverse-property", Error, "RFC 9536, section 4": "an offered property has searchableResourceType, relatedResourceType and property";
    MAPPING = "reverse-mapping", Error, "RFC 9536, section 5": "the answer to a reverse search has reverse_search_properties_mapping";
    MAPPED = "reverse-mapping-property", Error, "RFC 9536, section 5": "a mapping has property and propertyPath";
    PATH = "reverse-mapping-path", Error, "RFC 9536, section 5": "propertyPath is a valid JSONPath";
}

pub(super) fn check(scene: &Scene<'_>, report: &mut Report) {
    let top = scene.answer.top().node();
    let is_help = scene.class() == Class::Help && scene.claims("reverse_search");
    if is_help && top.get("reverse_search_properties").is_none() {
        report.add(&OFFER, "", "");
    }
    let is_search = scene.class() == Class::Search && is_reverse(scene);
    if is_search && top.get("reverse_search_properties_mapping").is_none() {
        report.add(&MAPPING, "", "");
    }
    for place in scene.of(&[Class::ReverseProperty]) {
        let members = ["searchableResourceType", "relatedResourceType", "property"];
        missing(place, &members, &PROPERTY, report);
    }
    for place in scene.of(&[Class::ReverseMapping]) {
        missing(place, &["property", "propertyPath"], &MAPPED, report);
        search::path(place, "propertyPath", &PATH, report);
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
