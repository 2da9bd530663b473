//! The extensions that the answer claims: rdapConformance (RFC 9083, section 4.1).

use super::registries::EXTENSIONS;
use super::{Report, Scene, rules};
use crate::answer::Class;

rules! { All;
    MISSING = "conformance-missing", Error, "RFC 9083, section 4.1": "the topmost object has rdapConformance";
    LEVEL = "conformance-level", Error, "RFC 9083, section 4.1": "rdapConformance contains rdap_level_0";
    PLACE = "conformance-place", Error, "RFC 9083, section 4.1": "rdapConformance is only in the topmost object";
    UNKNOWN = "conformance-unregistered", Warning, "RFC 9083, section 4.1": "an extension is registered with IANA";
    REPEATED = "conformance-repeated", Warning, "RFC 9083, section 4.1": "an extension is named once";
    UNCLAIMED = "conformance-unclaimed", Error, "RFC 9083, section 4.1": "an extension that is used is named in rdapConformance";
}

/// Members, and the extension that defines each: cidr0, RFC 8977, RFC 8982, RFC 9537, and those of
/// .ART and FRED.
const FROM: [(&str, &str); 7] = [
    ("cidr0_cidrs", "cidr0"),
    ("paging_metadata", "paging"),
    ("sorting_metadata", "sorting"),
    ("subsetting_metadata", "subsetting"),
    ("redacted", "redacted"),
    ("artRecord_record", "artRecord"),
    ("arin_originas0_originautnums", "arin_originas0"),
];

pub(super) fn check(scene: &Scene<'_>, report: &mut Report) {
    let top = scene.answer.top();
    if top.node().get("rdapConformance").is_none() {
        report.add(&MISSING, "", "");
    } else if !scene.claims("rdap_level_0") {
        report.add(&LEVEL, "/rdapConformance", "");
    }
    let mut seen: Vec<&str> = Vec::new();
    for (i, extension) in scene.answer.conformance().enumerate().take(200) {
        let pointer = format!("/rdapConformance/{i}");
        if seen.contains(&extension) {
            report.add(&REPEATED, &pointer, extension);
        } else if !EXTENSIONS.contains(&extension) {
            report.add(&UNKNOWN, pointer, extension);
        }
        seen.push(extension);
    }
    let mut told: Vec<&str> = Vec::new();
    for place in &scene.places {
        let has = |member: &str| place.item.node().get(member).is_some();
        if place.within.is_some() && has("rdapConformance") {
            report.add(&PLACE, format!("{}/rdapConformance", place.pointer), "");
        }
        if place.class == Class::Words {
            continue;
        }
        for (member, extension) in FROM {
            if has(member) && !scene.claims(extension) && !told.contains(&extension) {
                report.add(&UNCLAIMED, format!("{}/{member}", place.pointer), extension);
                told.push(extension);
            }
        }
    }
}
