//! jCard (RFC 7095) as RDAP uses it, and the variants that servers send.

use std::borrow::Cow;

use super::{Address, Contact, Phone, filled};
use crate::answer::node::Node;

/// The largest number of properties that are read from one card.
const MAX_PROPERTIES: usize = 256;

/// Reads `["vcard", [property, …]]`. The list of properties alone, or a single property, is
/// accepted too.
pub(in crate::answer) fn read(array: &Node) -> Contact<'_> {
    let mut contact = Contact::default();
    for property in properties(array) {
        take(&mut contact, property);
    }
    contact
}

/// `["tel", {parameters}, "uri", value, …]` (RFC 7095, section 3.3).
#[derive(Clone, Copy)]
pub(crate) struct Property<'a> {
    pub(crate) name: &'a str,
    pub(crate) parameters: Option<&'a Node>,
    pub(crate) values: &'a [Node],
}

/// The properties of a card, at any depth of nesting.
pub(crate) fn properties(array: &Node) -> impl Iterator<Item = Property<'_>> {
    let mut found = Vec::new();
    gather(array, 0, &mut found);
    found.into_iter()
}

fn gather<'a>(node: &'a Node, depth: usize, found: &mut Vec<Property<'a>>) {
    if let Some(property) = property(node) {
        if found.len() < MAX_PROPERTIES {
            found.push(property);
        }
    } else if depth < 3 {
        for item in node.items() {
            gather(item, depth + 1, found);
        }
    }
}

fn property(node: &Node) -> Option<Property<'_>> {
    let [Node::Text(name), parameters, Node::Text(_), values @ ..] = node.items() else {
        return None;
    };
    Some(Property {
        name,
        parameters: Some(parameters).filter(|p| p.is_object()),
        values,
    })
}

impl<'a> Property<'a> {
    fn is(self, name: &str) -> bool {
        self.name.eq_ignore_ascii_case(name)
    }

    /// The first text among the values, at any depth of nesting.
    fn text(self) -> Option<&'a str> {
        self.values.iter().find_map(|v| texts(v).into_iter().next())
    }

    /// The texts of a parameter; names are compared without case.
    pub(crate) fn parameter(self, name: &str) -> impl Iterator<Item = &'a str> {
        let members = self.parameters.map_or(&[][..], Node::members).iter();
        let name = name.to_owned();
        members
            .filter(move |(n, _)| n.eq_ignore_ascii_case(&name))
            .flat_map(|(_, node)| node.each())
            .filter_map(Node::text)
            .filter_map(filled)
    }
}

fn take<'a>(contact: &mut Contact<'a>, property: Property<'a>) {
    let Some(text) = property.text() else {
        return take_address(contact, property);
    };
    match property.name.to_ascii_lowercase().as_str() {
        "fn" => contact.name = Some(text.into()),
        // Used only if the card has no other name: family, given and further names.
        "n" if contact.name.is_none() => contact.name = Some(joined(property, ", ")),
        "org" => contact.organization = Some(joined(property, ", ")),
        "kind" => contact.kind = Some(text),
        "title" => contact.title = Some(text),
        "role" => contact.role = Some(text),
        "email" => contact.emails.push(text),
        "tel" => contact.phones.push(phone(property, text)),
        "url" => contact.urls.push(text),
        "contact-uri" => contact.contact_uris.push(text),
        "lang" => contact.languages.push(text),
        _ => take_address(contact, property),
    }
}

fn joined<'a>(property: Property<'a>, separator: &str) -> Cow<'a, str> {
    match *property.values.iter().flat_map(texts).collect::<Vec<_>>() {
        [one] => one.into(),
        ref several => several.join(separator).into(),
    }
}

/// Formats `tel:+1.5555551212;ext=102` for people to dial.
fn phone<'a>(property: Property<'a>, text: &'a str) -> Phone<'a> {
    let bare = match text.get(..4) {
        Some(scheme) if scheme.eq_ignore_ascii_case("tel:") => text.get(4..).unwrap_or(text),
        _ => text,
    };
    let number = match bare.split_once(";ext=") {
        Some((number, extension)) => format!("{number} ext. {extension}").into(),
        None => bare.into(),
    };
    let fax = property
        .parameter("type")
        .any(|t| t.eq_ignore_ascii_case("fax"));
    Phone { number, fax }
}

/// Post box, extension, street, city, region, postal code, country (RFC 6350, section 6.3.1); each
/// can be a list.
fn take_address<'a>(contact: &mut Contact<'a>, property: Property<'a>) {
    if !property.is("adr") {
        return;
    }
    let parts = property.values.first().map_or(&[][..], Node::each);
    let part = |i: usize| parts.get(i).map(texts).unwrap_or_default();
    let one = |i: usize| part(i).into_iter().next();
    let address = match parts {
        // The whole address in one text.
        [Node::Text(text)] => Address {
            label: filled(text),
            ..Address::default()
        },
        _ => Address {
            street: [part(0), part(1), part(2)].concat(),
            city: one(3),
            region: one(4),
            postal_code: one(5),
            country: one(6),
            ..Address::default()
        },
    };
    let address = Address {
        country_code: property.parameter("cc").next(),
        label: property.parameter("label").next().or(address.label),
        ..address
    };
    if !address.is_empty() {
        contact.addresses.push(address);
    }
}

/// The texts in a value, in order, without blank ones.
fn texts(node: &Node) -> Vec<&str> {
    let mut found = Vec::new();
    gather_texts(node, &mut found);
    found
}

fn gather_texts<'a>(node: &'a Node, found: &mut Vec<&'a str>) {
    match node {
        Node::Text(text) => found.extend(filled(text)),
        Node::List(items) => items.iter().for_each(|i| gather_texts(i, found)),
        _ => {}
    }
}
