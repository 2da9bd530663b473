//! Notices and remarks (RFC 9083, section 4.3).

use super::registries::NOTICES;
use super::{Report, Scene, rules};
use crate::answer::{Class, Node};

rules! { All;
    PLACE = "notices-place", Error, "RFC 9083, section 4.3": "notices are only in the topmost object";
    DESCRIPTION = "notice-description", Error, "RFC 9083, section 4.3": "a notice or remark has a description";
    EMPTY = "notice-description-empty", Warning, "RFC 9083, section 4.3": "a description is not empty";
    KIND = "notice-type-registered", Error, "RFC 9083, section 10.2.1": "the type of a notice or remark is registered";
    FIT = "notice-type-fits", Warning, "RFC 9083, section 9": "a notice is about the result set, a remark about its object";
}

pub(super) fn check(scene: &Scene<'_>, report: &mut Report) {
    for place in scene.places.iter().filter(|p| p.within.is_some()) {
        if place.item.node().get("notices").is_some() {
            report.add(&PLACE, format!("{}/notices", place.pointer), "");
        }
    }
    for place in scene.of(&[Class::Notice, Class::Remark]) {
        let pointer = place.pointer.as_str();
        match place.item.node().get("description") {
            None => report.add(&DESCRIPTION, pointer, ""),
            Some(node)
                if !node
                    .each()
                    .iter()
                    .filter_map(Node::text)
                    .any(|t| !t.trim().is_empty()) =>
            {
                report.add(&EMPTY, pointer, "");
            }
            Some(_) => {}
        }
        let Some(kind) = place.item.text("type") else {
            continue;
        };
        let of_results = kind.starts_with("result set");
        if !NOTICES.contains(&kind) {
            report.add(&KIND, format!("{pointer}/type"), kind);
        } else if of_results && place.class == Class::Remark {
            report.add(&FIT, format!("{pointer}/type"), kind);
        }
    }
}
