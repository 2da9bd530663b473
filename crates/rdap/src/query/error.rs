//! Errors in queries, and how to correct them. Hostile text is shown escaped and shortened.

use roundtrip_model::TargetError;
use roundtrip_report::terminal::{acts, clean};

use super::{Kind, KindError, Parameter};

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum QueryError {
    #[error(
        "the query is empty: give a domain, an address, a prefix, an AS number, a handle or a URL"
    )]
    Empty,
    #[error("the query has {length} bytes; at most {limit} are accepted")]
    TooLong { length: usize, limit: usize },
    #[error(
        "{given} contains the character {character} at byte {at}, which would disguise the query; remove it"
    )]
    Hidden {
        given: String,
        character: String,
        at: usize,
    },
    #[error("{given} is not a domain name: {fault}")]
    Name { given: String, fault: NameError },
    #[error("{given} is not a valid query: {fault}")]
    Number { given: String, fault: NumberError },
    #[error("{given} cannot be the handle of an entity: it would be read as a step up in a path")]
    Dots { given: String },
    #[error("{source}")]
    Url {
        #[from]
        source: TargetError,
    },
    #[error(transparent)]
    Kind(#[from] KindError),
    #[error("{given} is not an http or https URL")]
    NotHttp { given: String },
    #[error("{given} does not percent-decode to UTF-8")]
    Encoding { given: String },
    #[error("{given} is not a path of RFC 9082, RFC 9910 or RFC 9536; an example is {example}")]
    Path {
        given: String,
        example: &'static str,
    },
    #[error("{kind} cannot be searched by {given}; it can be searched by {known}")]
    Property {
        kind: Kind,
        given: String,
        known: String,
    },
    #[error(
        "{kind} needs exactly one property to search by, such as {example}; {given} has {count}"
    )]
    Conditions {
        kind: Kind,
        given: String,
        count: usize,
        example: String,
    },
    #[error("{given} has more than one asterisk; a search has at most one (RFC 9082, 4.1)")]
    Asterisks { given: String },
    #[error("{property} has no value")]
    NoValue { property: String },
    #[error("{given} is not a valid value for {parameter}, which must be {expected}")]
    Parameter {
        parameter: Parameter,
        given: String,
        expected: &'static str,
    },
    #[error("{parameter} belongs to searches, and {kind} is a lookup")]
    NotASearch { parameter: Parameter, kind: Kind },
    #[error(
        "{given} has no relatives: '{relation}:' takes a prefix, an AS number or a reverse name"
    )]
    NoRelatives { given: String, relation: String },
    #[error(
        "help needs a server: 'help' with --server, 'help:URL', or 'help:' and a name, number or handle; not {given}"
    )]
    Help { given: String },
}

/// The reason why a text is not a domain name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NameError {
    #[error("label {position} is empty")]
    EmptyLabel { position: usize },
    #[error("the label {label} has {length} octets; at most 63 are allowed")]
    LongLabel { label: String, length: usize },
    #[error("it has {length} octets; at most 253 are allowed")]
    Long { length: usize },
    #[error("the label {label} contains {character}; only letters, digits and hyphens are allowed")]
    Character { label: String, character: String },
    #[error("the label {label} begins or ends with a hyphen")]
    Hyphen { label: String },
    #[error(
        "the label {label} is not a valid A-label: it does not decode to a name that IDNA permits"
    )]
    ALabel { label: String },
    #[error(
        "the label {label} contains characters that IDNA does not permit, at least not in their position (UTS 46)"
    )]
    ULabel { label: String },
    #[error(
        "its labels together violate the rule for names with text that runs from right to left (RFC 5893)"
    )]
    Bidi,
    #[error(
        "its last label {label} is a number; an address has four of them, and an AS number is written AS64500 or AS1.10"
    )]
    Numeric { label: String },
}

/// The reason why a text is not an address, prefix or AS number.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NumberError {
    #[error(
        "it is neither an IPv4 nor an IPv6 address (192.0.2.1, 2001:db8::1) nor a prefix of one"
    )]
    Address,
    #[error(
        "an address with a zone is valid only on one machine; leave out '%' and the text after it"
    )]
    Zone,
    #[error("the length of its prefix is not a number from 0 to {limit}")]
    Prefix { limit: u8 },
    #[error(
        "an octet that begins with 0 could be octal; leave the zeros out, or write three digits in each octet"
    )]
    LeadingZero,
    #[error("its ends are not the first and the last of one range")]
    Ends,
    #[error(
        "an AS number is from 0 to 4294967295, or two numbers up to 65535 with a dot between (AS64500, AS1.10)"
    )]
    Autnum,
}

const MAX_SHOWN: usize = 80;

/// The text for a message: quoted, on one line, shortened, with nothing invisible.
pub(super) fn quoted(text: &str) -> String {
    let mut shown = String::from("'");
    for (count, character) in text.chars().enumerate() {
        if count == MAX_SHOWN {
            shown.push('…');
            break;
        }
        shown.push_str(&clean(character.encode_utf8(&mut [0; 4])));
    }
    shown.push('\'');
    shown
}

/// Whether a character breaks lines, changes the text direction, or is invisible.
pub(super) fn hides(character: char) -> bool {
    let decided_by_idna = matches!(character,
        '\u{ad}' | '\u{180e}' | '\u{200b}'..='\u{200d}' | '\u{2060}'..='\u{2065}'
        | '\u{206a}'..='\u{206f}' | '\u{fff9}'..='\u{fffb}');
    acts(character) && !decided_by_idna
}

/// Refuses text with characters for which [`hides`] is true.
pub(super) fn check_seen(text: &str) -> Result<(), QueryError> {
    match text.char_indices().find(|(_, c)| hides(*c)) {
        None => Ok(()),
        Some((at, character)) => Err(QueryError::Hidden {
            given: quoted(text),
            character: format!("U+{:04X}", u32::from(character)),
            at,
        }),
    }
}
