//! ICANN's gTLD RDAP profile of 21 February 2024, version 2.2: its Response Profile and its
//! Technical Implementation Guide.

pub(super) mod contacts;
pub(super) mod domain;
pub(super) mod lookups;
pub(super) mod notices;
pub(super) mod registrar;
pub(super) mod status;

use super::conformance::is_registered;
use super::registries::is_assigned_country;
use super::{Report, Scene, rules};
use crate::answer::{Class, Node, Object, Place, properties};

rules! { Gtld;
    HTTPS = "gtld-https", Error, "gTLD RDAP Technical Implementation Guide 2024, section 1.4": "the service is provided over HTTPS";
    FQDN = "gtld-fqdn", Error, "gTLD RDAP Technical Implementation Guide 2024, section 1.11": "names are fully qualified";
    CORS = "gtld-cors", Error, "gTLD RDAP Technical Implementation Guide 2024, section 1.14": "Access-Control-Allow-Origin is *";
    RESPONSE = "gtld-conformance-response", Error, "gTLD RDAP Response Profile 2024, section 1.2": "rdapConformance contains icann_rdap_response_profile_1";
    GUIDE = "gtld-conformance-guide", Error, "gTLD RDAP Technical Implementation Guide 2024, section 1.3": "rdapConformance contains icann_rdap_technical_implementation_guide_1";
    OLD = "gtld-conformance-old", Warning, "gTLD RDAP Response Profile 2024, section 1.2": "the profile of 2019 is no longer named";
    ONLY_OLD = "gtld-conformance-2019", Info, "gTLD RDAP Response Profile 2024, section 1.2": "an answer that claims only the profile of 2019 is checked against that of 2024, in force since August 2025";
    EXTENSION = "gtld-extension", Error, "gTLD RDAP Response Profile 2024, section 1.3.1": "extensions are registered with IANA";
    SCRIPT = "gtld-script", Error, "gTLD RDAP Response Profile 2024, section 1.3.2": "no text contains code for browsers";
    COUNTRY = "gtld-country", Error, "gTLD RDAP Response Profile 2024, section 1.4": "an address has no country name";
    CODE = "gtld-country-code", Error, "gTLD RDAP Response Profile 2024, section 1.4": "an address has its country in the cc parameter, as ISO 3166-1 alpha-2";
    UPDATE = "gtld-event-update", Error, "gTLD RDAP Response Profile 2024, section 1.5": "the topmost object has the event 'last update of RDAP database'";
    STREET = "gtld-street-lines", Error, "gTLD RDAP Technical Implementation Guide 2024, section 3.8.1": "a street of several lines is an array";
}

/// The rules about the required contact data of a domain.
pub(super) const NEEDED: &[&super::Check] = contacts::needed::ALL;

/// The claims of the profile of 2019. That of 2024 has others.
const OF_2019: [&str; 2] = [
    "icann_rdap_response_profile_0",
    "icann_rdap_technical_implementation_guide_0",
];

const OF_2024: [&str; 2] = [
    "icann_rdap_response_profile_1",
    "icann_rdap_technical_implementation_guide_1",
];

pub(super) fn check(scene: &Scene<'_>, report: &mut Report) {
    if !scene.is_of_gtld() {
        return;
    }
    service(scene, report);
    conformance(scene, report);
    addresses(scene, report);
    names(scene, report);
    scripts(scene, report);
    notices::check(scene, report);
    status::check(scene, report);
    let object = matches!(
        scene.class(),
        Class::Domain | Class::Nameserver | Class::Entity
    );
    let top = scene.answer.top();
    if object && top.event("last update of RDAP database").is_none() {
        report.add(&UPDATE, "/events", "");
    }
    match scene.answer.object() {
        Object::Domain(domain) => {
            domain::check(scene, domain, report);
            registrar::check(scene, domain, report);
            contacts::check(scene, domain, report);
        }
        Object::Entity(entity) => lookups::entity(entity, report),
        Object::Nameserver(nameserver) => lookups::nameserver(scene, nameserver, report),
        _ => {}
    }
}

fn service(scene: &Scene<'_>, report: &mut Report) {
    if let Some(url) = scene.delivery.url.filter(|u| u.scheme() != "https") {
        report.add(&HTTPS, "", url.scheme());
    }
    if scene.delivery.status != 0 && scene.delivery.allow_origin != Some("*") {
        report.add(&CORS, "", scene.delivery.allow_origin.unwrap_or_default());
    }
}

fn conformance(scene: &Scene<'_>, report: &mut Report) {
    for (extension, check) in OF_2024.into_iter().zip([&RESPONSE, &GUIDE]) {
        if !scene.claims(extension) {
            report.add(check, "/rdapConformance", "");
        }
    }
    let claimed = |extensions: [&str; 2]| extensions.into_iter().any(|e| scene.claims(e));
    if claimed(OF_2019) && !claimed(OF_2024) {
        report.add(&ONLY_OLD, "/rdapConformance", "");
    }
    for (i, &extension) in scene.claims.iter().enumerate() {
        let pointer = format!("/rdapConformance/{i}");
        if OF_2019.contains(&extension) {
            report.add(&OLD, pointer, extension);
        } else if !is_registered(extension) {
            report.add(&EXTENSION, pointer, extension);
        }
    }
}

/// The seventh component is the country (RFC 6350, section 6.3.1); its code is a parameter (RFC
/// 8605, section 3.1).
fn addresses(scene: &Scene<'_>, report: &mut Report) {
    for place in scene.of(&[Class::Entity]) {
        let Some(card) = place.item.node().get("vcardArray") else {
            continue;
        };
        for property in properties(card).filter(|p| p.name.eq_ignore_ascii_case("adr")) {
            let pointer = format!("{}/vcardArray", place.pointer);
            let parts = property.values.first().map_or(&[][..], Node::items);
            let says = |n: &Node| n.text().is_some_and(|t| !t.trim().is_empty());
            if let Some(country) = parts.get(6).filter(|n| says(n)).and_then(Node::text) {
                report.add(&COUNTRY, pointer.as_str(), country);
            }
            let code = property.parameter("cc").next();
            if !code.is_some_and(is_assigned_country) && parts.iter().any(says) {
                report.add(&CODE, pointer.as_str(), code.unwrap_or_default());
            }
            let street = parts.get(2).and_then(Node::text).unwrap_or_default();
            if street.trim().contains(['\n', '\r']) {
                report.add(&STREET, pointer, street);
            }
        }
    }
}

/// A name must have more than one label; registries do not answer for the top-level domains
/// themselves.
fn names(scene: &Scene<'_>, report: &mut Report) {
    for place in scene.of(&[Class::Domain, Class::Nameserver]) {
        for member in ["ldhName", "unicodeName"] {
            let name = place.item.text(member).map(str::trim);
            let bare = |name: &&str| !name.trim_end_matches('.').contains('.');
            if let Some(name) = name.filter(bare) {
                report.add(&FQDN, format!("{}/{member}", place.pointer), name);
            }
        }
    }
}

fn scripts(scene: &Scene<'_>, report: &mut Report) {
    let script = |text: &str| text.to_ascii_lowercase().contains("<script");
    let told = |place: &&Place<'_>| {
        let members = place.item.node().members().iter();
        let texts = members.flat_map(|(_, node)| node.each());
        texts.filter_map(Node::text).any(script)
    };
    if let Some(place) = scene.places.iter().find(told) {
        report.add(&SCRIPT, place.pointer.as_str(), "<script");
    }
}
