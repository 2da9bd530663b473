//! Error responses and help (RFC 9083, sections 6 and 7).

use super::{Report, Scene, rules};
use crate::answer::Class;

rules! { All;
    CODE = "error-code", Error, "RFC 9083, section 6": "errorCode is an HTTP status code";
    TITLE = "error-title", Info, "RFC 9083, section 6": "an error has a title";
    HELP = "help-notices", Warning, "RFC 9083, section 7": "help has notices";
}

pub(super) fn check(scene: &Scene<'_>, report: &mut Report) {
    for place in scene.of(&[Class::Problem]) {
        let code = place.item.number("errorCode").unwrap_or_default();
        if !(300..600).contains(&code) {
            report.add(&CODE, "/errorCode", code.to_string());
        }
        if place.item.text("title").is_none() {
            report.add(&TITLE, "", "");
        }
    }
    let url = scene.delivery.url;
    let asked = url.is_some_and(|url| url.path().trim_end_matches('/').ends_with("/help"));
    let help = match scene.class() {
        Class::Help => true,
        // If there are no notices, only the request shows that this is help.
        Class::Unknown => asked,
        _ => false,
    };
    if help && scene.answer.notices().next().is_none() {
        report.add(&HELP, "", "");
    }
}
