//! The contacts of a gTLD's domain: their handles, and the fields that are published or declared
//! redacted (Response Profile, section 2.7 and appendix E).

pub(super) mod needed;

use super::domain::is_roid;
use crate::answer::{Domain, Entity, Method, Redaction};
use crate::check::{Profile, Report, Scene, rules};
use needed::{FIELDS, Field, Part};

rules! { Gtld;
    HANDLE = "gtld-contact-handle", Error, "gTLD RDAP Response Profile 2024, section 2.7.3": "the handle of a contact is its repository identifier (RFC 5730)";
    OWN_HANDLE = "gtld-contact-handle-registrar", Warning, "gTLD RDAP Response Profile 2024, section 2.11.3": "a registrar gives a contact's repository identifier (RFC 5730) if the registry has one";
    NAME = "gtld-redaction-name", Error, "gTLD RDAP Response Profile 2024, section 2.7.7": "a field of appendix E is named by its type there, not by a description";
    METHOD = "gtld-redaction-method", Error, "gTLD RDAP Response Profile 2024, sections 2.7.7 and 2.7.8, and appendix E": "a field is redacted by its method: emptyValue for names and parts of addresses, a registrar's replacementValue for email, removal for others";
    PUBLISHED = "gtld-redaction-published", Error, "gTLD RDAP Response Profile 2024, section 2.7.7": "a field that is declared redacted is not published";
    EMAIL = "gtld-redaction-email", Error, "gTLD RDAP Response Profile 2024, section 2.7.8": "a redacted email is replaced by either another email or a contact-uri";
    FORM = "gtld-contact-uri", Error, "gTLD RDAP Response Profile 2024, section 2.7.8.2": "the contact-uri in place of an email is an HTTP URL";
}

pub(super) fn check(scene: &Scene<'_>, domain: Domain<'_>, report: &mut Report) {
    handles(scene, domain, report);
    let redactions: Vec<(usize, Redaction<'_>)> = domain.redactions().enumerate().collect();
    for (i, redaction) in &redactions {
        let name = redaction.item("name");
        let described = name.and_then(|n| n.text("description"));
        let listed = |text: &str| {
            FIELDS
                .iter()
                .any(|f| f.name.eq_ignore_ascii_case(text.trim()))
        };
        let typed = name.is_some_and(|n| n.text("type").is_some());
        if let Some(text) = described.filter(|text| !typed && listed(text)) {
            report.add(&NAME, format!("/redacted/{i}/name"), text);
        }
    }
    for field in &FIELDS {
        let declared = redactions
            .iter()
            .find(|(_, r)| r.name() == Some(field.name));
        if let Some((i, redaction)) = declared {
            method(scene, field, *redaction, &format!("/redacted/{i}"), report);
        }
        let entity = domain
            .entities()
            .enumerate()
            .find(|(_, e)| field.role.is_some_and(|role| e.has_role(role)));
        let (given, pointer) = match (field.role, entity) {
            (Some(_), Some((i, entity))) => (field.part.is_given(entity), format!("/entities/{i}")),
            (None, _) => (domain.handle().is_some(), "/handle".to_owned()),
            (Some(_), None) => continue,
        };
        match (declared, field.needed) {
            (Some((_, redaction)), _) => {
                let method = redaction.method();
                let gone = matches!(method, Some(Method::Removal | Method::EmptyValue));
                if given && gone {
                    report.add(&PUBLISHED, pointer.as_str(), field.name);
                }
                if let Some((_, entity)) = entity
                    && field.part == Part::Email
                    && method == Some(Method::ReplacementValue)
                {
                    replaced(entity, &pointer, report);
                }
            }
            (None, Some(check)) if !given => report.add(check, pointer, ""),
            (None, _) => {}
        }
    }
}

fn handles(scene: &Scene<'_>, domain: Domain<'_>, report: &mut Report) {
    // A contact without an identifier in the registry has the registrar's own one.
    let check = if scene.follows(Profile::GtldRegistrar) {
        &OWN_HANDLE
    } else {
        &HANDLE
    };
    for (i, entity) in domain.entities().enumerate().take(100) {
        // Neither of these is a contact object.
        if entity.has_role("registrar") || entity.has_role("reseller") {
            continue;
        }
        if let Some(handle) = entity.handle().filter(|h| !is_roid(h)) {
            report.add(check, format!("/entities/{i}/handle"), handle);
        }
    }
}

fn method(
    scene: &Scene<'_>,
    field: &Field,
    redaction: Redaction<'_>,
    pointer: &str,
    report: &mut Report,
) {
    let allowed: &[Method] = match field.part {
        Part::Email if scene.follows(Profile::GtldRegistrar) => &[Method::ReplacementValue],
        Part::Email => &[Method::Removal, Method::ReplacementValue],
        Part::Name | Part::Address(_) => &[Method::EmptyValue],
        _ => &[Method::Removal],
    };
    // `redaction-method` reports unknown words.
    let method = redaction.method();
    if method.is_some_and(|method| !allowed.contains(&method)) {
        let word = redaction.text("method").unwrap_or("removal");
        report.add(&METHOD, pointer, format!("{}: {word}", field.name));
    }
}

/// Requires either an email or a web form, but not both.
fn replaced(entity: Entity<'_>, pointer: &str, report: &mut Report) {
    let contact = entity.contact();
    let found = match (contact.emails.is_empty(), contact.contact_uris.as_slice()) {
        (false, []) => return,
        (true, []) => "neither",
        (false, _) => "both",
        (true, forms) => {
            let http = |form: &&str| form.starts_with("https://") || form.starts_with("http://");
            if let Some(other) = forms
                .iter()
                .find(|form| !http(form) || !crate::check::uri::is_uri(form))
            {
                report.add(&FORM, pointer, other);
            }
            return;
        }
    };
    report.add(&EMAIL, pointer, found);
}
