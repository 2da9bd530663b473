//! The facts about an object, before they are laid out as lines, so that those of the registry and
//! the registrar can be merged.

mod contact;
mod domain;
pub(super) mod number;

use roundtrip_report::terminal::Tone;
use roundtrip_wire::calendar::SECONDS_PER_DAY;

use super::when::distance;
use crate::answer::{Date, Entity, Item, Object};
pub(super) use contact::headed;

/// Groups of facts, in the order in which they are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Block {
    Name,
    Dates,
    Registrar,
    Dns,
    People,
    Remarks,
}

/// One label and its values.
#[derive(Debug, Clone)]
pub(super) struct Fact {
    pub(super) block: Block,
    pub(super) label: String,
    pub(super) values: Vec<Value>,
}

impl Fact {
    /// The order within a block, for facts from two answers.
    pub(super) fn rank(&self) -> usize {
        const ORDER: [&str; 9] = [
            "Registered",
            "Changed",
            "Expires",
            "Registrar",
            "Web site",
            "Abuse",
            "Reseller",
            "Registrant",
            "Redacted",
        ];
        const LAST: usize = ORDER.len();
        let place = ORDER.iter().position(|label| *label == self.label);
        match (self.block, place) {
            (Block::Dates | Block::Registrar, place) => place.unwrap_or(LAST),
            (Block::People, Some(place)) if self.label == "Redacted" => LAST + place,
            _ => 0,
        }
    }
}

#[derive(Debug, Clone, Default)]
pub(super) struct Value {
    pub(super) text: String,
    pub(super) tone: Tone,
    /// Shown beside the value, less prominently.
    pub(super) note: String,
    /// Values with the same key in two answers are the same.
    pub(super) key: String,
    /// The registrar's value differs from the registry's.
    pub(super) differs: bool,
}

impl Value {
    pub(super) fn new(text: impl Into<String>) -> Self {
        let text = text.into();
        Self {
            key: text.trim().to_ascii_lowercase(),
            text,
            ..Self::default()
        }
    }

    pub(super) fn note(self, note: impl Into<String>) -> Self {
        Self {
            note: note.into(),
            ..self
        }
    }

    pub(super) fn tone(self, tone: Tone) -> Self {
        Self { tone, ..self }
    }

    pub(super) fn key(self, key: impl Into<String>) -> Self {
        Self {
            key: key.into(),
            ..self
        }
    }
}

/// Collects the facts of one answer.
pub(super) struct Facts {
    pub(super) now: Date,
    gathered: Vec<Fact>,
    /// The number of values in these facts.
    told: usize,
}

/// The largest number of values shown of one kind; the rest is counted, and shown with --verbose.
const MAX_OF_ONE_KIND: usize = 200;
/// The largest number of values shown in all; no real object has a tenth of it.
const MAX_IN_ALL: usize = 5_000;

impl Facts {
    /// All facts about the object, in the order of blocks.
    pub(super) fn of(object: Object<'_>, now: Date) -> Vec<Fact> {
        let mut facts = Self {
            now,
            gathered: Vec::new(),
            told: 0,
        };
        match object {
            Object::Domain(domain) => facts.domain(domain),
            Object::Nameserver(server) => facts.nameserver(server),
            Object::Entity(entity) => facts.entity(entity),
            Object::Network(network) => facts.network(network),
            Object::Autnum(autnum) => facts.autnum(autnum),
            Object::Search(_) | Object::Problem(_) | Object::Help(_) => {}
            Object::Unknown(item) => facts.unknown(item),
        }
        facts.gathered.sort_by_key(|f| f.block);
        facts.gathered
    }

    /// Adds values as a new fact, or to the fact with that label. Does nothing if there are no
    /// values.
    pub(super) fn add(
        &mut self,
        block: Block,
        label: &str,
        values: impl IntoIterator<Item = Value>,
    ) {
        let mut values = values.into_iter();
        let mut kept: Vec<Value> = values.by_ref().take(MAX_OF_ONE_KIND).collect();
        let more = values.count();
        if more > 0 {
            kept.push(
                Value::new(format!("and {more} more, in full with --verbose")).tone(Tone::Faint),
            );
        }
        if kept.is_empty() || self.told > MAX_IN_ALL {
            return;
        }
        self.told += kept.len();
        match self
            .gathered
            .iter_mut()
            .find(|f| f.block == block && f.label == label)
        {
            Some(fact) => fact.values.extend(kept),
            None => self.gathered.push(Fact {
                block,
                label: label.to_owned(),
                values: kept,
            }),
        }
    }

    pub(super) fn text(&mut self, block: Block, label: &str, text: Option<&str>) {
        self.add(block, label, text.map(Value::new));
    }

    /// Adds handle, identifiers and status.
    fn common(&mut self, item: Item<'_>) {
        self.text(Block::Name, "Handle", item.handle());
        let ids = item
            .public_ids()
            .map(|(kind, id)| Value::new(id).note(kind));
        self.add(Block::Name, "Public ID", ids);
        self.add(Block::Name, "Status", item.status().map(status));
    }

    /// Adds the most wanted dates first, then all others.
    fn events(&mut self, item: Item<'_>) {
        let known = [
            ("registration", "Registered"),
            ("last changed", "Changed"),
            ("expiration", "Expires"),
            ("registrar expiration", "Expires"),
            ("transfer", "Transferred"),
            ("deletion", "Deleted"),
            ("reregistration", "Registered again"),
            ("reinstantiation", "Restored"),
            ("locked", "Locked"),
            ("unlocked", "Unlocked"),
        ];
        for (action, label) in known {
            let values: Vec<Value> = item
                .events()
                .filter(|e| e.is(action))
                .filter_map(|e| self.event(e, action))
                .collect();
            let fact = self.gathered.iter().find(|f| f.label == label);
            // The registrar's expiration date is left out if it equals the registry's.
            let new = values
                .into_iter()
                .filter(|v| !fact.is_some_and(|f| f.values.iter().any(|o| o.key == v.key)));
            let new: Vec<Value> = new.collect();
            self.add(Block::Dates, label, new);
        }
        for event in item.events().take(MAX_OF_ONE_KIND) {
            let action = event.action().unwrap_or("event").trim();
            let told =
                known.iter().any(|(a, _)| event.is(a)) || event.is("last update of RDAP database");
            if !told {
                let value = self.event(event, action);
                self.add(Block::Dates, &capital(action), value);
            }
        }
    }

    fn event(&self, event: crate::answer::Event<'_>, action: &str) -> Option<Value> {
        let text = event.date_text()?;
        let Some(date) = event.date() else {
            return Some(Value::new(text).note("not a date").tone(Tone::Warn));
        };
        let soon = date.seconds.saturating_sub(self.now.seconds) < 30 * SECONDS_PER_DAY;
        let tone = match date.seconds < self.now.seconds {
            true if action == "expiration" => Tone::Bad,
            false if action == "expiration" && soon => Tone::Warn,
            _ => Tone::Plain,
        };
        let mut note = distance(date, self.now);
        if let Some(actor) = event.actor() {
            note = format!("{note} · by {}", actor.trim());
        }
        if action == "registrar expiration" {
            note = format!("{note} · at the registrar");
        }
        let value = Value::new(date.shown()).key(date.seconds.to_string());
        Some(value.note(note).tone(tone))
    }

    fn remarks(&mut self, item: Item<'_>) {
        for remark in item.remarks().take(MAX_OF_ONE_KIND) {
            let title = remark.title().or(remark.kind());
            let lines = remark
                .description()
                .flat_map(str::lines)
                .filter(|l| !l.trim().is_empty());
            let title = title.map(|t| Value::new(format!("{}:", t.trim())).tone(Tone::Faint));
            self.add(
                Block::Remarks,
                "Remarks",
                title.into_iter().chain(lines.map(Value::new)),
            );
        }
    }

    /// Adds entities in the order of their roles.
    fn people(&mut self, item: Item<'_>, told: &[&str]) {
        let order = [
            "registrant",
            "administrative",
            "technical",
            "noc",
            "abuse",
            "billing",
        ];
        let mut people: Vec<(usize, Entity<'_>)> = item
            .entities()
            .take(MAX_OF_ONE_KIND)
            .filter(|e| {
                !e.roles()
                    .any(|r| told.iter().any(|t| t.eq_ignore_ascii_case(r.trim())))
            })
            .map(|e| {
                (
                    order
                        .iter()
                        .position(|r| e.has_role(r))
                        .unwrap_or(order.len()),
                    e,
                )
            })
            .collect();
        people.sort_by_key(|(rank, _)| *rank);
        for (_, entity) in people {
            self.person(entity, 0);
        }
    }

    /// Adds the members that have well-known names, for an object whose class is unknown.
    fn unknown(&mut self, item: Item<'_>) {
        self.text(Block::Name, "Class", item.class_name());
        self.text(Block::Name, "Name", item.text("name"));
        self.common(item);
        self.events(item);
        self.people(item, &[]);
        self.remarks(item);
    }
}

/// A status word in its registered form, with its meaning.
fn status(word: &str) -> Value {
    let Some(known) = crate::answer::status::find(word) else {
        return Value::new(word.trim()).tone(Tone::Warn);
    };
    let tone = match known.word {
        "active" | "validated" => Tone::Good,
        "client hold" | "server hold" | "pending delete" | "redemption period" => Tone::Bad,
        "inactive" | "pending transfer" | "pending restore" => Tone::Warn,
        _ => Tone::Plain,
    };
    Value::new(known.word).note(known.meaning).tone(tone)
}

pub(super) fn capital(text: &str) -> String {
    let mut chars = text.chars();
    chars
        .next()
        .map_or_else(String::new, |c| c.to_uppercase().chain(chars).collect())
}
