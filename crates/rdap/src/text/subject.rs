//! The subject of one row or block: an object as the registry and, perhaps, the registrar describe
//! it.

use super::{LookupResult, Part, State};
use crate::answer::{Answer, Contact, Domain, Event, Item, Network, Object, Redaction, SecureDns};

#[derive(Clone, Copy)]
pub(super) struct Subject<'a> {
    pub(super) told: &'a LookupResult<'a>,
    /// The object in the registry's answer, and that in the registrar's.
    pub(super) objects: [Option<Object<'a>>; 2],
}

impl<'a> Subject<'a> {
    /// Makes a subject for each result of a search, and one for any other answer.
    pub(super) fn all(told: &'a LookupResult<'a>) -> Vec<Self> {
        let first = found(&told.first);
        if let Some(Object::Search(search)) = first.map(Answer::object) {
            let results = search.results().map(|object| Self {
                told,
                objects: [Some(object), None],
            });
            return results.collect();
        }
        vec![Self::from_result(told)]
    }

    /// The answer as a whole.
    pub(super) fn from_result(told: &'a LookupResult<'a>) -> Self {
        let second = told.registrar.as_ref().and_then(found);
        Self {
            told,
            objects: [found(&told.first), second].map(|a| a.map(Answer::object)),
        }
    }

    pub(super) fn items(self) -> impl Iterator<Item = Item<'a>> {
        self.objects.into_iter().flatten().map(Object::item)
    }

    /// The first value found; the registry's takes precedence.
    pub(super) fn first<T>(self, from: impl Fn(Item<'a>) -> Option<T>) -> Option<T> {
        self.items().find_map(from)
    }

    pub(super) fn text(self, member: &'static str) -> Option<&'a str> {
        self.first(|item| item.text(member))
    }

    pub(super) fn event(self, action: &str) -> Option<Event<'a>> {
        self.items().find_map(|item| item.event(action))
    }

    /// The first value from the entities with that role; registries leave out what registrars
    /// publish.
    pub(super) fn contact<T>(
        self,
        role: &str,
        from: impl Fn(&Contact<'a>) -> Option<T>,
    ) -> Option<T> {
        self.items()
            .find_map(|item| from(&item.entity(role)?.contact()))
    }

    /// The contact for complaints about the registrar, or about a network.
    pub(super) fn abuse<T>(self, from: impl Fn(&Contact<'a>) -> Option<T>) -> Option<T> {
        self.items().find_map(|item| {
            let registrar = item.entity("registrar").and_then(|r| r.entity("abuse"));
            from(&registrar.or_else(|| item.entity("abuse"))?.contact())
        })
    }

    pub(super) fn domains(self) -> impl Iterator<Item = Domain<'a>> {
        self.objects.into_iter().flatten().filter_map(|o| match o {
            Object::Domain(domain) => Some(domain),
            _ => None,
        })
    }

    pub(super) fn secure_dns(self) -> Option<SecureDns<'a>> {
        self.domains().find_map(Domain::secure_dns)
    }

    pub(super) fn network(self) -> Option<Network<'a>> {
        self.objects.into_iter().flatten().find_map(|o| match o {
            Object::Network(network) => Some(network),
            Object::Domain(domain) => domain.network(),
            _ => None,
        })
    }

    pub(super) fn redactions(self) -> impl Iterator<Item = Redaction<'a>> {
        self.items().flat_map(Item::redactions)
    }

    /// The error in one line: in the server's words if there are any.
    pub(super) fn trouble(self) -> Option<String> {
        trouble(&self.told.first)
    }
}

pub(super) fn found<'a>(part: &Part<'a>) -> Option<&'a Answer> {
    part.answer.filter(|_| part.state == State::Found)
}

/// The title and description of an error response, or the reason found without one.
pub(crate) fn trouble(part: &Part<'_>) -> Option<String> {
    if part.state == State::Found {
        return None;
    }
    let said = part.answer.map(Answer::object);
    let words: Vec<&str> = match said {
        Some(Object::Problem(problem)) => problem
            .title()
            .into_iter()
            .chain(problem.description())
            .map(str::trim)
            .collect(),
        _ => Vec::new(),
    };
    match (words.is_empty(), part.why) {
        (false, Some(why)) => Some(format!("{why}: {}", words.join(" · "))),
        (false, None) => Some(words.join(" · ")),
        (true, why) => why.map(str::to_owned),
    }
}
