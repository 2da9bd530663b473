//! Statuses: which of them exclude or require each other.

use crate::answer::{Class, Item, status};
use crate::check::{Report, Scene, rules};

rules! { Gtld;
    STATUS = "gtld-status", Error, "gTLD RDAP Response Profile 2024, section 2.6.1": "a domain has a status";
    MAPPED = "gtld-status-mapped", Warning, "gTLD RDAP Response Profile 2024, section 2.6.2": "a domain's status is one that RFC 8056 maps from EPP";
    INACTIVE = "gtld-status-inactive", Warning, "RFC 5731, section 2.3": "a domain with name servers is not inactive";
    TOGETHER = "gtld-status-together", Error, "RFC 5731, section 2.3": "no two statuses of a domain exclude each other";
    RESTORE = "gtld-status-pending-delete", Error, "RFC 3915, section 2": "a domain in redemption period or pending restore also has pending delete";
    RESTORED = "gtld-status-restore", Warning, "RFC 3915, section 2": "a domain is not in redemption period and in pending restore at once";
    HOST = "gtld-nameserver-status", Error, "RFC 5732, section 2.3": "no two statuses of a name server exclude each other";
    CONTACT = "gtld-contact-status", Error, "RFC 5733, section 2.2": "no two statuses of a contact exclude each other";
}

pub(super) fn check(scene: &Scene<'_>, report: &mut Report) {
    if scene.class() == Class::Domain {
        domain(scene.answer.top(), report);
    }
    for place in &scene.places {
        let check = match place.class {
            Class::Domain => &TOGETHER,
            Class::Nameserver => &HOST,
            Class::Entity => &CONTACT,
            _ => continue,
        };
        if let Some((one, other)) = together(place.item) {
            let pointer = format!("{}/status", place.pointer);
            report.add(check, pointer, format!("{one} and {other}"));
        }
    }
}

fn domain(domain: Item<'_>, report: &mut Report) {
    if domain.status().next().is_none() {
        report.add(&STATUS, "/status", "");
    }
    for (i, word) in domain.texts("status").enumerate().take(100) {
        if status::find(word).is_some_and(|known| known.epp.is_none()) {
            report.add(&MAPPED, format!("/status/{i}"), word);
        }
    }
    if domain.has_status("inactive") && domain.items("nameservers").next().is_some() {
        report.add(&INACTIVE, "/status", "");
    }
    let needing = ["redemption period", "pending restore"];
    if needing.iter().all(|word| domain.has_status(word)) {
        report.add(&RESTORED, "/status", needing.join(" and "));
    }
    let needing = needing.into_iter().find(|word| domain.has_status(word));
    if let Some(word) = needing.filter(|_| !domain.has_status("pending delete")) {
        report.add(&RESTORE, "/status", word);
    }
}

/// Two statuses that exclude each other.
fn together(object: Item<'_>) -> Option<(&'static str, &'static str)> {
    // Grace periods (RFC 3915) are allowed in addition, and so is `associated` (EPP's `linked`).
    const WITHOUT_ACTIVE: [&str; 15] = [
        "inactive",
        "client hold",
        "server hold",
        "client delete prohibited",
        "client renew prohibited",
        "client transfer prohibited",
        "client update prohibited",
        "server delete prohibited",
        "server renew prohibited",
        "server transfer prohibited",
        "server update prohibited",
        "pending create",
        "pending delete",
        "pending renew",
        "pending transfer",
    ];
    const PENDING: [&str; 5] = [
        "pending create",
        "pending delete",
        "pending renew",
        "pending transfer",
        "pending update",
    ];
    let has = |word: &str| object.has_status(word);
    let mut excluded = WITHOUT_ACTIVE.into_iter().chain(["pending update"]);
    if let Some(other) = excluded.find(|word| has("active") && has(word)) {
        return Some(("active", other));
    }
    let mut pending = PENDING.into_iter().filter(|word| has(word));
    let first = pending.next()?;
    if let Some(second) = pending.next() {
        return Some((first, second));
    }
    let action = first.trim_start_matches("pending ");
    let mut barred = WITHOUT_ACTIVE.into_iter();
    let barred = barred.find(|word| word.ends_with(&format!("{action} prohibited")) && has(word));
    barred.map(|barred| (first, barred))
}
