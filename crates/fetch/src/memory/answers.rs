//! Received answers, and whether one of them can be used: a private cache according to RFC 9111.
//!
//! A [`Policy`] contains the user's options. [`Memory::decide`] decides about a request: use a
//! copy, revalidate it, ask the server, or report that there is no copy. Pass the response to
//! [`Memory::keep_answer`], and a 304 to [`Memory::confirm`]. Answers to requests with credentials
//! are neither stored nor found.

mod directives;
mod file;
mod files;
mod freshness;

use std::time::Duration;

use bytes::Bytes;

pub(super) use files::AnswerFiles;

use super::{Memory, Stamp};
use directives::Directives;

/// The limit in bytes: an answer with a longer body is not stored.
pub const MAX_BODY_LENGTH: usize = 4 << 20;
/// The time for which "not found" is fresh: a name can be registered at any time.
const NEGATIVE: Duration = Duration::from_mins(5);

/// A request as it is sent.
#[derive(Debug, Clone, Copy)]
pub struct Request<'a> {
    pub method: &'a str,
    pub url: &'a str,
    pub headers: &'a [(String, String)],
    /// Whether the request has a client certificate or something else that identifies the client.
    /// Header fields that do so are recognised without this flag.
    pub credentials: bool,
}

/// A response as received.
#[derive(Debug, Clone, Copy)]
pub struct Received<'a> {
    pub status: u16,
    pub headers: &'a [(String, Vec<u8>)],
    pub body: &'a [u8],
    pub asked_at: Stamp,
    pub received_at: Stamp,
}

/// A stored answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stored {
    pub status: u16,
    /// The fields that describe the body, its freshness and its validators.
    pub headers: Vec<(String, Vec<u8>)>,
    pub body: Bytes,
    /// The time when the answer was received or last confirmed.
    pub fetched_at: Stamp,
    asked_at: Stamp,
    /// The fields of the request on which the answer depends. RFC 9111 §4.1.
    vary: Vec<(String, String)>,
}

/// The user's options.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Policy {
    /// `--max-age`: a copy is used up to this age, unless its server said otherwise.
    pub max_age: Option<Duration>,
    /// `--refresh`: a copy is used only after the server has confirmed it.
    pub refresh: bool,
    /// `--offline`: the network is not used.
    pub offline: bool,
    /// How long an answer is fresh if it does not say for how long; 0 means that each request is
    /// sent to the server.
    pub unsaid: Duration,
    /// The longest time for which "not found" is fresh, and the default if the answer states no
    /// time.
    pub negative: Duration,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Decision {
    /// Use the copy.
    Fresh(Stored),
    /// Send the request with these fields; after a 304, use the copy.
    Revalidate {
        stored: Stored,
        headers: Vec<(String, String)>,
    },
    Fetch,
    NotThere(NotStoredError),
}

/// Why a request cannot be answered without the network.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NotStoredError {
    #[error("there is no stored answer to this query; repeat it without --offline")]
    Never,
    #[error("the stored answer is {} min old, older than --max-age allows; repeat the query without --offline", .0.as_secs() / 60)]
    TooOld(Duration),
    #[error(
        "the stored answer may not be used without asking its server; repeat the query without --offline"
    )]
    MustAsk,
}

impl Default for Policy {
    fn default() -> Self {
        Self {
            max_age: None,
            refresh: false,
            offline: false,
            unsaid: Duration::ZERO,
            negative: NEGATIVE,
        }
    }
}

impl Memory {
    pub fn decide(&self, request: &Request<'_>, policy: &Policy, now: Stamp) -> Decision {
        let found = self.answer(request);
        let Some(stored) = found else {
            return if policy.offline {
                Decision::NotThere(NotStoredError::Never)
            } else {
                Decision::Fetch
            };
        };
        if policy.offline {
            return offline(stored, policy, now);
        }
        if !policy.refresh && freshness::is_fresh(&stored, policy, now) {
            return Decision::Fresh(stored);
        }
        let headers = freshness::validators(&stored);
        if headers.is_empty() {
            Decision::Fetch
        } else {
            Decision::Revalidate { stored, headers }
        }
    }

    /// The copy of an answer to this request, whatever its age.
    pub fn answer(&self, request: &Request<'_>) -> Option<Stored> {
        if !may_be_kept(request) {
            return None;
        }
        let key = self.key(request);
        let (directory, name) = self.answer_place(&key)?;
        let limit = (MAX_BODY_LENGTH + file::MAX_HEAD_LENGTH) as u64;
        let stored = self.read(directory, &name, limit, file::decode)?;
        // Another request can have the same hash, or the same request other fields.
        let is_this = stored.key == key
            && stored
                .answer
                .vary
                .iter()
                .all(|(name, value)| field(request, name) == *value);
        is_this.then_some(stored.answer)
    }

    /// Stores an answer if that is allowed, and returns whether it did. An answer that must not be
    /// stored removes the previous one.
    pub fn keep_answer(&self, request: &Request<'_>, received: &Received<'_>) -> bool {
        let has_meaning = matches!(received.status, 200 | 203 | 301 | 308 | 404 | 410);
        if !has_meaning || !may_be_kept(request) {
            return false;
        }
        let key = self.key(request);
        let Some(stored) = to_be_kept(request, received) else {
            self.drop_answer(&key);
            return false;
        };
        self.put_answer(&key, &stored, received.received_at)
    }

    /// Handles a 304: the copy is fresh again, with the fields of this response. RFC 9111 §4.3.4.
    /// Returns `None` if the server confirmed another copy; the caller then asks again without
    /// conditions.
    pub fn confirm(
        &self,
        request: &Request<'_>,
        stored: Stored,
        received: &Received<'_>,
    ) -> Option<Stored> {
        if received.status != 304 {
            return None;
        }
        let confirmed = freshness::confirmed(stored, received)?;
        let key = self.key(request);
        if Directives::from_headers(&confirmed.headers).no_store {
            self.drop_answer(&key);
        } else if may_be_kept(request) {
            self.put_answer(&key, &confirmed, received.received_at);
        }
        Some(confirmed)
    }

    fn put_answer(&self, key: &[u8], stored: &Stored, now: Stamp) -> bool {
        let Some(answers) = self.files() else {
            return false;
        };
        let Some(head) = file::encode(key, stored) else {
            return false;
        };
        let Some((directory, name)) = answers.directory(key) else {
            return false;
        };
        let is_kept = self.write(directory, &name, &[&head, &stored.body]);
        if is_kept {
            answers.written(&name, head.len() + stored.body.len(), now);
        }
        is_kept
    }

    fn drop_answer(&self, key: &[u8]) {
        if let Some((directory, name)) = self.answer_place(key) {
            // Usually there is no such file.
            let _ = directory.remove(&name);
        }
    }

    /// The key of an answer to this request.
    fn key(&self, request: &Request<'_>) -> Vec<u8> {
        let url = request.url.split('#').next().unwrap_or_default();
        let mut key = format!("{} {url}\n{}", request.method, field(request, "accept"));
        if let Some(trust) = &self.trust {
            key.push('\n');
            key.push_str(trust);
        }
        key.into_bytes()
    }

    fn answer_place(&self, key: &[u8]) -> Option<(&super::Directory, String)> {
        self.files()?.directory(key)
    }

    fn files(&self) -> Option<&AnswerFiles> {
        if self.size == 0 {
            return None;
        }
        let root = self.root.as_ref()?;
        let opened = self.answers.get_or_init(|| match root.below("answers") {
            Ok(directory) => Some(AnswerFiles::new(directory, self.size)),
            Err(error) => {
                self.cannot_write(root, &error);
                None
            }
        });
        opened.as_ref()
    }
}

impl Stored {
    /// Parses the content of an answer's file strictly, with every bound checked.
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        Some(file::decode(bytes)?.answer)
    }

    /// The content of the file for an answer with this `key`; `None` if it could not be parsed
    /// again.
    pub fn encode(&self, key: &[u8]) -> Option<Vec<u8>> {
        let mut bytes = file::encode(key, self)?;
        bytes.extend_from_slice(&self.body);
        Some(bytes)
    }

    /// The age, from all available fields. RFC 9111 §4.2.3.
    pub fn age(&self, now: Stamp) -> Duration {
        freshness::age(self, now)
    }

    pub fn header(&self, name: &str) -> Option<&[u8]> {
        freshness::header(&self.headers, name)
    }
}

fn offline(stored: Stored, policy: &Policy, now: Stamp) -> Decision {
    let age = stored.age(now);
    if policy.max_age.is_some_and(|most| age > most) {
        return Decision::NotThere(NotStoredError::TooOld(age));
    }
    let is_fresh = freshness::is_fresh(&stored, policy, now);
    let directives = Directives::from_headers(&stored.headers);
    // RFC 9111 §4.2.4: a stale copy is used without its server only if the server has not forbidden
    // that.
    if !is_fresh && (directives.must_revalidate || directives.no_cache) {
        return Decision::NotThere(NotStoredError::MustAsk);
    }
    Decision::Fresh(stored)
}

/// Whether the request allows its answer to be stored. RFC 9111 §3, but stricter about credentials.
fn may_be_kept(request: &Request<'_>) -> bool {
    const TELL_WHO: [&str; 3] = ["authorization", "proxy-authorization", "cookie"];
    let tells_who = |name: &str| {
        TELL_WHO
            .iter()
            .any(|known| name.eq_ignore_ascii_case(known))
    };
    let authority = request.url.split_once("://").map_or("", |(_, rest)| {
        rest.split(['/', '?', '#']).next().unwrap_or_default()
    });
    request.method == "GET"
        && !request.credentials
        && !authority.contains('@')
        && !request
            .headers
            .iter()
            .any(|(name, _)| tells_who(name) || name.eq_ignore_ascii_case("range"))
}

/// The data to store, if the response allows it. RFC 9111 §3.
fn to_be_kept(request: &Request<'_>, received: &Received<'_>) -> Option<Stored> {
    let asked = Directives::parse(field(request, "cache-control").as_bytes());
    let answered = Directives::from_headers(received.headers);
    if asked.no_store || answered.no_store || received.body.len() > MAX_BODY_LENGTH {
        return None;
    }
    let mut vary = Vec::new();
    for value in freshness::headers(received.headers, "vary") {
        for name in std::str::from_utf8(value).ok()?.split(',').map(str::trim) {
            if name == "*" {
                return None;
            }
            if !name.is_empty() {
                vary.push((name.to_ascii_lowercase(), field(request, name)));
            }
        }
    }
    Some(Stored {
        status: received.status,
        headers: freshness::kept(received.headers),
        body: Bytes::copy_from_slice(received.body),
        fetched_at: received.received_at,
        asked_at: received.asked_at,
        vary,
    })
}

/// The value of a request field, with its lines joined. RFC 9110 §5.2.
fn field(request: &Request<'_>, name: &str) -> String {
    let lines = request
        .headers
        .iter()
        .filter(|(n, _)| n.eq_ignore_ascii_case(name));
    let lines: Vec<&str> = lines.map(|(_, value)| value.trim()).collect();
    lines.join(", ")
}

#[cfg(test)]
mod tests;
