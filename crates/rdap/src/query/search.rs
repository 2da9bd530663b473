//! Searches: by properties of the objects (RFC 9082 §3.2, RFC 9910 §2), or by those of their
//! contacts (RFC 9536).

use std::net::IpAddr;

use super::error::{check_seen, quoted};
use super::{
    Collection, Key, Kind, NumberError, Parameter, Parameters, QueryError, Resource, encoding,
    number, tag,
};
use crate::query::name::Name;

#[derive(Debug, Clone)]
pub(super) struct Search {
    of: Collection,
    /// In a reverse search, the resource to which the properties belong.
    related: Option<Resource>,
    conditions: Vec<(String, String)>,
    parameters: Parameters,
}

/// The properties of RFC 9082 §3.2 and RFC 9910 §2; the first is the default.
fn properties(of: Collection) -> &'static [&'static str] {
    match of {
        Collection::Domains => &["name", "nsLdhName", "nsIp"],
        Collection::Nameservers => &["name", "ip"],
        Collection::Entities => &["fn", "handle"],
        Collection::Ips | Collection::Autnums => &["name", "handle"],
    }
}

impl Search {
    /// Parses the text after a word and a colon: a single value, or `property=value&…`.
    pub(super) fn spoken(
        of: Collection,
        related: Option<Resource>,
        text: &str,
    ) -> Result<Self, QueryError> {
        let before = text.split_once('=').map(|(property, _)| property);
        let is_pairs = related.is_some() || before.is_some_and(|p| properties(of).contains(&p));
        if is_pairs {
            return Self::pairs(of, related, text);
        }
        let property = match (of, text.parse::<IpAddr>()) {
            (Collection::Domains, Ok(_)) => "nsIp",
            (Collection::Nameservers, Ok(_)) => "ip",
            _ => properties(of).first().copied().unwrap_or_default(),
        };
        let mut search = Self::empty(of, related);
        search.add(property, text)?;
        Ok(search)
    }

    /// Parses the text after a question mark: percent-encoded pairs.
    pub(super) fn pairs(
        of: Collection,
        related: Option<Resource>,
        text: &str,
    ) -> Result<Self, QueryError> {
        let mut search = Self::empty(of, related);
        for pair in text.split('&').filter(|pair| !pair.is_empty()) {
            let (property, value) = pair.split_once('=').unwrap_or((pair, ""));
            let value = encoding::decode(value)?;
            match Parameter::named(property) {
                Some(parameter) => search.parameters.set(parameter, &value)?,
                None => search.add(property, &value)?,
            }
        }
        let count = search.conditions.len();
        if count == 0 || (count > 1 && related.is_none()) {
            let property = properties(of).first().unwrap_or(&"handle");
            return Err(QueryError::Conditions {
                kind: search.kind(),
                given: quoted(text),
                count,
                example: format!("{property}=…"),
            });
        }
        Ok(search)
    }

    fn empty(of: Collection, related: Option<Resource>) -> Self {
        Self {
            of,
            related,
            conditions: Vec::new(),
            parameters: Parameters::default(),
        }
    }

    fn add(&mut self, property: &str, value: &str) -> Result<(), QueryError> {
        check_seen(value)?;
        self.check_property(property)?;
        if value.is_empty() {
            let property = quoted(property);
            return Err(QueryError::NoValue { property });
        }
        if value.matches('*').count() > 1 {
            let given = quoted(value);
            return Err(QueryError::Asterisks { given });
        }
        let value = match (self.related, property) {
            (None, "nsIp" | "ip") => address(value)?,
            (None, "nsLdhName") => name_pattern(value)?,
            (None, "name") if self.searches_names() => name_pattern(value)?,
            _ => value.to_owned(),
        };
        self.conditions.push((property.to_owned(), value));
        Ok(())
    }

    /// Reverse searches may use properties that a server defines (RFC 9536 §3); other searches may
    /// not.
    fn check_property(&self, property: &str) -> Result<(), QueryError> {
        let fits = |b: u8| b.is_ascii_alphanumeric() || b == b'_';
        let known = match self.related {
            Some(_) => !property.is_empty() && property.bytes().all(fits),
            None => properties(self.of).contains(&property),
        };
        if known {
            return Ok(());
        }
        Err(QueryError::Property {
            kind: self.kind(),
            given: quoted(property),
            known: match self.related {
                Some(_) => {
                    "fn, handle, email, role, and the properties that the server's help names"
                        .into()
                }
                None => properties(self.of).join(", "),
            },
        })
    }

    fn searches_names(&self) -> bool {
        matches!(self.of, Collection::Domains | Collection::Nameservers)
    }

    pub(super) fn kind(&self) -> Kind {
        match self.related {
            Some(_) => Kind::Reverse(self.of),
            None => self.of.kind(),
        }
    }

    pub(super) fn parameters(&self) -> &Parameters {
        &self.parameters
    }

    pub(super) fn parameters_mut(&mut self) -> &mut Parameters {
        &mut self.parameters
    }

    pub(super) fn shown(&self) -> String {
        let pair = |(property, value): &(String, String)| format!("{property}={value}");
        let conditions: Vec<String> = self.conditions.iter().map(pair).collect();
        let related = self.related.map_or(String::new(), |r| format!("{r} "));
        let parameters = self.parameters.shown(" ");
        format!(
            "{} by {related}{}{parameters}",
            self.of,
            conditions.join(" ")
        )
    }

    pub(super) fn path(&self) -> String {
        let pair = |(property, value): &(String, String)| {
            format!("{property}={}", encoding::encode(value))
        };
        let conditions: Vec<String> = self.conditions.iter().map(pair).collect();
        let related = self
            .related
            .map_or(String::new(), |r| format!("/reverse_search/{r}"));
        let parameters = self.parameters.encoded("&");
        format!("{}{related}?{}{parameters}", self.of, conditions.join("&"))
    }

    /// A search has a server if its pattern ends in a domain, or its handle in a tag.
    pub(super) fn key(&self) -> Option<Key<'_>> {
        let (property, value) = self.conditions.first()?;
        match property.as_str() {
            "name" if self.searches_names() && self.related.is_none() => suffix(value),
            "handle" => match number::autnum(value) {
                Ok(number) if self.of == Collection::Autnums && self.related.is_none() => {
                    Some(Key::Autnum(number))
                }
                _ => tag(value).map(Key::Tag),
            },
            _ => None,
        }
    }
}

/// The labels after the one with the asterisk.
fn suffix(pattern: &str) -> Option<Key<'_>> {
    let Some((_, behind)) = pattern.split_once('*') else {
        return Some(Key::Domain(pattern));
    };
    let (_, domain) = behind.split_once('.')?;
    Some(Key::Domain(domain))
}

fn address(value: &str) -> Result<String, QueryError> {
    let address: Result<IpAddr, _> = value.parse();
    address
        .map(|a| a.to_string())
        .map_err(|_| QueryError::Number {
            given: quoted(value),
            fault: NumberError::Address,
        })
}

/// Parses a name, or labels around one with an asterisk. Only that label can contain characters
/// beyond ASCII (RFC 9082 §4.1).
fn name_pattern(value: &str) -> Result<String, QueryError> {
    let wrong = |fault| QueryError::Name {
        given: quoted(value),
        fault,
    };
    if !value.contains('*') {
        return Name::read(value).map(Name::into_ascii).map_err(wrong);
    }
    let value_in_dots = value.replace(['\u{3002}', '\u{ff0e}', '\u{ff61}'], ".");
    let labels: Vec<String> = value_in_dots
        .split('.')
        .map(|label| {
            if label.contains('*') {
                starred(label)
            } else {
                Name::read_part(label).map(Name::into_ascii)
            }
        })
        .collect::<Result<_, _>>()
        .map_err(wrong)?;
    Ok(labels.join("."))
}

fn starred(label: &str) -> Result<String, super::NameError> {
    let permitted = |c: &char| !c.is_ascii() || c.is_ascii_alphanumeric() || "-_*/".contains(*c);
    match label.chars().find(|c| !permitted(c)) {
        None => Ok(label.to_lowercase()),
        Some(character) => Err(super::NameError::Character {
            label: quoted(label),
            character: quoted(character.encode_utf8(&mut [0; 4])),
        }),
    }
}
