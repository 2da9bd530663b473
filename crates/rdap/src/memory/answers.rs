//! Answers that were received, and whether one of them will do: a private cache by RFC 9111.
//!
//! A [`Policy`] says what the user wants, [`Memory::decide`] what to do about a request: use a copy, ask whether it still
//! holds, ask, or say that nothing is there. What comes back goes to [`Memory::keep_answer`], a 304 to
//! [`Memory::confirm`]. Answers to requests with credentials are never kept, and never found.

mod directives;
mod file;
mod freshness;
mod shelf;

use std::time::Duration;

use bytes::Bytes;

pub(super) use shelf::Shelf;

use super::{Memory, Stamp};
use directives::Directives;

/// A longer body is not kept.
pub const LONGEST_BODY: usize = 4 << 20;
/// For «not found»: names are registered any minute.
const NEGATIVE: Duration = Duration::from_mins(5);

/// What is asked, as it goes out.
#[derive(Debug, Clone, Copy)]
pub struct Request<'a> {
    pub method: &'a str,
    pub url: &'a str,
    pub headers: &'a [(String, String)],
    /// A client certificate, or anything else that tells the server who asks; the fields for that are seen anyway.
    pub credentials: bool,
}

/// What came back.
#[derive(Debug, Clone, Copy)]
pub struct Received<'a> {
    pub status: u16,
    pub headers: &'a [(String, Vec<u8>)],
    pub body: &'a [u8],
    pub asked_at: Stamp,
    pub received_at: Stamp,
}

/// An answer that was kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stored {
    pub status: u16,
    /// Those that say what the body is, how long it holds and by what it is known again.
    pub headers: Vec<(String, Vec<u8>)>,
    pub body: Bytes,
    /// When it was received, or last found to hold.
    pub fetched_at: Stamp,
    asked_at: Stamp,
    /// What the request said where the answer depends on it. RFC 9111 §4.1.
    vary: Vec<(String, String)>,
}

/// What the user wants.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Policy {
    /// `--max-age`: no older copy is used; and one this young is, unless its server said otherwise.
    pub max_age: Option<Duration>,
    /// `--refresh`: a copy is used only after the server has said that it holds.
    pub refresh: bool,
    /// `--offline`: the network is not asked.
    pub offline: bool,
    /// How long an answer holds that says nothing about it; at 0, the server is asked each time.
    pub unsaid: Duration,
    /// How long «not found» holds at most, and where nothing is said.
    pub negative: Duration,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Decision {
    /// The copy will do.
    Fresh(Stored),
    /// Ask with these fields; at 304 the copy holds.
    Revalidate {
        stored: Stored,
        headers: Vec<(String, String)>,
    },
    Fetch,
    NotThere(NotThere),
}

/// Why there is nothing without the network.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NotThere {
    #[error("no answer to this is remembered; ask without --offline")]
    Never,
    #[error("the answer that is remembered is {} min old, and older than asked for; ask without --offline", .0.as_secs() / 60)]
    TooOld(Duration),
    #[error(
        "the answer that is remembered may not be used without asking its server, it said; ask without --offline"
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
                Decision::NotThere(NotThere::Never)
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

    /// The copy of an answer to this request, however old.
    pub fn answer(&self, request: &Request<'_>) -> Option<Stored> {
        if !may_be_kept(request) {
            return None;
        }
        let key = key(request);
        let (place, name) = self.answer_place(&key)?;
        let limit = (LONGEST_BODY + file::LONGEST_HEAD) as u64;
        let stored = self.read(place, &name, limit, file::decode)?;
        // Another request with the same hash, or the same with other fields.
        let is_this = stored.key == key
            && stored
                .answer
                .vary
                .iter()
                .all(|(name, value)| field(request, name) == *value);
        is_this.then_some(stored.answer)
    }

    /// Keeps an answer, if it may be kept. What may not be kept replaces what was.
    pub fn keep_answer(&self, request: &Request<'_>, received: &Received<'_>) -> bool {
        let has_meaning = matches!(received.status, 200 | 203 | 301 | 308 | 404 | 410);
        if !has_meaning || !may_be_kept(request) {
            return false;
        }
        let key = key(request);
        let Some(stored) = to_be_kept(request, received) else {
            self.drop_answer(&key);
            return false;
        };
        self.put_answer(&key, &stored, received.received_at)
    }

    /// The server said 304: the copy holds, with the fields of this answer. RFC 9111 §4.3.4. None if the server meant
    /// another copy; then it must be asked without conditions.
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
        let key = key(request);
        if Directives::of(&confirmed.headers).no_store {
            self.drop_answer(&key);
        } else if may_be_kept(request) {
            self.put_answer(&key, &confirmed, received.received_at);
        }
        Some(confirmed)
    }

    fn put_answer(&self, key: &[u8], stored: &Stored, now: Stamp) -> bool {
        let Some(answers) = self.shelf() else {
            return false;
        };
        let Some(head) = file::encode(key, stored) else {
            return false;
        };
        let Some((place, name)) = answers.place(key) else {
            return false;
        };
        let is_kept = self.write(place, &name, &[&head, &stored.body]);
        if is_kept {
            answers.written(&name, head.len() + stored.body.len(), now);
        }
        is_kept
    }

    fn drop_answer(&self, key: &[u8]) {
        if let Some((place, name)) = self.answer_place(key) {
            // It is rarely there.
            let _ = place.remove(&name);
        }
    }

    fn answer_place(&self, key: &[u8]) -> Option<(&super::Place, String)> {
        self.shelf()?.place(key)
    }

    fn shelf(&self) -> Option<&Shelf> {
        if self.size == 0 {
            return None;
        }
        let root = self.root.as_ref()?;
        let opened = self.answers.get_or_init(|| match root.below("answers") {
            Ok(place) => Some(Shelf::new(place, self.size)),
            Err(error) => {
                self.cannot_write(root, &error);
                None
            }
        });
        opened.as_ref()
    }
}

impl Stored {
    /// Reads the content of an answer's file: strictly, with every bound checked.
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        Some(file::decode(bytes)?.answer)
    }

    /// The content of its file, for an answer that is found by `key`; none for what would not be read again.
    pub fn encode(&self, key: &[u8]) -> Option<Vec<u8>> {
        let mut bytes = file::encode(key, self)?;
        bytes.extend_from_slice(&self.body);
        Some(bytes)
    }

    /// How old it is, by all that is known. RFC 9111 §4.2.3.
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
        return Decision::NotThere(NotThere::TooOld(age));
    }
    let is_fresh = freshness::is_fresh(&stored, policy, now);
    let directives = Directives::of(&stored.headers);
    // RFC 9111 §4.2.4: a copy that no longer holds is used without its server only where the server has not said otherwise.
    if !is_fresh && (directives.must_revalidate || directives.no_cache) {
        return Decision::NotThere(NotThere::MustAsk);
    }
    Decision::Fresh(stored)
}

/// RFC 9111 §3, as far as the request decides it; we are stricter about credentials.
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

/// RFC 9111 §3, as far as the answer decides it.
fn to_be_kept(request: &Request<'_>, received: &Received<'_>) -> Option<Stored> {
    let asked = Directives::parse(field(request, "cache-control").as_bytes());
    let answered = Directives::of(received.headers);
    if asked.no_store || answered.no_store || received.body.len() > LONGEST_BODY {
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

/// What a request says in a field, its lines put together. RFC 9110 §5.2.
fn field(request: &Request<'_>, name: &str) -> String {
    let lines = request
        .headers
        .iter()
        .filter(|(n, _)| n.eq_ignore_ascii_case(name));
    let lines: Vec<&str> = lines.map(|(_, value)| value.trim()).collect();
    lines.join(", ")
}

/// What an answer is found by.
fn key(request: &Request<'_>) -> Vec<u8> {
    let url = request.url.split('#').next().unwrap_or_default();
    format!("{} {url}\n{}", request.method, field(request, "accept")).into_bytes()
}

#[cfg(test)]
mod tests;
