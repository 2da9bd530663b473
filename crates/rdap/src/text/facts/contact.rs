//! Facts about people and organisations.

use roundtrip_report::terminal::Tone;

use super::number::numbers;
use super::{Block, Facts, Value, capital};
use crate::answer::{Contact, Entity};

/// The deepest nesting of entities that is shown, such as the abuse contact of an organisation.
const MAX_DEPTH: usize = 3;

impl Facts {
    /// Adds an entity that was looked up.
    pub(super) fn entity(&mut self, entity: Entity<'_>) {
        let contact = entity.contact();
        let name = contact
            .called()
            .or(entity.handle())
            .unwrap_or("without a name");
        self.add(Block::Name, "Entity", [Value::new(name).tone(Tone::Strong)]);
        self.add(Block::Name, "Roles", roles(entity));
        let further = reach(&contact).into_iter().filter(|v| v.text != name);
        self.add(Block::Name, "Contact", further);
        self.common(*entity);
        self.events(*entity);
        let networks = entity.networks().map(|n| {
            let value = Value::new(n.cidrs().join(" "));
            value.note(n.name().or(n.handle()).unwrap_or_default())
        });
        self.add(
            Block::Dns,
            "Networks",
            networks.filter(|v| !v.text.is_empty()),
        );
        let autnums = entity.autnums().filter_map(|a| {
            let (start, end) = a.range()?;
            let value = numbers(start, end);
            Some(Value::new(value).note(a.name().or(a.handle()).unwrap_or_default()))
        });
        self.add(Block::Dns, "AS numbers", autnums);
        self.people(*entity, &[]);
        self.remarks(*entity);
    }

    /// Adds an entity that is part of another object, and the entities in it.
    pub(super) fn person(&mut self, entity: Entity<'_>, depth: usize) {
        let contact = entity.contact();
        let label = entity
            .roles()
            .next()
            .map_or_else(|| "Contact".into(), |r| headed(&r.trim().to_lowercase()));
        let mut lines = reach(&contact);
        let others = entity
            .roles()
            .skip(1)
            .map(|r| r.trim().to_lowercase())
            .collect::<Vec<_>>();
        let beside = [
            others.join(", "),
            entity.handle().unwrap_or_default().to_owned(),
        ];
        let beside: Vec<String> = beside.into_iter().filter(|n| !n.is_empty()).collect();
        match lines.first_mut() {
            Some(first) => first.note = beside.join(" · "),
            None => lines.extend(entity.handle().map(Value::new)),
        }
        self.add(Block::People, &label, lines);
        if depth < MAX_DEPTH {
            for below in entity.entities().take(super::MAX_OF_ONE_KIND) {
                self.person(below, depth + 1);
            }
        }
    }
}

/// A role as a heading: `Technical`, `NOC`.
pub(in crate::text) fn headed(role: &str) -> String {
    match role {
        "noc" => "NOC".to_owned(),
        word => capital(word),
    }
}

fn roles(entity: Entity<'_>) -> Option<Value> {
    let roles = entity.roles().collect::<Vec<_>>().join(", ");
    (!roles.is_empty()).then(|| Value::new(roles))
}

/// The name, the address and the ways to reach the entity, one line each.
fn reach(contact: &Contact<'_>) -> Vec<Value> {
    let mut lines = Vec::new();
    let names = [contact.name.as_deref(), contact.organization.as_deref()];
    let mut names: Vec<&str> = names.into_iter().flatten().collect();
    names.dedup();
    let titles = [contact.title, contact.role].into_iter().flatten();
    lines.extend(names.into_iter().chain(titles).map(Value::new));
    for address in &contact.addresses {
        lines.push(Value::new(address.lines().join(", ")));
    }
    let phones = contact.phones.iter().map(|p| {
        if p.fax {
            format!("{} (fax)", p.number)
        } else {
            p.number.to_string()
        }
    });
    let reach: Vec<String> = contact
        .emails
        .iter()
        .map(|&e| e.to_owned())
        .chain(phones)
        .collect();
    if !reach.is_empty() {
        lines.push(Value::new(reach.join(" · ")));
    }
    lines.extend(
        contact
            .contact_uris
            .iter()
            .chain(&contact.urls)
            .map(|&u| Value::new(u)),
    );
    lines
}
