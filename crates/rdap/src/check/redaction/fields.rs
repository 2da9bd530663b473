//! Compares redactions with the answer: removed fields must be absent, emptied ones empty, and
//! replacements present (RFC 9537, section 3).

use crate::answer::{Method, Node};
use crate::check::jsonpath::{Budget, Found, Path, Step};
use crate::check::{Report, Scene, rules};

rules! { All;
    STILL = "redaction-still-there", Error, "RFC 9537, sections 3.1 and 5.1": "a removed field is not in the answer: its prePath leads nowhere";
    MOVED = "redaction-still-there-by-position", Warning, "RFC 9537, section 5.1": "the prePath of a removed field leads nowhere, although it counts the items of an array: the next item may have taken its place";
    POSITION = "redaction-position", Error, "RFC 9537, section 3.1": "a value whose position in an array has a meaning is not removed";
    NOWHERE = "redaction-nowhere", Error, "RFC 9537, section 4.2": "a postPath or replacementPath leads to a field of the answer";
    FILLED = "redaction-not-empty", Error, "RFC 9537, section 3.2": "an emptied field is empty";
    MEMBER = "redaction-empty-member", Warning, "RFC 9537, section 3.2": "only a value that is found by its position is emptied; a member is removed";
    OPTIONAL = "redaction-optional-property", Error, "RFC 9537, section 3.2": "an optional property of a jCard is removed, not emptied";
    EMPTY = "redaction-empty", Warning, "RFC 9537, sections 3.3 and 3.4": "a field that is shown in part or replaced is not empty";
}

/// A valid redaction.
pub(super) struct Told<'a> {
    pub(super) pointer: &'a str,
    pub(super) method: Method,
    /// prePath, postPath and replacementPath.
    pub(super) paths: [Option<Path>; 3],
}

pub(super) fn check(scene: &Scene<'_>, told: &Told<'_>, budget: &mut Budget, report: &mut Report) {
    let Some(root) = scene.answer.at("") else {
        return;
    };
    let [before, after, replacement] = &told.paths;
    // The values that the path leads to, unless they are unknown.
    let mut find = |path: &Option<Path>| path.as_ref()?.find(root, budget);
    let at = |member: &str| format!("{}/{member}", told.pointer);
    let removes = matches!(told.method, Method::Removal | Method::ReplacementValue);
    if removes && let Some(found) = find(before).as_deref().and_then(<[_]>::first) {
        let moved = before.as_ref().is_some_and(Path::counts_items);
        let check = if moved { &MOVED } else { &STILL };
        report.add(check, at("prePath"), found.pointer());
    }
    // "vcardArray", the list of properties, the property, its value.
    let positional = |p: &Path| p.ends_with_position_below("vcardArray", 3);
    if told.method == Method::Removal && before.as_ref().is_some_and(positional) {
        report.add(&POSITION, at("prePath"), "");
    }
    if let Some(found) = find(after) {
        let nowhere = found.is_empty();
        match told.method {
            Method::Removal => {
                if let Some(found) = found.first() {
                    report.add(&STILL, at("postPath"), found.pointer());
                }
            }
            _ if nowhere => report.add(&NOWHERE, at("postPath"), ""),
            Method::EmptyValue => {
                let named = after.as_ref().is_some_and(Path::ends_with_name);
                emptied(root, &found, named, &at("postPath"), report);
            }
            Method::PartialValue | Method::ReplacementValue => {
                if found.iter().all(|f| is_empty(f.node)) {
                    report.add(&EMPTY, at("postPath"), "");
                }
            }
        }
    }
    if told.method == Method::ReplacementValue
        && let Some(found) = find(replacement)
    {
        if found.is_empty() {
            report.add(&NOWHERE, at("replacementPath"), "");
        } else if found.iter().all(|f| is_empty(f.node)) {
            report.add(&EMPTY, at("replacementPath"), "");
        }
    }
}

fn emptied(root: &Node, found: &[Found<'_>], named: bool, pointer: &str, report: &mut Report) {
    if let Some(filled) = found.iter().find(|f| !is_empty(f.node)) {
        report.add(&FILLED, pointer, filled.pointer());
    }
    if named {
        report.add(&MEMBER, pointer, "");
        return;
    }
    // A part of an address keeps its position; a whole value is removed with its property.
    let optional = found.iter().find_map(|f| match property(root, f)? {
        (name, 0) if !name.eq_ignore_ascii_case("fn") => Some(name),
        _ => None,
    });
    if let Some(name) = optional {
        report.add(&OPTIONAL, pointer, name);
    }
}

/// The name of the jCard property that the value belongs to, and how deep the value is below it: 0
/// for the property's value itself.
fn property<'a>(root: &'a Node, found: &Found<'_>) -> Option<(&'a str, usize)> {
    let steps = found.steps();
    let at = steps
        .iter()
        .position(|step| matches!(step, Step::Member("vcardArray")))?;
    // The list of properties, the property, and its value from the fourth item on.
    let [Step::Item(_), Step::Item(_), Step::Item(3..), below @ ..] = steps.get(at + 1..)? else {
        return None;
    };
    let mut node = root;
    for step in steps.get(..at + 3)? {
        node = match step {
            Step::Member(name) => node.get(name)?,
            Step::Item(i) => node.items().get(*i)?,
        };
    }
    Some((node.items().first()?.text()?, below.len()))
}

/// Whether the node contains no text and no value, not even in its parts.
fn is_empty(node: &Node) -> bool {
    match node {
        Node::Null => true,
        Node::Text(text) => text.trim().is_empty(),
        Node::List(items) => items.iter().all(is_empty),
        Node::Object(members) => members.is_empty(),
        Node::Flag(_) | Node::Number(_) => false,
    }
}
