//! A gTLD registry's answers about registrars and name servers (Response Profile, sections 3 and
//! 4).

use crate::answer::{Address, Entity, Nameserver};
use crate::check::{Report, Scene, rules};

rules! { Gtld;
    REGISTRAR = "gtld-entity-registrar", Error, "gTLD RDAP Response Profile 2024, section 3.1": "a registrar has a handle, and fn, adr, tel and email in its card";
    ADDRESS = "gtld-entity-address", Error, "gTLD RDAP Response Profile 2024, section 3.1.1": "a registrar's address has street, city and country";
    CONTACTS = "gtld-entity-contacts", Warning, "gTLD RDAP Response Profile 2024, section 3.2": "a registrar has an administrative and a technical contact";
    CONTACT = "gtld-entity-contact", Error, "gTLD RDAP Response Profile 2024, section 3.2": "a registrar's administrative or technical contact has fn, tel and email";
    HANDLE = "gtld-nameserver-registrar", Error, "gTLD RDAP Response Profile 2024, section 4.3": "the handle of a name server's registrar is its IANA Registrar ID, or 'not applicable'";
    ID = "gtld-nameserver-registrar-id", Error, "gTLD RDAP Response Profile 2024, section 4.3": "a name server's registrar has its IANA Registrar ID in publicIds, unless it has none";
}

pub(super) fn entity(entity: Entity<'_>, report: &mut Report) {
    if !entity.has_role("registrar") && entity.iana_id().is_none() {
        return;
    }
    let contact = entity.contact();
    let has = [
        ("handle", entity.handle().is_some()),
        ("fn", contact.name.is_some()),
        ("adr", !contact.addresses.is_empty()),
        ("tel", !contact.phones.is_empty()),
        ("email", !contact.emails.is_empty()),
    ];
    missing(&has, &REGISTRAR, "", report);
    let whole = |a: &Address<'_>| !a.street.is_empty() && a.city.is_some() && a.land().is_some();
    if !contact.addresses.is_empty() && !contact.addresses.iter().any(whole) {
        report.add(&ADDRESS, "", "");
    }
    for role in ["administrative", "technical"] {
        let found = entity
            .entities()
            .enumerate()
            .find(|(_, e)| e.has_role(role));
        let Some((i, found)) = found else {
            report.add(&CONTACTS, "/entities", format!("no {role}"));
            continue;
        };
        let contact = found.contact();
        let has = [
            ("fn", contact.name.is_some()),
            ("tel", !contact.phones.is_empty()),
            ("email", !contact.emails.is_empty()),
        ];
        missing(&has, &CONTACT, &format!("/entities/{i}"), report);
    }
}

fn missing(
    has: &[(&str, bool)],
    check: &'static crate::check::Check,
    pointer: &str,
    report: &mut Report,
) {
    let missing = has.iter().filter(|(_, has)| !has).map(|(name, _)| *name);
    let missing: Vec<&str> = missing.collect();
    if !missing.is_empty() {
        report.add(check, pointer, format!("no {}", missing.join(", ")));
    }
}

pub(super) fn nameserver(scene: &Scene<'_>, nameserver: Nameserver<'_>, report: &mut Report) {
    super::domain::name(scene, report);
    let registrars = nameserver.entities().enumerate();
    for (i, registrar) in registrars.filter(|(_, e)| e.has_role("registrar")) {
        let pointer = format!("/entities/{i}");
        let id = registrar.iana_id();
        let number = |id: &str| !id.is_empty() && id.bytes().all(|b| b.is_ascii_digit());
        match (registrar.handle(), id) {
            (Some("not applicable"), None) => {}
            (Some("not applicable"), Some(id)) => report.add(&ID, pointer, id),
            (Some(handle), Some(id)) if handle == id && number(id) => {}
            (Some(handle), None) if number(handle) => report.add(&ID, pointer, ""),
            (handle, Some(id)) if !number(id) || handle.is_some_and(number) => {
                report.add(&ID, pointer, id);
            }
            (handle, _) => report.add(&HANDLE, pointer, handle.unwrap_or_default()),
        }
    }
}
