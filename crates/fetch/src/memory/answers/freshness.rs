//! Freshness and age of an answer, and the effect of a 304. RFC 9111 §4.2 and §4.3.

use std::time::Duration;

use roundtrip_wire::http_date;

use super::directives::Directives;
use super::{Policy, Received, Stored};
use crate::memory::Stamp;

/// If only `Last-Modified` is known, the answer is fresh for a tenth of the time since then, and at
/// most this long. RFC 9111 §4.2.2.
const MAX_GUESS: Duration = Duration::from_hours(24);
/// A copy from further in the future was stored while the clock was wrong.
const SKEW: Duration = Duration::from_mins(1);

/// The fields that are stored; no others are used.
const KEPT: [&str; 14] = [
    "access-control-allow-origin",
    "age",
    "cache-control",
    "content-encoding",
    "content-language",
    "content-type",
    "date",
    "etag",
    "expires",
    "last-modified",
    "link",
    "location",
    "retry-after",
    "vary",
];

pub(super) fn is_fresh(stored: &Stored, policy: &Policy, now: Stamp) -> bool {
    let directives = Directives::from_headers(&stored.headers);
    let is_from_the_future = stored.fetched_at > now.plus(SKEW);
    if directives.no_cache || is_from_the_future {
        return false;
    }
    let age = age(stored, now);
    let said = said(stored, &directives);
    let mut lifetime = match (said, policy.max_age) {
        (Some(said), _) => said,
        (None, Some(wanted)) => wanted,
        (None, None) if stored.status == 404 => policy.negative,
        (None, None) => guessed(stored).unwrap_or(policy.unsaid),
    };
    if stored.status == 404 {
        lifetime = lifetime.min(policy.negative);
    }
    age < lifetime && policy.max_age.is_none_or(|most| age <= most)
}

/// The freshness lifetime that the answer states. RFC 9111 §4.2.1.
fn said(stored: &Stored, directives: &Directives) -> Option<Duration> {
    if directives.max_age.is_some() {
        return directives.max_age;
    }
    let expires = header(&stored.headers, "expires")?;
    // RFC 9111 §5.3: an invalid date such as 0 is in the past.
    let Some(expires) = date(expires, stored) else {
        return Some(Duration::ZERO);
    };
    Some(expires.since(sent(stored)))
}

/// The heuristic freshness lifetime. RFC 9111 §4.2.2.
fn guessed(stored: &Stored) -> Option<Duration> {
    let modified = date(header(&stored.headers, "last-modified")?, stored)?;
    Some((sent(stored).since(modified) / 10).min(MAX_GUESS))
}

/// The age of an answer (RFC 9111 §4.2.3).
pub(super) fn age(stored: &Stored, now: Stamp) -> Duration {
    let apparent = stored.fetched_at.since(sent(stored));
    let delay = stored.fetched_at.since(stored.asked_at);
    let said = header(&stored.headers, "age").and_then(|age| {
        let text = std::str::from_utf8(age).ok()?.trim();
        let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        is_number.then(|| Duration::from_secs(text.parse().unwrap_or(1 << 31)))
    });
    let corrected = said.unwrap_or_default().saturating_add(delay);
    apparent
        .max(corrected)
        .saturating_add(now.since(stored.fetched_at))
}

/// The fields with which to ask whether the copy is still valid. RFC 9111 §4.3.1.
pub(super) fn validators(stored: &Stored) -> Vec<(String, String)> {
    let mut fields = Vec::new();
    for (from, to) in [
        ("etag", "if-none-match"),
        ("last-modified", "if-modified-since"),
    ] {
        let Some(value) = header(&stored.headers, from) else {
            continue;
        };
        let is_usable = match from {
            "etag" => is_entity_tag(value),
            _ => date(value, stored).is_some(),
        };
        if let Some(value) = std::str::from_utf8(value).ok().filter(|_| is_usable) {
            fields.push((to.to_owned(), value.to_owned()));
        }
    }
    fields
}

/// The stored copy, with its fields replaced by those of the 304 (RFC 9111 §4.3.4, §3.2).
pub(super) fn confirmed(mut stored: Stored, received: &Received<'_>) -> Option<Stored> {
    if let Some(tag) = header(received.headers, "etag") {
        let is_strong = !tag.starts_with(b"W/");
        if is_strong && header(&stored.headers, "etag") != Some(tag) {
            return None;
        }
    }
    let new = kept(received.headers);
    // The old fields about freshness describe the old answer.
    let is_over =
        |name: &str| name == "age" || name == "date" || new.iter().any(|(n, _)| n == name);
    stored.headers.retain(|(name, _)| !is_over(name));
    stored.headers.extend(new);
    stored.asked_at = received.asked_at;
    stored.fetched_at = received.received_at;
    Some(stored)
}

/// The fields to store, with their names in lower case.
pub(super) fn kept(all: &[(String, Vec<u8>)]) -> Vec<(String, Vec<u8>)> {
    let small = all
        .iter()
        .map(|(name, value)| (name.to_ascii_lowercase(), value.clone()));
    small
        .filter(|(name, _)| KEPT.contains(&name.as_str()))
        .collect()
}

/// The first field with that name.
pub(super) fn header<'a>(all: &'a [(String, Vec<u8>)], name: &str) -> Option<&'a [u8]> {
    headers(all, name).next()
}

pub(super) fn headers<'a>(
    all: &'a [(String, Vec<u8>)],
    name: &str,
) -> impl Iterator<Item = &'a [u8]> {
    let lines = all
        .iter()
        .filter(move |(n, _)| n.eq_ignore_ascii_case(name));
    lines.map(|(_, value)| value.trim_ascii())
}

/// The date of the response; without one, the time of its arrival.
fn sent(stored: &Stored) -> Stamp {
    let said = header(&stored.headers, "date").and_then(|value| date(value, stored));
    said.unwrap_or(stored.fetched_at)
}

fn date(value: &[u8], stored: &Stored) -> Option<Stamp> {
    http_date::parse(value, stored.fetched_at.as_secs()).map(Stamp::from_secs)
}

/// Whether this is a valid entity tag, so that it may be sent in a request. RFC 9110 §8.8.3.
fn is_entity_tag(value: &[u8]) -> bool {
    let tag = value.strip_prefix(b"W/").unwrap_or(value);
    let inner = tag
        .strip_prefix(b"\"")
        .and_then(|rest| rest.strip_suffix(b"\""));
    inner.is_some_and(|inner| inner.iter().all(|byte| matches!(byte, 0x21 | 0x23..=0x7e)))
}
