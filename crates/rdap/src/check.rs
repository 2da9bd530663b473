//! Conformance: the violations of RFC 7480, RFC 9083 and its extensions, or a profile, in an
//! answer.
//!
//! Each family of checks is a file with its rules. Each rule has an identifier that never changes,
//! a severity and the section that it comes from; [`table`] lists them all. Violations are found by
//! walking the answer; nothing is fetched.

mod asked;
mod autnum;
mod cards;
mod conformance;
mod delivery;
mod dnssec;
mod entities;
mod events;
mod gtld;
mod jscontact;
mod jsonpath;
mod links;
mod members;
mod names;
mod network;
mod notices;
mod nro;
mod problem;
mod redaction;
mod registries;
mod reverse;
mod search;
pub mod server;
mod status;
#[cfg(test)]
mod tests;
mod uri;

use std::fmt;

use url::Url;

use crate::answer::{Answer, Class, Place, places};

/// One rule.
#[derive(Debug, PartialEq, Eq)]
pub struct Check {
    /// Never changes; lower-case letters and hyphens.
    pub id: &'static str,
    pub severity: Severity,
    /// The servers that must follow the rule.
    pub scope: Scope,
    /// The condition that must hold.
    pub rule: &'static str,
    /// The document and section that requires the condition.
    pub source: &'static str,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// Allowed, but worth knowing.
    Info,
    /// Violates a recommendation, or common sense.
    Warning,
    /// Violates a requirement.
    Error,
}

impl Severity {
    pub fn word(self) -> &'static str {
        match self {
            Self::Info => "info",
            Self::Warning => "warning",
            Self::Error => "error",
        }
    }
}

/// Every server, or the servers of a profile.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    All,
    Gtld,
    Nro,
    /// The server itself, not an answer.
    Server,
}

/// A profile: requirements beyond those of the RFCs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Profile {
    /// ICANN's gTLD RDAP profile of 2024, for registries.
    GtldRegistry,
    /// The gTLD profile, for registrars.
    GtldRegistrar,
    /// The profile of the regional registries.
    Nro,
}

impl Profile {
    /// The profiles that the answer itself claims. Claims do not distinguish a gTLD's registrar
    /// from its registry; the URL of the answer does.
    pub fn claimed(answer: &Answer, url: Option<&Url>) -> Vec<Self> {
        let claims = |prefix: &str| answer.conformance().any(|c| c.starts_with(prefix));
        let own = || url.is_some_and(|url| gtld::registrar::is_registrars(answer, url));
        let gtld = claims("icann_rdap_").then(|| {
            if own() {
                Self::GtldRegistrar
            } else {
                Self::GtldRegistry
            }
        });
        let nro = claims("nro_rdap_profile").then_some(Self::Nro);
        gtld.into_iter().chain(nro).collect()
    }

    pub fn is_of_gtld(self) -> bool {
        matches!(self, Self::GtldRegistry | Self::GtldRegistrar)
    }
}

/// The HTTP facts about how the answer was delivered.
#[derive(Debug, Clone, Copy, Default)]
pub struct Delivery<'a> {
    /// The status code; 0 if it is unknown, in which case checks that depend on it are skipped.
    pub status: u16,
    pub content_type: Option<&'a str>,
    /// The field Access-Control-Allow-Origin.
    pub allow_origin: Option<&'a str>,
    /// The URL that was requested.
    pub url: Option<&'a Url>,
}

/// A violation of a rule, with its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violation {
    pub check: &'static Check,
    /// JSON pointer; empty for the answer as a whole or its delivery.
    pub pointer: String,
    /// The value found there, safe to show.
    pub found: String,
}

impl Violation {
    /// The violation as JSON, for output line by line.
    pub fn json(&self) -> serde_json::Value {
        let Check {
            id,
            severity,
            rule,
            source,
            ..
        } = self.check;
        serde_json::json!({
            "id": id,
            "severity": severity.word(),
            "pointer": self.pointer,
            "rule": rule,
            "source": source,
            "found": self.found,
        })
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Check {
            id,
            severity,
            rule,
            source,
            ..
        } = self.check;
        write!(f, "{}: {id}", severity.word())?;
        if !self.pointer.is_empty() {
            write!(f, " at {}", roundtrip_report::clean(&self.pointer))?;
        }
        write!(f, ": {rule}")?;
        if !self.found.is_empty() {
            write!(f, "; found {}", self.found)?;
        }
        write!(f, " ({source})")
    }
}

/// All rules, family by family.
pub fn table() -> Vec<&'static Check> {
    let families = [
        delivery::ALL,
        conformance::ALL,
        members::ALL,
        asked::ALL,
        links::ALL,
        notices::ALL,
        events::ALL,
        status::ALL,
        names::ALL,
        dnssec::ALL,
        entities::ALL,
        cards::ALL,
        cards::VALUES,
        jscontact::ALL,
        network::ALL,
        autnum::ALL,
        problem::ALL,
        search::ALL,
        reverse::ALL,
        redaction::ALL,
        redaction::FIELDS,
        redaction::PLACEHOLDERS,
        gtld::ALL,
        gtld::domain::ALL,
        gtld::status::ALL,
        gtld::registrar::ALL,
        gtld::contacts::ALL,
        gtld::NEEDED,
        gtld::lookups::ALL,
        gtld::notices::ALL,
        nro::ALL,
        nro::cards::ALL,
        nro::objects::ALL,
        server::ALL,
    ];
    families.concat()
}

/// All violations: the worst first, then family by family.
pub fn check(answer: &Answer, delivery: &Delivery<'_>, profiles: &[Profile]) -> Vec<Violation> {
    let scene = Scene {
        answer,
        delivery: *delivery,
        profiles,
        places: places(answer),
        claims: answer.conformance().take(MAX_CLAIMS).collect(),
    };
    let mut report = Report(Vec::new());
    for family in [
        delivery::check,
        conformance::check,
        members::check,
        asked::check,
        links::check,
        notices::check,
        events::check,
        status::check,
        names::check,
        dnssec::check,
        entities::check,
        cards::check,
        jscontact::check,
        network::check,
        autnum::check,
        problem::check,
        search::check,
        reverse::check,
        redaction::check,
        gtld::check,
        nro::check,
    ] {
        family(&scene, &mut report);
    }
    report
        .0
        .sort_by_key(|v| std::cmp::Reverse(v.check.severity));
    report.0
}

/// The subject of a check.
struct Scene<'a> {
    answer: &'a Answer,
    delivery: Delivery<'a>,
    profiles: &'a [Profile],
    places: Vec<Place<'a>>,
    /// The extensions in rdapConformance.
    claims: Vec<&'a str>,
}

/// The largest number of extensions in rdapConformance that are considered: each member is compared
/// with each of them.
const MAX_CLAIMS: usize = 200;

impl<'a> Scene<'a> {
    fn of(&self, classes: &'static [Class]) -> impl Iterator<Item = &Place<'a>> {
        self.places
            .iter()
            .filter(move |p| classes.contains(&p.class))
    }

    fn claims(&self, extension: &str) -> bool {
        self.claims.contains(&extension)
    }

    fn follows(&self, profile: Profile) -> bool {
        self.profiles.contains(&profile)
    }

    fn is_of_gtld(&self) -> bool {
        self.profiles.iter().any(|profile| profile.is_of_gtld())
    }

    /// The class of the topmost object.
    fn class(&self) -> Class {
        self.places.first().map_or(Class::Unknown, |p| p.class)
    }
}

/// The largest number of violations that are reported for one answer.
const MAX_VIOLATIONS: usize = 2_000;

struct Report(Vec<Violation>);

impl Report {
    fn add(&mut self, check: &'static Check, pointer: impl Into<String>, found: impl AsRef<str>) {
        const SHOWN: usize = 120;
        if self.0.len() >= MAX_VIOLATIONS {
            return;
        }
        let found = found.as_ref();
        let short: String = found.chars().take(SHOWN).collect();
        let ellipsis = if short.len() < found.len() { "…" } else { "" };
        let violation = Violation {
            check,
            pointer: pointer.into(),
            found: roundtrip_report::clean(&short) + ellipsis,
        };
        // Two rules of reading can find the same.
        let is_known = |known: &Violation| {
            known.check.id == violation.check.id
                && known.pointer == violation.pointer
                && known.found == violation.found
        };
        if !self.0.iter().any(is_known) {
            self.0.push(violation);
        }
    }
}

/// Defines rules by name, and the list of them.
macro_rules! rules {
    ($scope:ident; $($name:ident = $id:literal, $severity:ident, $source:literal: $rule:literal;)*) => {
        $(
            static $name: $crate::check::Check = $crate::check::Check {
                id: $id,
                severity: $crate::check::Severity::$severity,
                scope: $crate::check::Scope::$scope,
                rule: $rule,
                source: $source,
            };
        )*
        pub(in crate::check) const ALL: &[&$crate::check::Check] = &[$(&$name),*];
    };
}
use rules;
