//! Cards: an entity's contact data, in the same form for jCard and JSContact.

use std::borrow::Cow;

pub(super) mod jcard;
pub(super) mod jscontact;

/// The contact data of an entity. Texts are as sent, except that surrounding white space is
/// removed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Contact<'a> {
    /// `individual`, `org`, `group`, …
    pub kind: Option<&'a str>,
    pub name: Option<Cow<'a, str>>,
    pub organization: Option<Cow<'a, str>>,
    pub title: Option<&'a str>,
    pub role: Option<&'a str>,
    pub emails: Vec<&'a str>,
    pub phones: Vec<Phone<'a>>,
    pub addresses: Vec<Address<'a>>,
    pub urls: Vec<&'a str>,
    /// Where to write if no mail address is published (RFC 8605).
    pub contact_uris: Vec<&'a str>,
    pub languages: Vec<&'a str>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Phone<'a> {
    pub number: Cow<'a, str>,
    pub fax: bool,
}

/// A postal address: its parts, or the lines of a label.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Address<'a> {
    pub street: Vec<&'a str>,
    pub city: Option<&'a str>,
    pub region: Option<&'a str>,
    pub postal_code: Option<&'a str>,
    pub country: Option<&'a str>,
    /// The two letters of ISO 3166-1 (RFC 8605).
    pub country_code: Option<&'a str>,
    pub label: Option<&'a str>,
}

impl<'a> Contact<'a> {
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// The name, or else the organisation.
    pub fn called(&self) -> Option<&str> {
        self.name.as_deref().or(self.organization.as_deref())
    }

    pub fn voice(&self) -> Option<&str> {
        self.phones.iter().find(|p| !p.fax).map(|p| &*p.number)
    }

    pub fn fax(&self) -> Option<&str> {
        self.phones.iter().find(|p| p.fax).map(|p| &*p.number)
    }

    pub fn address(&self) -> Option<&Address<'a>> {
        self.addresses.first()
    }
}

impl<'a> Address<'a> {
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// The country's code, or its name if there is no code.
    pub fn land(&self) -> Option<&'a str> {
        self.country_code.or(self.country)
    }

    /// The parts in the order used on an envelope, or the lines of the label.
    pub fn lines(&self) -> Vec<&'a str> {
        let parts = self.street.iter().copied();
        let rest = [self.city, self.region, self.postal_code, self.land()];
        let mut lines: Vec<&str> = parts.chain(rest.into_iter().flatten()).collect();
        let has_street = lines.len() > usize::from(self.land().is_some());
        if let Some(label) = self.label.filter(|_| !has_street) {
            let land = lines.pop();
            lines = label
                .lines()
                .map(str::trim)
                .filter(|l| !l.is_empty())
                .collect();
            lines.extend(land.filter(|land| !lines.contains(land)));
        }
        lines
    }
}

/// A string that is not blank.
fn filled(text: &str) -> Option<&str> {
    Some(text.trim()).filter(|t| !t.is_empty())
}
