//! Parses a line of text into a query: by its word, as a path of the RFCs, or by its form.

use roundtrip_model::{Scheme, Target};

use super::error::{check_seen, quoted};
use super::name::Name;
use super::number::{self, Network};
use super::pasted::{self, looks_like_url};
use super::search::Search;
use super::{
    Collection, Kind, NumberError, Object, Parameter, Parameters, ParsedQuery, Query, QueryError,
    Relation, Resource, encoding,
};

const MAX_QUERY: usize = 2048;
const MAX_URL: usize = 64 * 1024;

pub(super) fn read(text: &str, forced: Option<Kind>) -> Result<Query, QueryError> {
    let is_url = looks_like_url(text.trim_start());
    let limit = if is_url { MAX_URL } else { MAX_QUERY };
    if text.len() > limit {
        let length = text.len();
        return Err(QueryError::TooLong { length, limit });
    }
    let text = text.trim_matches([' ', '\t', '\r', '\n']);
    check_seen(text)?;
    if text.is_empty() && forced != Some(Kind::Help) {
        return Err(QueryError::Empty);
    }
    match forced {
        Some(kind) => forced_as(kind, text),
        None => unforced(text),
    }
}

/// Parses text of a known kind. The text may still begin with the word for the kind, or be its
/// path.
fn forced_as(kind: Kind, text: &str) -> Result<Query, QueryError> {
    if let Some((named, rest)) = split_word(text)
        && named == kind
    {
        return read_as(kind, rest);
    }
    if let Some(Ok(query)) = from_path(text)
        && query.kind() == kind
    {
        return Ok(query);
    }
    read_as(kind, text)
}

fn unforced(text: &str) -> Result<Query, QueryError> {
    let text = &*pasted::linkable(pasted::bare(text));
    if let Some(url) = pasted::rdap_url(text) {
        return read_as(Kind::Url, &url);
    }
    if let Some(host) = pasted::web_host(text) {
        let of = unforced(&host)?;
        let note = format!("{} is a web address; the query is for {of}", quoted(text));
        return Ok(Query {
            note: Some(note),
            ..of
        });
    }
    if looks_like_url(text) {
        return read_as(Kind::Url, text);
    }
    if let Some((kind, rest)) = split_word(text) {
        return read_as(kind, rest);
    }
    if pasted::has_other_scheme(text) {
        return Err(QueryError::NotHttp {
            given: quoted(text),
        });
    }
    if let Some(Err(error)) = pasted::word(text).map(str::parse::<Kind>) {
        return Err(error.into());
    }
    if let Some(query) = from_path(text) {
        return query;
    }
    read_as(recognise(text), text)
}

/// Parses `word:rest`. No word can be mistaken for a group of an IPv6 address: each has letters
/// beyond `f`.
fn split_word(text: &str) -> Option<(Kind, &str)> {
    let (word, rest) = text.split_once(':')?;
    Some((Kind::named(word)?, rest.trim_start()))
}

/// The kind that the form of the text suggests. There is always one; if the text is not valid as
/// that kind, it is refused.
fn recognise(text: &str) -> Kind {
    let of_digits = |text: &str| text.bytes().all(|b| b.is_ascii_digit());
    if text == "help" {
        return Kind::Help;
    }
    let numeric = |text: &str| text.bytes().all(|b| b.is_ascii_digit() || b == b'.');
    if of_digits(text) || number::without_as(text).is_some_and(|r| !r.is_empty() && numeric(r)) {
        return Kind::Autnum;
    }
    if number::autnum_range(text).is_some() {
        return Kind::Autnum;
    }
    if text.contains(':')
        || number::has_mask(text)
        || number::wildcard(text).is_some()
        || text
            .bytes()
            .all(|b| b.is_ascii_digit() || b"./".contains(&b))
        || is_range(text)
    {
        return Kind::Ip;
    }
    let is_a_label = text
        .get(..4)
        .is_some_and(|s| s.eq_ignore_ascii_case("xn--"));
    if text.is_ascii() && text.contains('-') && !text.contains(['.', '/']) && !is_a_label {
        return Kind::Entity;
    }
    Kind::Domain
}

/// Whether both sides of a dash consist of digits and dots: no name ends in a number. The last
/// octet alone can stand for the second address.
fn is_range(text: &str) -> bool {
    let is_numeric =
        |end: &str| !end.is_empty() && end.bytes().all(|b| b.is_ascii_digit() || b == b'.');
    let is_range = |first: &str, last: &str| {
        is_numeric(first)
            && is_numeric(last)
            && first.contains('.')
            && (last.contains('.') || first.matches('.').count() == 3)
    };
    number::ends(text).is_some_and(|(first, last)| is_range(first, last))
}

/// Parses a path of the RFCs, if the text begins like one.
fn from_path(text: &str) -> Option<Result<Query, QueryError>> {
    let text = text.strip_prefix('/').unwrap_or(text);
    let (path, pairs) = match text.split_once('?') {
        None => (text, None),
        Some((path, pairs)) => (path, Some(pairs)),
    };
    let (first, rest) = match path.split_once('/') {
        None => (path, None),
        Some((first, rest)) => (first, Some(rest)),
    };
    if let Some(of) = Collection::named(first)
        && (rest.is_some() || pairs.is_some())
    {
        return Some(written_search(of, rest, pairs, text));
    }
    let kind = Resource::named(first).map(|resource| match resource {
        Resource::Domain => Kind::Domain,
        Resource::Nameserver => Kind::Nameserver,
        Resource::Entity => Kind::Entity,
        Resource::Ip => Kind::Ip,
        Resource::Autnum => Kind::Autnum,
    })?;
    let rest = rest?;
    Some(match pairs {
        None => encoding::decode(rest).and_then(|rest| read_as(kind, &rest)),
        Some(_) => Err(no_path(text)),
    })
}

fn written_search(
    of: Collection,
    rest: Option<&str>,
    pairs: Option<&str>,
    text: &str,
) -> Result<Query, QueryError> {
    let Some(rest) = rest else {
        let pairs = pairs.unwrap_or_default();
        return Search::pairs(of, None, pairs).map(|s| query(ParsedQuery::Search(s)));
    };
    if let Some(related) = rest.strip_prefix("reverse_search/") {
        let related = Resource::named(related).ok_or_else(|| no_path(text))?;
        let search = Search::pairs(of, Some(related), pairs.unwrap_or_default())?;
        return Ok(query(ParsedQuery::Search(search)));
    }
    let relation = rest
        .strip_prefix("rirSearch1/rdap-")
        .and_then(|rest| rest.split_once('/'))
        .and_then(|(word, object)| Some((Relation::named(word)?, object)));
    let Some((relation, object)) = relation else {
        return Err(no_path(text));
    };
    let object = encoding::decode(object)?;
    let relatives = relatives(relation, &object, pairs.unwrap_or_default())?;
    match &relatives.asked {
        ParsedQuery::Relative(_, object, _) if object.collection() == of => Ok(relatives),
        _ => Err(no_path(text)),
    }
}

fn no_path(text: &str) -> QueryError {
    QueryError::Path {
        given: quoted(text),
        example: "domains?name=exam*, domains/reverse_search/entity?handle=ABC or ips/rirSearch1/rdap-up/192.0.2.0/24",
    }
}

fn query(asked: ParsedQuery) -> Query {
    Query { asked, note: None }
}

fn read_as(kind: Kind, text: &str) -> Result<Query, QueryError> {
    match kind {
        Kind::Domain => name(text).map(|name| query(ParsedQuery::Domain(name))),
        Kind::Nameserver => name(text).map(|name| query(ParsedQuery::Nameserver(name))),
        Kind::Ip => network(text),
        Kind::Autnum => autnum(text),
        Kind::Entity => entity(text),
        Kind::Help => help(text),
        Kind::Url => url(text).map(|target| query(ParsedQuery::Url(target))),
        Kind::Domains => spoken(Collection::Domains, None, text),
        Kind::Nameservers => spoken(Collection::Nameservers, None, text),
        Kind::Entities => spoken(Collection::Entities, None, text),
        Kind::Ips => spoken(Collection::Ips, None, text),
        Kind::Autnums => spoken(Collection::Autnums, None, text),
        Kind::Reverse(of) => reverse(of, text),
        Kind::Relative(relation) => {
            let (object, pairs) = text.split_once('?').unwrap_or((text, ""));
            relatives(relation, object, pairs)
        }
    }
}

fn name(text: &str) -> Result<Name, QueryError> {
    Name::read(text).map_err(|fault| QueryError::Name {
        given: quoted(text),
        fault,
    })
}

fn network(text: &str) -> Result<Query, QueryError> {
    let (network, note) = Network::read(text).map_err(|fault| QueryError::Number {
        given: quoted(text),
        fault,
    })?;
    Ok(Query {
        asked: ParsedQuery::Network(network),
        note,
    })
}

fn autnum(text: &str) -> Result<Query, QueryError> {
    if let Some((first, last)) = number::autnum_range(text) {
        if first > last {
            return Err(QueryError::Number {
                given: quoted(text),
                fault: NumberError::Ends,
            });
        }
        let note = (first != last).then(|| {
            format!(
                "RDAP has no query for a range of numbers; the query is for the first: AS{first}"
            )
        });
        return Ok(Query {
            asked: ParsedQuery::Autnum(first),
            note,
        });
    }
    let number = number::autnum(text).map_err(|fault| QueryError::Number {
        given: quoted(text),
        fault,
    })?;
    Ok(query(ParsedQuery::Autnum(number)))
}

fn entity(handle: &str) -> Result<Query, QueryError> {
    if handle.is_empty() {
        return Err(QueryError::Empty);
    }
    // URL parsers treat even '%2e' as a dot segment, so these handles cannot be written in a URL.
    // RFC 3986 §5.2.4.
    if matches!(handle, "." | "..") {
        let given = quoted(handle);
        return Err(QueryError::Dots { given });
    }
    Ok(query(ParsedQuery::Entity(handle.to_owned())))
}

fn url(text: &str) -> Result<Target, QueryError> {
    let target = Target::parse(text)?;
    if target.scheme == Scheme::Tcp || !looks_like_url(text) {
        let given = quoted(text);
        return Err(QueryError::NotHttp { given });
    }
    Ok(target)
}

fn help(text: &str) -> Result<Query, QueryError> {
    if text.is_empty() || text == "help" {
        return Ok(query(ParsedQuery::Help(None)));
    }
    let refused = || QueryError::Help {
        given: quoted(text),
    };
    if matches!(split_word(text), Some((Kind::Help, _))) {
        return Err(refused());
    }
    let of = if looks_like_url(text) {
        read_as(Kind::Url, text)
    } else {
        unforced(text)
    };
    let of = match of? {
        of if of.key().is_some() => of,
        Query {
            asked: ParsedQuery::Url(target),
            ..
        } => query(ParsedQuery::Url(below(&target)?)),
        _ => return Err(refused()),
    };
    Ok(query(ParsedQuery::Help(Some(Box::new(of)))))
}

/// The URL of `help` below a base URL, with or without its last slash.
fn below(base: &Target) -> Result<Target, QueryError> {
    let mut url = base.url().clone();
    url.set_query(None);
    url.set_fragment(None);
    let path = url.path().trim_end_matches('/').to_owned();
    if !path.ends_with("/help") {
        url.set_path(&format!("{path}/help"));
    }
    Ok(Target::parse(url.as_str())?)
}

fn spoken(of: Collection, related: Option<Resource>, text: &str) -> Result<Query, QueryError> {
    Search::spoken(of, related, text).map(|search| query(ParsedQuery::Search(search)))
}

/// Parses `resource?property=…`, or only the pairs: they belong to an entity, the only resource
/// that RFC 9536 registers.
fn reverse(of: Collection, text: &str) -> Result<Query, QueryError> {
    let Some((resource, pairs)) = text.split_once('?') else {
        return spoken(of, Some(Resource::Entity), text);
    };
    match Resource::named(resource) {
        Some(resource) => spoken(of, Some(resource), pairs),
        None => spoken(of, Some(Resource::Entity), text),
    }
}

fn relatives(relation: Relation, object: &str, pairs: &str) -> Result<Query, QueryError> {
    let of = read_as(recognise(object), object)?;
    let object = match of.asked {
        ParsedQuery::Network(network) => Object::Network(network),
        ParsedQuery::Autnum(number) => Object::Autnum(number),
        ParsedQuery::Domain(name) if name.is_reverse() => Object::Domain(name),
        _ => {
            return Err(QueryError::NoRelatives {
                given: quoted(object),
                relation: relation.to_string(),
            });
        }
    };
    let mut parameters = Parameters::default();
    for pair in pairs.split('&').filter(|pair| !pair.is_empty()) {
        let (word, value) = pair.split_once('=').unwrap_or((pair, ""));
        let Some(parameter) = Parameter::named(word) else {
            return Err(QueryError::Property {
                kind: Kind::Relative(relation),
                given: quoted(word),
                known: "status, fieldSet, sort, count, cursor".into(),
            });
        };
        parameters.set(parameter, &encoding::decode(value)?)?;
    }
    Ok(Query {
        asked: ParsedQuery::Relative(relation, object, parameters),
        note: of.note,
    })
}
