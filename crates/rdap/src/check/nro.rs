//! The profile of the regional registries: NRO RDAP Profile of 14 January 2021.
//!
//! The requirements about queries (section 6) depend on what a registry was given and has passed
//! on, which no answer shows.

pub(super) mod cards;
pub(super) mod objects;

use super::{Profile, Report, Scene, rules};
use crate::answer::{Class, Item, Link, Place};

rules! { Nro;
    PERIOD = "nro-name-period", Error, "NRO RDAP Profile, section 3.1": "ldhName and unicodeName end with a period";
    CLAIM = "nro-conformance", Error, "NRO RDAP Profile, section 4.1": "the answer names nro_rdap_profile_0";
    CIDR_CLAIM = "nro-conformance-cidr0", Error, "NRO RDAP Profile, section 4.1": "the answer names cidr0";
    MODEL = "nro-asn-model", Warning, "NRO RDAP Profile, sections 6.1.2.2, 6.1.2.3 and 6.5.2": "an answer names the model of AS numbers that its registry follows; only servers of other organizations may omit it";
    MODELS = "nro-asn-models", Error, "NRO RDAP Profile, section 6.1.2": "a registry follows one model of AS numbers";
    SELF = "nro-self", Error, "NRO RDAP Profile, sections 4.2 and 5.2": "each object has a self link, except name servers of domains";
    NOTICES = "nro-notices", Error, "NRO RDAP Profile, section 4.3": "each answer has notices";
    TERMS = "nro-notice-terms", Error, "NRO RDAP Profile, section 4.3": "a notice about the terms has a link terms-of-service";
    INACCURATE = "nro-notice-inaccuracy", Error, "NRO RDAP Profile, section 4.3": "a notice about inaccurate data has a link inaccuracy-report";
    TITLE = "nro-error-title", Error, "NRO RDAP Profile, section 7": "the title of an error is the reason phrase of its errorCode";
    MORE = "nro-error-description", Warning, "NRO RDAP Profile, section 7": "the description of an error says more than its title";
}

/// The link relation that the profile defines.
pub(super) const INACCURACY: &str = "inaccuracy-report";

pub(super) fn check(scene: &Scene<'_>, report: &mut Report) {
    if !scene.follows(Profile::Nro) {
        return;
    }
    conformance(scene, report);
    notices(scene, report);
    for place in &scene.places {
        names(place, report);
        own(place, report);
        if place.class == Class::Entity {
            cards::check(place, report);
        }
    }
    objects::check(scene, report);
    if scene.class() == Class::Problem {
        problem(scene.answer.top(), report);
    }
}

fn conformance(scene: &Scene<'_>, report: &mut Report) {
    for (extension, check) in [("nro_rdap_profile_0", &CLAIM), ("cidr0", &CIDR_CLAIM)] {
        if !scene.claims(extension) {
            report.add(check, "/rdapConformance", "");
        }
    }
    let models = [
        "nro_rdap_profile_asn_flat_0",
        "nro_rdap_profile_asn_hierarchical_0",
    ];
    match models.into_iter().filter(|m| scene.claims(m)).count() {
        0 => report.add(&MODEL, "/rdapConformance", ""),
        2 => report.add(&MODELS, "/rdapConformance", ""),
        _ => {}
    }
}

fn notices(scene: &Scene<'_>, report: &mut Report) {
    if scene.answer.notices().next().is_none() {
        report.add(&NOTICES, "", "");
    }
    for (rel, check) in [("terms-of-service", &TERMS), (INACCURACY, &INACCURATE)] {
        let mut links = scene.answer.notices().flat_map(|n| n.links());
        if !links.any(|l| l.has_rel(rel)) {
            report.add(check, "/notices", "");
        }
    }
}

fn names(place: &Place<'_>, report: &mut Report) {
    if !matches!(place.class, Class::Domain | Class::Nameserver) {
        return;
    }
    for member in ["ldhName", "unicodeName"] {
        let name = place.item.text(member).filter(|n| !n.ends_with('.'));
        if let Some(name) = name {
            report.add(&PERIOD, format!("{}/{member}", place.pointer), name);
        }
    }
}

fn own(place: &Place<'_>, report: &mut Report) {
    let object = place.class.object_class().is_some();
    let excepted = place.class == Class::Nameserver && place.within.is_some();
    let has = |link: Link<'_>| link.has_rel("self");
    if object && !excepted && !place.item.links().any(has) {
        report.add(&SELF, place.pointer.as_str(), "");
    }
}

fn problem(problem: Item<'_>, report: &mut Report) {
    let phrase = problem.number("errorCode").and_then(reason);
    let title = problem.text("title").unwrap_or_default();
    // Codes without a registered phrase do not determine the title.
    if let Some(phrase) = phrase.filter(|phrase| *phrase != title) {
        report.add(&TITLE, "/title", format!("{title}, not {phrase}"));
    }
    let mut more = problem.texts("description");
    if !more.any(|text| !text.trim().is_empty() && text.trim() != title) {
        report.add(&MORE, "/description", "");
    }
}

/// Reason phrases (RFC 7231, section 6.1, and RFC 6585).
fn reason(code: u64) -> Option<&'static str> {
    Some(match code {
        400 => "Bad Request",
        401 => "Unauthorized",
        403 => "Forbidden",
        404 => "Not Found",
        405 => "Method Not Allowed",
        406 => "Not Acceptable",
        408 => "Request Timeout",
        409 => "Conflict",
        410 => "Gone",
        413 => "Payload Too Large",
        414 => "URI Too Long",
        415 => "Unsupported Media Type",
        429 => "Too Many Requests",
        500 => "Internal Server Error",
        501 => "Not Implemented",
        502 => "Bad Gateway",
        503 => "Service Unavailable",
        504 => "Gateway Timeout",
        505 => "HTTP Version Not Supported",
        _ => return None,
    })
}
