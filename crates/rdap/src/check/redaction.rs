//! Redactions (RFC 9537).

use super::{Report, Scene, rules};
use crate::answer::{Class, Item, Method};

rules! { All;
    NAME = "redaction-name", Error, "RFC 9537, section 4.2": "a redaction has a name, by type or by description";
    METHOD = "redaction-method", Error, "RFC 9537, section 4.2": "the method is removal, emptyValue, partialValue or replacementValue";
    POST = "redaction-post-path", Error, "RFC 9537, section 4.2": "a field that remains has its postPath";
    GONE = "redaction-gone", Warning, "RFC 9537, section 4.2": "a field that was removed has no postPath";
    REPLACEMENT = "redaction-replacement", Error, "RFC 9537, section 4.2": "only a replaced field has a replacementPath";
    LANGUAGE = "redaction-language", Error, "RFC 9537, section 4.2": "pathLang is registered: jsonpath";
    PATH = "redaction-path", Error, "RFC 9535, section 2.2": "a JSONPath begins with $";
    REASON = "redaction-reason", Info, "RFC 9537, section 4.2": "a reason is not empty";
}

pub(super) fn check(scene: &Scene<'_>, report: &mut Report) {
    for place in scene.of(&[Class::Redaction]) {
        words(place.item, &place.pointer, report);
        paths(place.item, &place.pointer, report);
    }
}

fn words(redaction: Item<'_>, pointer: &str, report: &mut Report) {
    let says = |member: &str| {
        let item = redaction.item(member);
        item.is_some_and(|i| i.text("type").is_some() || i.text("description").is_some())
    };
    if !says("name") {
        report.add(&NAME, pointer, "");
    }
    if redaction.node().get("reason").is_some() && !says("reason") {
        report.add(&REASON, format!("{pointer}/reason"), "");
    }
}

fn paths(redaction: Item<'_>, pointer: &str, report: &mut Report) {
    let has = |member: &str| redaction.text(member).is_some();
    let method = redaction
        .text("method")
        .map_or(Some(Method::Removal), Method::parse);
    match method {
        None => report.add(
            &METHOD,
            format!("{pointer}/method"),
            redaction.text("method").unwrap_or_default(),
        ),
        Some(Method::EmptyValue | Method::PartialValue) if !has("postPath") => {
            report.add(&POST, pointer, "");
        }
        Some(Method::ReplacementValue) if !has("postPath") && !has("prePath") => {
            report.add(&POST, pointer, "");
        }
        Some(Method::Removal) if has("postPath") => {
            report.add(&GONE, format!("{pointer}/postPath"), "");
        }
        Some(_) => {}
    }
    if has("replacementPath") && method.is_some_and(|m| m != Method::ReplacementValue) {
        report.add(&REPLACEMENT, format!("{pointer}/replacementPath"), "");
    }
    let language = redaction.text("pathLang").unwrap_or("jsonpath");
    if language != "jsonpath" {
        return report.add(&LANGUAGE, format!("{pointer}/pathLang"), language);
    }
    for member in ["prePath", "postPath", "replacementPath"] {
        if let Some(path) = redaction.text(member).filter(|p| !p.starts_with('$')) {
            report.add(&PATH, format!("{pointer}/{member}"), path);
        }
    }
}
