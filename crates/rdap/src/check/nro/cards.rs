//! The cards of the regional registries' contacts (section 5.1.1).

use crate::answer::{Node, Place};
use crate::check::{Report, rules};

rules! { Nro;
    KIND = "nro-card-kind", Error, "NRO RDAP Profile, section 5.1.1": "a card has its kind: individual, group or org";
    PROPERTY = "nro-card-property", Error, "NRO RDAP Profile, section 5.1.1": "a card has only the properties that the profile permits";
    TYPE = "nro-card-type", Error, "NRO RDAP Profile, section 5.1.1": "geo and contact-uri are of type uri, tel of uri or text, lang of language-tag, all others of text";
    LABEL = "nro-card-label", Error, "NRO RDAP Profile, section 5.1.1": "an address has a label";
    PARAMETER = "nro-card-parameter", Error, "NRO RDAP Profile, section 5.1.1": "a property has only the parameters that the profile permits";
    PLACE = "nro-card-parameter-type", Error, "NRO RDAP Profile, section 5.1.1": "the parameter type of email, org and adr is work or home; of tel, one of RFC 6350";
}

const PROPERTIES: [&str; 13] = [
    "kind",
    "fn",
    "n",
    "adr",
    "tel",
    "email",
    "lang",
    "geo",
    "title",
    "role",
    "org",
    "version",
    "contact-uri",
];

/// RFC 6350, section 6.4.1; `work` and `home` come from section 5.6.
const TEL_TYPES: [&str; 9] = [
    "text",
    "voice",
    "fax",
    "cell",
    "video",
    "pager",
    "textphone",
    "work",
    "home",
];

pub(super) fn check(place: &Place<'_>, report: &mut Report) {
    // `card-head` reports a value that is not a card.
    let Some([_, Node::List(properties)]) = place.item.node().get("vcardArray").map(Node::items)
    else {
        return;
    };
    let pointer = format!("{}/vcardArray/1", place.pointer);
    let kind = properties.iter().find(|p| name(p) == Some("kind"));
    let kind = kind.map(|p| p.items().get(3).and_then(Node::text).unwrap_or_default());
    if !kind.is_some_and(|kind| ["individual", "group", "org"].contains(&kind)) {
        report.add(&KIND, pointer.as_str(), kind.unwrap_or_default());
    }
    for (i, node) in properties.iter().enumerate().take(300) {
        property(node, &format!("{pointer}/{i}"), report);
    }
}

fn name(property: &Node) -> Option<&str> {
    property.items().first().and_then(Node::text)
}

fn property(node: &Node, pointer: &str, report: &mut Report) {
    let [Node::Text(name), parameters, Node::Text(kind), ..] = node.items() else {
        return;
    };
    let name: &str = name;
    if !PROPERTIES.contains(&name) {
        return report.add(&PROPERTY, pointer, name);
    }
    let types: &[&str] = match name {
        "geo" | "contact-uri" => &["uri"],
        "tel" => &["uri", "text"],
        "lang" => &["language-tag"],
        _ => &["text"],
    };
    if !types.contains(&&**kind) {
        report.add(&TYPE, pointer, format!("{name}: {kind}"));
    }
    if name == "adr" && parameters.get("label").is_none() {
        report.add(&LABEL, pointer, "");
    }
    for (parameter, value) in parameters.members() {
        let permitted = match &**parameter {
            "language" | "altid" | "pref" => true,
            "type" => matches!(name, "email" | "org" | "adr" | "tel"),
            "label" | "cc" => name == "adr",
            _ => false,
        };
        if !permitted {
            report.add(&PARAMETER, pointer, format!("{name}: {parameter}"));
        } else if &**parameter == "type" {
            let known: &[&str] = match name {
                "tel" => &TEL_TYPES,
                _ => &["work", "home"],
            };
            let unknown = |t: &&str| !known.iter().any(|k| k.eq_ignore_ascii_case(t));
            let mut words = value.each().iter().filter_map(Node::text);
            if let Some(word) = words.find(unknown) {
                report.add(&PLACE, pointer, format!("{name}: {word}"));
            }
        }
    }
}
