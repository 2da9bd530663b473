//! `Key: Value` lines as in WHOIS: domains in the format that ICANN requires of gTLDs, numbers in
//! that of the regional registries. For people and scripts that know these keys.

mod domain;
mod number;

use super::facts::headed;
use super::subject::{found, trouble};
use super::{LookupResult, Part};
use crate::answer::{Answer, Date, Entity, Event, Item, Object};

/// Returns the registry's lines, then the registrar's.
pub(super) fn tell(told: &LookupResult<'_>) -> String {
    let mut lines = Lines {
        text: String::new(),
        of_registrar: false,
    };
    part(&mut lines, told.query, &told.first);
    if let Some(registrar) = &told.registrar {
        lines.gap();
        lines.of_registrar = true;
        let server = registrar.server.unwrap_or("unknown");
        lines.comment(&format!("registrar: {server}"));
        part(&mut lines, told.query, registrar);
    }
    lines.text
}

fn part(lines: &mut Lines, query: &str, part: &Part<'_>) {
    let Some(answer) = found(part) else {
        lines.comment(&match trouble(part) {
            Some(why) => format!("{query}: {}: {why}", part.state.word()),
            None => format!("{query}: {}", part.state.word()),
        });
        return;
    };
    match answer.object() {
        Object::Search(search) => {
            for result in search.results() {
                lines.gap();
                object(lines, result, answer);
            }
        }
        other => object(lines, other, answer),
    }
    let updated = answer.top().event("last update of RDAP database");
    if let Some(date) = updated.and_then(Event::date_text) {
        lines.raw(&format!(">>> Last update of RDAP database: {date} <<<"));
    }
}

fn object(lines: &mut Lines, object: Object<'_>, answer: &Answer) {
    match object {
        Object::Domain(domain) => lines.domain(domain, answer),
        Object::Nameserver(server) => lines.nameserver(server),
        Object::Network(network) => lines.network(network),
        Object::Autnum(autnum) => lines.autnum(autnum),
        Object::Entity(entity) => lines.person(entity, ""),
        Object::Help(_) | Object::Search(_) | Object::Problem(_) => lines.notices(answer),
        Object::Unknown(item) => lines.text("Handle", item.handle()),
    }
}

/// Lines, each safe for a terminal.
struct Lines {
    text: String,
    /// Whether these lines come from the registrar.
    of_registrar: bool,
}

impl Lines {
    fn key(&mut self, key: &str, value: &str) {
        let value = value.trim();
        if !value.is_empty() {
            self.raw(&format!("{key}: {value}"));
        }
    }

    fn text(&mut self, key: &str, value: Option<&str>) {
        self.key(key, value.unwrap_or_default());
    }

    fn comment(&mut self, text: &str) {
        self.raw(&format!("# {text}"));
    }

    fn gap(&mut self) {
        if !self.text.is_empty() {
            self.text.push('\n');
        }
    }

    fn raw(&mut self, line: &str) {
        self.text.push_str(&roundtrip_report::clean(line));
        self.text.push('\n');
    }

    /// Adds a date in UTC as in RFC 3339, or as sent if it cannot be parsed.
    fn date(&mut self, key: &str, item: Item<'_>, action: &str) {
        let text = item.event(action).and_then(Event::date_text);
        let date = text.and_then(Date::parse);
        match (date, text) {
            (Some(date), _) if date.day_only => self.key(key, &date.day()),
            (Some(date), _) => self.key(key, &date.stamp()),
            (None, text) => self.text(key, text),
        }
    }

    fn notices(&mut self, answer: &Answer) {
        for notice in answer.notices() {
            let title = notice.title().unwrap_or("Notice");
            for line in notice.description().flat_map(str::lines) {
                self.key(title, line);
            }
        }
    }

    /// Adds a contact's lines, all with the same prefix: `Registrant Name`, `Tech Email`.
    fn person(&mut self, entity: Entity<'_>, prefix: &str) {
        let contact = entity.contact();
        let key = |name: &str| {
            if prefix.is_empty() {
                name.to_owned()
            } else {
                format!("{prefix} {name}")
            }
        };
        let id = if prefix.is_empty() {
            "Handle".into()
        } else {
            format!("Registry {prefix} ID")
        };
        self.text(&id, entity.handle());
        if prefix.is_empty() {
            let roles = entity.roles().map(headed).collect::<Vec<_>>().join(", ");
            self.key("Role", &roles);
        }
        self.text(&key("Name"), contact.name.as_deref());
        self.text(&key("Organization"), contact.organization.as_deref());
        for address in &contact.addresses {
            let label = address
                .label
                .filter(|_| address.street.is_empty() && address.city.is_none());
            let street = address
                .street
                .iter()
                .copied()
                .chain(label.into_iter().flat_map(str::lines));
            street.for_each(|line| self.key(&key("Street"), line));
            self.text(&key("City"), address.city);
            self.text(&key("State/Province"), address.region);
            self.text(&key("Postal Code"), address.postal_code);
            self.text(&key("Country"), address.land());
        }
        self.text(&key("Phone"), contact.voice());
        self.text(&key("Fax"), contact.fax());
        for email in contact.emails.iter().chain(&contact.contact_uris) {
            self.key(&key("Email"), email);
        }
    }
}
