//! The outcome of a lookup: which server answered what, from where, and what else went wrong.

use std::rc::Rc;
use std::time::Duration;

use bytes::Bytes;
use roundtrip_model::Target;

use super::LookupError;
use crate::answer::{Answer, AnswerError};
use crate::pool::Timing;
use crate::query::Query;
use crate::text::{LookupResult, Part, State};

/// One query and its result.
#[derive(Debug, Clone)]
pub struct Outcome {
    pub query: String,
    pub kind: &'static str,
    /// How the query was changed before it was asked.
    pub note: Option<String>,
    pub registry: Option<Source>,
    /// The further pages of a search.
    pub pages: Vec<Source>,
    /// Why pages are missing after the last one.
    pub broken_off: Option<Trouble>,
    /// The registrar's answer, or why there is none although the registry names a registrar.
    pub registrar: Option<Result<Source, Trouble>>,
    /// The servers that did not answer, in the order in which they were asked.
    pub troubles: Vec<Trouble>,
}

/// One server's answer.
#[derive(Debug, Clone)]
pub struct Source {
    /// The URL that answered, after all redirects.
    pub target: Target,
    pub status: u16,
    pub headers: Vec<(String, Vec<u8>)>,
    pub body: Bytes,
    pub answer: Result<Answer, Rc<AnswerError>>,
    pub from: From,
    /// Some request on the way was in clear text: anyone on the path could have changed the answer.
    pub clear: bool,
    /// The time spent waiting for permission to ask.
    pub patience: Duration,
    pub timing: Option<Timing>,
}

/// Where an answer came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum From {
    Network,
    /// The stored copy, which the server confirmed.
    Confirmed,
    /// The stored copy, without asking.
    Memory,
    /// An earlier answer about the whole range.
    Range,
}

/// What went wrong with one server.
#[derive(Debug, Clone)]
pub struct Trouble {
    pub url: String,
    pub state: State,
    pub why: String,
    /// The server's certificate could not be verified.
    pub untrusted: bool,
}

impl Source {
    /// The first field with that name, compared without case.
    pub fn header(&self, name: &str) -> Option<&[u8]> {
        let mut headers = self.headers.iter();
        let found = headers.find(|(n, _)| n.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.as_slice())
    }

    pub fn state(&self) -> State {
        match self.status {
            200..=299 if self.answer.is_err() => State::Failed,
            // The resource existed and is gone (RFC 9110 §15.5.11).
            410 => State::NotRegistered,
            status => State::of(status),
        }
    }

    fn part<'a>(&'a self, why: Option<&'a str>) -> Part<'a> {
        Part {
            server: Some(self.target.url().as_str()),
            state: self.state(),
            answer: self.answer.as_ref().ok(),
            why,
            clear: self.clear,
        }
    }

    /// A reason that the answer itself does not give.
    pub(super) fn why(&self) -> Option<String> {
        match (self.state(), &self.answer) {
            (State::Found, _) => None,
            (_, Ok(_)) | (State::NotRegistered, Err(_)) => Some(format!("HTTP {}", self.status)),
            (_, Err(error)) => Some(format!("HTTP {}: {error}", self.status)),
        }
    }
}

impl Trouble {
    fn of_nobody(why: &dyn std::error::Error) -> Self {
        Self {
            url: String::new(),
            state: State::Failed,
            why: why.to_string(),
            untrusted: false,
        }
    }

    fn part(&self) -> Part<'_> {
        Part {
            server: Some(&self.url),
            state: self.state,
            answer: None,
            why: Some(&self.why),
            clear: false,
        }
    }
}

impl Outcome {
    pub(super) fn of(query: &Query) -> Self {
        Self {
            query: query.shown(),
            kind: query.kind().as_str(),
            note: query.note().map(str::to_owned),
            registry: None,
            pages: Vec::new(),
            broken_off: None,
            registrar: None,
            troubles: Vec::new(),
        }
    }

    pub(super) fn unasked(query: &Query, why: &LookupError) -> Self {
        let mut outcome = Self::of(query);
        outcome.troubles.push(Trouble::of_nobody(why));
        outcome
    }

    /// The outcome for a text that is not a query.
    pub fn unread(text: &str, why: &dyn std::error::Error) -> Self {
        Self {
            query: text.chars().take(200).collect(),
            kind: "",
            note: None,
            registry: None,
            pages: Vec::new(),
            broken_off: None,
            registrar: None,
            troubles: vec![Trouble::of_nobody(why)],
        }
    }

    /// The state of the registry's answer: a failing registrar does not change it. A search with
    /// missing pages has the state of its last page.
    pub fn state(&self) -> State {
        if let Some(trouble) = &self.broken_off {
            return trouble.state;
        }
        let last = self.troubles.last().map(|trouble| trouble.state);
        let registry = self.registry.as_ref().map(Source::state);
        registry.or(last).unwrap_or(State::Failed)
    }

    pub fn sources(&self) -> impl Iterator<Item = &Source> {
        let registrar = self.registrar.as_ref().and_then(|r| r.as_ref().ok());
        self.registry.iter().chain(&self.pages).chain(registrar)
    }

    /// Passes everything that is to be told to `tell`: the answers, page after page.
    pub fn told<T>(
        &self,
        beside: &[(&'static str, serde_json::Value)],
        tell: impl FnMut(&LookupResult<'_>) -> T,
    ) -> Vec<T> {
        let why = self.why();
        let registrars_why = self.registrars_why();
        let first = match &self.registry {
            Some(source) => source.part(why.as_deref()),
            None => Part {
                server: self
                    .troubles
                    .last()
                    .map(|t| t.url.as_str())
                    .filter(|u| !u.is_empty()),
                state: self.state(),
                answer: None,
                why: why.as_deref(),
                clear: false,
            },
        };
        let registrar = self.registrar.as_ref().map(|registrar| match registrar {
            Ok(source) => source.part(registrars_why.as_deref()),
            Err(trouble) => trouble.part(),
        });
        let told = |first, registrar| LookupResult {
            query: &self.query,
            kind: self.kind,
            first,
            registrar,
            beside,
        };
        let pages = self.pages.iter().map(|page| told(page.part(None), None));
        let missing = self.broken_off.iter().map(|t| told(t.part(), None));
        std::iter::once(told(first, registrar))
            .chain(pages)
            .chain(missing)
            .collect::<Vec<_>>()
            .iter()
            .map(tell)
            .collect()
    }

    fn why(&self) -> Option<String> {
        match &self.registry {
            Some(source) => source.why(),
            None => {
                let whys: Vec<String> = self.troubles.iter().map(|t| t.why.clone()).collect();
                Some(whys.join("; "))
            }
        }
    }

    fn registrars_why(&self) -> Option<String> {
        self.registrar.as_ref()?.as_ref().ok()?.why()
    }
}
