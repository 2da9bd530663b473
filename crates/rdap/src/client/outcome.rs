//! The outcome of a lookup: the answers with their servers and sources, and all errors.

use std::rc::Rc;
use std::time::Duration;

use bytes::Bytes;
use roundtrip_model::Target;

use super::LookupError;
use super::expected::Expected;
use crate::answer::{Answer, AnswerError};
use crate::query::Query;
use crate::requested::Requested;
use crate::text::{LookupResult, Part, State, trouble};
use roundtrip_fetch::pool::Timing;

/// One query and its result. Answers are boxed: thousands of lookups wait for theirs at once.
#[derive(Debug, Clone)]
pub struct Outcome {
    pub query: String,
    pub kind: &'static str,
    /// A note about how the query was changed before it was sent.
    pub note: Option<String>,
    pub registry: Option<Box<Source>>,
    /// The further pages of a search.
    pub pages: Vec<Source>,
    /// The reason why pages are missing after the last one.
    pub broken_off: Option<SourceError>,
    /// The registrar's answer, or the reason why there is none although the registry names a
    /// registrar.
    pub registrar: Option<Result<Box<Source>, SourceError>>,
    /// The servers that did not answer, in the order in which they were asked.
    pub troubles: Vec<SourceError>,
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
    /// Whether a request on the way was in clear text: anyone on the path could have changed the
    /// answer.
    pub clear: bool,
    /// The reason why the answer does not match the query, although the server claims so.
    pub mismatch: Option<String>,
    /// The object that the answer is about, if it is not the requested one.
    pub other: Option<String>,
    /// The time spent waiting for permission to ask.
    pub patience: Duration,
    pub timing: Option<Timing>,
}

/// The source of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum From {
    Network,
    /// The stored copy, which the server confirmed.
    Confirmed,
    /// The stored copy, without a request.
    Memory,
    /// An earlier answer about the whole range.
    Range,
}

/// The failure of one server.
#[derive(Debug, Clone)]
pub struct SourceError {
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
            200..=299 if self.answer.is_err() || self.mismatch.is_some() => State::Failed,
            // The resource existed once, but no longer does (RFC 9110 §15.5.11).
            410 => State::NotRegistered,
            status => State::from_status(status),
        }
    }

    /// Notes a mismatch if the answer is something else than expected. Errors can answer any query.
    pub(super) fn expect(&mut self, expected: Expected) {
        let answer = self.answer.as_ref().ok();
        let answer = answer.filter(|_| (200..=299).contains(&self.status));
        self.mismatch = answer.and_then(|answer| expected.mismatch(answer));
    }

    fn part<'a>(&'a self, why: Option<&'a str>) -> Part<'a> {
        Part {
            server: Some(self.target.url().as_str()),
            state: self.state(),
            answer: self.answer.as_ref().ok(),
            why,
            clear: self.clear,
            other: self.other.as_deref(),
        }
    }

    /// The reason, if the answer itself does not give it.
    pub(super) fn why(&self) -> Option<String> {
        if let Some(mismatch) = &self.mismatch {
            return Some(mismatch.clone());
        }
        match (self.state(), &self.answer) {
            (State::Found, _) => None,
            (_, Ok(_)) | (State::NotRegistered, Err(_)) => Some(format!("HTTP {}", self.status)),
            (_, Err(error)) => Some(match self.undecoded() {
                Some(encoding) => format!(
                    "HTTP {}: the answer is encoded as '{encoding}', which was not offered",
                    self.status
                ),
                None => format!("HTTP {}: {error}", self.status),
            }),
        }
    }

    /// The encoding of the body, if it could not be decoded.
    fn undecoded(&self) -> Option<String> {
        const DECODED: [&str; 6] = ["", "identity", "gzip", "x-gzip", "deflate", "br"];
        const SHOWN: usize = 40;
        let encoding = String::from_utf8_lossy(self.header("content-encoding")?).to_lowercase();
        let short: String = encoding.trim().chars().take(SHOWN).collect();
        (!DECODED.contains(&&*short)).then(|| roundtrip_report::clean(&short))
    }
}

impl SourceError {
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
            other: None,
        }
    }
}

impl Outcome {
    pub(super) fn from_query(query: &Query) -> Self {
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
        let mut outcome = Self::from_query(query);
        outcome.troubles.push(SourceError::of_nobody(why));
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
            troubles: vec![SourceError::of_nobody(why)],
        }
    }

    /// Compares the objects of the answers with the requested one. Most servers answer about no
    /// other; some answer about the domain that contains the name, or about a variant.
    pub(super) fn compare(&mut self, query: &Query) {
        let Some(requested) = Requested::from_path(&query.path()) else {
            return;
        };
        let registrar = self.registrar.as_mut().and_then(|r| r.as_mut().ok());
        for source in self.registry.iter_mut().chain(registrar) {
            let answer = source.answer.as_ref().ok();
            let answer = answer.filter(|_| source.state() == State::Found);
            source.other = answer.and_then(|answer| requested.other(answer));
        }
    }

    /// The state of the registry's answer: a failing registrar does not change it. A search with
    /// missing pages has the state of its last page.
    pub fn state(&self) -> State {
        if let Some(trouble) = &self.broken_off {
            return trouble.state;
        }
        let last = self.troubles.last().map(|trouble| trouble.state);
        let registry = self.registry.as_deref().map(Source::state);
        registry.or(last).unwrap_or(State::Failed)
    }

    /// Whether a server was asked and gave no usable answer: another try may succeed.
    pub fn failed_at_a_server(&self) -> bool {
        let asked = self.registry.is_some() || self.troubles.iter().any(|t| !t.url.is_empty());
        self.state() == State::Failed && asked
    }

    /// The size of all answers in bytes.
    pub fn size(&self) -> usize {
        self.sources().map(|source| source.body.len()).sum()
    }

    pub fn sources(&self) -> impl Iterator<Item = &Source> {
        let registrar = self.registrar.as_ref().and_then(|r| r.as_ref().ok());
        let registry = self.registry.as_deref().into_iter();
        let registrar = registrar.map(|source| &**source);
        registry.chain(&self.pages).chain(registrar)
    }

    /// Passes every answer to `tell`, page after page.
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
                other: None,
            },
        };
        let registrar = self.registrar.as_ref().map(|registrar| match registrar {
            Ok(source) => source.part(registrars_why.as_deref()),
            Err(trouble) => trouble.part(),
        });
        let told = |first, registrar| LookupResult {
            query: &self.query,
            kind: self.kind,
            note: self.note.as_deref(),
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

    /// The error, unless the lookup found something or nothing is registered. URLs are shortened to
    /// their servers, so that a list has few different texts.
    pub fn failure(&self) -> Option<String> {
        if matches!(self.state(), State::Found | State::NotRegistered) {
            return None;
        }
        let told = self.told(&[], |told| trouble(&told.first));
        let mut why = told.into_iter().flatten().next_back()?;
        let asked = self.sources().map(|s| s.target.redacted());
        let asked = asked.chain(self.troubles.iter().map(|t| t.url.clone()));
        for url in asked.filter(|url| !url.is_empty()) {
            let server = Target::parse(&url).map(|t| t.authority());
            why = why.replace(&url, server.as_deref().unwrap_or(&url));
        }
        Some(why)
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
