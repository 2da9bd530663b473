//! The content of the regional registries' objects (sections 4.4, 4.5 and 5).

use crate::answer::{Class, Entity, Item, Object, Place};
use crate::check::network::covers;
use crate::check::{Check, Report, Scene, rules};

rules! { Nro;
    EVENTS = "nro-events", Warning, "NRO RDAP Profile, section 4.4": "the topmost object has the events registration and last changed";
    STATUS = "nro-status", Error, "NRO RDAP Profile, section 4.5": "a network or autonomous system is active, administrative or reserved";
    NETWORKS = "nro-entity-networks", Error, "NRO RDAP Profile, section 5.1.2": "only the topmost entity has networks and autnums, and each list has an item";
    DOMAIN = "nro-domain-name", Error, "NRO RDAP Profile, section 5.2": "a domain has its ldhName";
    REVERSE = "nro-domain-network", Warning, "NRO RDAP Profile, section 5.2": "a reverse domain has the network that it maps to";
    SERVERS = "nro-domain-nameservers", Error, "NRO RDAP Profile, section 5.2": "a domain has nameservers";
    ABUSE = "nro-abuse", Warning, "NRO RDAP Profile, section 5.3": "a network or autonomous system has an entity with the role abuse";
    ABUSE_EMAIL = "nro-abuse-email", Error, "NRO RDAP Profile, section 5.3": "the abuse contact has an email";
    REGISTRANT = "nro-registrant", Warning, "NRO RDAP Profile, section 5.3": "a network or autonomous system has an entity with the role registrant";
    HANDLE = "nro-handle", Error, "NRO RDAP Profile, sections 5.4 and 5.5": "a network or autonomous system has its handle";
    NETWORK = "nro-network-members", Error, "NRO RDAP Profile, section 5.4": "a network has startAddress, endAddress, ipVersion and status";
    AUTNUM = "nro-autnum-members", Error, "NRO RDAP Profile, section 5.5": "an autonomous system has startAutnum, endAutnum and status";
    CIDR = "nro-cidr", Warning, "NRO RDAP Profile, section 4.1, and IANA RDAP Extensions, cidr0": "a network lists its blocks";
    COVERS = "nro-cidr-covers", Error, "IANA RDAP Extensions, cidr0": "the blocks of a network are its range";
}

pub(super) fn check(scene: &Scene<'_>, report: &mut Report) {
    for place in &scene.places {
        match place.class {
            Class::Network => numbers(
                place,
                &NETWORK,
                &["startAddress", "endAddress", "ipVersion"],
                report,
            ),
            Class::Autnum => numbers(place, &AUTNUM, &["startAutnum", "endAutnum"], report),
            Class::Domain => domain(place, report),
            Class::Entity => entity(place, report),
            _ => {}
        }
    }
    events(scene, report);
    if let Object::Network(network) = scene.answer.object() {
        match covers(network) {
            _ if network.items("cidr0_cidrs").next().is_none() => report.add(&CIDR, "", ""),
            Some(false) => report.add(&COVERS, "/cidr0_cidrs", network.cidrs().join(", ")),
            _ => {}
        }
    }
}

fn events(scene: &Scene<'_>, report: &mut Report) {
    let top = scene.answer.top();
    if scene.class().object_class().is_none() {
        return;
    }
    for action in ["registration", "last changed"] {
        if top.event(action).is_none() {
            report.add(&EVENTS, "/events", format!("no {action}"));
        }
    }
}

fn numbers(place: &Place<'_>, check: &'static Check, members: &[&str], report: &mut Report) {
    let (item, pointer) = (place.item, place.pointer.as_str());
    let absent = |member: &&str| item.node().get(member).is_none();
    let missing = members.iter().copied().chain(["status"]).filter(absent);
    let missing: Vec<&str> = missing.collect();
    if !missing.is_empty() {
        report.add(check, pointer, format!("no {}", missing.join(", ")));
    }
    if item.handle().is_none() {
        report.add(&HANDLE, pointer, "");
    }
    let known = ["active", "administrative", "reserved"];
    let words: Vec<&str> = item.status().collect();
    if !words.is_empty() && !known.iter().any(|word| item.has_status(word)) {
        report.add(&STATUS, format!("{pointer}/status"), words.join(", "));
    }
    contacts(item, pointer, report);
}

fn contacts(item: Item<'_>, pointer: &str, report: &mut Report) {
    let abuse = item.entity("abuse").map(Entity::contact);
    match abuse {
        None => report.add(&ABUSE, pointer, ""),
        Some(contact) if contact.emails.is_empty() => report.add(&ABUSE_EMAIL, pointer, ""),
        Some(_) => {}
    }
    if item.entity("registrant").is_none() {
        report.add(&REGISTRANT, pointer, "");
    }
}

fn domain(place: &Place<'_>, report: &mut Report) {
    let has = |member: &str| place.item.node().get(member).is_some();
    let name = place.item.text("ldhName");
    if name.is_none() {
        report.add(&DOMAIN, place.pointer.as_str(), "");
    }
    let name = name
        .unwrap_or_default()
        .trim_end_matches('.')
        .to_lowercase();
    let reverse = name.ends_with(".in-addr.arpa") || name.ends_with(".ip6.arpa");
    if reverse && !has("network") {
        report.add(&REVERSE, place.pointer.as_str(), "");
    }
    if !has("nameservers") {
        report.add(&SERVERS, place.pointer.as_str(), "");
    }
}

fn entity(place: &Place<'_>, report: &mut Report) {
    for member in ["networks", "autnums"] {
        let listed = place.item.node().get(member);
        let nested = place.within.is_some();
        if listed.is_some_and(|list| nested || list.each().is_empty()) {
            let found = if nested { "in an entity below" } else { "none" };
            report.add(&NETWORKS, format!("{}/{member}", place.pointer), found);
        }
    }
}
