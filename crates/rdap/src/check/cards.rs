//! Cards of entities (RFC 7095, and RFC 6350, which defines their properties).

mod values;

use super::{Report, Scene, rules, uri};
use crate::answer::{Class, Method, Node};

rules! { All;
    HEAD = "card-head", Error, "RFC 7095, section 3.2": "vcardArray is \"vcard\" and an array of properties";
    PROPERTY = "card-property", Error, "RFC 7095, section 3.3": "a property is a name, parameters, a type and a value";
    CASE = "card-name-case", Error, "RFC 7095, section 3.3": "the name of a property is in lower case";
    VERSION = "card-version", Error, "RFC 7095, section 3.3.1.1, and RFC 6350, section 6.7.9": "a card begins with version 4.0";
    FN = "card-fn", Error, "RFC 6350, section 6.2.1": "a card has fn, the name to show";
    FN_EMPTY = "card-fn-empty", Info, "RFC 9083, section 3": "fn is not empty";
    ADR = "card-adr", Error, "RFC 6350, section 6.3.1, and RFC 9554, section 2.1": "an address has seven components, or eighteen";
    TYPE = "card-type", Error, "RFC 7095, sections 3.5 and 5": "the type of a property's value is known";
    TEL = "card-tel", Error, "RFC 6350, sections 4.2 and 6.4.1": "a telephone number of type uri is a URI";
    EMAIL = "card-email", Warning, "RFC 6350, section 6.4.2": "an email is an address (RFC 5322, section 3.4.1)";
    GROUP = "card-group", Error, "RFC 7095, section 3.3.1.2": "the name of a property has no group in front of it: a group is given by the parameter group";
    ENDS = "card-begin-end", Error, "RFC 7095, section 3.2": "begin and end are not properties of a card";
}

pub(super) const VALUES: &[&super::Check] = values::ALL;

/// RFC 7095, section 3.5.
const TYPES: [&str; 13] = [
    "text",
    "uri",
    "date",
    "time",
    "date-time",
    "date-and-or-time",
    "timestamp",
    "boolean",
    "integer",
    "float",
    "utc-offset",
    "language-tag",
    "unknown",
];

pub(super) fn check(scene: &Scene<'_>, report: &mut Report) {
    let emptied = empties(scene);
    for place in scene.of(&[Class::Entity]) {
        // `member-type` reports any type but an array.
        if let Some(card @ Node::List(items)) = place.item.node().get("vcardArray") {
            let pointer = format!("{}/vcardArray", place.pointer);
            match items.as_slice() {
                [Node::Text(head), Node::List(properties)] if &**head == "vcard" => {
                    whole(emptied, properties, &format!("{pointer}/1"), report);
                    shown(emptied, properties, &format!("{pointer}/1"), report);
                }
                _ => report.add(&HEAD, pointer, format!("{} items", card.items().len())),
            }
        }
    }
}

fn whole(emptied: bool, properties: &[Node], pointer: &str, report: &mut Report) {
    let named = |name: &'static str| properties.iter().filter(move |p| is_named(p, name));
    let first = properties.first().filter(|p| is_named(p, "version"));
    let version = first.and_then(|p| p.items().get(3)).and_then(Node::text);
    if version != Some("4.0") {
        report.add(&VERSION, pointer, version.unwrap_or_default());
    }
    if named("fn").next().is_none() {
        report.add(&FN, pointer, "");
    }
    values::once(properties, pointer, report);
    values::contact(properties, pointer, report);
    for (i, node) in properties.iter().enumerate().take(300) {
        property(node, &format!("{pointer}/{i}"), report);
        values::check(node, emptied, &format!("{pointer}/{i}"), report);
    }
}

/// An empty name is useless, unless it was redacted that way (RFC 9537, section 3.2).
fn shown(emptied: bool, properties: &[Node], pointer: &str, report: &mut Report) {
    let says = |p: &Node| {
        let text = p.items().get(3).and_then(Node::text);
        text.is_some_and(|t| !t.trim().is_empty())
    };
    let mut names = properties.iter().filter(|p| is_named(p, "fn")).peekable();
    if names.peek().is_some() && !names.any(says) && !emptied {
        report.add(&FN_EMPTY, pointer, "");
    }
}

/// Whether the answer says that it replaced values by empty ones.
fn empties(scene: &Scene<'_>) -> bool {
    let redactions = scene.of(&[Class::Redaction]);
    let mut methods = redactions.map(|place| place.item.text("method"));
    methods.any(|method| method.and_then(Method::parse) == Some(Method::EmptyValue))
}

fn is_named(property: &Node, name: &str) -> bool {
    let own = property.items().first().and_then(Node::text);
    own.is_some_and(|n| n.eq_ignore_ascii_case(name))
}

fn property(node: &Node, pointer: &str, report: &mut Report) {
    let [
        Node::Text(name),
        Node::Object(_),
        Node::Text(kind),
        value,
        ..,
    ] = node.items()
    else {
        return report.add(&PROPERTY, pointer, node.kind());
    };
    if name.bytes().any(|b| b.is_ascii_uppercase()) {
        report.add(&CASE, pointer, name);
    }
    if name.contains('.') {
        report.add(&GROUP, pointer, name);
    }
    if ["begin", "end"]
        .iter()
        .any(|n| n.eq_ignore_ascii_case(name))
    {
        report.add(&ENDS, pointer, name);
    }
    // A private type begins with "x-".
    if !TYPES.contains(&&**kind) && !kind.starts_with("x-") {
        report.add(&TYPE, pointer, kind);
    }
    match (name.to_ascii_lowercase().as_str(), value) {
        ("adr", Node::List(parts)) if ![7, 18].contains(&parts.len()) => {
            report.add(&ADR, pointer, format!("{} components", parts.len()));
        }
        ("adr", other) if !matches!(other, Node::List(_)) => {
            report.add(&ADR, pointer, other.kind());
        }
        ("tel", Node::Text(number))
            if &**kind == "uri" && !uri::is_uri(number) && !number.is_empty() =>
        {
            report.add(&TEL, pointer, number);
        }
        ("email", Node::Text(address)) if !is_address(address) => {
            report.add(&EMAIL, pointer, address);
        }
        _ => {}
    }
}

/// Whether the text is a local part, an `@` and a name. The empty text is allowed, because RFC 9537
/// redacts that way.
pub(super) fn is_address(address: &str) -> bool {
    let mut parts = address.rsplitn(2, '@');
    let (domain, local) = (
        parts.next().unwrap_or_default(),
        parts.next().unwrap_or_default(),
    );
    let clean = !address.contains(|c: char| c.is_whitespace() || c.is_control() || c == ',');
    address.is_empty()
        || (clean && !local.is_empty() && !domain.is_empty() && !domain.starts_with('.'))
}
