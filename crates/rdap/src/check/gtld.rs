//! ICANN's gTLD RDAP profile of February 2024: its Response Profile and its Technical
//! Implementation Guide.

pub(super) mod notices;
pub(super) mod registrar;

use super::{Profile, Report, Scene, rules};
use crate::answer::{Class, Domain, Entity, Item, Node, Object, properties, status};

rules! { Gtld;
    HTTPS = "gtld-https", Error, "gTLD RDAP Technical Implementation Guide 2024, section 1.4": "the service is provided over HTTPS";
    CORS = "gtld-cors", Error, "gTLD RDAP Technical Implementation Guide 2024, section 1.14": "Access-Control-Allow-Origin is *";
    RESPONSE = "gtld-conformance-response", Error, "gTLD RDAP Response Profile 2024, section 1.2": "rdapConformance contains icann_rdap_response_profile_1";
    GUIDE = "gtld-conformance-guide", Error, "gTLD RDAP Technical Implementation Guide 2024, section 1.3": "rdapConformance contains icann_rdap_technical_implementation_guide_1";
    OLD = "gtld-conformance-old", Warning, "gTLD RDAP Response Profile 2024, section 1.2": "the profile of 2019 is no longer named";
    COUNTRY = "gtld-country", Error, "gTLD RDAP Response Profile 2024, section 1.4": "an address has no country name";
    CODE = "gtld-country-code", Error, "gTLD RDAP Response Profile 2024, section 1.4": "an address has its country in the cc parameter, as ISO 3166-1 alpha-2";
    NAME = "gtld-name", Error, "gTLD RDAP Response Profile 2024, section 2.1": "ldhName or unicodeName is the name that was queried";
    HANDLE = "gtld-handle", Error, "gTLD RDAP Response Profile 2024, section 2.2": "a domain has its repository identifier (RFC 5730) or declares it redacted";
    REGISTRATION = "gtld-event-registration", Error, "gTLD RDAP Response Profile 2024, section 2.3.1.1": "a domain has the event registration";
    EXPIRATION = "gtld-event-expiration", Error, "gTLD RDAP Response Profile 2024, section 2.3.1.2": "a domain has the event expiration";
    UPDATE = "gtld-event-update", Error, "gTLD RDAP Response Profile 2024, section 2.3.1.3": "an answer has the event «last update of RDAP database»";
    REGISTRAR_EXPIRATION = "gtld-event-registrar-expiration", Info, "gTLD RDAP Response Profile 2024, section 2.3.2": "a registrar gives the event «registrar expiration»";
    STATUS = "gtld-status", Error, "gTLD RDAP Response Profile 2024, section 2.6.1": "a domain has a status";
    TOGETHER = "gtld-status-together", Error, "RFC 5731, section 2.3": "no two statuses exclude each other";
    SECURE = "gtld-secure-dns", Error, "gTLD RDAP Response Profile 2019, section 2.10": "a domain has secureDNS with delegationSigned";
    DATA = "gtld-secure-dns-data", Error, "gTLD RDAP Response Profile 2019, section 2.10": "a signed delegation has dsData or keyData";
    NAMESERVER = "gtld-nameserver-name", Error, "gTLD RDAP Response Profile 2024, section 2.9.1": "a name server has its ldhName";
    RELATED = "gtld-related", Error, "gTLD RDAP Technical Implementation Guide 2024, section 3.2": "a registry's domain has a related link to the registrar's RDAP";
    RELATED_DOMAIN = "gtld-related-domain", Error, "gTLD RDAP Technical Implementation Guide 2024, section 3.2": "the related link leads to a domain lookup";
}

pub(super) fn check(scene: &Scene<'_>, report: &mut Report) {
    let registry = scene.follows(Profile::GtldRegistry);
    if !registry && !scene.follows(Profile::GtldRegistrar) {
        return;
    }
    service(scene, report);
    addresses(scene, report);
    notices::check(scene, report);
    let lookup = matches!(
        scene.class(),
        Class::Domain | Class::Nameserver | Class::Entity
    );
    let top = scene.answer.top();
    if lookup && top.event("last update of RDAP database").is_none() {
        report.add(&UPDATE, "/events", "");
    }
    if let Object::Domain(domain) = scene.answer.object() {
        domain_checks(scene, domain, report);
        registrar::check(scene, domain, report);
        if registry {
            related(scene, domain, report);
        } else if domain.event("registrar expiration").is_none() {
            report.add(&REGISTRAR_EXPIRATION, "/events", "");
        }
    }
}

fn service(scene: &Scene<'_>, report: &mut Report) {
    if scene.delivery.url.is_some_and(|u| u.scheme() != "https") {
        report.add(&HTTPS, "", scene.delivery.url.map_or("", |u| u.scheme()));
    }
    if scene.delivery.status != 0 && scene.delivery.allow_origin != Some("*") {
        report.add(&CORS, "", scene.delivery.allow_origin.unwrap_or_default());
    }
    for (extension, check) in [
        ("icann_rdap_response_profile_1", &RESPONSE),
        ("icann_rdap_technical_implementation_guide_1", &GUIDE),
    ] {
        if !scene.claims(extension) {
            report.add(check, "/rdapConformance", "");
        }
    }
    for old in [
        "icann_rdap_response_profile_0",
        "icann_rdap_technical_implementation_guide_0",
    ] {
        if scene.claims(old) {
            report.add(&OLD, "/rdapConformance", old);
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
            if !code.is_some_and(super::network::is_country) && parts.iter().any(says) {
                report.add(&CODE, pointer, code.unwrap_or_default());
            }
        }
    }
}

fn domain_checks(scene: &Scene<'_>, domain: Domain<'_>, report: &mut Report) {
    name(scene, domain, report);
    handle(scene, domain, report);
    for (action, check) in [("registration", &REGISTRATION), ("expiration", &EXPIRATION)] {
        if domain.event(action).is_none() {
            report.add(check, "/events", "");
        }
    }
    if domain.status().next().is_none() {
        report.add(&STATUS, "/status", "");
    }
    if let Some((one, other)) = together(*domain) {
        report.add(&TOGETHER, "/status", format!("{one} and {other}"));
    }
    match domain.secure_dns().map(|d| (d, d.flag("delegationSigned"))) {
        None | Some((_, None)) => report.add(&SECURE, "/secureDNS", ""),
        Some((dns, Some(true))) if dns.ds().next().is_none() && dns.keys().next().is_none() => {
            report.add(&DATA, "/secureDNS", "");
        }
        Some(_) => {}
    }
    for place in scene.of(&[Class::Nameserver]) {
        if place.item.text("ldhName").is_none() {
            report.add(&NAMESERVER, place.pointer.as_str(), "");
        }
    }
}

/// Compares the name with the last segment of the requested path.
fn name(scene: &Scene<'_>, domain: Domain<'_>, report: &mut Report) {
    let path = scene
        .delivery
        .url
        .and_then(|u| u.path().split_once("/domain/"));
    let Some((_, asked)) = path.filter(|(_, n)| !n.is_empty() && !n.contains(['/', '%'])) else {
        return;
    };
    let asked = idna::domain_to_unicode(asked.trim_end_matches('.')).0;
    let mut names = [domain.ldh_name(), domain.unicode_name()]
        .into_iter()
        .flatten();
    if !names.any(|n| idna::domain_to_unicode(n.trim_end_matches('.')).0 == asked) {
        report.add(&NAME, "", domain.ldh_name().unwrap_or_default());
    }
}

/// `(\w|_){1,80}-\w{1,8}` (RFC 5730, section 4.2).
fn handle(scene: &Scene<'_>, domain: Domain<'_>, report: &mut Report) {
    let word = |text: &str, most: usize| {
        (1..=most).contains(&text.chars().count())
            && text.chars().all(|c| c.is_alphanumeric() || c == '_')
    };
    match domain.handle() {
        None if scene
            .answer
            .redactions()
            .any(|r| r.name() == Some("Registry Domain ID")) => {}
        None => report.add(&HANDLE, "", ""),
        Some(handle) => {
            let parts = handle.rsplit_once('-');
            if !parts.is_some_and(|(id, repository)| word(id, 80) && word(repository, 8)) {
                report.add(&HANDLE, "/handle", handle);
            }
        }
    }
}

/// Two statuses that exclude each other.
fn together(domain: Item<'_>) -> Option<(&'static str, &'static str)> {
    let has = |word: &str| domain.has_status(word);
    let barred = ["delete", "renew", "transfer", "update"];
    let epp = status::STATUS
        .iter()
        .filter(|s| s.epp.is_some())
        .map(|s| s.word);
    let with_active = |w: &&'static str| {
        *w == "inactive"
            || w.ends_with("prohibited")
            || w.ends_with("hold")
            || (w.starts_with("pending") && *w != "pending restore")
    };
    if let Some(other) = epp
        .clone()
        .find(|w| with_active(w) && has(w))
        .filter(|_| has("active"))
    {
        return Some(("active", other));
    }
    for action in barred {
        let ours = |w: &&str| w.ends_with(&format!("{action} prohibited"));
        let bar = epp.clone().filter(ours).find(|w| has(w));
        let pending = epp
            .clone()
            .find(|w| *w == format!("pending {action}"))
            .filter(|w| has(w));
        if let (Some(pending), Some(bar)) = (pending, bar) {
            return Some((pending, bar));
        }
    }
    None
}

fn related(scene: &Scene<'_>, domain: Domain<'_>, report: &mut Report) {
    // Reserved registrar numbers, as used for names that the registry itself holds, have no RDAP
    // server.
    let registrar = domain.entity("registrar").and_then(Entity::iana_id);
    let reserved = registrar
        .and_then(|id| id.parse().ok())
        .is_some_and(|id: u32| (9994..=9999).contains(&id));
    if reserved {
        return;
    }
    let related = scene.answer.related();
    if related.is_empty() {
        return report.add(&RELATED, "/links", "");
    }
    for href in related.iter().filter_map(|l| l.href()) {
        if !href.contains("/domain/") {
            report.add(&RELATED_DOMAIN, "/links", href);
        }
    }
}
