//! Checks whether the answer is about the requested object (RFC 9082, section 3).

use super::{Report, Scene, rules};
use crate::answer::Class;
use crate::requested::Requested;

rules! { All;
    CLASS = "class-asked", Error, "RFC 9082, section 3.1, and RFC 9083, sections 5.1 to 5.5": "the object is of the requested class";
    OBJECT = "object-asked", Error, "RFC 9082, sections 3.1.1 to 3.1.4": "the object is the requested one: it has that name, or its range contains that address, block or number";
}

pub(super) fn check(scene: &Scene<'_>, report: &mut Report) {
    let Some(url) = scene.delivery.url else {
        return;
    };
    if scene.class() == Class::Problem {
        return;
    }
    let Some(requested) = Requested::from_path(url.path()) else {
        let last = url.path().rsplit('/').find(|s| !s.is_empty());
        if let Some(last) = last.filter(|last| *last == "help" || url.query().is_some()) {
            list(scene, last, report);
        }
        return;
    };
    let asked = requested.class;
    let top = scene.answer.top();
    let told = top.class_name().or(scene.class().object_class());
    if told != Some(asked) {
        let told = told.unwrap_or("another object");
        report.add(&CLASS, "", format!("{told}, not {asked}"));
        return;
    }
    let is_compared = match asked {
        // `gtld-name` checks it in answers of that profile.
        "domain" | "nameserver" => !scene.is_of_gtld(),
        // The syntax of a handle is the server's own (RFC 9082, section 3.1.5).
        "entity" => false,
        _ => true,
    };
    if is_compared && let Some(found) = requested.other(scene.answer) {
        report.add(&OBJECT, "", format!("{found}, not {}", requested.key));
    }
}

/// Compares the answer with the requested list, or with help.
fn list(scene: &Scene<'_>, asked: &str, report: &mut Report) {
    const ASKED: [&str; 6] = [
        "help",
        "domains",
        "nameservers",
        "entities",
        "ips",
        "autnums",
    ];
    let told = scene.answer.object().kind();
    if ASKED.contains(&asked) && told != asked && told != "unknown" {
        report.add(&CLASS, "", format!("{told}, not {asked}"));
    }
}
