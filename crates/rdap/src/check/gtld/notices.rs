//! The notices that ICANN requires word for word.

use crate::answer::{Class, Link, Notice};
use crate::check::{Check, Report, Scene, rules};

rules! { Gtld;
    STATUS = "gtld-notice-status", Error, "gTLD RDAP Response Profile 2024, section 2.6.3": "a domain has the notice 'Status Codes' with its text and a link to https://icann.org/epp";
    STATUS_REL = "gtld-notice-status-rel", Error, "gTLD RDAP Response Profile 2024, section 2.6.3": "the link of 'Status Codes' has the relation glossary";
    STATUS_VALUE = "gtld-notice-status-value", Error, "gTLD RDAP Response Profile 2024, section 2.6.3": "the link of 'Status Codes' has the lookup's URL as its value";
    FORM = "gtld-notice-form", Error, "gTLD RDAP Response Profile 2024, section 2.10": "a domain has the notice 'RDDS Inaccuracy Complaint Form' with its text and a link to https://icann.org/wicf";
    FORM_REL = "gtld-notice-form-rel", Error, "gTLD RDAP Response Profile 2024, section 2.10": "the link of 'RDDS Inaccuracy Complaint Form' has the relation help";
    FORM_VALUE = "gtld-notice-form-value", Error, "gTLD RDAP Response Profile 2024, section 2.10": "the link of 'RDDS Inaccuracy Complaint Form' has the lookup's URL as its value";
    TERMS = "gtld-notice-terms", Error, "gTLD RDAP Technical Implementation Guide 2024, sections 3.3.1 and 3.3.2": "a notice has a link terms-of-service to the terms";
    TERMS_VALUE = "gtld-notice-terms-value", Error, "gTLD RDAP Technical Implementation Guide 2024, section 3.3.2": "the link to the terms has the requested URL as its value";
    HELP = "gtld-help-link", Error, "gTLD RDAP Technical Implementation Guide 2024, section 3.4": "help has a link to a document that explains the service";
}

/// A required notice.
struct Wanted {
    title: &'static str,
    text: &'static str,
    href: &'static str,
    rel: &'static str,
    checks: [&'static Check; 3],
}

const WANTED: [Wanted; 2] = [
    Wanted {
        title: "Status Codes",
        text: "For more information on domain status codes, please visit https://icann.org/epp",
        href: "https://icann.org/epp",
        rel: "glossary",
        checks: [&STATUS, &STATUS_REL, &STATUS_VALUE],
    },
    Wanted {
        title: "RDDS Inaccuracy Complaint Form",
        text: "URL of the ICANN RDDS Inaccuracy Complaint Form: https://icann.org/wicf",
        href: "https://icann.org/wicf",
        rel: "help",
        checks: [&FORM, &FORM_REL, &FORM_VALUE],
    },
];

pub(in crate::check) fn check(scene: &Scene<'_>, report: &mut Report) {
    if scene.class() == Class::Domain {
        for wanted in &WANTED {
            word_for_word(scene, wanted, report);
        }
    }
    terms(scene, report);
    let mut links = scene.answer.notices().flat_map(|n| n.links());
    if scene.class() == Class::Help && !links.any(|l| l.href().is_some()) {
        report.add(&HELP, "/notices", "");
    }
}

fn word_for_word(scene: &Scene<'_>, wanted: &Wanted, report: &mut Report) {
    let [missing, rel, value] = wanted.checks;
    let fits = |n: &Notice<'_>| {
        n.title() == Some(wanted.title) && n.description().any(|d| d.contains(wanted.text))
    };
    let link = scene
        .answer
        .notices()
        .filter(fits)
        .find_map(|n| n.links().find(|l| l.href() == Some(wanted.href)));
    let Some(link) = link else {
        let titled = scene
            .answer
            .notices()
            .find(|n| n.title() == Some(wanted.title));
        let found = if titled.is_some() {
            "its text or link differs"
        } else {
            ""
        };
        return report.add(missing, "/notices", found);
    };
    if !link.has_rel(wanted.rel) {
        report.add(rel, "/notices", link.rel().unwrap_or_default());
    }
    context(scene, link, value, "/notices", report);
}

/// The value of the link must be the URL that was requested.
pub(super) fn context(
    scene: &Scene<'_>,
    link: Link<'_>,
    check: &'static Check,
    pointer: &str,
    report: &mut Report,
) {
    if let Some(url) = scene.delivery.url
        && link.value().and_then(|v| v.parse().ok()).as_ref() != Some(url)
    {
        report.add(check, pointer, link.value().unwrap_or_default());
    }
}

fn terms(scene: &Scene<'_>, report: &mut Report) {
    if scene.class() == Class::Problem {
        return;
    }
    let mut links = scene.answer.notices().flat_map(|n| n.links());
    let terms = links.find(|l| l.has_rel("terms-of-service") && l.url(None).is_some());
    match terms {
        None => report.add(&TERMS, "/notices", ""),
        Some(link) => context(scene, link, &TERMS_VALUE, "/notices", report),
    }
}
