//! JSContact (RFC 9553) as RDAP uses it (draft-ietf-regext-rdap-jscontact).

use std::borrow::Cow;

use super::{Address, Contact, Phone, filled};
use crate::answer::Item;

pub(in crate::answer) fn read(card: Item<'_>) -> Contact<'_> {
    Contact {
        kind: text(card, "kind"),
        name: name(card),
        organization: organization(card),
        title: entries(card, "titles").find_map(|t| text(t, "name")),
        role: None,
        emails: entries(card, "emails")
            .filter_map(|e| text(e, "address"))
            .collect(),
        phones: entries(card, "phones").filter_map(phone).collect(),
        addresses: entries(card, "addresses")
            .map(address)
            .filter(|a| !a.is_empty())
            .collect(),
        urls: uris(card, |kind| kind != Some("contact")),
        contact_uris: uris(card, |kind| kind == Some("contact")),
        languages: text(card, "language").into_iter().collect(),
    }
}

fn text<'a>(item: Item<'a>, member: &str) -> Option<&'a str> {
    item.text(member).and_then(filled)
}

/// The objects of a map from identifiers to objects (section 1.4.1).
fn entries<'a>(card: Item<'a>, member: &str) -> impl Iterator<Item = Item<'a>> + use<'a> {
    let map = card.item(member);
    let members = map.map_or(&[][..], |m| m.node().members());
    members
        .iter()
        .map(|(_, node)| Item(node))
        .filter(|i| i.node().is_object())
}

/// The full name, or its components joined (section 2.2.1). Older drafts have `fullName`.
fn name(card: Item<'_>) -> Option<Cow<'_, str>> {
    let name = card.item("name");
    let full = name
        .and_then(|n| text(n, "full"))
        .or_else(|| text(card, "fullName"));
    full.map(Cow::from).or_else(|| {
        let parts: Vec<&str> = name?
            .items("components")
            .filter_map(|c| text(c, "value"))
            .collect();
        (!parts.is_empty()).then(|| parts.join(" ").into())
    })
}

fn organization(card: Item<'_>) -> Option<Cow<'_, str>> {
    let organization = entries(card, "organizations").next()?;
    let units = organization.items("units").filter_map(|u| text(u, "name"));
    match *text(organization, "name")
        .into_iter()
        .chain(units)
        .collect::<Vec<_>>()
    {
        [] => None,
        [one] => Some(one.into()),
        ref several => Some(several.join(", ").into()),
    }
}

fn phone(phone: Item<'_>) -> Option<Phone<'_>> {
    let number = text(phone, "number")?;
    let features = phone.item("features");
    Some(Phone {
        number: number.strip_prefix("tel:").unwrap_or(number).into(),
        fax: features.is_some_and(|f| f.flag("fax") == Some(true)),
    })
}

/// Reads an address, whose parts are components with a kind (section 2.5.1).
fn address(address: Item<'_>) -> Address<'_> {
    let of = |kinds: &'static [&str]| {
        address
            .items("components")
            .filter(move |c| c.text("kind").is_some_and(|k| kinds.contains(&k)))
            .filter_map(|c| text(c, "value"))
    };
    let street = &[
        "number",
        "name",
        "block",
        "building",
        "floor",
        "apartment",
        "room",
        "postOfficeBox",
        "direction",
    ];
    Address {
        street: of(street).collect(),
        city: of(&["locality"]).next(),
        region: of(&["region"]).next(),
        postal_code: of(&["postcode"]).next(),
        country: of(&["country"]).next(),
        country_code: text(address, "countryCode"),
        label: text(address, "full"),
    }
}

fn uris(card: Item<'_>, wanted: impl Fn(Option<&str>) -> bool) -> Vec<&str> {
    entries(card, "links")
        .filter(|link| wanted(link.text("kind")))
        .filter_map(|link| text(link, "uri"))
        .collect()
}
