//! Autonomous systems (RFC 9083, section 5.5).

use super::network::country;
use super::{Report, Scene, rules};
use crate::answer::Class;

rules! { All;
    MISSING = "autnum-range", Warning, "RFC 9083, section 5.5": "an autonomous system has startAutnum and endAutnum";
    NUMBER = "autnum-number", Error, "RFC 9083, section 5.5": "an AS number fits in 32 bits";
    ORDER = "autnum-order", Error, "RFC 9083, section 5.5": "a range of AS numbers does not end before its start";
    COUNTRY = "autnum-country", Error, "RFC 9083, sections 3 and 5.5": "country is a code of ISO 3166-1: two capital letters";
}

pub(super) fn check(scene: &Scene<'_>, report: &mut Report) {
    for place in scene.of(&[Class::Autnum]) {
        let (item, pointer) = (place.item, place.pointer.as_str());
        let mut numbers = Vec::new();
        for member in ["startAutnum", "endAutnum"] {
            match item.number(member) {
                None if item.node().get(member).is_none() => {
                    report.add(&MISSING, pointer, format!("no {member}"));
                }
                Some(number) if number > u64::from(u32::MAX) => {
                    report.add(&NUMBER, format!("{pointer}/{member}"), number.to_string());
                }
                number => numbers.extend(number),
            }
        }
        if let [start, end] = *numbers
            && start > end
        {
            report.add(&ORDER, pointer, format!("{start} to {end}"));
        }
        country(item, &COUNTRY, pointer, report);
    }
}
