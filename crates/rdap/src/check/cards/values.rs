//! The parameters and values of a card's properties, and how often each may occur.

use super::is_named;
use crate::answer::Node;
use crate::check::{Report, members, rules, uri};

rules! { All;
    VALUE = "card-value", Error, "RFC 7095, section 3.5": "a value has the JSON type of its property's type";
    PARAMETER = "card-parameter", Error, "RFC 7095, section 3.4": "a parameter has a name in lower case, and a string or strings as its value";
    PREF = "card-pref", Error, "RFC 6350, section 5.3": "pref is a number from 1 to 100";
    ONCE = "card-once", Error, "RFC 6350, section 6": "a property that a card may have only once occurs only once";
    KIND = "card-kind", Warning, "RFC 6350, section 6.1.4": "kind is a registered word";
    NAME = "card-n", Error, "RFC 6350, section 6.2.2, and RFC 9554, section 2.2": "a name (n) has five components, or seven";
    PROPERTY_TYPE = "card-property-type", Error, "RFC 6350, section 6, and RFC 8605, section 2.1": "a property has a type that its definition allows";
    COUNTRY = "card-cc", Error, "RFC 8605, section 3.1": "cc is a parameter of an address, and has two letters";
    CONTACT = "card-contact-uri", Error, "RFC 8605, section 2.1": "at least one contact-uri of a card is a mailto, http or https URI";
    PREFERRED = "card-contact-uri-pref", Error, "RFC 8605, section 2.1": "of several contact-uri properties, the preferred one has the parameter pref";
    URI = "card-uri", Error, "RFC 6350, section 4.2": "a value of type uri is a URI";
    LANGUAGE = "card-language", Error, "RFC 6350, section 4.8": "a value of type language-tag is a language tag (RFC 5646)";
    NO_VALUE = "card-parameter-value", Error, "RFC 7095, section 3.4.1": "the type of a value is not given as the parameter value";
}

/// The properties of cardinality `1` or `*1`.
const ONCE_ONLY: [&str; 9] = [
    "version",
    "kind",
    "n",
    "bday",
    "anniversary",
    "gender",
    "prodid",
    "rev",
    "uid",
];

/// The last two come from RFC 6473 and RFC 6869.
const KINDS: [&str; 6] = [
    "individual",
    "group",
    "org",
    "location",
    "application",
    "device",
];

/// The types of values that a property allows; `None` if it allows all.
fn types(property: &str) -> Option<&'static [&'static str]> {
    Some(match property {
        "kind" | "fn" | "n" | "nickname" | "gender" | "adr" | "email" | "title" | "role"
        | "org" | "categories" | "note" | "prodid" | "version" => &["text"],
        "photo" | "impp" | "geo" | "logo" | "member" | "sound" | "url" | "fburl" | "caladruri"
        | "caluri" | "source" | "contact-uri" => &["uri"],
        "tel" | "related" | "uid" | "key" => &["uri", "text"],
        "lang" => &["language-tag"],
        "tz" => &["text", "uri", "utc-offset"],
        _ => return None,
    })
}

pub(super) fn once(properties: &[Node], pointer: &str, report: &mut Report) {
    for name in ONCE_ONLY {
        // Properties with the same ALTID are one property in several languages (RFC 6350, section
        // 5.4).
        let named = properties.iter().filter(|p| is_named(p, name));
        let mut plain = named.filter(|p| parameters(p).is_none_or(|n| n.get("altid").is_none()));
        if plain.next().is_some() && plain.next().is_some() {
            report.add(&ONCE, pointer, name);
        }
    }
}

/// Checks the properties contact-uri of one card.
pub(super) fn contact(properties: &[Node], pointer: &str, report: &mut Report) {
    let uris: Vec<&Node> = properties
        .iter()
        .filter(|p| is_named(p, "contact-uri"))
        .collect();
    let value = |p: &Node| p.items().get(3).and_then(Node::text).map(str::to_owned);
    let is_contact = |uri: String| {
        let scheme = uri.split_once(':').map_or("", |(scheme, _)| scheme);
        let contacts = ["mailto", "http", "https"];
        // The empty text is how RFC 9537 redacts a value.
        uri.is_empty() || contacts.iter().any(|c| c.eq_ignore_ascii_case(scheme))
    };
    if let Some(first) = uris.first()
        && !uris.iter().any(|p| value(p).is_none_or(is_contact))
    {
        report.add(&CONTACT, pointer, value(first).unwrap_or_default());
    }
    let preferred = |p: &&Node| parameters(p).is_some_and(|n| n.get("pref").is_some());
    if uris.len() > 1 && !uris.iter().any(preferred) {
        report.add(&PREFERRED, pointer, format!("{} of them", uris.len()));
    }
}

fn parameters(property: &Node) -> Option<&Node> {
    property.items().get(1)
}

/// If `emptied` is true, null can stand for a redacted value (RFC 9537, section 3.2).
pub(super) fn check(property: &Node, emptied: bool, pointer: &str, report: &mut Report) {
    let [Node::Text(name), parameters, Node::Text(kind), values @ ..] = property.items() else {
        return;
    };
    let name = name.to_ascii_lowercase();
    for (parameter, value) in parameters.members() {
        given(&name, parameter, value, pointer, report);
    }
    // `card-type` reports types that are not known.
    let known = super::TYPES.contains(&&**kind) && &**kind != "unknown";
    if known && types(&name).is_some_and(|types| !types.contains(&&**kind)) {
        report.add(&PROPERTY_TYPE, pointer, format!("{name}: {kind}"));
    }
    for value in values {
        let empty = emptied && matches!(value, Node::Null) && &**kind != "text";
        if !empty && !fits(value, kind) {
            report.add(&VALUE, pointer, format!("{name}: {}", value.kind()));
        }
    }
    let first = values.first();
    match (name.as_str(), first) {
        ("n", Some(Node::List(parts))) if ![5, 7].contains(&parts.len()) => {
            report.add(&NAME, pointer, format!("{} components", parts.len()));
        }
        ("n", Some(other @ (Node::Text(_) | Node::Object(_)))) => {
            report.add(&NAME, pointer, other.kind());
        }
        _ => {}
    }
    // The empty text is how RFC 9537 redacts a value.
    let Some(text) = first.and_then(Node::text).filter(|t| !t.is_empty()) else {
        return;
    };
    let private = text.get(..2).is_some_and(|x| x.eq_ignore_ascii_case("x-"));
    let registered = KINDS.iter().any(|k| k.eq_ignore_ascii_case(text));
    if name == "kind" && !registered && !private {
        report.add(&KIND, pointer, text);
    }
    // `card-tel` reports telephones.
    if &**kind == "uri" && name != "tel" && !uri::is_uri(text) {
        report.add(&URI, pointer, text);
    }
    if &**kind == "language-tag" && !members::is_language_tag(text) {
        report.add(&LANGUAGE, pointer, text);
    }
}

fn given(property: &str, name: &str, value: &Node, pointer: &str, report: &mut Report) {
    let texts = value.text().is_some()
        || matches!(value, Node::List(items) if items.iter().all(|i| i.text().is_some()));
    if name.bytes().any(|b| b.is_ascii_uppercase()) || !texts {
        report.add(&PARAMETER, pointer, format!("{name}: {}", value.kind()));
    }
    if name.eq_ignore_ascii_case("value") {
        report.add(&NO_VALUE, pointer, value.text().unwrap_or_default());
    }
    // `gtld-country-code` requires a code that is assigned. An empty one can be redacted.
    let is_code = |c: &str| c.len() == 2 && c.bytes().all(|b| b.is_ascii_alphabetic());
    if let ("cc", Some(code)) = (name, value.text())
        && (property != "adr" || !code.is_empty() && !is_code(code))
    {
        report.add(&COUNTRY, pointer, format!("{property}: {code}"));
    }
    let rank = |text: &str| text.parse().is_ok_and(|n: u8| (1..=100).contains(&n));
    if let ("pref", Some(text)) = (name, value.text())
        && !rank(text)
    {
        report.add(&PREF, pointer, text);
    }
}

/// Whether the value, or each component of a structured one, has the JSON type.
fn fits(value: &Node, kind: &str) -> bool {
    match (value, kind) {
        (Node::List(parts), _) => parts.iter().all(|part| match part {
            Node::List(texts) => texts.iter().all(|text| fits(text, kind)),
            part => fits(part, kind),
        }),
        (Node::Flag(_), "boolean") | (Node::Number(_), "integer" | "float") => true,
        (_, "boolean" | "integer" | "float") => false,
        (Node::Text(_), _) => true,
        // `card-type` reports types that are not known.
        (_, other) => !super::TYPES.contains(&other) || other == "unknown",
    }
}
