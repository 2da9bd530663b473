//! Redactions (RFC 9537): their syntax, and whether the answer agrees with them.

mod fields;
mod placeholder;

use super::jsonpath::{Budget, Path};
use super::registries::REDACTED_NAMES;
use super::{Report, Scene, rules};
use crate::answer::{Class, Item, Method};

rules! { All;
    PLACE = "redaction-place", Error, "RFC 9537, section 4.2": "redacted is a member of the object that was looked up, or of each object that was found";
    NAME = "redaction-name", Error, "RFC 9537, section 4.2": "a redaction has a name, by type or by description";
    UNREGISTERED = "redaction-name-registered", Warning, "RFC 9537, sections 4.2 and 6.2": "the type of a redaction's name is registered";
    METHOD = "redaction-method", Error, "RFC 9537, section 4.2": "the method is removal, emptyValue, partialValue or replacementValue";
    POST = "redaction-post-path", Error, "RFC 9537, section 4.2": "a field that remains has its postPath";
    BOTH = "redaction-both-paths", Error, "RFC 9537, section 4.2": "a redaction does not have both prePath and postPath";
    GONE = "redaction-gone", Warning, "RFC 9537, section 4.2": "a field that was removed has no postPath";
    REPLACEMENT = "redaction-replacement", Error, "RFC 9537, section 4.2": "only a replaced field has a replacementPath";
    LANGUAGE = "redaction-language", Error, "RFC 9537, section 4.2": "pathLang is registered: jsonpath";
    PATH = "redaction-path", Error, "RFC 9535, section 2.1": "a path is a valid JSONPath";
    REASON = "redaction-reason", Info, "RFC 9537, section 4.2": "a reason is not empty";
}

/// The members that contain paths.
const PATHS: [&str; 3] = ["prePath", "postPath", "replacementPath"];

pub(super) const FIELDS: &[&super::Check] = fields::ALL;
pub(super) const PLACEHOLDERS: &[&super::Check] = placeholder::ALL;

pub(super) fn check(scene: &Scene<'_>, report: &mut Report) {
    placeholder::check(scene, report);
    for place in &scene.places {
        let is_found = place.within.is_none() || place.within == Some(Class::Search);
        let is_object = place.class.object_class().is_some() || place.class == Class::Unknown;
        if !(is_found && is_object) && place.item.node().get("redacted").is_some() {
            report.add(&PLACE, format!("{}/redacted", place.pointer), "");
        }
    }
    let mut budget = Budget::default();
    for place in scene.of(&[Class::Redaction]) {
        let pointer = place.pointer.as_str();
        words(place.item, pointer, report);
        let Some(method) = method(place.item, pointer, report) else {
            continue;
        };
        let read = PATHS.map(|member| path(place.item, member, pointer, report));
        fields::check(
            scene,
            &fields::Told {
                pointer,
                method,
                paths: read,
            },
            &mut budget,
            report,
        );
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
    let kind = redaction.item("name").and_then(|name| name.text("type"));
    if let Some(kind) = kind.filter(|k| !REDACTED_NAMES.contains(k)) {
        report.add(&UNREGISTERED, format!("{pointer}/name/type"), kind);
    }
    if redaction.node().get("reason").is_some() && !says("reason") {
        report.add(&REASON, format!("{pointer}/reason"), "");
    }
}

/// The method, if it is a known one.
fn method(redaction: Item<'_>, pointer: &str, report: &mut Report) -> Option<Method> {
    let has = |member: &str| redaction.text(member).is_some();
    let word = redaction.text("method");
    let Some(method) = word.map_or(Some(Method::Removal), Method::parse) else {
        report.add(
            &METHOD,
            format!("{pointer}/method"),
            word.unwrap_or_default(),
        );
        return None;
    };
    let remains = match method {
        // It is not defined whether a replaced field is still present.
        Method::Removal | Method::ReplacementValue => false,
        Method::EmptyValue | Method::PartialValue => true,
    };
    if remains && !has("postPath") {
        report.add(&POST, pointer, "");
    }
    if has("prePath") && has("postPath") {
        report.add(&BOTH, pointer, "");
    }
    if method == Method::Removal && has("postPath") {
        report.add(&GONE, format!("{pointer}/postPath"), "");
    }
    if has("replacementPath") && method != Method::ReplacementValue {
        report.add(&REPLACEMENT, format!("{pointer}/replacementPath"), "");
    }
    let language = redaction.text("pathLang").unwrap_or("jsonpath");
    if language != "jsonpath" {
        report.add(&LANGUAGE, format!("{pointer}/pathLang"), language);
        return None;
    }
    Some(method)
}

fn path(
    redaction: Item<'_>,
    member: &'static str,
    pointer: &str,
    report: &mut Report,
) -> Option<Path> {
    // An empty path is invalid, but it is present.
    let text = redaction.node().get(member)?.text()?;
    match Path::parse(text) {
        Ok(path) => Some(path),
        Err(error) => {
            report.add(
                &PATH,
                format!("{pointer}/{member}"),
                format!("{text}: {error}"),
            );
            None
        }
    }
}
