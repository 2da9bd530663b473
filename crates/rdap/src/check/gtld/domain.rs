//! The content of a gTLD's answer to a domain lookup (Response Profile, section 2).

use crate::answer::{Class, Domain, Entity, Redaction};
use crate::check::{Profile, Report, Scene, rules};

rules! { Gtld;
    NAME = "gtld-name", Error, "gTLD RDAP Response Profile 2024, section 2.1": "ldhName or unicodeName is the name that was queried";
    FORM = "gtld-name-form", Error, "gTLD RDAP Response Profile 2024, sections 2.1 and 4.1": "a name is given in the form that was queried: ldhName for A-labels, unicodeName for U-labels";
    HANDLE = "gtld-handle", Error, "gTLD RDAP Response Profile 2024, section 2.2": "a domain has its repository identifier (RFC 5730) or declares it redacted";
    REGISTRATION = "gtld-event-registration", Error, "gTLD RDAP Response Profile 2024, section 2.3.1.1": "a domain has the event registration";
    EXPIRATION = "gtld-event-expiration", Error, "gTLD RDAP Response Profile 2024, section 2.3.1.2": "a domain has the event expiration";
    REGISTRAR_EXPIRATION = "gtld-event-registrar-expiration", Info, "gTLD RDAP Response Profile 2024, section 2.3.2.1": "a registrar gives the event 'registrar expiration'";
    NAMESERVERS = "gtld-nameservers", Warning, "gTLD RDAP Response Profile 2024, section 2.8": "a domain that is delegated has its name servers";
    NAMESERVER = "gtld-nameserver-name", Error, "gTLD RDAP Response Profile 2024, section 2.8.1": "a name server has its ldhName";
    HOST = "gtld-nameserver-handle", Error, "gTLD RDAP Response Profile 2024, section 2.8.2": "the handle of a name server is its repository identifier (RFC 5730)";
    SECURE = "gtld-secure-dns", Error, "gTLD RDAP Response Profile 2024, section 2.9": "a domain has secureDNS with delegationSigned";
    DATA = "gtld-secure-dns-data", Error, "gTLD RDAP Response Profile 2024, section 2.9": "a signed delegation has dsData or keyData";
    RELATED = "gtld-related", Error, "gTLD RDAP Technical Implementation Guide 2024, section 3.2": "a registry's domain has a related link to the registrar's RDAP";
    RELATED_DOMAIN = "gtld-related-domain", Error, "gTLD RDAP Technical Implementation Guide 2024, section 3.2": "the related link leads to a domain lookup";
    RELATED_VALUE = "gtld-related-value", Error, "gTLD RDAP Technical Implementation Guide 2024, section 3.2": "the related link has the lookup's URL as its value";
}

pub(super) fn check(scene: &Scene<'_>, domain: Domain<'_>, report: &mut Report) {
    name(scene, report);
    handle(scene, domain, report);
    for (action, check) in [("registration", &REGISTRATION), ("expiration", &EXPIRATION)] {
        if domain.event(action).is_none() {
            report.add(check, "/events", "");
        }
    }
    nameservers(scene, domain, report);
    match domain.secure_dns().map(|d| (d, d.flag("delegationSigned"))) {
        None | Some((_, None)) => report.add(&SECURE, "/secureDNS", ""),
        Some((dns, Some(true))) if dns.ds().next().is_none() && dns.keys().next().is_none() => {
            report.add(&DATA, "/secureDNS", "");
        }
        Some(_) => {}
    }
    if scene.follows(Profile::GtldRegistry) {
        related(scene, domain, report);
    } else if domain.event("registrar expiration").is_none() {
        report.add(&REGISTRAR_EXPIRATION, "/events", "");
    }
}

fn nameservers(scene: &Scene<'_>, domain: Domain<'_>, report: &mut Report) {
    // A domain without name servers is inactive (RFC 5731, section 2.3).
    if domain.nameservers().next().is_none() && !domain.has_status("inactive") {
        report.add(&NAMESERVERS, "/nameservers", "");
    }
    for place in scene.of(&[Class::Nameserver]) {
        if place.item.text("ldhName").is_none() {
            report.add(&NAMESERVER, place.pointer.as_str(), "");
        }
        if let Some(handle) = place.item.handle().filter(|h| !is_roid(h)) {
            report.add(&HOST, format!("{}/handle", place.pointer), handle);
        }
    }
}

/// Compares the name with the last segment of the requested path.
pub(super) fn name(scene: &Scene<'_>, report: &mut Report) {
    let segment = match scene.class() {
        Class::Domain => "/domain/",
        _ => "/nameserver/",
    };
    let path = scene
        .delivery
        .url
        .and_then(|u| u.path().rsplit_once(segment));
    let Some((_, asked)) = path.filter(|(_, n)| !n.is_empty() && !n.contains('/')) else {
        return;
    };
    // Names contain no characters that are encoded differently in forms and in paths.
    let decoded = url::form_urlencoded::parse(asked.as_bytes()).next();
    let asked = decoded.map_or_else(String::new, |(name, _)| name.into_owned());
    let (unicode, _) = idna::domain_to_unicode(asked.trim_end_matches('.'));
    let top = scene.answer.top();
    let names = ["ldhName", "unicodeName"].map(|member| top.text(member).map(str::trim));
    let is_asked = |n: &str| idna::domain_to_unicode(n.trim_end_matches('.')).0 == unicode;
    if !names.into_iter().flatten().any(is_asked) {
        return report.add(&NAME, "", names[0].or(names[1]).unwrap_or_default());
    }
    let (member, given) = if asked.is_ascii() {
        ("ldhName", names[0])
    } else {
        ("unicodeName", names[1])
    };
    if given.is_none() {
        report.add(&FORM, "", format!("no {member}"));
    }
}

fn handle(scene: &Scene<'_>, domain: Domain<'_>, report: &mut Report) {
    let mut names = scene.answer.redactions().map(Redaction::name);
    match domain.handle() {
        None if names.any(|name| name == Some("Registry Domain ID")) => {}
        Some(handle) if is_roid(handle) => {}
        None => report.add(&HANDLE, "", ""),
        Some(handle) => report.add(&HANDLE, "/handle", handle),
    }
}

/// Whether the text is a repository object identifier: `(\w|_){1,80}-\w{1,8}` (RFC 5730, section
/// 4.2).
pub(super) fn is_roid(text: &str) -> bool {
    let word = |text: &str, most: usize| {
        (1..=most).contains(&text.chars().count())
            && text.chars().all(|c| c.is_alphanumeric() || c == '_')
    };
    let parts = text.rsplit_once('-');
    parts.is_some_and(|(id, repository)| word(id, 80) && word(repository, 8))
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
    for link in related {
        let href = link.href().unwrap_or_default();
        if !href.contains("/domain/") {
            report.add(&RELATED_DOMAIN, "/links", href);
        }
        super::notices::context(scene, link, &RELATED_VALUE, "/links", report);
    }
}
