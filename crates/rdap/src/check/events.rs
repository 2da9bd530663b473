//! Events (RFC 9083, section 4.5).

use super::registries::EVENTS;
use super::{Report, Scene, rules};
use crate::answer::{Class, Date};

rules! { All;
    ACTION = "event-action", Error, "RFC 9083, section 4.5": "an event has its action in eventAction";
    DATE = "event-date", Error, "RFC 9083, section 4.5": "an event has its date in eventDate";
    SYNTAX = "event-date-syntax", Error, "RFC 9083, section 4.5": "eventDate is a date and time of RFC 3339";
    REGISTERED = "event-action-registered", Error, "RFC 9083, section 10.2.3": "an eventAction is registered";
    ACTOR = "event-actor", Error, "RFC 9083, section 5.1": "an entity's asEventActor names no other actor";
}

pub(super) fn check(scene: &Scene<'_>, report: &mut Report) {
    for place in scene.of(&[Class::Event, Class::ActorEvent]) {
        let pointer = place.pointer.as_str();
        match place.item.text("eventAction") {
            None => report.add(&ACTION, pointer, ""),
            Some(action) if !EVENTS.contains(&action) => {
                report.add(&REGISTERED, format!("{pointer}/eventAction"), action);
            }
            Some(_) => {}
        }
        match place.item.text("eventDate") {
            None => report.add(&DATE, pointer, ""),
            Some(date) if !Date::parse(date).is_some_and(|d| d.strict) => {
                report.add(&SYNTAX, format!("{pointer}/eventDate"), date);
            }
            Some(_) => {}
        }
        if place.class == Class::ActorEvent && place.item.text("eventActor").is_some() {
            report.add(&ACTOR, format!("{pointer}/eventActor"), "");
        }
    }
}
