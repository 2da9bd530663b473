//! The content of a row or field: columns with a name, and any value of the JSON.

use std::fmt;

use super::TextError;
use super::subject::Subject;
use crate::answer::{
    Answer, Contact, Date, Domain, Entity, Event, Item, Network, Node, Object, Redaction,
    SecureDns, status,
};

/// Separates several values of one column.
pub const SEPARATOR: &str = "; ";

/// The largest number of values that one pointer yields.
const MAX_VALUES: usize = 1_000;

/// One column: a named one, or the value at a JSON pointer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Column(Source);

#[derive(Debug, Clone, PartialEq, Eq)]
enum Source {
    NamedColumn(&'static NamedColumn),
    /// RFC 6901, with `*` for each item of a list. The prefix `registrar:` selects the registrar's
    /// answer.
    Pointer {
        registrar: bool,
        pointer: String,
    },
}

/// A column with a name.
pub struct NamedColumn {
    pub name: &'static str,
    pub what: &'static str,
    values: fn(Subject<'_>) -> Vec<String>,
}

/// Shows a column as its name: the address of its function would differ between processes.
impl fmt::Debug for NamedColumn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

impl PartialEq for NamedColumn {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for NamedColumn {}

/// The columns that suit a list of many names.
pub const DEFAULT_COLUMNS: &str =
    "query,status,name,registrar,registered,expires,states,nameservers,error";

impl Column {
    pub fn parse(text: &str) -> Result<Self, TextError> {
        let text = text.trim();
        let (registrar, pointer) = match text.strip_prefix("registrar:") {
            Some(pointer) => (true, pointer),
            None => (false, text),
        };
        if pointer.starts_with('/') {
            let pointer = pointer.to_owned();
            return Ok(Self(Source::Pointer { registrar, pointer }));
        }
        let known = COLUMNS.iter().find(|k| k.name.eq_ignore_ascii_case(text));
        let known = known.ok_or_else(|| TextError::UnknownColumn(text.to_owned()))?;
        Ok(Self(Source::NamedColumn(known)))
    }

    /// Columns with commas between them.
    pub fn parse_list(text: &str) -> Result<Vec<Self>, TextError> {
        text.split(',')
            .filter(|c| !c.trim().is_empty())
            .map(Self::parse)
            .collect()
    }

    /// The name of the column, as the user wrote it.
    pub fn name(&self) -> String {
        match &self.0 {
            Source::NamedColumn(known) => known.name.to_owned(),
            Source::Pointer {
                registrar: false,
                pointer,
            } => pointer.clone(),
            Source::Pointer {
                registrar: true,
                pointer,
            } => format!("registrar:{pointer}"),
        }
    }

    pub(super) fn values(&self, subject: Subject<'_>) -> Vec<String> {
        match &self.0 {
            Source::NamedColumn(known) => (known.values)(subject),
            Source::Pointer { registrar, pointer } => {
                let root = subject.objects[usize::from(*registrar)].map(|o| o.item().node());
                // If the object was not found, the pointer applies to the server's error response.
                let part = if *registrar {
                    subject.told.registrar.as_ref()
                } else {
                    Some(&subject.told.first)
                };
                let root = root.or_else(|| part?.answer.map(Answer::root));
                root.map(|root| at(root, pointer)).unwrap_or_default()
            }
        }
    }
}

pub(super) fn names() -> String {
    let names: Vec<&str> = COLUMNS.iter().map(|c| c.name).collect();
    names.join(", ")
}

/// The values at a pointer; objects and lists as JSON.
fn at(root: &Node, pointer: &str) -> Vec<String> {
    let mut nodes = vec![root];
    for token in pointer.split('/').skip(1) {
        nodes = match token {
            "*" => nodes
                .into_iter()
                .flat_map(Node::items)
                .take(MAX_VALUES)
                .collect(),
            _ => nodes.into_iter().filter_map(|n| n.step(token)).collect(),
        };
    }
    nodes
        .into_iter()
        .filter(|n| **n != Node::Null)
        .map(shown)
        .collect()
}

/// A value as text: a string without its quotes.
pub(super) fn shown(node: &Node) -> String {
    match node {
        Node::Text(text) => text.to_string(),
        other => {
            let mut json = String::new();
            other.write_json(&mut json);
            json
        }
    }
}

const fn known(
    name: &'static str,
    what: &'static str,
    values: fn(Subject<'_>) -> Vec<String>,
) -> NamedColumn {
    NamedColumn { name, what, values }
}

/// All columns that have a name.
pub static COLUMNS: [NamedColumn; 38] = [
    known("query", "the query", |s| vec![s.told.query.to_owned()]),
    known("kind", "kind of the query", |s| {
        vec![s.told.kind.to_owned()]
    }),
    known("status", "found, not-registered, refused or failed", |s| {
        vec![s.told.first.state.word().to_owned()]
    }),
    known("name", "name in the DNS (A-labels), or of a network", |s| {
        one(s.first(name))
    }),
    known("unicode", "name as people write it (U-labels)", |s| {
        one(s.text("unicodeName"))
    }),
    known("handle", "the registry's identifier", |s| {
        one(s.text("handle"))
    }),
    known("states", "status words", states),
    known("registered", "date of registration", |s| {
        date(s, &["registration"])
    }),
    known("changed", "date of the last change", |s| {
        date(s, &["last changed"])
    }),
    known("expires", "date of expiration", |s| {
        date(s, &["expiration", "registrar expiration"])
    }),
    known("transferred", "date of the last transfer", |s| {
        date(s, &["transfer"])
    }),
    known("updated", "date of the registry's data", |s| {
        date(s, &["last update of RDAP database"])
    }),
    known("registrar", "registrar's name", |s| {
        one(s.contact("registrar", called))
    }),
    known("registrar.id", "registrar's number at IANA", |s| {
        one(s.first(|i| i.entity("registrar")?.iana_id()))
    }),
    known("registrar.url", "registrar's web site", |s| {
        one(s.contact("registrar", |c| c.urls.first().copied()))
    }),
    known("reseller", "reseller's name", |s| {
        one(s.contact("reseller", called))
    }),
    known("abuse.email", "mail address for complaints", |s| {
        one(s.abuse(|c| c.emails.first().copied()))
    }),
    known("abuse.phone", "telephone number for complaints", |s| {
        one(s.abuse(voice))
    }),
    known("nameservers", "name servers", nameservers),
    known("dnssec", "signed or unsigned", |s| {
        one(s
            .secure_dns()
            .and_then(SecureDns::delegation_signed)
            .map(|d| if d { "signed" } else { "unsigned" }))
    }),
    known(
        "ds",
        "DS records: key tag, algorithm, digest type, digest",
        ds,
    ),
    known("registrant", "registrant's name or organisation", |s| {
        one(s.contact("registrant", called))
    }),
    known(
        "registrant.organization",
        "registrant's organisation",
        |s| {
            one(s.contact("registrant", |c| {
                c.organization.as_deref().map(str::to_owned)
            }))
        },
    ),
    known("registrant.country", "registrant's country", |s| {
        one(s.contact("registrant", |c| c.address()?.land()))
    }),
    known(
        "registrant.email",
        "registrant's mail address or contact form",
        |s| one(s.contact("registrant", mail)),
    ),
    known(
        "tech.email",
        "technical contact's mail address or contact form",
        |s| one(s.contact("technical", mail)),
    ),
    known("contacts", "handles of all entities", |s| {
        s.items()
            .next()
            .into_iter()
            .flat_map(Item::entities)
            .filter_map(|e: Entity<'_>| Some(e.handle()?.to_owned()))
            .collect()
    }),
    known("range", "first and last address or number", range),
    known("cidr", "the range as blocks", |s| {
        s.network().map(Network::cidrs).unwrap_or_default()
    }),
    known("type", "type of the network or autonomous system", |s| {
        one(s.text("type"))
    }),
    known(
        "country",
        "country of the network or autonomous system",
        |s| one(s.text("country")),
    ),
    known("parent", "handle of the network above", |s| {
        one(s.text("parentHandle"))
    }),
    known("port43", "WHOIS server", |s| one(s.text("port43"))),
    known("redacted", "redacted fields", |s| {
        s.redactions()
            .filter_map(Redaction::name)
            .take(MAX_VALUES)
            .map(str::to_owned)
            .collect()
    }),
    known("server", "server that answered", |s| {
        one(s.told.first.server)
    }),
    known(
        "registrar.server",
        "registrar's server that answered",
        |s| one(s.told.registrar.and_then(|r| r.server)),
    ),
    known(
        "registrar.status",
        "status of the registrar's answer",
        |s| one(s.told.registrar.map(|r| r.state.word())),
    ),
    known("error", "reason of a failure", |s| one(s.trouble())),
];

fn one<T: Into<String>>(value: Option<T>) -> Vec<String> {
    value.map(Into::into).into_iter().collect()
}

fn called(contact: &Contact<'_>) -> Option<String> {
    contact.called().map(str::to_owned)
}

fn voice(contact: &Contact<'_>) -> Option<String> {
    contact.voice().map(str::to_owned)
}

fn mail(contact: &Contact<'_>) -> Option<String> {
    let reachable = contact
        .emails
        .first()
        .or_else(|| contact.contact_uris.first());
    reachable.map(|&r| r.to_owned())
}

fn name(item: Item<'_>) -> Option<String> {
    let dns = item.text("ldhName").or_else(|| item.text("unicodeName"));
    dns.map(|n| n.trim().to_ascii_lowercase())
        .or_else(|| item.text("name").map(str::to_owned))
}

/// Removes repetitions, ignoring case; the registrar's values follow the registry's.
fn unique(values: impl Iterator<Item = String>) -> Vec<String> {
    let mut unique: Vec<String> = Vec::new();
    for value in values.take(MAX_VALUES) {
        if !unique.contains(&value) {
            unique.push(value);
        }
    }
    unique
}

fn states(subject: Subject<'_>) -> Vec<String> {
    let words = subject.items().next().into_iter().flat_map(Item::status);
    unique(words.map(|word| match status::find(word) {
        Some(known) => known.word.to_owned(),
        None => word.trim().to_ascii_lowercase(),
    }))
}

fn nameservers(subject: Subject<'_>) -> Vec<String> {
    let listed = subject.domains().find(|d| d.nameservers().next().is_some());
    let names = listed.into_iter().flat_map(Domain::nameservers);
    unique(names.filter_map(|n| {
        Some(
            Object::Nameserver(n)
                .name()?
                .trim_end_matches('.')
                .to_ascii_lowercase(),
        )
    }))
}

/// A date in UTC as in RFC 3339, or as sent if it cannot be parsed.
fn date(subject: Subject<'_>, actions: &[&str]) -> Vec<String> {
    let event = actions.iter().find_map(|action| subject.event(action));
    let text = event.and_then(Event::date_text);
    one(text.map(|text| match Date::parse(text) {
        Some(date) if date.day_only => date.day(),
        Some(date) => date.stamp(),
        None => text.to_owned(),
    }))
}

fn ds(subject: Subject<'_>) -> Vec<String> {
    let records = subject.secure_dns().into_iter().flat_map(SecureDns::ds);
    let shown = |number: Option<u64>| number.map_or("?".into(), |n| n.to_string());
    let record = |d: crate::answer::Ds<'_>| {
        let numbers = [d.key_tag(), d.algorithm(), d.digest_type()]
            .map(shown)
            .join(" ");
        format!("{numbers} {}", d.digest().unwrap_or("?"))
    };
    records.take(MAX_VALUES).map(record).collect()
}

fn range(subject: Subject<'_>) -> Vec<String> {
    if let Some((start, end)) = subject.network().and_then(Network::range) {
        return vec![format!("{start}-{end}")];
    }
    let autnums = subject.objects.into_iter().flatten().find_map(|o| match o {
        Object::Autnum(autnum) => autnum.range(),
        _ => None,
    });
    one(autnums.map(|(start, end)| {
        if start == end {
            format!("AS{start}")
        } else {
            format!("AS{start}-AS{end}")
        }
    }))
}
