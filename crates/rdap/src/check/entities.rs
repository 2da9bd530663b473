//! Entities: their roles and identifiers (RFC 9083, sections 4.8 and 5.1).

use super::registries::ROLES;
use super::{Report, Scene, rules};
use crate::answer::Class;

rules! { All;
    ROLE = "role-registered", Error, "RFC 9083, section 10.2.4": "a role is registered";
    REPEATED = "role-repeated", Warning, "RFC 9083, section 5.1": "a role is named once";
    KIND = "public-id-type", Error, "RFC 9083, section 4.8": "a public identifier has a type";
    IDENTIFIER = "public-id-identifier", Error, "RFC 9083, section 4.8": "a public identifier has an identifier";
    ALONE = "entity-empty", Info, "RFC 9083, section 5.1": "an entity is identified by a handle or a card";
}

pub(super) fn check(scene: &Scene<'_>, report: &mut Report) {
    for place in scene.of(&[Class::Entity]) {
        let roles: Vec<&str> = place.item.texts("roles").take(100).collect();
        for (i, role) in roles.iter().enumerate() {
            let pointer = format!("{}/roles/{i}", place.pointer);
            if roles.iter().take(i).any(|r| r == role) {
                report.add(&REPEATED, &pointer, role);
            }
            if !ROLES.contains(role) {
                report.add(&ROLE, pointer, role);
            }
        }
        let has = |member: &str| place.item.node().get(member).is_some();
        let cards = ["handle", "vcardArray", "jscontact_card", "jscard"];
        if !cards.into_iter().any(has) {
            report.add(&ALONE, place.pointer.as_str(), "");
        }
    }
    for place in scene.of(&[Class::PublicId]) {
        for (member, check) in [("type", &KIND), ("identifier", &IDENTIFIER)] {
            // `member-type` reports a number in place of the text.
            if place.item.node().get(member).is_none() {
                report.add(check, place.pointer.as_str(), "");
            }
        }
    }
}
