//! The registrar in a gTLD registry's answer, and the registrant in a registrar's answer.

use url::Url;

use crate::answer::{Answer, Class, Domain, Entity, Object, properties};
use crate::check::{Profile, Report, Scene, rules};

rules! { Gtld;
    ONE = "gtld-registrar", Error, "gTLD RDAP Response Profile 2024, section 2.4.1": "a domain has one entity with the role registrar";
    NAME = "gtld-registrar-name", Error, "gTLD RDAP Response Profile 2024, section 2.4.1": "the registrar's card has its name in fn";
    ID = "gtld-registrar-id", Error, "gTLD RDAP Response Profile 2024, section 2.4.3": "the registrar has its IANA Registrar ID in publicIds, a number";
    HANDLE = "gtld-registrar-handle", Error, "gTLD RDAP Response Profile 2024, section 2.4.2": "the registrar's handle is its IANA Registrar ID";
    ABUSE = "gtld-abuse", Error, "gTLD RDAP Response Profile 2024, section 2.4.5": "the registrar has an entity with the role abuse, with tel and email";
    ABOUT = "gtld-registrar-about", Error, "gTLD RDAP Response Profile 2024, section 2.4.6": "the registrar has a link about: from its RDAP base URL, in value, to its own URL, in href";
    ABOUT_HTTPS = "gtld-registrar-about-https", Error, "gTLD RDAP Response Profile 2024, section 2.4.6": "the registrar's base URL has the scheme https";
    REGISTRANT = "gtld-registrant", Error, "gTLD RDAP Response Profile 2024, section 2.7.2": "a registrar's domain has one entity with the role registrant";
    TEL = "gtld-tel-type", Error, "gTLD RDAP Technical Implementation Guide 2024, sections 3.8.2 and 3.8.3": "a telephone number is of type voice or fax";
}

/// Whether the answer comes from the registrar of its domain: the registrar's base URL, which is
/// the context of its link `about` (Response Profile, section 2.4.6), leads to the URL of the
/// answer.
pub(in crate::check) fn is_registrars(answer: &Answer, url: &Url) -> bool {
    // A path of RDAP (RFC 9082, section 3.1) must follow the base URL.
    const KINDS: [&str; 3] = ["domain/", "nameserver/", "entity/"];
    let Object::Domain(domain) = answer.object() else {
        return false;
    };
    let place = |url: &Url| {
        url.as_str()
            .split_once("://")
            .map(|(_, place)| place.to_owned())
    };
    let Some(asked) = place(url) else {
        return false;
    };
    let registrars = domain.entities().filter(|e| e.has_role("registrar"));
    let mut links = registrars.flat_map(|r| r.links().filter(|l| l.has_rel("about")));
    links.any(|link| {
        let base = link.value().and_then(|v| place(&Url::parse(v).ok()?));
        let path = base
            .as_ref()
            .and_then(|base| asked.strip_prefix(base.trim_end_matches('/')));
        let path = path.and_then(|path| path.strip_prefix('/'));
        path.is_some_and(|path| KINDS.iter().any(|kind| path.starts_with(kind)))
    })
}

pub(in crate::check) fn check(scene: &Scene<'_>, domain: Domain<'_>, report: &mut Report) {
    let registrars: Vec<(usize, Entity<'_>)> = domain
        .entities()
        .enumerate()
        .filter(|(_, e)| e.has_role("registrar"))
        .collect();
    match *registrars {
        [(i, registrar)] => about(registrar, &format!("/entities/{i}"), report),
        _ => report.add(&ONE, "/entities", registrars.len().to_string()),
    }
    let registrants = domain
        .entities()
        .filter(|e| e.has_role("registrant"))
        .count();
    if scene.follows(Profile::GtldRegistrar) && registrants != 1 {
        report.add(&REGISTRANT, "/entities", registrants.to_string());
    }
    for place in scene.of(&[Class::Entity]) {
        let card = place.item.node().get("vcardArray");
        for property in card
            .into_iter()
            .flat_map(properties)
            .filter(|p| p.name.eq_ignore_ascii_case("tel"))
        {
            let typed = property
                .parameter("type")
                .any(|t| t.eq_ignore_ascii_case("voice") || t.eq_ignore_ascii_case("fax"));
            if !typed {
                report.add(&TEL, format!("{}/vcardArray", place.pointer), "");
            }
        }
    }
}

fn about(registrar: Entity<'_>, pointer: &str, report: &mut Report) {
    if registrar.contact().name.is_none() {
        report.add(&NAME, pointer, "");
    }
    let id = registrar
        .iana_id()
        .filter(|id| !id.is_empty() && id.bytes().all(|b| b.is_ascii_digit()));
    match id {
        None => report.add(&ID, pointer, registrar.iana_id().unwrap_or_default()),
        Some(id) if registrar.handle() != Some(id) => {
            let found = format!("{}, not {id}", registrar.handle().unwrap_or("nothing"));
            report.add(&HANDLE, pointer, found);
        }
        Some(_) => {}
    }
    let abuse = registrar.entity("abuse").map(Entity::contact);
    if !abuse.is_some_and(|c| !c.phones.is_empty() && !c.emails.is_empty()) {
        report.add(&ABUSE, pointer, "");
    }
    match registrar.links().find(|l| l.has_rel("about")) {
        None => report.add(&ABOUT, pointer, ""),
        Some(link) if link.href().is_none() => report.add(&ABOUT, pointer, "no href"),
        Some(link) if !link.value().is_some_and(|v| v.starts_with("https://")) => {
            report.add(
                &ABOUT_HTTPS,
                format!("{pointer}/links"),
                link.value().unwrap_or_default(),
            );
        }
        Some(_) => {}
    }
}
