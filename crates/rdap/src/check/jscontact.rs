//! Cards in JSContact (RFC 9553 and RFC 9982).

use super::cards::is_address;
use super::{Report, Scene, rules};
use crate::answer::{Class, Item, Node};

rules! { All;
    CARD = "jscontact-card", Error, "RFC 9553, section 2.1": "a card has @type Card and a version";
    UID = "jscontact-uid", Error, "RFC 9553, section 2.1": "a card of version 1.0 has a uid; that of version 2.0 need not (RFC 9982)";
    MAP = "jscontact-map", Error, "RFC 9553, sections 2.2, 2.3, 2.5, 2.6 and 2.8": "emails, phones, addresses and their like are objects of objects, each under its key";
    VALUE = "jscontact-value", Error, "RFC 9553, sections 2.3.1 and 2.3.3": "an email has its address (RFC 5322, section 3.4.1), a phone its number";
}

const MAPS: [&str; 9] = [
    "addresses",
    "emails",
    "links",
    "nicknames",
    "notes",
    "onlineServices",
    "organizations",
    "phones",
    "titles",
];

pub(super) fn check(scene: &Scene<'_>, report: &mut Report) {
    for place in scene.of(&[Class::Entity]) {
        let Some(card) = place.item.node().get("jscontact_card") else {
            continue;
        };
        let pointer = format!("{}/jscontact_card", place.pointer);
        match place.item.item("jscontact_card") {
            Some(item) => whole(item, &pointer, report),
            None => report.add(&CARD, pointer, card.kind()),
        }
    }
}

fn whole(card: Item<'_>, pointer: &str, report: &mut Report) {
    let version = card.text("version");
    if card.text("@type") != Some("Card") {
        report.add(&CARD, pointer, card.text("@type").unwrap_or("no @type"));
    } else if version.is_none() {
        report.add(&CARD, pointer, "no version");
    }
    if version == Some("1.0") && card.text("uid").is_none() {
        report.add(&UID, pointer, "");
    }
    for member in MAPS {
        let Some(map) = card.node().get(member) else {
            continue;
        };
        let place = format!("{pointer}/{member}");
        let whole = map.is_object() && map.members().iter().all(|(_, n)| n.is_object());
        if !whole {
            report.add(&MAP, place, map.kind());
            continue;
        }
        let wanted = match member {
            "emails" => "address",
            "phones" => "number",
            _ => continue,
        };
        for value in map.members().iter().map(|(_, n)| n.get(wanted)) {
            match value.and_then(Node::text) {
                None => report.add(&VALUE, place.as_str(), format!("no {wanted}")),
                Some(text) if wanted == "address" && !is_address(text) => {
                    report.add(&VALUE, place.as_str(), text);
                }
                Some(_) => {}
            }
        }
    }
}
