//! The extensions that the answer claims: rdapConformance (RFC 9083, section 4.1).

use super::registries::EXTENSIONS;
use super::{Report, Scene, rules};
use crate::answer::{Class, Place, is_defined, token};

rules! { All;
    MISSING = "conformance-missing", Error, "RFC 9083, section 4.1": "an answer has rdapConformance in its topmost object";
    OF_ERROR = "conformance-missing-error", Warning, "RFC 9083, sections 4.1 and 6": "an error response has rdapConformance";
    LEVEL = "conformance-level", Error, "RFC 9083, section 4.1": "rdapConformance contains rdap_level_0";
    PLACE = "conformance-place", Error, "RFC 9083, section 4.1": "rdapConformance is only in the topmost object";
    UNKNOWN = "conformance-unregistered", Warning, "RFC 9083, section 4.1": "an extension is registered with IANA";
    REPEATED = "conformance-repeated", Warning, "RFC 9083, section 4.1": "an extension is named once";
    UNCLAIMED = "conformance-unclaimed", Error, "RFC 9083, section 4.1": "an extension that is used is named in rdapConformance";
    PREFIX = "member-prefix", Warning, "RFC 9083, section 2.1": "a member that no standard defines has the prefix of an extension that the answer names";
}

/// Extensions whose exact name their RFCs require (RFC 8977, section 2.1.1; RFC 8982, section
/// 2.1.1).
const OF_RFCS: [&str; 3] = ["paging", "sorting", "subsetting"];

/// The largest number of members of one object that are compared with the extensions.
const MAX_MEMBERS: usize = 300;

/// The registered extension that defines a member. The members of most begin with its name.
fn defining(member: &str) -> Option<&'static str> {
    match member {
        "redacted" => return Some("redacted"),
        // RFC 9910.
        "ipSearchResults" | "autnumSearchResults" => return Some("rirSearch1"),
        _ => {}
    }
    EXTENSIONS.into_iter().find(|e| begins(member, e))
}

pub(super) fn check(scene: &Scene<'_>, report: &mut Report) {
    let top = scene.answer.top();
    if top.node().get("rdapConformance").is_none() {
        // The example of an error (section 6) has none.
        let check = match scene.class() {
            Class::Problem => &OF_ERROR,
            _ => &MISSING,
        };
        report.add(check, "", "");
    } else if !scene.claims("rdap_level_0") {
        report.add(&LEVEL, "/rdapConformance", "");
    }
    let mut seen: Vec<&str> = Vec::new();
    for (i, &extension) in scene.claims.iter().enumerate() {
        let pointer = format!("/rdapConformance/{i}");
        if seen.contains(&extension) {
            report.add(&REPEATED, &pointer, extension);
        } else if !is_registered(extension) {
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
        undefined(scene, place, report);
        for (member, _) in place.item.node().members().iter().take(MAX_MEMBERS) {
            let extension =
                defining(member).filter(|e| !names(scene, member, e) && !told.contains(e));
            if let Some(extension) = extension {
                let pointer = format!("{}/{}", place.pointer, token(member));
                report.add(&UNCLAIMED, pointer, extension);
                told.push(extension);
            }
        }
    }
}

/// Whether an extension is registered. Its name can be followed by a version, as in
/// `rdap_objectTag_level_0` (RFC 8521, section 4).
pub(super) fn is_registered(claim: &str) -> bool {
    let versioned = |extension: &str| {
        let version = claim.strip_prefix(extension)?;
        let number = ["_level_", "_version_"]
            .iter()
            .find_map(|word| version.strip_prefix(word))?;
        let is_number = !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit());
        (is_number && !OF_RFCS.contains(&extension)).then_some(())
    };
    EXTENSIONS
        .iter()
        .any(|known| *known == claim || versioned(known).is_some())
}

/// Whether the answer names the extension: as `fred`, or as `fred_version_0` where its members
/// begin with `fred_`, as in the RFC's own example `lunarNIC_level_0`.
fn names(scene: &Scene<'_>, member: &str, extension: &str) -> bool {
    let versioned = begins(member, extension) && !OF_RFCS.contains(&extension);
    let mut claims = scene.claims.iter();
    claims.any(|claim| *claim == extension || versioned && begins(claim, extension))
}

/// Finds members that neither RFC 9083 nor an extension that the answer names defines.
fn undefined(scene: &Scene<'_>, place: &Place<'_>, report: &mut Report) {
    let named = |member: &str| {
        // Some answers name `prefix_level_0` where the members begin with `prefix_`.
        let prefix = member.split('_').next().unwrap_or_default();
        let mut claims = scene.claims.iter();
        claims.any(|c| *c == member || begins(member, c) || begins(c, prefix))
    };
    for (member, _) in place.item.node().members().iter().take(MAX_MEMBERS) {
        let known = is_defined(member) || defining(member).is_some();
        if !known && !named(member) {
            report.add(&PREFIX, format!("{}/{}", place.pointer, token(member)), "");
        }
    }
}

/// Whether the text is the prefix, an underscore, and more.
fn begins(text: &str, prefix: &str) -> bool {
    text.strip_prefix(prefix)
        .is_some_and(|rest| rest.starts_with('_'))
}
